# White-box tests of the host-free core, built natively with the host's compiler over the make-believe ke: once with ASan
# and UBSan, once with TSan. (mingw's gcc links none of them.)

find_program(UMS_HOST_CC NAMES cc gcc clang NO_CMAKE_FIND_ROOT_PATH)
set(core ${CMAKE_SOURCE_DIR}/dlls/ntdll_ums)
set(core_sources ${core}/pool.c ${core}/completion.c ${core}/context.c ${core}/scheduler.c)
set(fake ${CMAKE_CURRENT_SOURCE_DIR}/ke_fake.c)

function(ums_add_white_box name)
    foreach(kind asan tsan)
        set(exe ${CMAKE_CURRENT_BINARY_DIR}/${name}.${kind})
        if(kind STREQUAL asan)
            set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
        else()
            set(sanitize -fsanitize=thread)
        endif()
        add_custom_command(OUTPUT ${exe}
            COMMAND ${UMS_HOST_CC} -std=gnu11 -g -O1 -Wall -Wextra -Werror ${sanitize} -I${CMAKE_SOURCE_DIR}/include
                ${CMAKE_CURRENT_SOURCE_DIR}/${name}.c ${fake} ${core_sources} -lcmocka -lpthread -o ${exe}
            DEPENDS ${name}.c ${fake} ke_fake.h ${core_sources} ${core}/ums_core.h ${core}/ke.h
                ${CMAKE_SOURCE_DIR}/include/private/nttypes.h
            VERBATIM)
        list(APPEND exes ${exe})
        add_test(NAME white_box.${name}.${kind} COMMAND ${exe} ${ARGN})
        set_tests_properties(white_box.${name}.${kind} PROPERTIES LABELS white_box TIMEOUT 120)
    endforeach()
    add_custom_target(white_box_${name} ALL DEPENDS ${exes})
endfunction()

ums_add_white_box(completion)
ums_add_white_box(context)
ums_add_white_box(scheduler)
ums_add_white_box(stress)
include(exports_tests.cmake)
