// SPDX-License-Identifier: Apache-2.0
// heed as the bindings have it: loaded by dlopen while the program runs. What it keeps for each thread must be there
// without an allocation, or the system's loader would end the process at the first error of a new thread without memory.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <string>
#include <thread>

#include "capi/support/allocation_hook.h"

namespace heed::capi_test {
namespace {

TEST(LoadedLate, ReportsInANewThreadThatMemoryHasRunOut) {
  void* library = dlopen(HEED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto create = reinterpret_cast<decltype(&heed_context_create)>(dlsym(library, "heed_context_create"));
  const auto last_error = reinterpret_cast<decltype(&heed_last_error)>(dlsym(library, "heed_last_error"));
  ASSERT_NE(create, nullptr);
  ASSERT_NE(last_error, nullptr);
  std::string text;
  text.reserve(1000);
  heed_status status = HEED_OK;
  heed_context* context = nullptr;
  std::thread([&] {
    const FailAllocations none_left(1, true);
    status = create(nullptr, &context);
    text = last_error();
  }).join();
  EXPECT_EQ(status, HEED_ERROR_OUT_OF_MEMORY);
  EXPECT_NE(text.find("memory"), std::string::npos) << text;
  EXPECT_EQ(context, nullptr);
  dlclose(library);
}

}  // namespace
}  // namespace heed::capi_test
