# ums_add_dll( NAME sources... ): a DLL without a C runtime, whose exports are those of NAME.spec. Its
# import library must be linked before mingw's libntdll and libkernel32: those carry all UMS names too.

function(ums_spec_to_def spec def)
    file(STRINGS ${spec} lines)
    set(out "LIBRARY ${NAME}.dll\nEXPORTS\n")
    foreach(line IN LISTS lines)
        if(line MATCHES "^@ stdcall [^(]* ([A-Za-z0-9_]+)\\(")
            string(APPEND out "    ${CMAKE_MATCH_1}\n")
        elseif(line MATCHES "^([0-9]+) stdcall .*-noname ([A-Za-z0-9_]+)\\(")
            string(APPEND out "    ${CMAKE_MATCH_2} @${CMAKE_MATCH_1} NONAME\n")
        endif()
    endforeach()
    file(GENERATE OUTPUT ${def} CONTENT "${out}")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
endfunction()

function(ums_add_dll NAME)
    set(def ${CMAKE_CURRENT_BINARY_DIR}/${NAME}.def)
    ums_spec_to_def(${CMAKE_CURRENT_SOURCE_DIR}/${NAME}.spec ${def})
    add_library(${NAME} SHARED ${ARGN} ${def} ${CMAKE_SOURCE_DIR}/dlls/version.rc)
    target_compile_definitions(${NAME} PRIVATE $<$<COMPILE_LANGUAGE:RC>:UMS_DLL_NAME=${NAME}>)
    # an import library of this name is found with -static, too; one of .dll.a is not
    set_target_properties(${NAME} PROPERTIES PREFIX "" IMPORT_SUFFIX .a)
    target_include_directories(${NAME} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
    # no C runtime; -Wno-array-bounds: mingw reads the TEB at gs:0
    target_compile_options(${NAME} PRIVATE $<$<COMPILE_LANGUAGE:C>:-ffreestanding -fno-builtin
        -fno-stack-protector -mno-stack-arg-probe -mcmodel=small -Wno-array-bounds>)
    target_link_options(${NAME} PRIVATE -nostdlib -nostartfiles -Wl,-e,DllMainCRTStartup
        -Wl,--disable-auto-import)
endfunction()
