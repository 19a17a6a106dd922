# Tests that run under Wine, each once per Wine of UMS_WINES. See scripts/winerun.

set(UMS_WINES host CACHE STRING "Wines to run the tests under: host, trixie, sid")
set(UMS_WINE_RUN ${PROJECT_SOURCE_DIR}/scripts/winerun CACHE FILEPATH
    "Runs a program under the Wine that the variable UMS_WINE names")

# The limits are for what hangs. What is only slow, because the machine is busy, has not failed.
set(UMS_TEST_TIME_FACTOR 5 CACHE STRING "times the limits of the tests")

# ums_limit( SECONDS TEST... ): CTest ends each test after so many seconds, times the factor; after no more than 1500, or
# SECONDS if that is more, so that ./check says within CI's time what hangs.
function(ums_limit seconds)
    math(EXPR limit "${seconds} * ${UMS_TEST_TIME_FACTOR}")
    if(limit GREATER 1500)
        set(limit 1500)
    endif()
    if(limit LESS seconds)
        set(limit ${seconds})
    endif()
    set_tests_properties(${ARGN} PROPERTIES TIMEOUT ${limit})
endfunction()

# The fixtures wine_host, wine_trixie ...: a prefix, and a wineserver that stays for as long as tests need it.
foreach(wine IN LISTS UMS_WINES)
    add_test(NAME wine.setup.${wine} COMMAND ${UMS_WINE_RUN} --setup)
    add_test(NAME wine.cleanup.${wine} COMMAND ${UMS_WINE_RUN} --cleanup)
    set_tests_properties(wine.setup.${wine} PROPERTIES FIXTURES_SETUP wine_${wine})
    set_tests_properties(wine.cleanup.${wine} PROPERTIES FIXTURES_CLEANUP wine_${wine})
    ums_limit(600 wine.setup.${wine})
    ums_limit(300 wine.cleanup.${wine})
    set_tests_properties(wine.setup.${wine} wine.cleanup.${wine} PROPERTIES
        ENVIRONMENT "UMS_WINE=${wine}" LABELS "${wine}")
endforeach()

# ums_add_wine_test( NAME COMMAND... [ENVIRONMENT vars] [LABELS labels] [TIMEOUT seconds] ): a test NAME.<wine> for each
# Wine. The command must use UMS_WINE_RUN for what is to run under Wine.
function(ums_add_wine_test name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;ENVIRONMENT;LABELS")
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 60)
    endif()
    # A program that ends with a crash before its first word must not look like a lost start (scripts/run_tests.sh). A script
    # reads what winerun prints.
    list(GET arg_COMMAND 0 first)
    if(first IN_LIST UMS_WINE_RUN)
        list(APPEND arg_ENVIRONMENT UMS_TELL=1)
    endif()
    list(APPEND arg_ENVIRONMENT UMSTEST_TIME_FACTOR=${UMS_TEST_TIME_FACTOR})        # for scripts that start umstest
    foreach(wine IN LISTS UMS_WINES)
        add_test(NAME ${name}.${wine} COMMAND ${arg_COMMAND})
        set_tests_properties(${name}.${wine} PROPERTIES
            ENVIRONMENT "UMS_WINE=${wine};${arg_ENVIRONMENT}"
            FIXTURES_REQUIRED wine_${wine}
            LABELS "${arg_LABELS};${wine}"
            FAIL_REGULAR_EXPRESSION "gave up after waiting"     # core/patience.h: a thread that did not come out
            COST ${arg_TIMEOUT})                            # as in conformance/
        ums_limit(${arg_TIMEOUT} ${name}.${wine})
    endforeach()
endfunction()
