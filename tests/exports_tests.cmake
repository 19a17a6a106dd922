# The export and import tables of the DLLs; and no instruction in them calls the kernel, nor in programs that ask Linux.

foreach(dll kernel32_ums ntdll_ums)
    if(dll STREQUAL kernel32_ums)
        set(layer kernel32)
        set(may_import ntdll_ums.dll KERNEL32.dll ntdll.dll)
    else()
        set(layer ntdll)
        set(may_import KERNEL32.dll ntdll.dll)
    endif()
    add_test(NAME exports.${dll}
        COMMAND ${CMAKE_COMMAND} -DOBJDUMP=${CMAKE_OBJDUMP} -DDLL=$<TARGET_FILE:${dll}>
            -DSPEC=${CMAKE_SOURCE_DIR}/dlls/${dll}/${dll}.spec -DXLIST=${CMAKE_SOURCE_DIR}/include/private/exports.h
            -DLAYER=${layer} "-DMAY_IMPORT=${may_import}" -P ${CMAKE_CURRENT_SOURCE_DIR}/exports.cmake)
    set_tests_properties(exports.${dll} PROPERTIES LABELS white_box)
endforeach()

foreach(target kernel32_ums ntdll_ums umsbench umslives inject_engine linux_unix_calls linux_factory_calls linux_page_fault)
    add_test(NAME no_system_calls.${target}
        COMMAND ${CMAKE_COMMAND} -DOBJDUMP=${CMAKE_OBJDUMP} -DDLL=$<TARGET_FILE:${target}>
            -P ${CMAKE_CURRENT_SOURCE_DIR}/no_system_calls.cmake)
    set_tests_properties(no_system_calls.${target} PROPERTIES LABELS white_box)
endforeach()
