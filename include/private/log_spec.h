/*
 * Parses UMS_LOG and UMS_LOG_FILE. Nothing here depends on the host.
 *
 * Copyright 2026 the UMS shim authors
 * SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * UMS_LOG is a list: a level for everything, or level+channel for one thing, read from left to
 * right: "info", "warn,trace+hook", "none,trace+worker".
 */
#ifndef UMS_PRIVATE_LOG_SPEC_H
#define UMS_PRIVATE_LOG_SPEC_H

#include <stddef.h>

enum log_level { LOG_NONE, LOG_ERR, LOG_WARN, LOG_INFO, LOG_TRACE };

/* X( name, what it is about ) */
#define UMS_LOG_CHANNELS( X ) \
    X( main,     "start: which engine and hook were taken, and why not the others" ) \
    X( settings, "settings that differ from the default, and where they come from" ) \
    X( hook,     "which kernel calls are seen" ) \
    X( worker,   "workers that are made and that end" ) \
    X( child,    "child processes: whether they get the shim" ) \
    X( api,      "calls of kernel32's UMS functions that fail when things are made" )

enum log_channel
{
#define X( name, about ) LOG_CHANNEL_##name,
    UMS_LOG_CHANNELS( X )
#undef X
    LOG_CHANNELS
};

extern const char *const log_level_names[], *const log_channel_names[];

/* 1: levels are set. 0: spec is not valid, and nothing is changed. */
int log_spec_read( const char *spec, unsigned char levels[LOG_CHANNELS] );

/* Replace %e by the program's name and %p by the process id. Returns 0 if the pattern has another %, or
   if there is no room. out may be NULL, to check a pattern only; size is then ignored. */
int log_spec_expand( const char *pattern, const char *program, unsigned int process, char *out,
                     size_t size );

#endif /* UMS_PRIVATE_LOG_SPEC_H */
