# The same with clang in place of gcc; headers, libraries and linker are mingw-w64's.
include(${CMAKE_CURRENT_LIST_DIR}/toolchain-mingw.cmake)
set(CMAKE_C_COMPILER clang)
set(CMAKE_CXX_COMPILER clang++)
foreach(language C CXX ASM)
    set(CMAKE_${language}_COMPILER_TARGET x86_64-w64-mingw32)
endforeach()
# Debian's gcc is in a folder named 12-win32 or the like, where clang does not look.
execute_process(COMMAND x86_64-w64-mingw32-gcc -print-libgcc-file-name OUTPUT_VARIABLE ums_gcc OUTPUT_STRIP_TRAILING_WHITESPACE)
get_filename_component(ums_gcc ${ums_gcc} DIRECTORY)
foreach(kind EXE SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS_INIT -L${ums_gcc})
endforeach()
set(CMAKE_CXX_FLAGS_INIT "-isystem ${ums_gcc}/include/c++ -isystem ${ums_gcc}/include/c++/x86_64-w64-mingw32")
