# No instruction of a DLL calls the kernel: Wine 11 and Proton take such a call in Windows memory for an NT call.
# host/linux_x86_64.S has the way that Linux calls go.
#
# cmake -DOBJDUMP= -DDLL= -P no_system_calls.cmake

execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${DLL} OUTPUT_VARIABLE code RESULT_VARIABLE failed)
string(REGEX MATCHALL "\n[^\n]*\t(ret|retq) *\n" returns "${code}")
list(LENGTH returns count)
if(failed OR count LESS 10)
    message(FATAL_ERROR "${OBJDUMP} shows no code of ${DLL}")
endif()
string(REGEX MATCHALL "\n[^\n]*\t(syscall|sysenter|int +[^\n]*0x80)[^\n]*" calls "${code}")
if(calls)
    message(FATAL_ERROR "${DLL} calls the kernel:${calls}")
endif()
message(STATUS "${count} functions return, and none calls the kernel")
