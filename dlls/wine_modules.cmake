# -DUMS_WINE_MODULES=ON: the same sources as modules of Wine, with its headers, its winegcc and winebuild, by the .spec
# files as they are. They land in wine-modules/x86_64-windows, where Wine finds them with WINEDLLPATH=wine-modules.

find_program(UMS_WINEGCC NAMES winegcc winegcc-stable NO_CMAKE_FIND_ROOT_PATH REQUIRED)
find_program(UMS_WINEBUILD NAMES winebuild winebuild-stable NO_CMAKE_FIND_ROOT_PATH REQUIRED)
set(UMS_WINE_HEADERS /usr/include/wine/wine CACHE PATH "Wine's headers: the folder of msvcrt and windows")
set(UMS_WINE_LIBRARIES /usr/lib/x86_64-linux-gnu/wine/x86_64-windows CACHE PATH "Wine's import libraries")

set(wine_modules ${CMAKE_BINARY_DIR}/wine-modules)
set(wine_objects ${wine_modules}/objects)
file(MAKE_DIRECTORY ${wine_modules}/x86_64-windows ${wine_objects})
execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=include OUTPUT_VARIABLE gcc_headers
    OUTPUT_STRIP_TRAILING_WHITESPACE)
# no header but Wine's, and the compiler's own for what is not of C's library; our declarations of ntdll's calls say
# nothing of dllimport; its e_lfanew is unsigned
set(wine_flags -O2 -g -std=gnu11 ${UMS_WARNINGS} -Wno-attributes -Wno-array-bounds -Wno-type-limits -ffreestanding
    -fno-builtin -fno-stack-protector -mno-stack-arg-probe -mcx16 -nostdinc -include ${CMAKE_SOURCE_DIR}/dlls/wine_module.h
    -D__WINESRC__ -D_MSVCR_VER=0 "-DKE_INLINE=\"host/ke_win32_inline.h\"" -I${CMAKE_SOURCE_DIR}/include
    -isystem ${UMS_WINE_HEADERS}/msvcrt -isystem ${UMS_WINE_HEADERS} -isystem ${UMS_WINE_HEADERS}/windows
    -isystem ${gcc_headers})
file(GLOB_RECURSE wine_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/dlls/*.h ${CMAKE_SOURCE_DIR}/include/*.h)

# ums_add_wine_module( NAME libraries... ): the sources of the target NAME
function(ums_add_wine_module name)
    set(dir ${CMAKE_SOURCE_DIR}/dlls/${name})
    set(spec ${dir}/${name}.spec)
    set(dll ${wine_modules}/x86_64-windows/${name}.dll)
    get_target_property(sources ${name} SOURCES)
    list(FILTER sources INCLUDE REGEX "\\.[cS]$")
    set(objects "")
    foreach(source IN LISTS sources)
        # by the whole path: two folders may have files of one name
        string(REPLACE "/" "." stem ${source})
        set(object ${wine_objects}/${name}.${stem}.o)
        add_custom_command(OUTPUT ${object}
            COMMAND ${CMAKE_C_COMPILER} ${wine_flags} -I${dir} -c ${dir}/${source} -o ${object}
            DEPENDS ${dir}/${source} ${wine_headers}
            VERBATIM)
        list(APPEND objects ${object})
    endforeach()
    add_custom_command(OUTPUT ${wine_objects}/lib${name}.a
        COMMAND ${UMS_WINEBUILD} --target x86_64-w64-mingw32 --implib -o ${wine_objects}/lib${name}.a -E ${spec}
        DEPENDS ${spec})
    # the mark of Wine's own comes last
    add_custom_command(OUTPUT ${dll}
        COMMAND ${UMS_WINEGCC} -b x86_64-w64-mingw32 -mno-cygwin -shared ${spec} ${objects} -nostdlib -L${wine_objects}
            -L${UMS_WINE_LIBRARIES} ${ARGN} -lkernel32 -lntdll -o ${dll}
        COMMAND ${UMS_WINEBUILD} --builtin ${dll}
        DEPENDS ${spec} ${objects} ${wine_objects}/libntdll_ums.a
        VERBATIM)
    add_custom_target(wine_module_${name} ALL DEPENDS ${dll})
endfunction()

ums_add_wine_module(ntdll_ums)
ums_add_wine_module(kernel32_ums -lntdll_ums)
add_dependencies(wine_module_kernel32_ums wine_module_ntdll_ums)
