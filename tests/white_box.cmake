# White-box tests of the host-free core, built natively with the host's compiler over the make-believe ke: once with ASan
# and UBSan, once with TSan. (mingw's gcc links none of them.) Each runs with either engine.

find_program(UMS_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH)
set(core ${CMAKE_SOURCE_DIR}/dlls/ntdll_ums)
set(core_sources ${core}/core/pool.c ${core}/core/completion.c ${core}/core/context.c ${core}/core/scheduler.c
    ${core}/core/worker.c ${core}/core/carry.c ${core}/watch/record.c ${core}/watch/record_json.c ${core}/watch/census.c)
set(factory_sources ${core}/factory/factory.c ${core}/factory/factory_guess.c ${core}/factory/factory_queue.c)
set(fake ${CMAKE_CURRENT_SOURCE_DIR}/ke_fake.c ${CMAKE_CURRENT_SOURCE_DIR}/ke_fake_switch.c)

function(ums_add_white_box name)
    set(more "")
    set(sources ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c)
    if(name STREQUAL factory)
        set(more ${factory_sources} -mcx16)
        file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/factory/*.c)
    endif()
    foreach(kind asan tsan)
        set(exe ${CMAKE_CURRENT_BINARY_DIR}/${name}.${kind})
        if(kind STREQUAL asan)
            set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
        else()
            set(sanitize -fsanitize=thread)
        endif()
        add_custom_command(OUTPUT ${exe}
            COMMAND ${UMS_HOST_CC} -std=gnu11 -g -O1 -Wall -Wextra -Werror ${sanitize} -I${CMAKE_SOURCE_DIR}/include -I${core}
                ${sources} ${fake} ${core_sources} ${more} -lcmocka -lpthread -o ${exe}
            DEPENDS ${sources} factory/kit.h ${fake} ke_fake.h ke_fake_switch.h ${core_sources} ${factory_sources} ${core}/core/ums_core.h ${core}/watch/record.h ${core}/core/state.h ${core}/ke.h
                ${core}/factory/factory.h ${core}/factory/factory_guess.h
                ${CMAKE_SOURCE_DIR}/include/private/nttypes.h
            VERBATIM)
        list(APPEND exes ${exe})
        foreach(engine handoff carry)
            set(test white_box.${name}.${engine}.${kind})
            add_test(NAME ${test} COMMAND ${exe} ${ARGN})
            set_tests_properties(${test} PROPERTIES LABELS white_box TIMEOUT 120 ENVIRONMENT UMS_ENGINE=${engine})
        endforeach()
    endforeach()
    add_custom_target(white_box_${name} ALL DEPENDS ${exes})
endfunction()

ums_add_white_box(carry)
ums_add_white_box(completion)
ums_add_white_box(context)
ums_add_white_box(factory)
ums_add_white_box(record)
ums_add_white_box(scheduler)
ums_add_white_box(stress)
# the same once more, recorded: umstrace knows what has to hold for any schedule
foreach(kind asan tsan)
    foreach(engine handoff carry)
        set(test white_box.recorded.${engine}.${kind})
        add_test(NAME ${test} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/trace/recorded.sh
            ${CMAKE_CURRENT_BINARY_DIR}/stress.${kind} ${CMAKE_SOURCE_DIR}/scripts/umstrace)
        set_tests_properties(${test} PROPERTIES LABELS white_box TIMEOUT 120 ENVIRONMENT UMS_ENGINE=${engine})
    endforeach()
endforeach()
include(exports_tests.cmake)
