// SPDX-License-Identifier: Apache-2.0
// There is a libatb for each ABI of GCC's std::string, and a symbol shows which one it is; CMakeLists.txt gives the
// paths of the two files.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>

namespace {

struct Close {
  void operator()(void* library) const { dlclose(library); }
};

bool has_symbol(const char* file, const char* symbol) {
  const std::unique_ptr<void, Close> library(dlopen(file, RTLD_NOW | RTLD_LOCAL));
  EXPECT_NE(library, nullptr) << dlerror();
  return library && dlsym(library.get(), symbol) != nullptr;
}

TEST(AbiTest, TheSymbolOfTheVersionShowsTheAbi) {
  constexpr const char* kOld = "_ZN3atb5Utils13GetAtbVersionEv";
  constexpr const char* kNew = "_ZN3atb5Utils13GetAtbVersionB5cxx11Ev";
  EXPECT_TRUE(has_symbol(LIBATB_ABI0, kOld));
  EXPECT_FALSE(has_symbol(LIBATB_ABI0, kNew));
  EXPECT_TRUE(has_symbol(LIBATB_ABI1, kNew));
  EXPECT_FALSE(has_symbol(LIBATB_ABI1, kOld));
}

}  // namespace
