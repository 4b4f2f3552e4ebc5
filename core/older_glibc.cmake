# SPDX-License-Identifier: Apache-2.0
# heed_support_older_glibc(<target> [UNWINDER]): the library <target> runs with every glibc from 2.17 on, not only with those as new as the one of
# the machine that builds it (docs/decisions.md, "The system"). For another C library, and for processors that have no table of first
# versions, the function does nothing. UNWINDER: <target> contains the unwinder of exceptions.
include(CheckCXXSymbolExists)
set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
check_cxx_symbol_exists(__GLIBC__ features.h HEED_HAS_GLIBC)
check_cxx_symbol_exists(_dl_find_object dlfcn.h HEED_HAS_DL_FIND_OBJECT)
unset(CMAKE_REQUIRED_DEFINITIONS)

set(HEED_PROCESSOR ${heed_processor} CACHE INTERNAL "The processor, as the names of files in core/platform have it")

function(heed_support_older_glibc target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNWINDER" "" "")
  if(NOT HEED_HAS_GLIBC OR NOT HEED_PROCESSOR MATCHES "^(x86|arm)$")
    return()
  endif()
  set(platform ${PROJECT_SOURCE_DIR}/core/platform)
  target_sources(${target} PRIVATE ${platform}/older_glibc.cc ${platform}/older_glibc_${HEED_PROCESSOR}.cc)
  if(arg_UNWINDER AND HEED_HAS_DL_FIND_OBJECT)
    target_sources(${target} PRIVATE ${platform}/older_glibc_unwind.cc)
  endif()
  # Only what is called stays.
  target_link_options(${target} PRIVATE LINKER:--gc-sections)
  # Where the first versions were before glibc 2.34. Since then both files are empty, so the linker would leave them out.
  target_link_options(${target} PRIVATE LINKER:--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 LINKER:--pop-state)
endfunction()
