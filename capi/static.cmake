# SPDX-License-Identifier: Apache-2.0
# libheed.a, and the libraries that a program links with it. Except for the C functions, all names of heed are hidden C++
# names in namespace heed: a shared library that contains libheed.a does not export them.
add_library(heed STATIC $<TARGET_OBJECTS:heed_capi> $<TARGET_OBJECTS:heed_core> $<TARGET_OBJECTS:heed_core_files>)

# Names the C++ runtime of this compiler, so that a C compiler can link the program.
set(libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER libraries INCLUDE REGEX "^(stdc[+][+]|c[+][+]|c[+][+]abi)$")
list(APPEND libraries m ${CMAKE_DL_LIBS})
find_package(Threads REQUIRED)
target_link_libraries(heed INTERFACE ${libraries} Threads::Threads)

# In Libs of heed.pc, and not in Libs.private: there is no shared libheed, which would need fewer libraries, so
# pkg-config gives the same result with and without --static.
list(JOIN libraries " -l" heed_pc_libs)
set(heed_pc_libs " -l${heed_pc_libs} -pthread")

# CMake need not link with the C++ compiler, since the C++ runtime is named above: the program may be C only.
set(heed_config_before "include(CMakeFindDependencyMacro)
find_dependency(Threads)
")
set(heed_config_after [[
get_target_property(_heed_configurations heed::heed IMPORTED_CONFIGURATIONS)
foreach(_heed_configuration IN LISTS _heed_configurations)
  set_property(TARGET heed::heed PROPERTY IMPORTED_LINK_INTERFACE_LANGUAGES_${_heed_configuration})
endforeach()
unset(_heed_configurations)
]])
