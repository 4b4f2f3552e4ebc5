// SPDX-License-Identifier: Apache-2.0
// Attention against PyTorch in float64: every case of data/torch_attention.safetensors. The options of a case are in the
// file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/torch_backward.h"
#include "golden/support/torch_case.h"
#include "golden/support/torch_file.h"
#include "golden/support/torch_reference.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

const TorchFile& torch_file() {
  static const TorchFile kFile("torch_attention");
  return kFile;
}

// The cases of attention that have this; all for "Q".
std::vector<std::string> cases_with(const char* option) {
  std::vector<std::string> result;
  for (const std::string& name : torch_file().cases()) {
    const Json options = torch_file().options_of(name);
    if (options.contains("Q") && options.contains(option)) result.push_back(name);
  }
  return result;
}

// Those of dot-product attention, which has no relative bias.
std::vector<std::string> cases_of_dot_product() {
  std::vector<std::string> all = cases_with("Q");
  std::erase_if(all, [](const std::string& name) { return torch_file().options_of(name).contains("relative"); });
  return all;
}

// Those with something that a multi-head layer has by itself.
std::vector<std::string> cases_of_layers() {
  std::vector<std::string> all;
  for (const char* option : {"alibi", "relative", "sinks"}) {
    const std::vector<std::string> more = cases_with(option);
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

int32_t alignment_of(const std::string& name) {
  return name == "bottom_right" ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_TOP_LEFT;
}

template <typename Options>
void set_shared_options(const Json& options, Options& result) {
  result.scale = options.value("scale", 0.0F);
  result.soft_cap = options.value("soft_cap", 0.0F);
  result.dropout = options.value("dropout", 0.0F);
  if (options.contains("causal")) result.causal = alignment_of(options["causal"]);
  if (options.contains("window")) {
    result.window_left = options["window"][0];
    result.window_right = options["window"][1];
    result.window = alignment_of(options["window"][2]);
  }
  if (options.value("empty_rows", "zero") == "mean") result.empty_rows = HEED_EMPTY_ROWS_MEAN;
}

// 1e-6 and 5e-7 are the file's own figures for an engine in f32.
void expect_the_files_results(const GoldenFile& file, const std::string& name, const Outputs& outputs) {
  const double coarser = property::coarseness(HEED_F32);
  expect_near(outputs.output.get(), file.load((name + ".output").c_str()).get(), 1e-6 * coarser);
  expect_near(outputs.weights.get(), file.load((name + ".weights").c_str()).get(), 1e-6 * coarser);
  expect_near(outputs.log_sum_exp.get(), file.load((name + ".log_sum_exp").c_str()).get(), 5e-7 * coarser);
}

class TorchAttention : public testing::TestWithParam<std::string> {};

TEST_P(TorchAttention, AgreesWithPyTorch) {
  const std::string& name = GetParam();
  const Json options = torch_file().options_of(name);
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), torch_file().name());
    const Inputs tensors(file, name);
    EXPECT_EQ(tensors.alibi_slopes != nullptr, options.contains("alibi"));
    EXPECT_EQ(tensors.sinks != nullptr, options.contains("sinks"));
    heed_layer_inputs inputs = tensors.given;
    inputs.training = options.contains("dropout") ? 1 : 0;
    inputs.dropout_seed = options.value("seed", uint64_t{0});
    heed_dot_product_attention_options heed_options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    set_shared_options(options, heed_options);
    const Layer layer = capi_test::make_dot_product(context.get(), heed_options);
    expect_the_files_results(file, name, forward(layer.get(), inputs));
  });
}

// 4e-6 is the file's own figure for an engine in f32.
constexpr double kGradientTolerance = 4e-6;

TEST_P(TorchAttention, HasPyTorchsGradients) {
  const TorchCase torch_case(torch_file(), GetParam());
  if (torch_case.gradients().empty()) GTEST_SKIP() << "the case has none";
  const Json& options = torch_case.options();
  const Context context = make_context();
  const GoldenFile file(context.get(), torch_file().name());
  const Inputs tensors(file, GetParam());
  heed_layer_inputs inputs = tensors.given;
  inputs.training = options.contains("dropout") ? 1 : 0;
  inputs.dropout_seed = options.value("seed", uint64_t{0});
  heed_dot_product_attention_options heed_options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  set_shared_options(options, heed_options);
  const Layer layer = capi_test::make_dot_product(context.get(), heed_options);
  reference::NamedRows gradients = backward(context.get(), layer.get(), inputs, torch_case.cotangent());
  gradients["query"] = gradients.at("queries");
  gradients["key"] = gradients.at("keys");
  gradients["value"] = gradients.at("values");
  for (const std::string& name : torch_case.gradients()) {
    const std::vector<double>& numbers = gradients.at(name).values;
    // One bias for all keys of a row changes nothing: what is left of its gradient of 0 is rounding.
    if (GetParam() == "bias_bhq1" && name == "bias")
      expect_numbers(numbers, std::vector<double>(numbers.size()), 1e-6, 1.0);
    else
      torch_case.expect_gradient(name, numbers, kGradientTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchAttention, testing::ValuesIn(cases_of_dot_product()),
                         [](const auto& golden) { return golden.param; });

// (B, H, S, D) as (B, S, H * D).
Tensor side_by_side(heed_context* context, const Tensor& heads) {
  const Dims dims = capi_test::dims_of(heads.get());
  const Tensor transposed = capi_test::make_transposed(heads.get(), {0, 2, 1, 3});
  Tensor result = capi_test::make_tensor(context, {dims[0], dims[2], dims[1] * dims[3]});
  check(heed_tensor_copy(capi_test::make_reshaped(result.get(), {dims[0], dims[2], dims[1], dims[3]}).get(),
                         transposed.get()));
  return result;
}

Tensor identity(heed_context* context, int64_t size) {
  std::vector<float> elements(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < size; ++i) elements[static_cast<size_t>(i * (size + 1))] = 1;
  return capi_test::make_tensor_of(context, {size, size}, elements);
}

class TorchLayer : public testing::TestWithParam<std::string> {
 protected:
  // Of the table and the sinks.
  static void expect_gradients_of_parameters(const std::string& name, heed_context* context, const heed_layer* layer,
                                             const heed_layer_inputs& inputs) {
    const TorchCase torch_case(torch_file(), name);
    if (torch_case.gradients().empty()) return;
    const std::vector<int64_t> dims = torch_case.dims("cotangent");
    std::vector<double> of_output;
    for (int64_t b = 0; b < dims[0]; ++b) {
      const std::vector<double> all = torch_case.cotangent();
      const auto begin = all.begin() + b * dims[1] * dims[2] * dims[3];
      const std::vector<double> rows =
          with_first_axes_swapped({begin, begin + dims[1] * dims[2] * dims[3]}, dims[1], dims[2]);
      of_output.insert(of_output.end(), rows.begin(), rows.end());
    }
    const reference::NamedRows gradients = backward(context, layer, inputs, of_output);
    for (const auto& [torch_name, parameter] :
         {std::pair{"relative_table", "relative_bias.weight"}, std::pair{"sinks", "sinks"}}) {
      if (torch_case.has(std::string("grad.") + torch_name))
        torch_case.expect_gradient(torch_name, gradients.at(parameter).values, kGradientTolerance);
    }
  }
};

// The same numbers from a multi-head layer that has slopes, table or sinks by itself, with identities as projections.
TEST_P(TorchLayer, AgreesWithPyTorch) {
  const std::string& name = GetParam();
  const Json options = torch_file().options_of(name);
  const int64_t heads = options["H"];
  const int64_t kv_heads = options["Hkv"];
  const int64_t head_size = options["D"];
  const int64_t value_head_size = options["Dv"];
  heed_multi_head_attention_options heed_options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  set_shared_options(options, heed_options);
  heed_options.num_heads = heads;
  heed_options.num_kv_heads = kv_heads;
  heed_options.head_size = head_size;
  heed_options.value_head_size = value_head_size;
  heed_options.no_output_projection = 1;
  heed_options.alibi = options.contains("alibi") ? HEED_ALIBI_ADDED : HEED_ALIBI_NONE;
  heed_options.sinks = options.contains("sinks") ? 1 : 0;
  if (options.contains("relative")) {
    const Json& relative = options["relative"];
    heed_options.relative_bias =
        relative["bidirectional"].get<bool>() ? HEED_RELATIVE_BIAS_BOTH_WAYS : HEED_RELATIVE_BIAS_ONE_WAY;
    heed_options.relative_bias_buckets = relative["num_buckets"];
    heed_options.relative_bias_max_distance = relative["max_distance"];
  }
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), torch_file().name());
    const Inputs tensors(file, name);
    const Layer layer = capi_test::make_multi_head(context.get(), heed_options);
    const auto set = [&](const char* parameter, const Tensor& value) {
      check(heed_layer_set_parameter(layer.get(), parameter, value.get()));
    };
    set("W_q.weight", identity(context.get(), heads * head_size));
    set("W_k.weight", identity(context.get(), kv_heads * head_size));
    set("W_v.weight", identity(context.get(), kv_heads * value_head_size));
    if (heed_options.sinks == 1) set("sinks", tensors.sinks);
    if (heed_options.relative_bias != HEED_RELATIVE_BIAS_NONE)
      set("relative_bias.weight", file.load((name + ".input.relative_table").c_str()));
    const Tensor queries = side_by_side(context.get(), tensors.queries);
    const Tensor keys = side_by_side(context.get(), tensors.keys);
    const Tensor values = side_by_side(context.get(), tensors.values);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    inputs.values = values.get();
    inputs.valid_lens = tensors.valid_lens.get();
    if (!on_ascend()) expect_gradients_of_parameters(name, context.get(), layer.get(), inputs);
    Outputs outputs = forward(layer.get(), inputs);
    const Tensor merged = std::move(outputs.output);
    const Dims dims = capi_test::dims_of(merged.get());
    const Tensor split = capi_test::make_reshaped(merged.get(), {dims[0], dims[1], heads, value_head_size});
    outputs.output = capi_test::make_transposed(split.get(), {0, 2, 1, 3});
    expect_the_files_results(file, name, outputs);
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchLayer, testing::ValuesIn(cases_of_layers()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchAttentionFile, HasTheCasesOfEveryOption) {
  const std::vector<std::string> all = cases_of_dot_product();
  EXPECT_EQ(all.size(), 40U);
  for (const char* name : {"alibi_square", "alibi_cached", "everything", "hidden_nan", "hidden_rows_mean_dropout",
                           "sinks", "sinks_causal_window", "sinks_hidden_rows"})
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
  const std::vector<std::string> of_layers = cases_of_layers();
  EXPECT_EQ(of_layers.size(), 7U);
  for (const char* name : {"relative_both_ways", "relative_one_way_cached", "sinks_hidden_rows", "alibi_cached"})
    EXPECT_EQ(std::count(of_layers.begin(), of_layers.end(), name), 1) << name;
}

// A row of queries sees one key each, and the bias is the number of its bucket: with queries of 0 that is log_sum_exp.
TEST(RelativeBuckets, AreThoseOfT5) {
  for (const bool both_ways : {true, false}) {
    const std::string name = both_ways ? "relative_buckets_both_ways" : "relative_buckets_one_way";
    const Json options = torch_file().options_of(name);
    const int64_t num_buckets = options["num_buckets"];
    heed_multi_head_attention_options heed_options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
    heed_options.num_hiddens = heed_options.num_heads = 1;
    heed_options.relative_bias = both_ways ? HEED_RELATIVE_BIAS_BOTH_WAYS : HEED_RELATIVE_BIAS_ONE_WAY;
    heed_options.relative_bias_buckets = num_buckets;
    heed_options.relative_bias_max_distance = options["max_distance"];
    on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      const GoldenFile file(context.get(), torch_file().name());
      const std::vector<double> distances = numbers_of(file.load((name + ".input.distance").c_str()).get());
      const std::vector<double> buckets = numbers_of(file.load((name + ".output").c_str()).get());
      const auto count = static_cast<int64_t>(distances.size());
      ASSERT_EQ(count, 401);
      const Layer layer = capi_test::make_multi_head(context.get(), heed_options);
      const Tensor numbers = capi_test::make_tensor(context.get(), {num_buckets, 1});
      check(heed_tensor_fill_arange(numbers.get(), 0, 1));
      const Tensor zeros = capi_test::make_tensor(context.get(), {1, count, 1});
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = zeros.get();
      // Keys that are the queries' array would have the positions of the queries.
      const Tensor keys = capi_test::make_tensor(context.get(), {1, count, 1});
      inputs.keys = keys.get();
      check(heed_layer_initialize(layer.get(), &inputs, 1));
      check(heed_layer_set_parameter(layer.get(), "relative_bias.weight", numbers.get()));
      // Key j has the position j, and every query that of the key in the middle.
      const Tensor positions = capi_test::make_tensor_of(
          context.get(), {1, count},
          std::vector<int32_t>(static_cast<size_t>(count), static_cast<int32_t>(-distances[0])));
      std::vector<uint8_t> sees(static_cast<size_t>(count * count));
      for (int64_t i = 0; i < count; ++i) sees[static_cast<size_t>(i * (count + 1))] = 1;
      const Tensor mask = capi_test::make_tensor_of(context.get(), {count, count}, sees, HEED_BOOL);
      heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
      sequences.positions = positions.get();
      inputs.sequences = &sequences;
      inputs.mask = mask.get();
      // The log-sum-exp of one key is its score, rounded a few times.
      const std::vector<double> scores = numbers_of(forward(layer.get(), inputs).log_sum_exp.get());
      for (size_t i = 0; i < scores.size(); ++i)
        EXPECT_NEAR(scores[i], buckets[i], 1e-4) << name << ", distance " << distances[i];
    });
  }
}

TEST(AlibiSlopes, AreThoseOfPressEtAl) {
  const Context context = make_context();
  const GoldenFile file(context.get(), torch_file().name());
  for (const int64_t heads : {4, 6, 8, 12}) {
    const std::vector<double> expected =
        numbers_of(file.load(("alibi_slopes_" + std::to_string(heads) + ".output").c_str()).get());
    const Tensor slopes = capi_test::make_tensor(context.get(), {heads});
    check(heed_tensor_fill_alibi_slopes(slopes.get()));
    const std::vector<double> numbers = numbers_of(slopes.get());
    ASSERT_EQ(numbers.size(), expected.size());
    for (size_t h = 0; h < numbers.size(); ++h)
      EXPECT_EQ(numbers[h], static_cast<double>(static_cast<float>(expected[h]))) << heads << " heads, head " << h;
  }
}

}  // namespace
}  // namespace heed::golden
