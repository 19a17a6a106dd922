# umstest.exe imports nothing but what each of its tests needs. It starts once for each test, and one call of a function that
# is missing in user32_late.def costs all of these starts USER32.
#
# cmake -DOBJDUMP= -DEXE= -DMAY_IMPORT=x;y -P starts_light.cmake

execute_process(COMMAND ${OBJDUMP} -p ${EXE} OUTPUT_VARIABLE dump RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "${OBJDUMP} cannot read ${EXE}")
endif()
string(REGEX MATCHALL "DLL Name: [^\n]+" imports "${dump}")
if(NOT imports)
    message(FATAL_ERROR "no import table found in ${OBJDUMP}'s output for ${EXE}")
endif()
string(TOLOWER "${MAY_IMPORT}" may_import)
foreach(import IN LISTS imports)
    string(REGEX REPLACE "^DLL Name: " "" dll "${import}")
    string(TOLOWER "${dll}" lower)
    list(FIND may_import ${lower} index)
    if(index EQUAL -1)
        message(FATAL_ERROR "${EXE} imports ${dll} at its start. Add the function that needs it to a *_late.def.")
    endif()
endforeach()
message(STATUS "imports only from ${MAY_IMPORT}")
