# SPDX-License-Identifier: Apache-2.0
# libheed.so: nothing but the C functions can be seen in it, and nothing but libc is needed by it.
add_library(heed SHARED $<TARGET_OBJECTS:heed_capi>)
target_link_libraries(heed PRIVATE heed_core heed_flags)
set_target_properties(heed PROPERTIES
  VERSION ${PROJECT_VERSION}
  SOVERSION ${PROJECT_VERSION_MAJOR}
  CXX_VISIBILITY_PRESET hidden
  VISIBILITY_INLINES_HIDDEN ON
  LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/heed.map)
target_link_options(heed PRIVATE
  -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/heed.map
  -Wl,--gc-sections)
# Clang leaves the functions of a sanitizer to the program.
if(NOT HEED_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(heed PRIVATE -Wl,-z,defs)
endif()
if(NOT HEED_SANITIZE)
  # No C++ type or exception crosses the C functions, so the host's own C++ library, if any, is none of heed's.
  target_link_options(heed PRIVATE -static-libstdc++ -static-libgcc)
  # Only where the C++ library is linked statically: the memory of a shared one belongs to the whole process.
  target_sources(heed PRIVATE ${PROJECT_SOURCE_DIR}/core/platform/unload_gnu.cc)
endif()
