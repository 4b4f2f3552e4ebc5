// SPDX-License-Identifier: Apache-2.0
// Where a plugin is looked for when heed is a part of the program, as it is of this one.
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
