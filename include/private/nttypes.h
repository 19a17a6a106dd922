/*
 * Base types and statuses for code that includes no Windows header, because it also builds natively for
 * the sanitizers.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef UMS_PRIVATE_NTTYPES_H
#define UMS_PRIVATE_NTTYPES_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t ums_status;                     /* an NTSTATUS */

#ifndef STATUS_SUCCESS
#define STATUS_SUCCESS               ((ums_status)0x00000000)
#endif
#ifndef STATUS_ABANDONED_WAIT_0
#define STATUS_ABANDONED_WAIT_0      ((ums_status)0x00000080)
#endif
#ifndef STATUS_ALERTED
#define STATUS_ALERTED               ((ums_status)0x00000101)
#endif
#ifndef STATUS_TIMEOUT
#define STATUS_TIMEOUT               ((ums_status)0x00000102)
#endif
#ifndef STATUS_INFO_LENGTH_MISMATCH
#define STATUS_INFO_LENGTH_MISMATCH  ((ums_status)0xC0000004)
#endif
#ifndef STATUS_INVALID_PARAMETER
#define STATUS_INVALID_PARAMETER     ((ums_status)0xC000000D)
#endif
#ifndef STATUS_NO_MEMORY
#define STATUS_NO_MEMORY             ((ums_status)0xC0000017)
#endif
#ifndef STATUS_NOT_SUPPORTED
#define STATUS_NOT_SUPPORTED         ((ums_status)0xC00000BB)
#endif
#ifndef STATUS_INTERNAL_ERROR
#define STATUS_INTERNAL_ERROR        ((ums_status)0xC00000E5)
#endif
#ifndef STATUS_RETRY
#define STATUS_RETRY                 ((ums_status)0xC000022D)
#endif
#ifndef STATUS_INVALID_THREAD
#define STATUS_INVALID_THREAD        ((ums_status)0xC000071C)
#endif

#endif /* UMS_PRIVATE_NTTYPES_H */
