// SPDX-License-Identifier: Apache-2.0
// Whole models on the NPU: what remains for the CPU, by reason, and how far results are from the CPU's.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "ascend/support/explained.h"
#include "ascend/support/simulated.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"

namespace heed::ascend_test {
namespace {

using capi_test::ModelCall;

class ModelsOnTheNpu : public Simulated {};

struct Model {
  const char* name;
  std::set<std::string> reasons;  // why an operation runs on the CPU
};

const Model kModels[] = {
    {"albert", {}},
    {"bert", {}},
    {"distilbert", {}},
    {"electra", {}},
    {"modernbert", {}},
    {"gpt2", {}},
    {"opt", {}},
    {"llama", {}},
    {"mistral", {}},
    // Its heads have 8 elements.
    {"qwen3", {"ATB's RmsNorm takes only heads whose size is a multiple of 16"}},
    {"gemma2", {"ATB's attention has no soft cap", "the device has no soft cap of a product"}},
    {"granite", {}},
    {"bart", {}},
    {"t5", {"ATB's attention has no relative bias"}},
};

std::set<std::string> reasons_of(const ModelCall& call) {
  return explain(call.layer.get(), call.inputs, call.outputs)["not_fastest"];
}

// The unit round-off of BF16, in which numbers of F32 are computed.
constexpr double kRoundoff = 0x1p-8;

TEST_F(ModelsOnTheNpu, AgreeWithTheCpu) {
  for (const Model& model : kModels) {
    SCOPED_TRACE(model.name);
    heed_context_options options = npu_options();
    options.strict = model.reasons.empty() ? 1 : 0;
    ModelCall on_npu(capi_test::golden_model(model.name), &options);
    ModelCall on_cpu(capi_test::golden_model(model.name));
    const std::vector<float> found = on_npu.run_for_floats();
    const std::vector<float> expected = on_cpu.run_for_floats();
    EXPECT_EQ(reasons_of(on_npu), model.reasons);
    const double largest = std::fabs(*std::max_element(expected.begin(), expected.end(),
                                                       [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
    EXPECT_LE(difference(found, expected), 8 * kRoundoff * largest);
  }
}

}  // namespace
}  // namespace heed::ascend_test
