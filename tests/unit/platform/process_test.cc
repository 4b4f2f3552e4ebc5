// SPDX-License-Identifier: Apache-2.0
// The process, and loading of libraries.
#include "platform/process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "platform/library.h"
#include "support/platform/child_process.h"
#include "support/platform/environment.h"

namespace heed::platform {
namespace {

TEST(Process, HasANewNumberInEachForkedChild) {
  const uint32_t own = process_number();
  EXPECT_NE(own, 0u);
  EXPECT_EQ(process_number(), own);
  EXPECT_EQ(exit_code_in_a_child([own] { return process_number() == own || process_number() == 0 ? 1 : 0; }), 0);
  EXPECT_EQ(process_number(), own);
}

TEST(Process, HasTheSystemsNumber) {
  const int64_t own = process_id();
  EXPECT_GT(own, 0);
  EXPECT_EQ(process_id(), own);
  EXPECT_EQ(exit_code_in_a_child([own] { return process_id() == own ? 1 : 0; }), 0);
}

TEST(Process, ReadsItsEnvironment) {
  const Variable variable("HEED_TEST_VARIABLE");
  variable.unset();
  EXPECT_EQ(safe_environment("HEED_TEST_VARIABLE"), nullptr);
  variable.set("some text");
  EXPECT_STREQ(safe_environment("HEED_TEST_VARIABLE"), "some text");
}

TEST(Library, OfThisTestIsTheProgram) {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  EXPECT_EQ(own_folder(), program.parent_path().string());
  EXPECT_FALSE(is_library_there((own_folder() + "/libnone.so").c_str()));
  EXPECT_TRUE(is_library_there(program.c_str()));
  EXPECT_EQ(library_file("some"), "libsome.so");
}

TEST(Library, IsLoadedOrRefusedWithTheLoadersReason) {
  std::string reason;
  EXPECT_EQ(load_library("libthat_is_not_there.so", &reason), nullptr);
  EXPECT_NE(reason.find("libthat_is_not_there.so"), std::string::npos) << reason;
  // A library that every program has loaded.
  void* const library = load_library("libc.so.6", &reason);
  ASSERT_NE(library, nullptr) << reason;
  EXPECT_NE(find_function(library, "malloc"), nullptr);
  EXPECT_EQ(find_function(library, "no_such_function"), nullptr);
  unload_library(library);
}

}  // namespace
}  // namespace heed::platform
