// SPDX-License-Identifier: Apache-2.0
// How many processors a process may use, by its affinity and the limits of its control groups.
#include "platform/processors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "backends/cpu/engine/processors.h"
#include "platform/processors_linux.h"
#include "support/platform/processors.h"

namespace heed::platform {
namespace {

class Quota : public testing::Test {
 protected:
  Quota() { std::filesystem::remove_all(folder_); }
  ~Quota() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  int32_t count() const { return count_processors_of_quota((folder_ / "self").c_str(), (folder_ / "mount").c_str()); }

 private:
  std::filesystem::path folder_ = std::filesystem::absolute(
      std::string("processors_") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(Quota, IsNoneWithoutFiles) {
  EXPECT_EQ(count(), 0);
  write("self", "0::/\n");
  EXPECT_EQ(count(), 0);
  write("self", "no such form\n\n:\n::\n");
  EXPECT_EQ(count(), 0);
}

TEST_F(Quota, IsRoundedUp) {
  write("self", "0::/\n");
  for (const auto& [text, expected] : {std::pair{"100000 100000\n", 1},
                                       {"100001 100000\n", 2},
                                       {"150000 100000\n", 2},
                                       {"200000 100000\n", 2},
                                       {"1000 100000\n", 1},
                                       {"50000 10000", 5},
                                       {"max 100000\n", 0},
                                       {"100000 0\n", 0},
                                       {"0 100000\n", 0},
                                       {"-1 100000\n", 0},
                                       {"1000000000000000000 1\n", 0},
                                       {"100000000000000000 1\n", INT32_MAX},
                                       {"", 0},
                                       {"\n", 0},
                                       {"100000", 0}}) {
    write("mount/cpu.max", text);
    EXPECT_EQ(count(), expected) << text;
  }
}

TEST_F(Quota, IsTheTightestOfAllGroupsAbove) {
  write("self", "0::/a/b/c\n");
  write("mount/a/b/c/cpu.max", "max 100000\n");
  EXPECT_EQ(count(), 0);
  write("mount/a/b/cpu.max", "300000 100000\n");
  EXPECT_EQ(count(), 3);
  write("mount/a/cpu.max", "400000 100000\n");
  EXPECT_EQ(count(), 3);
  write("mount/cpu.max", "200000 100000\n");
  EXPECT_EQ(count(), 2);
  write("mount/a/b/c/cpu.max", "50000 100000\n");
  EXPECT_EQ(count(), 1);
}

// In a container that is told its path outside the container.
TEST_F(Quota, IsThatOfTheMountIfTheGroupsFolderIsMissing) {
  write("self", "0::/docker/0123456789abcdef\n");
  write("mount/cpu.max", "250000 100000\n");
  EXPECT_EQ(count(), 3);
}

TEST_F(Quota, OfVersion1) {
  write("self", "11:memory:/x\n5:cpuset:/x\n4:cpu,cpuacct:/a/b\n1:name=systemd:/x\n");
  write("mount/cpuset/x/cpu.cfs_quota_us", "100000\n");
  write("mount/cpuset/x/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count(), 0) << "another controller's folder";
  write("mount/cpu/a/cpu.cfs_quota_us", "350000\n");
  write("mount/cpu/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count(), 4);
  write("mount/cpu,cpuacct/a/b/cpu.cfs_quota_us", "250000\n");
  write("mount/cpu,cpuacct/a/b/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count(), 3);
  write("mount/cpu,cpuacct/a/b/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(count(), 4);
}

TEST_F(Quota, OfBothVersionsTogether) {
  write("self", "1:cpu:/\n0::/a\n");
  write("mount/unified/a/cpu.max", "600000 100000\n");
  EXPECT_EQ(count(), 6);
  write("mount/cpu/cpu.cfs_quota_us", "500000\n");
  write("mount/cpu/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(count(), 5);
}

TEST_F(Quota, SkipsPathsThatAreTooLong) {
  write("self", "0::/" + std::string(3900, 'a') + "/b\n");
  write("mount/cpu.max", "200000 100000\n");
  EXPECT_EQ(count(), 2);
}

TEST(Processors, AreAtLeastOne) {
  EXPECT_GE(count_processors(), 1);
  EXPECT_GE(cpu::count_processors(), 1);
  EXPECT_LE(cpu::count_processors(), 1024);
}

TEST(Processors, AreThoseThatTheThreadMayRunOn) {
  std::thread([] {
    const std::vector<int> allowed = allowed_processors();
    ASSERT_FALSE(allowed.empty());
    EXPECT_LE(count_processors(), static_cast<int32_t>(allowed.size()));
    for (const int processor : allowed) {
      ASSERT_TRUE(stay_on_processor(processor));
      EXPECT_EQ(count_processors(), 1);
    }
  }).join();
}

}  // namespace
}  // namespace heed::platform
