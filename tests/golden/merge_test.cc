// SPDX-License-Identifier: Apache-2.0
// heed_attention_merge against PyTorch in float64: data/torch_merge.safetensors has attention over parts of the keys, and
// over all of them.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <ostream>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

struct Case {
  const char* name;
  int num_parts;
};
std::ostream& operator<<(std::ostream& out, const Case& golden) { return out << golden.name; }

const Case kCases[] = {{"two", 2},         {"three", 3},       {"five", 5},        {"three_causal", 3},
                       {"hidden_part", 3}, {"hidden_rows", 2}, {"three_sinks", 3}, {"far_apart", 3}};

// The tensor rounded to F32, which is what heed is given.
Tensor as_f32(heed_context* context, const Tensor& tensor) {
  Tensor result = capi_test::make_tensor(context, capi_test::dims_of(tensor.get()));
  check(heed_tensor_copy(result.get(), tensor.get()));
  return result;
}

class TorchMerge : public testing::TestWithParam<Case> {};

TEST_P(TorchMerge, OfPartsIsTheWhole) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), "torch_merge");
    const std::string name = GetParam().name;
    std::vector<Tensor> kept;
    std::vector<const heed_tensor*> outputs;
    std::vector<const heed_tensor*> log_sum_exps;
    for (int n = 0; n < GetParam().num_parts; ++n) {
      const std::string part = name + ".parts." + std::to_string(n);
      kept.push_back(as_f32(context.get(), file.load((part + ".output").c_str())));
      outputs.push_back(kept.back().get());
      kept.push_back(as_f32(context.get(), file.load((part + ".log_sum_exp").c_str())));
      log_sum_exps.push_back(kept.back().get());
    }
    const Tensor stored_sinks = file.load_if_present((name + ".input.sinks").c_str());
    const Tensor sinks = stored_sinks == nullptr ? Tensor() : as_f32(context.get(), stored_sinks);
    EXPECT_EQ(sinks != nullptr, name == "three_sinks");
    const Tensor expected_output = file.load((name + ".output").c_str());
    const Tensor expected_log_sum_exp = file.load((name + ".log_sum_exp").c_str());
    const Tensor output = capi_test::make_tensor(context.get(), capi_test::dims_of(expected_output.get()));
    const Tensor log_sum_exp = capi_test::make_tensor(context.get(), capi_test::dims_of(expected_log_sum_exp.get()));
    check(heed_attention_merge(outputs.data(), log_sum_exps.data(), GetParam().num_parts, sinks.get(), output.get(),
                               log_sum_exp.get()));
    // 2e-6 and 5e-7 are the file's own figures for an engine in f32. Its parts are in float64: rounding a part's
    // log_sum_exp l to F32 changes the part's weight by a factor of up to exp(u |l|), that of another part likewise.
    const double rounding_of_weights = 2 * 0x1p-24 * largest_finite(numbers_of(expected_log_sum_exp.get()));
    ASSERT_GT(largest_finite(numbers_of(expected_output.get())), 0);
    ASSERT_GT(largest_finite(numbers_of(expected_log_sum_exp.get())), 0);
    expect_near(output.get(), expected_output.get(), 2e-6 + rounding_of_weights);
    expect_near(log_sum_exp.get(), expected_log_sum_exp.get(), 5e-7);
  });
}

INSTANTIATE_TEST_SUITE_P(Files, TorchMerge, testing::ValuesIn(kCases),
                         [](const auto& golden) { return std::string(golden.param.name); });

}  // namespace
}  // namespace heed::golden
