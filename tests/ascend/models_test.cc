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
#include "cache/support/caches.h"
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

// Two rows, and three more that continue their sequences: small heads have their cache on the host, so the CPU attends.
TEST_F(ModelsOnTheNpu, StepsWithACacheAgreeWithTheWholeText) {
  for (const char* model : {"gpt2", "llama"}) {
    SCOPED_TRACE(model);
    heed_context_options options = npu_options();
    options.strict = 0;
    ModelCall call(capi_test::golden_model(model), &options);
    heed_tensor* const ids = call.ids({2, 5}, 3);
    call.inputs.queries = ids;
    const std::vector<float> whole = call.run_for_floats();
    const size_t size = whole.size() / 10;

    heed_cache_options of_cache = HEED_CACHE_OPTIONS_INIT;
    property::check(heed_layer_cache_options(call.layer.get(), &of_cache));
    of_cache.max_sequences = 2;
    of_cache.capacity = 8;
    of_cache.dtype = HEED_BF16;
    const cache_test::Cache cache = cache_test::make_cache(call.context.get(), of_cache);
    heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
    cached.cache = cache.get();
    call.inputs.cache = &cached;
    int64_t first = 0;
    for (const int64_t count : {2, 1, 2}) {
      call.inputs.queries = call.keep(capi_test::make_slice(ids, 1, first, count));
      const std::vector<float> rows = call.run_for_floats();
      double largest = 0.0;
      double magnitude = 0.0;
      for (size_t i = 0; i < rows.size(); ++i) {
        const size_t row = i / size % static_cast<size_t>(count) + static_cast<size_t>(first);
        const size_t of_whole = (i / size / static_cast<size_t>(count) * 5 + row) * size + i % size;
        largest = std::max(largest, std::fabs(static_cast<double>(rows[i]) - static_cast<double>(whole[of_whole])));
        magnitude = std::max(magnitude, std::fabs(static_cast<double>(whole[of_whole])));
      }
      EXPECT_LE(largest, 8 * kRoundoff * magnitude) << count << " rows from row " << first;
      first += count;
    }
  }
}

}  // namespace
}  // namespace heed::ascend_test
