// SPDX-License-Identifier: Apache-2.0
// The folder in which a plugin is expected when heed is linked into the program, as in this test.
#include "backends/plugin.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "failure.h"
#include "support/platform/environment.h"

namespace heed {
namespace {

TEST(Plugin, IsLookedForBesideTheProgramThatHeedIsLinkedInto) {
  unset_environment("HEED_PLUGIN_PATH");
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const ThrownError failure = failure_of([] { ascend_backend(); });
  EXPECT_EQ(failure.status, Status::DeviceUnavailable);
  const std::string folder = "is not in \"" + program.parent_path().string() + "\": expected";
  EXPECT_NE(failure.text.find(folder), std::string::npos) << failure.text;
}

}  // namespace
}  // namespace heed
