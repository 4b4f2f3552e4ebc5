// SPDX-License-Identifier: Apache-2.0
// How many launches an operation and a thread keep, according to the environment. The tests run in several
// environments, which also contain the expected numbers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/npu.h"

namespace ascend_sim {
namespace {

using atb::infer::ElewiseParam;

constexpr float kFirst = 0.5F;
// Less than 1e-6 from kFirst.
constexpr float kNear = 0.5000009F;

int64_t expected(const char* variable) { return std::atoll(std::getenv(variable)); }

// No other test has launches of these shapes.
class LaunchesTest : public AtbTest {
 protected:
  // An Elewise MULS operation with this factor.
  class Multiplication {
   public:
    Multiplication(LaunchesTest& test, float factor) : test_(test) {
      ElewiseParam param;
      param.elewiseType = ElewiseParam::ELEWISE_MULS;
      param.mulsParam.varAttr = factor;
      operation_ = create(param);
    }
    ~Multiplication() { EXPECT_EQ(atb::DestroyOperation(operation_), atb::NO_ERROR); }
    Multiplication(const Multiplication&) = delete;
    Multiplication& operator=(const Multiplication&) = delete;

    // Launches with a tensor of ones of this size. Returns the factor that the launch used.
    float launch(int64_t size) {
      DeviceTensor x(desc_of(ACL_FLOAT, {size})), out(desc_of(ACL_FLOAT, {size}));
      x.write_floats(std::vector<float>(static_cast<size_t>(size), 1.0F));
      const atb::VariantPack pack = pack_of({&x}, {&out});
      EXPECT_EQ(test_.set_up(operation_, pack), atb::NO_ERROR);
      EXPECT_EQ(operation_->Execute(pack, nullptr, 0, test_.context_), atb::NO_ERROR);
      EXPECT_EQ(aclrtSynchronizeStream(test_.stream_), ACL_SUCCESS);
      return out.read_floats()[0];
    }

   private:
    LaunchesTest& test_;
    atb::Operation* operation_ = nullptr;
  };

  float launch_once(float factor, int64_t size) { return Multiplication(*this, factor).launch(size); }

  // Launches of new shapes, `fewer` fewer than the thread keeps.
  void launch_others(int64_t fewer = 0) {
    static int64_t size = 100;
    for (int64_t i = fewer; i < of_thread_; ++i) launch_once(kFirst, ++size);
  }

  const int64_t of_operation_ = expected("EXPECTED_OF_OPERATION");
  const int64_t of_thread_ = expected("EXPECTED_OF_THREAD");
};

TEST_F(LaunchesTest, AThreadKeepsTheExpectedNumberOfLaunches) {
  EXPECT_EQ(launch_once(kFirst, 1), kFirst);
  launch_others(1);
  EXPECT_EQ(launch_once(kNear, 1), kFirst);
  // A launch that was found is not added again: it is still the oldest.
  launch_others(of_thread_ - 1);
  EXPECT_EQ(launch_once(kNear, 1), kNear);
}

TEST_F(LaunchesTest, AnOperationLooksAtItsOwnFirst) {
  Multiplication first(*this, kFirst);
  Multiplication near(*this, kNear);
  EXPECT_EQ(first.launch(2), kFirst);
  EXPECT_EQ(near.launch(2), kFirst);
  // The thread has dropped it. A launch that was found in the thread's cache was not added to the operation's.
  launch_others();
  EXPECT_EQ(near.launch(2), kNear);
  EXPECT_EQ(first.launch(2), kFirst);
  EXPECT_EQ(near.launch(2), kNear);
}

TEST_F(LaunchesTest, AnOperationKeepsTheExpectedNumberOfLaunches) {
  Multiplication first(*this, kFirst);
  Multiplication near(*this, kNear);
  for (int64_t i = 0; i <= of_operation_; ++i) EXPECT_EQ(first.launch(10 + i), kFirst);
  launch_others();
  // Replaces the oldest.
  EXPECT_EQ(near.launch(10), kNear);
  EXPECT_EQ(first.launch(10), kNear);
  EXPECT_EQ(first.launch(10 + of_operation_), kFirst);
}

// Factors that differ by 1e-6 or more are different.
TEST_F(LaunchesTest, FactorsAreEqualBelowATolerance) {
  EXPECT_EQ(launch_once(0.0F, 3), 0.0F);
  EXPECT_EQ(launch_once(0.9999999e-6F, 3), 0.0F);
  EXPECT_EQ(launch_once(1.0000001e-6F, 3), 1.0000001e-6F);
}

}  // namespace
}  // namespace ascend_sim
