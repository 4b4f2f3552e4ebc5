// SPDX-License-Identifier: Apache-2.0
// Fixture of the tests on the simulated NPU. After each test nothing may be left on the device, and the simulator must
// have found nothing that hardware answers with undefined behaviour.
#pragma once

#include <ascend_sim/control.h>
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/objects.h"

namespace heed::ascend_test {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

class Simulated : public testing::Test {
 protected:
  void TearDown() override {
    ascend_sim_hold_workers(0);
    ascend_sim_delay_tasks(0);
    ascend_sim_clear_faults();
    char text[4096] = "";
    EXPECT_EQ(ascend_sim_leaks(text, sizeof text), 0u) << text;
    EXPECT_EQ(ascend_sim_violations(text, sizeof text), 0u) << text;
    ascend_sim_clear_violations();
  }
};

// The options of these tests' contexts: strict, so that no operation runs on the CPU unnoticed.
heed_context_options npu_options();
Context make_npu_context();

// Multi-head attention of 64 hidden elements in 4 heads, with inputs and an output of one dtype.
struct Attention {
  explicit Attention(heed_context* context, heed_dtype dtype = HEED_F16, const Dims& lens = {});

  heed_status forward() const;
  std::vector<float> read() const;

  Layer layer;
  Tensor queries;
  Tensor keys;
  Tensor valid_lens;
  Tensor output;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;

 private:
  heed_context* context_;
};

// The largest difference between two results.
double difference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace heed::ascend_test
