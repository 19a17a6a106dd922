# The host-free core against a model: bytes are calls. Built with the host's gcc and a driver of our own, which runs a
# corpus and inputs out of a seed: so ./check needs no clang. libFuzzer, with which the corpus was found, is for people:
# cmake --build build --target fuzz_core_libfuzzer, then fuzz_core.libfuzzer DIRECTORY. See tests/records/long_runs.md.

set(fuzz ${CMAKE_CURRENT_SOURCE_DIR}/fuzz)
set(fuzz_exe ${CMAKE_CURRENT_BINARY_DIR}/fuzz_core)
set(fuzz_sources ${fuzz}/core.c ${fuzz}/calls.c ${fuzz}/model.c ${fake} ${CMAKE_CURRENT_SOURCE_DIR}/failures.c ${core_sources})
set(fuzz_flags -std=gnu11 -g -O1 ${UMS_WARNINGS} -fno-sanitize-recover=all -I${CMAKE_SOURCE_DIR}/include -I${core})

set(native_objects "")
foreach(source core calls model driver)
    ums_native_object(asan ${fuzz}/${source}.c)
endforeach()
add_custom_command(OUTPUT ${fuzz_exe}
    COMMAND ${UMS_HOST_CC} ${sanitize_asan} ${native_objects} ${native_failures_asan} ${native_asan} -lpthread -o ${fuzz_exe}
    DEPENDS ${native_objects} ${native_failures_asan} ${native_asan}
    VERBATIM)
add_custom_target(fuzz_core_build ALL DEPENDS ${fuzz_exe})
add_dependencies(fuzz_core_build native_core)
add_custom_target(fuzz_core_libfuzzer
    COMMAND clang ${fuzz_flags} -fsanitize=fuzzer,address,undefined -D__SANITIZE_ADDRESS__=1 ${fuzz_sources} -lpthread
        -o ${fuzz_exe}.libfuzzer
    VERBATIM)

foreach(engine handoff carry)
    add_test(NAME fuzz.core.${engine} COMMAND ${fuzz_exe} --corpus=${fuzz}/corpus.${engine} --seed=1 --runs=300)
    add_test(NAME long.fuzz.core.${engine} COMMAND ${fuzz_exe} --seconds=${UMS_LONG_SECONDS} --seed=2)
    set_tests_properties(fuzz.core.${engine} long.fuzz.core.${engine} PROPERTIES
        ENVIRONMENT UMS_ENGINE=${engine} LABELS fuzz)
    ums_limit(300 fuzz.core.${engine})
    set_tests_properties(long.fuzz.core.${engine} PROPERTIES LABELS "fuzz;long")
    ums_limit(${long_limit} long.fuzz.core.${engine})
endforeach()
