# The model of who owns a worker (ums.pml), tried out by spin in small worlds: what has to hold does, and seeded mistakes are
# found. Not without spin.

find_program(UMS_SPIN spin NO_CMAKE_FIND_ROOT_PATH)
if(NOT UMS_SPIN)
    return()
endif()

function(ums_add_model_test name want)
    add_test(NAME model.${name} COMMAND ${CMAKE_CURRENT_LIST_DIR}/run.sh ${want} ${CMAKE_CURRENT_LIST_DIR}/ums.pml
        ${CMAKE_CURRENT_BINARY_DIR}/model/${name} ${ARGN})
    set_tests_properties(model.${name} PROPERTIES LABELS model TIMEOUT 300)
endfunction()

set(one -DWORKERS=1)
set(short -DOTHER_ACTIONS=0)    # the second worker only ends
set(suspend ${one} -DSUSPENDERS=1)
set(suspend_few ${suspend} -DSCHEDULERS=1)
set(resume_by_worker -DSUSPENDERS=1 -DSCHEDULERS=1 -DWORKER_RESUMES -DACTIONS=0 -DOTHER_ACTIONS=0)

ums_add_model_test(carry holds -O1)
ums_add_model_test(handoff holds -O1 -DHANDOFF ${short})
ums_add_model_test(lists holds -O1 -DLISTS=2 -DSTART=1 ${short})
ums_add_model_test(event holds -DSCHEDULERS=1 -DEVENT)
ums_add_model_test(callbacks holds ${one} -DCALLBACKS -DACTIONS=3)
ums_add_model_test(polls holds -O1 -DPOLLS=1 ${short})
ums_add_model_test(suspend holds -O1 ${suspend} -DLATE_TOKENS=1)
ums_add_model_test(suspend_again holds ${suspend_few} -DACTIONS=2 -DSUSPENSIONS=2)
ums_add_model_test(suspend_one_of_two holds -O1 -DSUSPENDERS=1 -DSCHEDULERS=1 ${short})
ums_add_model_test(suspend_by_two holds -O1 ${one} -DSCHEDULERS=1 -DSUSPENDERS=2)
ums_add_model_test(suspend_itself holds ${suspend_few} -DSUSPENDS_SELF -DACTIONS=2)
ums_add_model_test(resume_by_worker holds ${resume_by_worker})
ums_add_model_test(ends ends ${one} -DACTIONS=2)
ums_add_model_test(ends_suspended ends ${suspend_few})

function(ums_add_mistake name)
    string(TOUPPER MISTAKE_${name} macro)
    ums_add_model_test(mistake.${name} fails ${ARGN} -D${macro})
endfunction()

ums_add_mistake(post_before_leave -DHANDOFF ${short})
ums_add_mistake(token_before_state ${short})
ums_add_mistake(expect_after_sending ${short})
ums_add_mistake(no_second_look ${one} -DHANDOFF)
ums_add_mistake(watching_before_state ${one} -DHANDOFF)
ums_add_mistake(no_sequence ${one} -DHANDOFF -DACTIONS=4)
ums_add_mistake(seq_before_head ${short})
ums_add_mistake(waiter_does_not_look ${short})
ums_add_mistake(asked_after_head -DSCHEDULERS=1 -DEVENT ${short})
ums_add_mistake(queued_is_ready -DPOLLS=1 ${short})
ums_add_mistake(yield_not_busy ${suspend_few} -DHANDOFF)
ums_add_mistake(watch_not_busy ${suspend_few} -DHANDOFF)
ums_add_mistake(queue_not_busy ${suspend_few} -DHANDOFF)
ums_add_mistake(owner_before_busy ${suspend} -DHANDOFF)
ums_add_mistake(preempted_goes_home ${suspend_few} -DLATE_TOKENS=1)
ums_add_mistake(preempted_is_not_queued ${suspend_few})
ums_add_mistake(stopped_by_token ${suspend_few})

# What the code does today, and spin refutes: the model without these macros is what it should do. One that is mended in the
# code becomes a mistake.
function(ums_add_open name)
    ums_add_model_test(open.${name} fails ${ARGN})
endfunction()

ums_add_open(resume_looks_late ${suspend_few} -DSUSPENSIONS=2 -DOPEN_SUSPENDED_IN_STEPS)
ums_add_open(suspended_by_two ${one} -DSCHEDULERS=1 -DSUSPENDERS=2 -DOPEN_SUSPENDED_IN_STEPS)
ums_add_open(suspensions_overlap ${one} -DSCHEDULERS=1 -DSUSPENDERS=2 -DACTIONS=2)
ums_add_open(resume_not_busy ${resume_by_worker} -DOPEN_RESUME_NOT_BUSY)
ums_add_open(resumed_before_suspended ${suspend_few} -DSUSPENDS_SELF -DACTIONS=2 -DOPEN_RESUMED_BEFORE_SUSPENDED)
ums_add_open(link_after_ready -DPOLLS=1 ${short} -DOPEN_LINK_AFTER_READY)
