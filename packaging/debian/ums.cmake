# What runs programs. Included by cpack-ums.cmake.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set(CPACK_INSTALL_CMAKE_PROJECTS "${build};ums;runtime;/;${build};ums;documentation;/")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
set(CPACK_DEBIAN_PACKAGE_SECTION otherosfs)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "wine, wine64")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS python3)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS ums-dev)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Windows User-Mode Scheduling for programs under Wine")
set(CPACK_PACKAGE_DESCRIPTION "Old 64-bit Windows programs schedule their own threads with User-Mode
Scheduling (UMS). Wine never had it. umsrun starts such a program, unmodified,
with two DLLs that bring the functions back.")
