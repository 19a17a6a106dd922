# White-box tests of the host-free core, built natively with the host's compiler over the make-believe ke: once with ASan
# and UBSan, once with TSan. (mingw's gcc links none of them.) Each runs with either engine.

find_program(UMS_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH)
set(core ${CMAKE_SOURCE_DIR}/dlls/ntdll_ums)
set(core_sources ${core}/core/pool.c ${core}/core/completion.c ${core}/core/context.c ${core}/core/holders.c ${core}/core/scheduler.c
    ${core}/core/thread_ids.c ${core}/core/timer.c ${core}/core/keyed.c ${core}/core/mutants.c ${core}/core/objects.c ${core}/core/objects_wait.c ${core}/core/wait.c ${core}/core/worker.c ${core}/core/worker_stop.c ${core}/core/carry.c ${core}/record/record.c ${core}/record/record_json.c
    ${core}/record/record_merge.c ${core}/core/census.c ${core}/syscalls/handles/handle_kinds.c)
set(factory_sources ${core}/factory/factory.c ${core}/factory/factory_guess.c ${core}/factory/factory_queue.c ${core}/factory/factory_place.c)
set(fake ${CMAKE_CURRENT_SOURCE_DIR}/ke_fake.c ${CMAKE_CURRENT_SOURCE_DIR}/ke_fake_switch.c)

set(native_flags -std=gnu11 -g -O1 ${UMS_WARNINGS} -mcx16 -I${CMAKE_SOURCE_DIR}/include -I${core})
set(sanitize_asan -fsanitize=address,undefined -fno-sanitize-recover=all)
set(sanitize_tsan -fsanitize=thread)
# seconds, for what hangs: at load 40 some take nearly five minutes
set(limit 1500)

# ums_native_object( KIND SOURCE ): its object into native_objects. Each source is compiled once for each sanitizer, and the
# compiler says which headers it depends on.
macro(ums_native_object kind source)
    file(RELATIVE_PATH native_name ${CMAKE_SOURCE_DIR} ${source})
    string(REPLACE "/" "." native_name ${native_name})
    set(native_object ${CMAKE_CURRENT_BINARY_DIR}/native/${native_name}.${kind}.o)
    add_custom_command(OUTPUT ${native_object}
        COMMAND ${UMS_HOST_CC} ${native_flags} ${sanitize_${kind}} -MMD -MF ${native_object}.d -c ${source} -o ${native_object}
        DEPENDS ${source} DEPFILE ${native_object}.d
        VERBATIM)
    list(APPEND native_objects ${native_object})
endmacro()

# all of the core and the make-believe ke: native.asan.a, native.tsan.a
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/native)
foreach(kind asan tsan)
    set(native_objects "")
    foreach(source IN LISTS core_sources factory_sources fake)
        ums_native_object(${kind} ${source})
    endforeach()
    set(native_archived ${native_objects})
    set(native_${kind} ${CMAKE_CURRENT_BINARY_DIR}/native.${kind}.a)
    set(native_objects "")                      # in no archive: there it is linked only where something in it is asked for
    ums_native_object(${kind} ${CMAKE_CURRENT_SOURCE_DIR}/failures.c)
    set(native_failures_${kind} ${native_objects})
    add_custom_command(OUTPUT ${native_${kind}}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${native_${kind}}
        COMMAND ar rcs ${native_${kind}} ${native_archived}
        DEPENDS ${native_archived}
        VERBATIM)
endforeach()
add_custom_target(native_core DEPENDS ${native_asan} ${native_tsan} ${native_failures_asan} ${native_failures_tsan})

# ums_add_white_box( NAME [COMPILED] [ARGUMENTS...] ). COMPILED: it has no tests of its own.
function(ums_add_white_box name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "COMPILED" "" "")
    set(sources ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
    if(NOT EXISTS ${sources})                           # all of a directory
        file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.c)
    endif()
    foreach(kind asan tsan)
        set(exe ${CMAKE_CURRENT_BINARY_DIR}/${name}.${kind})
        set(native_objects "")
        foreach(source IN LISTS sources)
            ums_native_object(${kind} ${source})
        endforeach()
        add_custom_command(OUTPUT ${exe}
            COMMAND ${UMS_HOST_CC} ${sanitize_${kind}} ${native_objects} ${native_failures_${kind}} ${native_${kind}} -lcmocka -lpthread -o ${exe}
            DEPENDS ${native_objects} ${native_failures_${kind}} ${native_${kind}}
            VERBATIM)
        list(APPEND exes ${exe})
        if(arg_COMPILED)
            continue()
        endif()
        foreach(engine handoff carry)
            set(test white_box.${name}.${engine}.${kind})
            add_test(NAME ${test} COMMAND ${exe} ${arg_UNPARSED_ARGUMENTS})
            set_tests_properties(${test} PROPERTIES LABELS white_box TIMEOUT ${limit} ENVIRONMENT UMS_ENGINE=${engine})
        endforeach()
    endforeach()
    add_custom_target(white_box_${name} ALL DEPENDS ${exes})
    add_dependencies(white_box_${name} native_core)     # one owner of the rules for the shared objects
endfunction()

ums_add_white_box(carrier)
ums_add_white_box(carry)
ums_add_white_box(completion)
ums_add_white_box(context)
ums_add_white_box(factory)
ums_add_white_box(handle_kinds)
ums_add_white_box(holders)
ums_add_white_box(objects)
ums_add_white_box(patience)
ums_add_white_box(pause)
ums_add_white_box(killed)
# each steps through the code for twenty seconds; the same with TSan takes eight, and every check also has larger steps with ASan
set_tests_properties(white_box.killed.handoff.asan white_box.killed.carry.asan PROPERTIES LABELS "white_box;long")
ums_add_white_box(record)
ums_add_white_box(scheduler)
ums_add_white_box(stress)
ums_add_white_box(thread_ids)
ums_add_white_box(wait)
ums_add_white_box(worker)
# ums_add_tied( NAME... ): the same once more with ASan, and each change of a state word is one that the model makes, too
# (tie/word_log.h). A build of its own: what steps through the code or has to hit a moment is not disturbed by the log.
set(tie ${CMAKE_CURRENT_SOURCE_DIR}/tie)
set(tied_logs ${CMAKE_CURRENT_BINARY_DIR}/tie)
file(MAKE_DIRECTORY ${tied_logs})
function(ums_add_tied)
    set(sanitize_tied ${sanitize_asan} -include ${tie}/word_log.h)
    set(sanitize_untied ${sanitize_asan} -DSTRIDE=127)    # killed.c: with the log each step is many instructions
    set(native_objects "")
    foreach(source IN LISTS core_sources factory_sources)
        ums_native_object(tied ${source})
    endforeach()
    set(archived ${native_objects})
    set(native_objects "")
    foreach(source IN LISTS fake)
        ums_native_object(untied ${source})
    endforeach()
    list(APPEND archived ${native_objects})
    set(native_objects "")
    ums_native_object(untied ${tie}/word_log.c)
    set(judge ${native_objects})
    set(archive ${CMAKE_CURRENT_BINARY_DIR}/native.tied.a)
    add_custom_command(OUTPUT ${archive}
        COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
        COMMAND ar rcs ${archive} ${archived}
        DEPENDS ${archived} native_core
        VERBATIM)
    foreach(name IN LISTS ARGN)
        set(sources ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
        if(NOT EXISTS ${sources})
            file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.c)
        endif()
        set(native_objects "")
        foreach(source IN LISTS sources)
            ums_native_object(untied ${source})
        endforeach()
        set(exe ${CMAKE_CURRENT_BINARY_DIR}/${name}.tied)
        add_custom_command(OUTPUT ${exe}
            COMMAND ${UMS_HOST_CC} ${sanitize_asan} ${native_objects} ${judge} ${native_failures_asan} ${archive} -lcmocka -lpthread -o ${exe}
            DEPENDS ${native_objects} ${judge} ${native_failures_asan} ${archive}
            VERBATIM)
        list(APPEND exes ${exe})
        foreach(engine handoff carry)
            set(test white_box.${name}.${engine}.tied)
            list(APPEND logs ${name}.${engine}.log)
            add_test(NAME ${test} COMMAND ${exe})
            set_tests_properties(${test} PROPERTIES LABELS white_box TIMEOUT ${limit} FIXTURES_SETUP tied
                ENVIRONMENT "UMS_ENGINE=${engine};UMS_WORD_LOG=${tied_logs}/${name}.${engine}.log")
        endforeach()
    endforeach()
    add_custom_target(white_box_tied ALL DEPENDS ${exes})
    add_dependencies(white_box_tied native_core)
    add_test(NAME model.tie.seen COMMAND ${tie}/transitions.py seen ${tied_logs} ${logs})
    set_tests_properties(model.tie.seen PROPERTIES LABELS model FIXTURES_REQUIRED tied)
endfunction()
ums_add_tied(carry completion killed objects scheduler stress wait worker)
# a crash and a failed assertion on another thread say where
ums_add_white_box(loud COMPILED)
foreach(kind asan tsan)
    set(exe ${CMAKE_CURRENT_BINARY_DIR}/loud.${kind})
    add_test(NAME white_box.loud.crash.${kind} COMMAND ${exe} crash)
    add_test(NAME white_box.loud.assertion.${kind} COMMAND ${exe} assertion)
    set_tests_properties(white_box.loud.crash.${kind} PROPERTIES LABELS white_box TIMEOUT ${limit}
        PASS_REGULAR_EXPRESSION "Sanitizer: SEGV")
    set_tests_properties(white_box.loud.assertion.${kind} PROPERTIES LABELS white_box TIMEOUT ${limit}
        PASS_REGULAR_EXPRESSION "has ended the process with status.*goes_wrong")
endforeach()
# the same once more, recorded: umstrace knows what has to hold for any schedule
foreach(kind asan tsan)
    foreach(engine handoff carry)
        set(test white_box.recorded.${engine}.${kind})
        add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/recorded.sh
            ${CMAKE_CURRENT_BINARY_DIR}/stress.${kind} ${CMAKE_SOURCE_DIR}/scripts/umstrace)
        set_tests_properties(${test} PROPERTIES LABELS white_box TIMEOUT ${limit} ENVIRONMENT UMS_ENGINE=${engine})
    endforeach()
endforeach()
include(exports_tests.cmake)
