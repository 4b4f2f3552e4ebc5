// SPDX-License-Identifier: Apache-2.0
// What ends the process if an exception is not caught inside libheed, which only a fault of heed can cause. libheed contains
// libstdc++, whose own function writes the type's name as in C++, and brings 50 KB for that. This one writes the name as the
// linker has it; c++filt translates it.
#include <cxxabi.h>

#include <cstdio>
#include <cstdlib>
#include <typeinfo>

// No header of libstdc++ that is meant for replacing declares it. NOLINTBEGIN(readability-identifier-naming)
namespace __gnu_cxx {

void __verbose_terminate_handler();

void __verbose_terminate_handler() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  std::fprintf(stderr, "heed: terminated by an exception of type %s\n", type == nullptr ? "none" : type->name());
  std::abort();
}

}  // namespace __gnu_cxx
// NOLINTEND(readability-identifier-naming)
