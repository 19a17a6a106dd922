#!/bin/sh
# suite.sh LIBRARY UMSRUN UMSINFO UMSTEST OWN_CALL: the shim works under the traps, by the engine that UMS_ENGINE names; and what of the suite
# switches, blocks, suspends and is suspended passes.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
library=$1 umsrun=$2 umsinfo=$3 umstest=$4 own_call=$5
. "$(dirname "$0")/common.sh"

case $UMS_ENGINE in
carry)   switches='[1-9][0-9]* carried, [0-9]* sent home' ;;
handoff) switches='0 carried, [1-9][0-9]* sent home' ;;
esac

# informed TRAPS SETTINGS...
informed()
{
    traps=$1
    shift
    trapped "$traps" "$@" "$run" "$umsrun" "$umsinfo"
    [ $got = 0 ] || wrong "$traps $*: status $got"
    said "$traps $*" '^park  *futex: ' "^engine  *$UMS_ENGINE: " '^self-test  *passed' "^switches  *$switches\$"
}

informed filter,fiber
informed dispatch,fiber UMS_GS=arch_prctl

# GS by a call, which pushes
trapped dispatch,fiber UMS_GS=arch_prctl "$run" "$umstest" --impl=shim scenario_exception_page_ends
[ $got = 0 ] || wrong "page ends: status $got"
said "page ends" ': 1 passed, 0 failed, 0 skipped;'

trapped filter,dispatch,fiber "$run" "$umstest" --impl=shim yield_params yield_registers upcall_blocked upcall_waits \
    suspend_running suspend_blocked scenario_preempt_registers scenario_preempt_moves scenario_context_get_waiting \
    scenario_context_set_computing scenario_exception_stack_growth scenario_identity_migrate scenario_identity_mutex \
    scenario_block_wait scenario_block_sleep scenario_io_apc scenario_foreign_suspend_running \
    scenario_foreign_suspend_at_home scenario_foreign_context_yielded scenario_scheduler_terminate_at_home \
    factory_release_each
[ $got = 0 ] || wrong "suite: status $got"
said suite "^# switches: $switches\$" ': 21 passed, 0 failed, 0 skipped;'

trapped dispatch,nt "$run" "$own_call"
[ $got = 0 ] || wrong "calls of its own: status $got"
exit $failed
