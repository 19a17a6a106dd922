/*
 * A worker does something that others would wait for, and makes calls of its own meanwhile. Host-free; holders.c.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * For code of ours that programs call as a function: no call of the program is in progress there, and the worker may be on a
 * carrier. To be busy is not enough then. For the hook each call in such code would be one of the program: on a carrier the
 * worker gives way to a suspension behind it, and is parked in the middle, busy; at home it may be reported as blocked. Whoever
 * suspends or terminates it waits until it is not busy any more, and if that is its scheduler, nobody lets it go on.
 *
 * So the worker first goes home, as for any call of the kernel, and its calls are part of one call from then on (inside.h). Its
 * scheduler waits for it and hears of nothing. For a thread that is not a worker this does nothing: it is not terminated in our
 * code while there are factories (hook_kill.c), and where others wait for it, it holds itself as well (ums_hold_self).
 *
 * Sections may be nested. The thread must not wait for another one in a section.
 */
#ifndef UMS_SECTION_H
#define UMS_SECTION_H

#include "ums_core.h"

struct ums_section                              /* in the frame of whoever begins and ends it */
{
    struct ums_context *worker;                 /* NULL: the thread is not a worker */
    struct ums_inside before;
};

void ums_section_begin( struct ums_section *section );
void ums_section_end( struct ums_section *section );

#endif /* UMS_SECTION_H */
