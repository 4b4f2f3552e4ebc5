// SPDX-License-Identifier: Apache-2.0
// The faults that a process begins with. CMakeLists.txt sets ASCEND_SIM_FAULTS="device_count=3,soc=Ascend310P3".
#include <gtest/gtest.h>

#include <cstdint>

#include "acl/acl.h"
#include "ascend_sim/control.h"

namespace {

TEST(EnvironmentTest, FaultsAreReadWhenTheLibraryIsLoaded) {
  EXPECT_STREQ(aclrtGetSocName(), "Ascend310P3");
  ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
  uint32_t count = 0;
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 3U);
  ascend_sim_clear_faults();
  EXPECT_EQ(aclrtGetDeviceCount(&count), ACL_SUCCESS);
  EXPECT_EQ(count, 1U);
  EXPECT_EQ(aclFinalize(), ACL_SUCCESS);
}

}  // namespace
