// SPDX-License-Identifier: Apache-2.0
// Dot-product attention against PyTorch in float64: every case of data/torch_attention.safetensors that heed has an option
// for. The options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_attention";

Json read_metadata() {
  std::ifstream file(HEED_SOURCE_DIR "/tests/golden/data/" + std::string(kFile) + ".safetensors", std::ios::binary);
  uint64_t size = 0;
  file.read(reinterpret_cast<char*>(&size), sizeof size);
  std::string header(size, '\0');
  file.read(header.data(), static_cast<std::streamsize>(size));
  return Json::parse(header).at("__metadata__");
}

const Json& metadata() {
  static const Json kMetadata = read_metadata();
  return kMetadata;
}

Json options_of(const std::string& name) { return Json::parse(metadata().at(name).get<std::string>()); }

// The cases of attention, without those of inputs that heed does not have.
std::vector<std::string> cases() {
  std::vector<std::string> result;
  for (const Json& name : Json::parse(metadata().at("cases").get<std::string>())) {
    const Json options = options_of(name);
    if (options.contains("Q") && !options.contains("relative") && !options.contains("sinks")) result.push_back(name);
  }
  return result;
}

int32_t alignment_of(const std::string& name) {
  return name == "bottom_right" ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_TOP_LEFT;
}

heed_dot_product_attention_options heed_options(const Json& options) {
  heed_dot_product_attention_options result = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
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
  return result;
}

class TorchAttention : public testing::TestWithParam<std::string> {};

TEST_P(TorchAttention, AgreesWithPyTorch) {
  const std::string& name = GetParam();
  const Json options = options_of(name);
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Inputs tensors(file, name);
    EXPECT_EQ(tensors.alibi_slopes != nullptr, options.contains("alibi"));
    heed_layer_inputs inputs = tensors.given;
    inputs.training = options.contains("dropout") ? 1 : 0;
    inputs.dropout_seed = options.value("seed", uint64_t{0});
    const Layer layer = capi_test::make_dot_product(context.get(), heed_options(options));
    const Outputs outputs = forward(layer.get(), inputs);
    // 1e-6 and 5e-7 are the file's own figures for an engine in f32.
    const double coarser = property::coarseness(HEED_F32);
    expect_near(outputs.output.get(), file.load((name + ".output").c_str()).get(), 1e-6 * coarser);
    expect_near(outputs.weights.get(), file.load((name + ".weights").c_str()).get(), 1e-6 * coarser);
    expect_near(outputs.log_sum_exp.get(), file.load((name + ".log_sum_exp").c_str()).get(), 5e-7 * coarser);
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchAttention, testing::ValuesIn(cases()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchAttentionFile, HasTheCasesOfEveryOption) {
  const std::vector<std::string> all = cases();
  EXPECT_GE(all.size(), 30U);
  for (const char* name : {"alibi_square", "alibi_cached", "everything", "hidden_nan", "hidden_rows_mean_dropout"})
    EXPECT_EQ(std::count(all.begin(), all.end(), name), 1) << name;
}

TEST(AlibiSlopes, AreThoseOfPressEtAl) {
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
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
