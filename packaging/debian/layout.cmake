# Run by CPack when a package's files are installed, before they are packed: moves what lies elsewhere in Debian, adds what
# its policy wants of every package, and makes rights and times the same whoever builds it.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set(usr ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(name ${CPACK_PACKAGE_NAME})
set(doc ${usr}/share/doc/${name})

function(run)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

if(name STREQUAL "ums")
    # Windows programs go where umsrun looks
    file(MAKE_DIRECTORY ${usr}/lib/ums)
    file(GLOB windows ${usr}/bin/*.exe ${usr}/bin/*.dll)
    foreach(file IN LISTS windows)
        get_filename_component(file_name ${file} NAME)
        file(RENAME ${file} ${usr}/lib/ums/${file_name})
    endforeach()
    file(REMOVE ${doc}/LICENSE)                     # Debian has it in common-licenses
    # bash looks a command up by its own name
    file(CREATE_LINK umsrun ${usr}/share/bash-completion/completions/umstrace SYMBOLIC)
else()
    set(mingw ${usr}/x86_64-w64-mingw32)
    # the CMake package knows where the two DLLs are, and a program needs them beside it
    file(GLOB programs ${mingw}/bin/*)
    list(FILTER programs EXCLUDE REGEX "/(kernel32|ntdll)_ums\\.dll$")
    file(REMOVE ${programs})
    file(MAKE_DIRECTORY ${doc})
    file(RENAME ${mingw}/share/doc/ums/samples ${doc}/examples)
    file(RENAME ${mingw}/share/man ${usr}/share/man)
    file(REMOVE_RECURSE ${mingw}/share)
endif()

file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/copyright ${doc}/copyright)
file(COPY ${CMAKE_CURRENT_LIST_DIR}/${name}.lintian-overrides DESTINATION ${usr}/share/lintian/overrides)
file(RENAME ${usr}/share/lintian/overrides/${name}.lintian-overrides ${usr}/share/lintian/overrides/${name})
# a native package's changelog has Debian's form; ours comes beside it
string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE ${doc}/changelog "ums (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md of the package ums.

 -- ${CPACK_PACKAGE_CONTACT}  ${date}
")
file(GLOB texts ${doc}/changelog ${doc}/CHANGELOG.md ${usr}/share/man/man*/*)
run(gzip -9n ${texts})

run(find ${usr} -type d -exec chmod 755 {} +)
run(find ${usr} -type f -exec chmod 644 {} +)
run(find ${usr} -type f ( -path */usr/bin/umsrun -o -path */usr/bin/umstrace ) -exec chmod 755 {} +)
run(find ${usr} -exec touch -h -d @$ENV{SOURCE_DATE_EPOCH} {} +)
