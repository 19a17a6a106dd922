# The models of who owns a worker (ums.pml), of its waits without a thread (waits.pml), of waits by key (keyed.pml), of local
# events and semaphores that become real (objects.pml), of waits for them whose thread is suspended (suspended.pml), of
# handles whose values are used again (handles.pml) and of mutants that become real while somebody owns them (mutants.pml),
# tried out by spin in small worlds: what has to hold does, and seeded mistakes are found. Not without spin.

find_program(UMS_SPIN spin NO_CMAKE_FIND_ROOT_PATH)
if(NOT UMS_SPIN)
    message(WARNING "no spin: nothing tests the models")
    return()
endif()

function(ums_add_test_of_model model name want)
    add_test(NAME model.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh "${want}" ${CMAKE_CURRENT_LIST_DIR}/${model}
        ${CMAKE_CURRENT_BINARY_DIR}/model/${name} ${ARGN})
    set_tests_properties(model.${name} PROPERTIES LABELS model)
    ums_limit(300 model.${name})
endfunction()

# Worlds in which it holds say how they have changed the state words; together they are the table of model.tie. Not those
# that only --long tries.
function(ums_add_model_test name want)
    if(want STREQUAL holds AND NOT name IN_LIST long_worlds)
        ums_add_test_of_model(ums.pml ${name} ${want} ${ARGN} -DTRANSITIONS)
        set_tests_properties(model.${name} PROPERTIES FIXTURES_SETUP words)
        set_property(DIRECTORY APPEND PROPERTY worlds ${name})
    else()
        ums_add_test_of_model(ums.pml ${name} "${want}" ${ARGN})
    endif()
    if(name IN_LIST long_worlds)
        set_tests_properties(model.${name} PROPERTIES LABELS "model;long")
    endif()
endfunction()

# Ten to twenty seconds each. suspend_at_home is the world of owner_before_busy without the mistake; handoff and suspend
# have its parts. Instead of suspensions_overlap every check has suspend_by_two, the same with carry, and
# suspend_itself_and_another, two suspenders with handoff; of the others those with carry
set(long_worlds suspensions_overlap suspend_at_home kill_beside_suspension_at_home ended_beside_suspension_at_home
    outside_beside_suspension_at_home)

set(one -DWORKERS=1)
set(short -DOTHER_ACTIONS=0)    # the second worker only ends
set(suspend ${one} -DSUSPENDERS=1)
set(suspend_few ${suspend} -DSCHEDULERS=1)
set(by_two ${one} -DSCHEDULERS=1 -DSUSPENDERS=2)
set(by_worker -DSUSPENDERS=1 -DSCHEDULERS=1 -DACTIONS=0 -DOTHER_ACTIONS=0)
set(faults ${suspend_few} -DFAULTS -DHANDOFF -DACTIONS=2)
set(hold ${one} -DHOLDERS=1 -DSCHEDULERS=1)
set(outside ${one} -DSCHEDULERS=1 -DOUTSIDE)
set(ended ${one} -DSCHEDULERS=1 -DENDED)
set(itself_and_another ${by_two} -DSUSPENDS_SELF -DHANDOFF)

ums_add_model_test(carry holds ${short})
ums_add_model_test(handoff holds ${one} -DHANDOFF -DACTIONS=4)
ums_add_model_test(lists holds ${one} -DLISTS=2 -DSTART=1 -DACTIONS=2)
ums_add_model_test(event holds -DSCHEDULERS=1 -DEVENT)
ums_add_model_test(callbacks holds ${one} -DCALLBACKS -DACTIONS=3)
ums_add_model_test(polls holds -O1 -DPOLLS=1 ${short})
ums_add_model_test(suspend holds -O1 ${suspend})
ums_add_model_test(suspend_at_home holds -O1 ${suspend} -DHANDOFF)
ums_add_model_test(suspend_late_tokens holds ${suspend_few} -DLATE_TOKENS=1)
ums_add_model_test(suspend_again holds ${suspend_few} -DACTIONS=2 -DSUSPENSIONS=2)
ums_add_model_test(suspend_one_of_two holds -DSUSPENDERS=1 -DSCHEDULERS=1 ${short})
ums_add_model_test(suspend_by_two holds -O1 ${by_two})
ums_add_model_test(suspensions_overlap holds -O1 ${by_two} -DHANDOFF)
ums_add_model_test(suspend_itself holds ${suspend_few} -DSUSPENDS_SELF -DACTIONS=2)
ums_add_model_test(suspend_itself_and_another holds ${itself_and_another})
ums_add_model_test(suspend_by_worker holds ${by_worker} -DWORKER_SUSPENDS)
ums_add_model_test(resume_by_worker holds ${by_worker} -DWORKER_RESUMES)
ums_add_model_test(resume_twice holds ${suspend_few} -DRESUMES_TWICE)
ums_add_model_test(hold holds ${hold})
ums_add_model_test(hold_at_home holds ${hold} -DHANDOFF)
ums_add_model_test(hold_beside_suspension holds -O1 ${hold} -DSUSPENDERS=1)
ums_add_model_test(kill holds ${hold} -DKILL)
ums_add_model_test(kill_at_home holds ${hold} -DKILL -DHANDOFF)
ums_add_model_test(faults holds -O1 ${faults})
ums_add_model_test(outside holds ${outside} -DACTIONS=2 -DSUSPENSIONS=2)
ums_add_model_test(outside_at_home holds ${outside} -DHANDOFF -DACTIONS=2 -DSUSPENSIONS=2)
ums_add_model_test(outside_beside_other holds -DSCHEDULERS=1 -DOUTSIDE ${short})
ums_add_model_test(outside_beside_suspension holds ${outside} -DSUSPENDERS=1)
ums_add_model_test(outside_beside_suspension_at_home holds ${outside} -DSUSPENDERS=1 -DHANDOFF)
ums_add_model_test(outside_beside_hold holds ${outside} -DHOLDERS=1)
ums_add_model_test(kill_beside_suspension holds -O1 ${hold} -DKILL -DSUSPENDERS=1)
ums_add_model_test(kill_beside_suspension_at_home holds -O1 ${hold} -DKILL -DSUSPENDERS=1 -DHANDOFF)
ums_add_model_test(ended holds ${ended} -DACTIONS=2)
ums_add_model_test(ended_at_home holds ${ended} -DACTIONS=2 -DHANDOFF)
ums_add_model_test(ended_beside_suspension holds -O1 ${ended} -DSTART=1 -DSUSPENDERS=1)
ums_add_model_test(ended_beside_suspension_at_home holds -O1 ${ended} -DSTART=1 -DSUSPENDERS=1 -DHANDOFF)
ums_add_model_test(ends ends ${one} -DACTIONS=2)
ums_add_model_test(ends_suspended ends ${suspend_few})

# error: what spin must find, see run.sh. Any other error does not show the mistake.
function(ums_add_mistake name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_model_test(mistake.${name} "finds ${error}" ${ARGN} -D${macro})
endfunction()

ums_add_mistake(post_before_leave ":0:" -DHANDOFF ${short})
ums_add_mistake(token_before_state stuck ${short})
ums_add_mistake(expect_after_sending stuck ${short})
ums_add_mistake(no_second_look stuck ${one} -DHANDOFF)
ums_add_mistake(watching_before_state stuck ${one} -DHANDOFF)
ums_add_mistake(no_sequence awaits ${one} -DHANDOFF -DACTIONS=4)
ums_add_mistake(seq_before_head stuck ${short})
ums_add_mistake(waiter_does_not_look stuck ${short})
ums_add_mistake(asked_after_head stuck -DSCHEDULERS=1 -DEVENT ${short})
ums_add_mistake(queued_is_ready linked -DPOLLS=1 ${short})
ums_add_mistake(yield_not_busy stuck ${suspend_few} -DHANDOFF)
ums_add_mistake(watch_not_busy stuck ${suspend_few} -DHANDOFF)
ums_add_mistake(queue_not_busy stuck ${suspend_few} -DHANDOFF)
ums_add_mistake(owner_before_busy awaits ${suspend} -DHANDOFF)
ums_add_mistake(preempted_goes_home running ${suspend_few} -DLATE_TOKENS=1)
ums_add_mistake(preempted_is_not_queued stuck ${suspend_few})
ums_add_mistake(stopped_by_token stuck ${suspend_few})
ums_add_mistake(resume_looks_late stuck ${suspend_few} -DSUSPENSIONS=2)
ums_add_mistake(suspender_looks_late stuck ${by_two})
ums_add_mistake(resume_does_not_wait stuck ${by_two} -DHANDOFF)
ums_add_mistake(resumes_uncounted stuck ${suspend_few} -DRESUMES_TWICE)
ums_add_mistake(resume_not_busy stuck ${by_worker} -DWORKER_RESUMES)
ums_add_mistake(resumed_before_suspended stuck ${suspend_few} -DSUSPENDS_SELF -DACTIONS=2)
ums_add_mistake(link_after_ready stuck -DPOLLS=1 ${short})
ums_add_mistake(resume_half_busy stuck ${by_worker} -DWORKER_RESUMES)
ums_add_mistake(executed_before_suspended stuck ${itself_and_another})
ums_add_mistake(tried_before_suspended stuck ${itself_and_another})
ums_add_mistake(executes_held halted ${hold})
ums_add_mistake(hold_resumes_stopped stuck ${hold} -DHANDOFF)
ums_add_mistake(held_while_suspending stuck -O1 ${hold} -DSUSPENDERS=1)
ums_add_mistake(kill_pending_late stuck ${hold} -DKILL)
ums_add_mistake(kill_pushes_queued linked ${hold} -DKILL)
ums_add_mistake(kill_does_not_post stuck ${hold} -DKILL)
ums_add_mistake(fault_takes_suspended stuck ${faults})
ums_add_mistake(fault_is_not_queued stuck ${faults})
ums_add_mistake(handler_runs_carried "word[_pid] & 15 == 7" ${outside} -DHANDOFF)
ums_add_mistake(released_is_not_queued stuck ${outside})
ums_add_mistake(held_late stuck ${outside})
ums_add_mistake(stopped_in_handler stuck ${outside} -DSUSPENDERS=1)

# ---- waits.pml ----

set(times -DTIMES -DROUNDS=1)

# As for ums.pml: they say how they have changed the state word. The other three change it in no further way.
function(ums_add_tied_waits name)
    ums_add_test_of_model(waits.pml waits_${name} holds ${ARGN} -DTRANSITIONS)
    set_tests_properties(model.waits_${name} PROPERTIES FIXTURES_SETUP words)
    set_property(DIRECTORY APPEND PROPERTY worlds waits_${name})
endfunction()

ums_add_tied_waits(alerts -DALERTERS=2)
ums_add_tied_waits(suspended -DALERTERS=1 -DHOLDERS=1)
ums_add_test_of_model(waits.pml waits_suspended_two_alerters holds -O1 -DALERTERS=2 -DHOLDERS=1)
ums_add_tied_waits(killed -DKILL -DHOLDERS=1)
ums_add_tied_waits(times ${times})
ums_add_test_of_model(waits.pml waits_times_killed holds -O1 ${times} -DKILL)
ums_add_test_of_model(waits.pml waits_times_suspended holds -O1 ${times} -DHOLDERS=1)
# Half a minute, and twenty seconds; waits_times, waits_suspended and waits_alerts try each of their parts in every check.
set_tests_properties(model.waits_times_suspended model.waits_suspended_two_alerters PROPERTIES LABELS "model;long")

get_property(worlds DIRECTORY PROPERTY worlds)
add_test(NAME model.tie COMMAND ${CMAKE_CURRENT_LIST_DIR}/../tie/transitions.py --check ${CMAKE_CURRENT_BINARY_DIR}/model ${worlds})
set_tests_properties(model.tie PROPERTIES LABELS model FIXTURES_REQUIRED words)

function(ums_add_mistake_in_waits name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(waits.pml mistake.waits_${name} "finds ${error}" ${ARGN} -D${macro})
endfunction()

ums_add_mistake_in_waits(no_second_look stuck)
ums_add_mistake_in_waits(looks_first stuck)
ums_add_mistake_in_waits(does_not_look_again "now >= until" -DALERTERS=2)
ums_add_mistake_in_waits(ender_is_killed stuck)
ums_add_mistake_in_waits(ends_any_wait "now >= until" ${times})
ums_add_mistake_in_waits(alert_ends_sleep "now >= until" ${times})
ums_add_mistake_in_waits(expects_before_state stuck ${times})
ums_add_mistake_in_waits(reads_pokes_late stuck ${times})
ums_add_mistake_in_waits(next_look_stays stuck ${times})
ums_add_mistake_in_waits(queues_suspended barred -DHOLDERS=1)
ums_add_mistake_in_waits(resume_ends_wait "now >= until" -DHOLDERS=1)
ums_add_mistake_in_waits(resume_queues_not stuck -DHOLDERS=1)
ums_add_mistake_in_waits(kill_pushes_queued linked -DKILL)

# ---- objects.pml ----

function(ums_add_objects_test name want)
    ums_add_test_of_model(objects.pml objects_${name} "${want}" ${ARGN})
endfunction()

function(ums_add_long_objects_test name)
    ums_add_objects_test(${name} holds ${ARGN})
    set_tests_properties(model.objects_${name} PROPERTIES LABELS "model;long")
endfunction()

set(both -DOBJECTS=2)
set(all ${both} -DALL)
set(mixed ${both} -DKIND0=MANUAL -DKIND1=SEMAPHORE)
set(semaphore -DKIND0=SEMAPHORE)
set(manual -DKIND0=MANUAL)
set(counts ${semaphore} -DLIMIT=2 -DCOUNT=2)
set(reset_only -DBEGUN=0 -DWAITERS=0 -DSIGNALLED)
set(two_sets -DBEGUN=2 -DSETTERS=2)
set(signals_twice -DBEGUN=2 -DSIGNALLERS=1 -DSETS=2)
set(overdue ${all} ${two_sets} -DMOVED -DOWN -DSETS=3 -DTIMES)
set(joined ${both} -DWAITERS=2 -DJOINED -DLAST=2 -DSECOND)      # the wait for the second object begins with a signal of the first

ums_add_test_of_model(objects.pml objects holds ${two_sets} -DEACH_ENDS)
ums_add_objects_test(late holds -DWAITERS=2 -DSETTERS=2 -DSETS=2)
ums_add_objects_test(any holds ${both} ${two_sets} -DSECOND -DEACH_ENDS)
ums_add_objects_test(any_mixed holds ${mixed} ${two_sets} -DRESETS)
ums_add_objects_test(all holds ${all} -DSETS=2 -DEACH_ENDS)
ums_add_objects_test(all_late holds ${all} -DWAITERS=2 -DSETS=3 -DTIMES -DKILL)
ums_add_objects_test(all_mixed holds ${mixed} -DALL -DSETS=2 -DRESETS)
ums_add_objects_test(killed holds ${two_sets} -DTIMES -DKILL)
ums_add_objects_test(set_and_reset holds -DRESETS -DEACH_ENDS)
ums_add_objects_test(reset holds ${reset_only})
ums_add_objects_test(semaphore holds ${semaphore} ${two_sets} -DEACH_ENDS)
ums_add_objects_test(semaphore_counts holds ${counts} -DBEGUN=2 -DWAITERS=3 -DSETS=2)
ums_add_objects_test(manual holds ${manual} -DBEGUN=2 -DRESETS -DEACH_ENDS)
ums_add_objects_test(signal holds ${signals_twice} -DEACH_ENDS)
ums_add_objects_test(signal_semaphore holds ${signals_twice} ${semaphore} -DEACH_ENDS)
ums_add_objects_test(signal_and_wait holds ${joined} -DKIND0=MANUAL -DKIND1=SEMAPHORE -DTIMES)
ums_add_objects_test(closed holds ${both} -DSETTERS=2 -DCLOSES -DTIMES)
ums_add_objects_test(closed_killed holds -DBEGUN=2 -DCLOSES -DKILL)
ums_add_objects_test(suspended holds ${manual} ${two_sets} -DRESETS -DSUSPENDS)
ums_add_objects_test(suspended_all holds ${all} -DBEGUN=2 -DSETS=3 -DSUSPENDS)
ums_add_objects_test(overdue holds ${overdue})

# larger worlds, and more of them
ums_add_long_objects_test(any_and_one ${both} -DKIND1=SEMAPHORE -DLAST=1 ${two_sets} -DTIMES)
ums_add_long_objects_test(any_mixed_killed -O1 ${mixed} ${two_sets} -DRESETS -DTIMES -DKILL)
ums_add_long_objects_test(all_and_one ${all} -DLAST=1 ${two_sets} -DSETS=2)
ums_add_long_objects_test(all_counts ${all} ${counts} -DKIND1=SEMAPHORE -DBEGUN=2 -DSETS=3)
ums_add_long_objects_test(all_late_twice -O1 ${all} -DWAITERS=2 -DSETTERS=2 -DSETS=2 -DTIMES -DKILL)
ums_add_long_objects_test(semaphore_killed ${semaphore} ${two_sets} -DTIMES -DKILL)
ums_add_long_objects_test(manual_times ${manual} ${two_sets} -DRESETS -DTIMES)
ums_add_long_objects_test(signal_manual -DBEGUN=2 -DSIGNALLERS=1 ${manual} -DRESETS -DEACH_ENDS)
ums_add_long_objects_test(signal_any ${both} ${two_sets} -DLAST=1 -DOWN -DSETS=2 -DSIGNALLERS=1)
ums_add_long_objects_test(signal_and_wait_events ${joined})
ums_add_long_objects_test(closed_one -DSETTERS=2 -DBEGUN=2 -DCLOSES)
ums_add_long_objects_test(closed_all ${all} -DSETTERS=2 -DCLOSES -DTIMES)
ums_add_long_objects_test(suspended_semaphore ${semaphore} ${two_sets} -DSUSPENDS)

# what remains, as docs/local_objects.md says
ums_add_objects_test(remains.signal_and_set "finds a_signal_is_lost" ${two_sets} -DSIGNALLERS=1)
ums_add_objects_test(remains.signal_and_all "finds a_signal_is_lost" ${all} -DSETTERS=2 -DSETS=2 -DSIGNALLERS=1)

function(ums_add_objects_mistake name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(objects.pml mistake.objects_${name} "finds ${error}" ${ARGN} -D${macro})
endfunction()

ums_add_objects_mistake(real_before_stragglers "!signal[0] && !at_host[0]" ${reset_only})
ums_add_objects_mistake(no_claim a_signal_is_lost ${two_sets})
ums_add_objects_mistake(not_counted a_signal_is_lost ${two_sets})
ums_add_objects_mistake(counted_at_the_first a_signal_is_lost ${both} ${two_sets} -DSECOND)
ums_add_objects_mistake(time_out_stays gone -DTIMES)
ums_add_objects_mistake(killed_stays gone -DBEGUN=2 -DKILL)
ums_add_objects_mistake(all_takes_one "taken == ends" ${all} -DSETS=2)
ums_add_objects_mistake(does_not_follow "dead[w] || done[w]" ${both} -DSECOND)
# what the code did until d0919de: four that lose a signal, and a wait that is made with a closed handle
ums_add_objects_mistake(release_claims_nothing a_signal_is_lost ${semaphore} ${two_sets})
ums_add_objects_mistake(signal_claims_nothing a_signal_is_lost ${signals_twice})
ums_add_objects_mistake(set_leaves_all a_signal_is_lost ${all} -DSETS=3)
ums_add_objects_mistake(release_leaves_all a_signal_is_lost ${mixed} -DALL -DSETS=2 -DRESETS)
ums_add_objects_mistake(follower_keeps_nothing shut ${both} -DCLOSES)
# what it did until 25 November 2026
ums_add_objects_mistake(overdue_is_counted a_signal_is_lost ${overdue})
ums_add_objects_mistake(newcomer_is_overdue a_signal_is_lost ${overdue})
# others
ums_add_objects_mistake(closes_keeps_nothing shut ${both} -DCLOSES)
ums_add_objects_mistake(holds_nothing freed -DSETTERS=2 -DCLOSES)
ums_add_objects_mistake(set_ends_one a_signal_is_lost ${manual} -DBEGUN=2 -DRESETS)
ums_add_objects_mistake(set_at_once a_signal_is_lost ${two_sets})
ums_add_objects_mistake(reset_at_once a_signal_is_lost ${manual} -DRESETS)
ums_add_objects_mistake(count_of_one "made ==" ${counts} -DBEGUN=0 -DWAITERS=0)

# ---- handles.pml ----

ums_add_test_of_model(handles.pml handles holds)
ums_add_test_of_model(handles.pml handles_same_slot holds -DSAME_SLOT)
set_tests_properties(model.handles_same_slot PROPERTIES LABELS "model;long")

function(ums_add_mistake_in_handles name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(handles.pml mistake.handles_${name} "finds ${error}" -D${macro})
endfunction()

ums_add_mistake_in_handles(no_second_look "entry != seen")
ums_add_mistake_in_handles(locks_what_it_saw "entry % 4 == o")
ums_add_mistake_in_handles(takes_what_comes "names == is[o]")
ums_add_mistake_in_handles(closes_without_lock "names == is[o]")
ums_add_mistake_in_handles(table_last "entry % 4 == slot")
ums_add_mistake_in_handles(closed_clears "entry % 4 == slot")

# ---- suspended.pml ----

set(suspended -DTIMES -DRIVAL -DSUSPENDERS=2)
ums_add_test_of_model(suspended.pml suspended_worker holds ${suspended})
ums_add_test_of_model(suspended.pml suspended_thread holds ${suspended} -DPLAIN)

function(ums_add_mistake_in_suspended name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(suspended.pml mistake.suspended_${name} "finds ${error}" ${ARGN} -D${macro})
endfunction()

ums_add_mistake_in_suspended(timer_does_not_look "!signal || suspended" -DTIMES)       # what the code did until 28 November 2026
ums_add_mistake_in_suspended(looks_first "wait[1] != 2")
ums_add_mistake_in_suspended(resumed_does_not_look "wait[1] != 2")
ums_add_mistake_in_suspended(resumed_does_not_poke "wait[0] == 1" -DTIMES -DSETS=0)
ums_add_mistake_in_suspended(thread_still_stands "!signal || suspended" -DPLAIN -DTIMES)

# ---- mutants.pml ----

set(two_rounds -DROUNDS=2 -DEXPOSERS=2)

ums_add_test_of_model(mutants.pml mutants holds -DTAKERS=3)
ums_add_test_of_model(mutants.pml mutants_abandoned holds ${two_rounds} -DDIES=2)

function(ums_add_mistake_in_mutants name error)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(mutants.pml mistake.mutants_${name} "finds ${error}" ${two_rounds} -DDIES=1 -D${macro})
endfunction()

ums_add_mistake_in_mutants(no_transfer ":!host:")
ums_add_mistake_in_mutants(transfer_ends_early ":!host:")
ums_add_mistake_in_mutants(released_later "died == 0")
ums_add_mistake_in_mutants(keeper_stays "died == 0")
ums_add_mistake_in_mutants(no_keeper "died == 0")
ums_add_mistake_in_mutants(stale "<= died")

# ---- keyed.pml ----

ums_add_test_of_model(keyed.pml keyed holds)
ums_add_test_of_model(keyed.pml keyed_times holds -DTIMES -DWORKERS=1 -DROUNDS=2)
ums_add_test_of_model(keyed.pml keyed_stale holds -DSTALE -DTIMES)

function(ums_add_mistake_in_keyed name)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_test_of_model(keyed.pml mistake.keyed_${name} "finds stuck" ${ARGN} -D${macro})
endfunction()

ums_add_mistake_in_keyed(key_after_look)
ums_add_mistake_in_keyed(no_second_look)
ums_add_mistake_in_keyed(taken_and_at_host)
ums_add_mistake_in_keyed(released_before)
ums_add_mistake_in_keyed(counted_after_scan)
ums_add_mistake_in_keyed(uncounted_at_host)
