// SPDX-License-Identifier: Apache-2.0
// What the scripts of CANN and of NNAL set in the environment, without which no operation can be created.
#include <gtest/gtest.h>

#include "support/npu.h"
#include "support/platform/environment.h"

namespace ascend_sim {
namespace {

class InstallationTest : public AtbTest {
 protected:
  // What creating an operation with these parameters gives.
  template <class Param>
  static atb::Status code_of() {
    atb::Operation* operation = nullptr;
    const atb::Status code = atb::CreateOperation(Param(), &operation);
    EXPECT_EQ(atb::DestroyOperation(operation), atb::NO_ERROR);
    return code;
  }
};

TEST_F(InstallationTest, WithoutCannNoOperationIsCreated) {
  EXPECT_EQ(code_of<atb::infer::GatherParam>(), atb::NO_ERROR);
  const heed::Variable variable("ASCEND_HOME_PATH");
  variable.unset();
  EXPECT_EQ(code_of<atb::infer::GatherParam>(), atb::ERROR_INVALID_PARAM);
  variable.set("");
  EXPECT_EQ(code_of<atb::infer::RopeParam>(), atb::ERROR_INVALID_PARAM);
}

TEST_F(InstallationTest, WithoutAtbsFolderTypesWouldNotBeChecked) {
  const heed::Variable variable("ATB_HOME_PATH");
  variable.unset();
  EXPECT_EQ(code_of<atb::infer::GatherParam>(), atb::ERROR_INVALID_PARAM);
  expect_violation("GatherOperation: ATB_HOME_PATH is not set");
}

}  // namespace
}  // namespace ascend_sim
