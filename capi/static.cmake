# SPDX-License-Identifier: Apache-2.0
# libheed.a, and what a program must be linked with for it. All of heed's own names but the C functions are C++ names in
# namespace heed, and hidden: a shared library that it is linked into does not export them.
add_library(heed STATIC $<TARGET_OBJECTS:heed_capi> $<TARGET_OBJECTS:heed_core>)

# The C++ runtime by its name, so that a C compiler can link the program: the one that this compiler takes.
set(libraries ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER libraries INCLUDE REGEX "^(stdc[+][+]|c[+][+]|c[+][+]abi)$")
list(APPEND libraries m ${CMAKE_DL_LIBS})
find_package(Threads REQUIRED)
target_link_libraries(heed INTERFACE ${libraries} Threads::Threads)

# In Libs of heed.pc, and not in Libs.private: there is no shared library, which would need less, and so pkg-config may
# be asked with --static or without.
list(JOIN libraries " -l" heed_pc_libs)
set(heed_pc_libs " -l${heed_pc_libs} -pthread")

# The runtime is named above, so the program is linked by its own language's compiler, which may be C's.
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
