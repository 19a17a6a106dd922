/*
 * A DLL that uses UMS: so that its process can do something before the shim is there.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 */
#ifndef TESTS_WIN11_CLIENT_H
#define TESTS_WIN11_CLIENT_H

#include <windows.h>

#define CLIENT_SLEEPS  20
#define CLIENT_REFUSED 3                /* there is no UMS */

struct client
{
    volatile LONG worker_thread;        /* set by the worker before it sleeps */
    LONG          blocked;              /* upcalls, one of them for its end */
};

/* One worker sleeps CLIENT_SLEEPS times. 0: it did; CLIENT_REFUSED; or anything else. */
typedef int (*client_run_t)( struct client *client );

#endif /* TESTS_WIN11_CLIENT_H */
