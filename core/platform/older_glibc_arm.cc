// SPDX-License-Identifier: Apache-2.0
// Functions that glibc has in a version of its own since 2.29 (mathematics), 2.32 or 2.34 (threads and loading of libraries, which
// moved into libc.so.6). libheed calls their first version on this processor instead, which every glibc keeps for the programs
// of older systems: so it runs on these too. The C++ library inside libheed was compiled before, so its calls, like heed's own, go to
// hidden functions of the same names, which jump there.
asm(R"(
.macro first_version name, version
  .symver first_\name, \name\()@GLIBC_\version
  .pushsection .text.first_\name, "ax", %progbits
  .globl \name
  .hidden \name
  .type \name, %function
\name:
  .cfi_startproc
  b first_\name
  .cfi_endproc
  .size \name, . - \name
  .popsection
.endm

  first_version exp, 2.17
  first_version exp2, 2.17
  first_version log, 2.17
  first_version pow, 2.17
  first_version dladdr1, 2.17
  first_version dlclose, 2.17
  first_version dlerror, 2.17
  first_version dlopen, 2.17
  first_version dlsym, 2.17
  first_version __pthread_key_create, 2.17
  first_version pthread_attr_setstacksize, 2.17
  first_version pthread_create, 2.17
  first_version pthread_join, 2.17
  first_version pthread_once, 2.17
  first_version pthread_setname_np, 2.17
  first_version pthread_sigmask, 2.17
)");
