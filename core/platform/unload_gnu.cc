// SPDX-License-Identifier: Apache-2.0
// Memory that libheed frees when it is unloaded. libheed contains libstdc++, which allocates some 70 KB for exceptions
// that are thrown when memory has run out, and never frees them. A host that loads and unloads heed repeatedly would
// leak them each time.

// No header of libstdc++ declares it. NOLINTBEGIN(readability-identifier-naming)
namespace __gnu_cxx {
__attribute__((weak)) void __freeres();
}  // namespace __gnu_cxx
// NOLINTEND(readability-identifier-naming)

namespace {

__attribute__((destructor)) void give_back_memory_for_exceptions() {
  if (__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}

}  // namespace
