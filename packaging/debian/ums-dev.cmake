# What mingw-w64's compilers find without being told, where Debian's own packages for them have it. Included by
# cpack-ums-dev.cmake.
#
# Copyright 2026 the UMS shim authors
# SPDX-License-Identifier: LGPL-2.1-or-later
set(CPACK_PACKAGING_INSTALL_PREFIX /usr/x86_64-w64-mingw32)
set(CPACK_INSTALL_CMAKE_PROJECTS "${build};ums;runtime;/;${build};ums;development;/")
set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "gcc-mingw-w64-x86-64, ums")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Windows User-Mode Scheduling for programs under Wine - development")
set(CPACK_PACKAGE_DESCRIPTION "Headers, import libraries, man pages, a CMake package and a pkg-config file for
programs that use Windows' User-Mode Scheduling (UMS) and are built with
mingw-w64 for 64-bit Windows. A program that links these libraries brings the
two DLLs of the package ums along and needs no launcher.")
