// SPDX-License-Identifier: Apache-2.0
// The gradients of attention in the f64 reference against PyTorch's: the cases of data/torch_attention.safetensors,
// data/torch_scores.safetensors and data/torch_rotary.safetensors that have gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/torch_case.h"
#include "reference/attention_gradients.h"
#include "reference/multi_head_gradients.h"
#include "reference/positions.h"
#include "reference/rotary.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;
using Numbers = std::vector<double>;

const TorchFile& file_of(const std::string& name) {
  static std::map<std::string, TorchFile> files;
  return files.try_emplace(name, name).first->second;
}

std::vector<std::string> cases_with_gradients(const std::string& file) {
  std::vector<std::string> cases = file_of(file).cases();
  std::erase_if(cases, [&](const std::string& name) { return TorchCase(file_of(file), name).gradients().empty(); });
  return cases;
}

reference::Bounded exact(Numbers numbers) { return reference::as_read(numbers, std::nullopt); }

reference::Alignment alignment_of(const std::string& name) {
  return name == "bottom_right" ? reference::Alignment::BottomRight : reference::Alignment::TopLeft;
}

// An array that repeats axes of size 1, and lacks those before its own, as (B, H, Q, K).
std::array<int64_t, 4> four_dims(const std::vector<int64_t>& dims) {
  std::array<int64_t, 4> result = {1, 1, 1, 1};
  std::copy(dims.begin(), dims.end(), result.end() - static_cast<std::ptrdiff_t>(dims.size()));
  return result;
}

Numbers repeated(const Numbers& array, const std::array<int64_t, 4>& dims, const reference::AttentionSizes& sizes) {
  Numbers result;
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < sizes.num_queries; ++q) {
        for (int64_t k = 0; k < sizes.num_keys; ++k) {
          const int64_t element =
              ((b % dims[0] * dims[1] + h % dims[1]) * dims[2] + q % dims[2]) * dims[3] + k % dims[3];
          result.push_back(array[static_cast<size_t>(element)]);
        }
      }
    }
  }
  return result;
}

// (B) or (B, Q) for each query.
Numbers lengths_of(const TorchCase& torch_case, const reference::AttentionSizes& sizes) {
  const Numbers lengths = torch_case.numbers("input.valid_lens");
  Numbers result;
  for (int64_t row = 0; row < sizes.batch * sizes.num_queries; ++row)
    result.push_back(
        lengths[static_cast<size_t>(torch_case.dims("input.valid_lens").size() == 2 ? row : row / sizes.num_queries)]);
  return result;
}

reference::AttentionProblem attention_of(const TorchCase& torch_case) {
  const Json& options = torch_case.options();
  reference::AttentionProblem problem;
  problem.sizes = {options["B"], options["H"], options["Hkv"], options["Q"], options["K"], options["D"], options["Dv"]};
  problem.queries = exact(torch_case.numbers("input.query"));
  problem.keys = exact(torch_case.numbers("input.key"));
  problem.values = exact(torch_case.numbers("input.value"));
  problem.options.scale = options.value("scale", 0.0);
  problem.options.soft_cap = options.value("soft_cap", 0.0);
  problem.options.dropout = options.value("dropout", 0.0);
  problem.options.training = true;
  problem.options.dropout_seed = options.value("seed", uint64_t{0});
  if (options.contains("causal")) problem.options.causal = alignment_of(options["causal"]);
  if (options.contains("window")) {
    problem.options.window_left = options["window"][0];
    problem.options.window_right = options["window"][1];
    problem.options.window = alignment_of(options["window"][2]);
  }
  if (options.value("empty_rows", "zero") == "mean") problem.options.empty_rows = reference::EmptyRows::Mean;
  reference::AttentionLimits& limits = problem.limits;
  if (torch_case.has("input.valid_lens")) limits.lengths = lengths_of(torch_case, problem.sizes);
  if (torch_case.has("input.mask")) {
    for (double element :
         repeated(torch_case.numbers("input.mask"), four_dims(torch_case.dims("input.mask")), problem.sizes))
      limits.mask.push_back(element != 0 ? 1 : 0);
  }
  if (torch_case.has("input.bias"))
    limits.bias = repeated(torch_case.numbers("input.bias"), four_dims(torch_case.dims("input.bias")), problem.sizes);
  if (torch_case.has("input.alibi_slopes")) limits.alibi_slopes = torch_case.numbers("input.alibi_slopes");
  if (torch_case.has("input.sinks")) limits.sinks = torch_case.numbers("input.sinks");
  if (options.contains("relative")) {
    const Json& relative = options["relative"];
    limits.relative_bias = {torch_case.numbers("input.relative_table"), relative["num_buckets"],
                            relative["max_distance"], relative["bidirectional"].get<bool>()};
  }
  return problem;
}

class AttentionGradientsOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(AttentionGradientsOfTorch, AreTheReferences) {
  const TorchCase torch_case(file_of("torch_attention"), GetParam());
  const reference::AttentionProblem problem = attention_of(torch_case);
  const reference::AttentionResult forward = reference::attention(problem);
  const Numbers expected = torch_case.numbers("output");
  expect_numbers(forward.output.values, expected, kAgreement, largest_magnitude(expected));
  const reference::AttentionGradients gradients = reference::attention_gradients(problem, torch_case.cotangent());
  const reference::AttentionSizes& sizes = problem.sizes;
  const std::array<int64_t, 4> dims = {sizes.batch, sizes.num_heads, sizes.num_queries, sizes.num_keys};
  for (const std::string& name : torch_case.gradients()) {
    if (name == "bias") {
      const std::array<int64_t, 4> sums = four_dims(torch_case.dims("input.bias"));
      torch_case.expect_gradient(name, reference::sum_over_repeated(gradients.scores, dims, sums).values, kAgreement);
      continue;
    }
    const std::map<std::string, const reference::Bounded*> others = {{"query", &gradients.queries},
                                                                     {"key", &gradients.keys},
                                                                     {"value", &gradients.values},
                                                                     {"sinks", &gradients.sinks},
                                                                     {"relative_table", &gradients.relative_bias}};
    torch_case.expect_gradient(name, others.at(name)->values, kAgreement);
  }
}

INSTANTIATE_TEST_SUITE_P(File, AttentionGradientsOfTorch, testing::ValuesIn(cases_with_gradients("torch_attention")),
                         [](const auto& golden) { return golden.param; });

class ScoreGradientsOfTorch : public testing::TestWithParam<std::string> {
 protected:
  ScoreGradientsOfTorch() {
    const auto size = [&](const char* input) { return torch_case.dims(input).back(); };
    problem.queries = torch_case.numbers("input.query");
    problem.keys = torch_case.numbers("input.key");
    problem.values = torch_case.numbers("input.value");
    if (GetParam() == "nadaraya_watson") return;
    problem.sizes.batch = torch_case.dims("input.query")[0];
    problem.sizes.num_queries = torch_case.dims("input.query")[1];
    problem.sizes.num_keys = torch_case.dims("input.key")[1];
    problem.sizes.num_heads = problem.sizes.num_kv_heads = options.value("num_heads", int64_t{1});
    problem.sizes.value_head_size = size("input.value") / problem.sizes.num_heads;
    problem.options.scoring = reference::Scoring::Additive;
    problem.options.scale = options.value("scale", 1.0);
    if (options.value("empty_rows", "zero") == "mean") problem.options.empty_rows = reference::EmptyRows::Mean;
    if (torch_case.has("input.valid_lens")) problem.limits.lengths = lengths_of(torch_case, problem.sizes);
  }

  reference::Projection projection(const std::string& name) const {
    const std::vector<int64_t> dims = torch_case.dims("param." + name);
    return {dims[1], dims[0], torch_case.numbers("param." + name), {}};
  }
  // By the file's names.
  reference::NamedRows gradients() const {
    reference::NamedRows result = reference::multi_head_gradients(problem, torch_case.cotangent(), reference::unmoved);
    result["query"] = result.at("queries");
    result["key"] = result.at("keys");
    result["value"] = result.at("values");
    return result;
  }
  void expect(const reference::NamedRows& gradients) const {
    for (const std::string& name : torch_case.gradients())
      torch_case.expect_gradient(name, gradients.at(name).values, kAgreement);
  }

  const TorchCase torch_case{file_of("torch_scores"), GetParam()};
  const Json& options = torch_case.options();
  reference::MultiHeadProblem problem;
};

using AdditiveGradientsOfTorch = ScoreGradientsOfTorch;

TEST_P(AdditiveGradientsOfTorch, AreTheReferences) {
  problem.query_projection = projection("W_q.weight");
  problem.key_projection = projection("W_k.weight");
  problem.sizes.head_size = problem.key_projection.output_size / problem.sizes.num_heads;
  problem.score_weights = torch_case.numbers("param.w_v.weight");
  if (torch_case.has("param.W_v.weight")) problem.value_projection = projection("W_v.weight");
  if (torch_case.has("param.W_o.weight")) problem.output_projection = projection("W_o.weight");
  expect(gradients());
}

INSTANTIATE_TEST_SUITE_P(File, AdditiveGradientsOfTorch,
                         testing::Values("additive_plain", "additive_lens", "additive_lens_per_query",
                                         "additive_hidden_item", "additive_heads_scale_1",
                                         "additive_heads_default_scale"),
                         [](const auto& golden) { return golden.param; });

using GeneralGradientsOfTorch = ScoreGradientsOfTorch;

TEST_P(GeneralGradientsOfTorch, AreTheReferences) {
  problem.options.scoring = reference::Scoring::DotProduct;
  problem.key_projection = projection("W");
  problem.sizes.head_size = problem.key_projection.output_size;
  reference::NamedRows result = gradients();
  result["W"] = result.at("W_k.weight");
  expect(result);
}

INSTANTIATE_TEST_SUITE_P(File, GeneralGradientsOfTorch, testing::Values("luong_general"),
                         [](const auto& golden) { return golden.param; });

using ConcatGradientsOfTorch = ScoreGradientsOfTorch;

// W is cut in two.
TEST_P(ConcatGradientsOfTorch, AreTheReferences) {
  const reference::Projection both = projection("W");
  const int64_t query_size = torch_case.dims("input.query").back();
  const auto part = [&](int64_t first, int64_t count) {
    reference::Projection result = {count, both.output_size, {}, {}};
    for (int64_t row = 0; row < both.output_size; ++row) {
      const auto begin = both.weight.begin() + row * both.input_size + first;
      result.weight.insert(result.weight.end(), begin, begin + count);
    }
    return result;
  };
  const int64_t key_size = both.input_size - query_size;
  problem.query_projection = part(0, query_size);
  problem.key_projection = part(query_size, key_size);
  problem.sizes.head_size = both.output_size;
  problem.score_weights = torch_case.numbers("param.v");
  reference::NamedRows result = gradients();
  result["v"] = result.at("w_v.weight");
  Numbers& joined = result["W"].values;
  for (int64_t row = 0; row < both.output_size; ++row) {
    for (const auto& [name, size] : {std::pair{"W_q.weight", query_size}, std::pair{"W_k.weight", key_size}}) {
      const auto begin = result.at(name).values.begin() + row * size;
      joined.insert(joined.end(), begin, begin + size);
    }
  }
  expect(result);
}

INSTANTIATE_TEST_SUITE_P(File, ConcatGradientsOfTorch, testing::Values("luong_concat"),
                         [](const auto& golden) { return golden.param; });

using NadarayaWatsonGradientsOfTorch = ScoreGradientsOfTorch;

// The scores -((x - x_i) w)^2 / 2 are a bias of queries that are 0.
TEST_P(NadarayaWatsonGradientsOfTorch, AreTheReferences) {
  const Numbers x = problem.queries;
  const Numbers keys = problem.keys;
  const double w = torch_case.numbers("param.w").at(0);
  const auto batch = static_cast<int64_t>(x.size());
  const int64_t num_keys = static_cast<int64_t>(keys.size()) / batch;
  reference::AttentionProblem attention;
  attention.sizes = {batch, 1, 1, 1, num_keys, 1, 1};
  attention.queries = exact(Numbers(x.size()));
  attention.keys = exact(Numbers(keys.size()));
  attention.values = exact(problem.values);
  const auto distance = [&](size_t pair) { return x[pair / static_cast<size_t>(num_keys)] - keys[pair]; };
  for (size_t pair = 0; pair < keys.size(); ++pair)
    attention.limits.bias.push_back(-0.5 * std::pow(distance(pair) * w, 2));
  const reference::AttentionGradients gradients = reference::attention_gradients(attention, torch_case.cotangent());
  Numbers of_x(x.size());
  Numbers of_keys(keys.size());
  double of_w = 0;
  for (size_t pair = 0; pair < keys.size(); ++pair) {
    const double of_score = gradients.scores.values[pair];
    of_w -= of_score * distance(pair) * distance(pair) * w;
    of_keys[pair] = of_score * distance(pair) * w * w;
    of_x[pair / static_cast<size_t>(num_keys)] -= of_keys[pair];
  }
  torch_case.expect_gradient("w", {of_w}, kAgreement);
  torch_case.expect_gradient("query", of_x, kAgreement);
  torch_case.expect_gradient("key", of_keys, kAgreement);
  torch_case.expect_gradient("value", gradients.values.values, kAgreement);
}

INSTANTIATE_TEST_SUITE_P(File, NadarayaWatsonGradientsOfTorch, testing::Values("nadaraya_watson"),
                         [](const auto& golden) { return golden.param; });

reference::RotaryOptions rotary_of(const Json& options) {
  reference::RotaryOptions rotary;
  rotary.size = options["rotary_size"];
  rotary.offset = options.value("rotary_offset", int64_t{0});
  rotary.pairing = options["pairing"] == "half" ? reference::Pairing::Half : reference::Pairing::Interleaved;
  rotary.base = options["base"];
  const std::string scaling = options.value("scaling", "none");
  const std::map<std::string, reference::RotaryScaling> scalings = {
      {"none", reference::RotaryScaling::None},     {"linear", reference::RotaryScaling::Linear},
      {"ntk", reference::RotaryScaling::Ntk},       {"yarn", reference::RotaryScaling::Yarn},
      {"llama3", reference::RotaryScaling::Llama3}, {"longrope", reference::RotaryScaling::Factors}};
  rotary.scaling = scalings.at(scaling);
  rotary.factor = options.value("factor", 1.0);
  rotary.original_length = options.value("original_length", 0.0);
  rotary.beta_fast = options.value("beta_fast", 32.0);
  rotary.beta_slow = options.value("beta_slow", 1.0);
  rotary.low_frequency_factor = options.value("low_freq_factor", 1.0);
  rotary.high_frequency_factor = options.value("high_freq_factor", 4.0);
  rotary.rounds_range = !options.value("no_rounding", false);
  rotary.attention_factor = options["attention_factor_applied"];
  if (options.contains("factors")) rotary.factors = options["factors"].get<Numbers>();
  return rotary;
}

class RotaryGradientsOfTorch : public testing::TestWithParam<std::string> {};

TEST_P(RotaryGradientsOfTorch, AreTheReferences) {
  const TorchCase torch_case(file_of("torch_rotary"), GetParam());
  const reference::RotaryOptions rotary = rotary_of(torch_case.options());
  const std::vector<reference::Frequency> frequencies = reference::rotary_frequencies(rotary);
  const int64_t head_size = torch_case.options()["head_size"];
  const Numbers positions = torch_case.numbers("input.positions");
  reference::Bounded rows = exact(torch_case.cotangent());
  for (size_t row = 0; row * static_cast<size_t>(head_size) < rows.values.size(); ++row) {
    const auto first = static_cast<int64_t>(row) * head_size;
    reference::rotate(rotary, frequencies, -static_cast<int64_t>(positions[row % positions.size()]), std::nullopt,
                      rows.values.data() + first, rows.errors.data() + first);
  }
  torch_case.expect_gradient("query", rows.values, kAgreement);
}

INSTANTIATE_TEST_SUITE_P(File, RotaryGradientsOfTorch, testing::ValuesIn(cases_with_gradients("torch_rotary")),
                         [](const auto& golden) { return golden.param; });

TEST(GradientsOfTorchsAttention, AreThoseOfAllCases) {
  EXPECT_EQ(cases_with_gradients("torch_attention").size(), 42U);
  EXPECT_EQ(cases_with_gradients("torch_scores").size(), 9U);
  EXPECT_EQ(cases_with_gradients("torch_rotary").size(), 16U);
}

}  // namespace
}  // namespace heed::golden
