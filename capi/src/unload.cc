// SPDX-License-Identifier: Apache-2.0
// What libheed gives back when it is unloaded. It carries a C++ library of its own, which keeps some 70 KB aside for
// exceptions that come when memory has run out, and leaves them to the end of the process; a host that loads and
// unloads heed again and again would lose them each time.

// Of libstdc++, in none of its headers.
// NOLINTBEGIN(readability-identifier-naming)
namespace __gnu_cxx {
__attribute__((weak)) void __freeres();
}  // namespace __gnu_cxx
// NOLINTEND(readability-identifier-naming)

namespace {

__attribute__((destructor)) void give_back_memory_for_exceptions() {
  if (__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}

}  // namespace
