# SPDX-License-Identifier: Apache-2.0
# CMake's toolchain for AArch64 on another Debian machine: its cross compiler, and QEMU to run what it makes (scripts/other-processors).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu)
# Turns off GCC's notes that the passing of some parameters changed in GCC 10: nothing here is linked with objects of an
# older GCC.
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)
