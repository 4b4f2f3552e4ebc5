# SPDX-License-Identifier: Apache-2.0
# libheed.so exports only the C functions, and needs only libc.
add_library(heed SHARED $<TARGET_OBJECTS:heed_capi>)
target_link_libraries(heed PRIVATE heed_core heed_flags heed_instrumented)
set_target_properties(heed PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/heed.map)
target_link_options(heed PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/heed.map
  -Wl,--gc-sections)
# With Clang, the program provides the functions of a sanitizer, so the library has undefined symbols.
if(NOT HEED_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(heed PRIVATE -Wl,-z,defs)
endif()
if(NOT HEED_SANITIZE)
  # No C++ type or exception crosses the C functions, so heed can contain its own C++ library, and the host program can
  # use another one.
  target_link_options(heed PRIVATE -static-libstdc++ -static-libgcc)
  # Only if the C++ library is linked statically: the memory of a shared C++ library, and how it ends a process, belong to the whole
  # process.
  target_sources(heed PRIVATE
    ${PROJECT_SOURCE_DIR}/core/platform/uncaught_gnu.cc
    ${PROJECT_SOURCE_DIR}/core/platform/unload_gnu.cc
    ${PROJECT_SOURCE_DIR}/core/platform/unwinder_gnu.cc)
  heed_support_older_glibc(heed UNWINDER)
endif()
