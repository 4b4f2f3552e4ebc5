// SPDX-License-Identifier: Apache-2.0
// Models of Hugging Face transformers, in files written by save_pretrained. With the options of a model heed must give
// the model's numbers; with any other options the file must be refused by the name of the option. make_models.py generates
// data/models.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/model_attentions.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;
using property::Fallback;
using property::on_device;

std::vector<double> as_doubles(const heed_tensor* tensor) { return numbers_of(tensor); }

class EveryModelAttention : public testing::TestWithParam<ModelAttention> {
 protected:
  static Tensor load_case(const Context& context, const std::string& name) {
    return golden::load_case(context, GetParam().family, name);
  }
  static std::vector<int32_t> lengths(const Context& context) { return lengths_of(context, GetParam().family); }

  // Results of padded queries have no meaning, and are 0 in the file. Sets both to 0.
  static void clear_padding(std::vector<double>& numbers, const Dims& dims, const std::vector<int32_t>& lengths) {
    const size_t query_axis = dims.size() == 3 ? 1 : 2;
    size_t row_size = 1;
    for (size_t axis = query_axis + 1; axis < dims.size(); ++axis) row_size *= static_cast<size_t>(dims[axis]);
    const size_t num_rows = numbers.size() / row_size;
    const size_t rows_of_item = num_rows / static_cast<size_t>(dims[0]);
    for (size_t row = 0; row < num_rows; ++row) {
      const auto query = static_cast<int64_t>(row) % dims[query_axis];
      if (query < lengths.at(row / rows_of_item)) continue;
      std::fill_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * row_size), row_size, 0.0);
    }
  }
};

TEST_P(EveryModelAttention, GivesTheModelsNumbers) {
  // The bounds on a device are derived for attention without these options.
  if (property::on_ascend() && GetParam().set != nullptr) GTEST_SKIP() << "no bound on the device";
  on_device([&](Fallback fallback) {
    const ModelAttention& attention = GetParam();
    const Context context = property::make_context(fallback);
    Options options = attention.options();
    const Layer layer = capi_test::make_multi_head(context.get(), options.bound());
    property::check(heed_layer_load(layer.get(), path_of(attention.family).c_str(), attention.prefix));

    const std::string cases = attention.cases;
    const Tensor queries = load_case(context, cases + ".input");
    const Tensor keys = load_case(context, cases + ".memory");
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    ASSERT_EQ(keys != nullptr, attention.is_cross());
    // The sequence of a decoder is not padded; cross attention sees the encoder's, which is.
    std::vector<int32_t> lens = lengths(context);
    if (attention.is_decoder && !attention.is_cross()) lens.clear();
    Tensor valid_lens;
    if (!lens.empty()) {
      valid_lens = capi_test::make_tensor_of(context.get(), {static_cast<int64_t>(lens.size())}, lens);
      inputs.valid_lens = valid_lens.get();
    }
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS, &outputs));
    const Tensor output(outputs.output);
    const Tensor weights(outputs.weights);
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));

    Derived derived;
    if (attention.set == nullptr) derived = derive_anywhere(layer.get(), options.bound(), inputs);
    const auto expect = [&](const char* name, const Tensor& is, const Tensor& errors) {
      SCOPED_TRACE(name);
      const Tensor should = load_case(context, cases + "." + name);
      ASSERT_TRUE(should);
      const Dims dims = capi_test::dims_of(should.get());
      ASSERT_EQ(capi_test::dims_of(is.get()), dims);
      std::vector<double> numbers = as_doubles(is.get());
      std::vector<double> expected = as_doubles(should.get());
      if (!lens.empty() && !attention.is_cross()) {
        clear_padding(numbers, dims, lens);
        clear_padding(expected, dims, lens);
      }
      expect_numbers_of_model(numbers, expected, errors.get());
    };
    expect("output", output, derived.errors.output);
    expect("weights", weights, derived.errors.weights);
  });
}

// Packed parts, and norms plus 1, take another way to a device with its own memory.
TEST_P(EveryModelAttention, LoadsTheSameParametersOnEveryDevice) {
  const ModelAttention& attention = GetParam();
  const Context cpu = capi_test::make_context();
  const Context device = property::make_context();
  Options options = attention.options();
  const Layer expected = capi_test::make_multi_head(cpu.get(), options.bound());
  const Layer layer = capi_test::make_multi_head(device.get(), options.bound());
  for (const Layer* each : {&expected, &layer})
    property::check(heed_layer_load(each->get(), path_of(attention.family).c_str(), attention.prefix));
  for (int64_t i = 0; i < heed_layer_parameter_count(layer.get()); ++i) {
    const char* name = heed_layer_parameter_name(layer.get(), i);
    EXPECT_EQ(as_doubles(capi_test::snapshot(layer.get(), name).get()),
              as_doubles(capi_test::snapshot(expected.get(), name).get()))
        << name;
  }
}

// Without config.json, by the names alone. They tell everything but that Gemma 3's norms multiply by 1 + weight.
TEST_P(EveryModelAttention, LoadsFromMemoryToo) {
  const ModelAttention& attention = GetParam();
  const Context context = capi_test::make_context();
  const std::string bytes = capi_test::read_file(path_of(attention.family));
  Options options = attention.options();
  const Layer expected = capi_test::make_multi_head(context.get(), options.bound());
  property::check(heed_layer_load(expected.get(), path_of(attention.family).c_str(), attention.prefix));
  const Layer layer = capi_test::make_multi_head(context.get(), options.bound());
  ASSERT_EQ(heed_layer_load_memory(layer.get(), bytes.data(), bytes.size(), attention.prefix), HEED_OK)
      << heed_last_error();
  const bool is_gemma3 = attention.family == std::string("gemma3");
  int64_t num_norms_plus_one = 0;
  for (int64_t i = 0; i < heed_layer_parameter_count(expected.get()); ++i) {
    const std::string name = heed_layer_parameter_name(expected.get(), i);
    std::vector<double> numbers = as_doubles(capi_test::snapshot(layer.get(), name.c_str()).get());
    if (is_gemma3 && (name == "q_norm.weight" || name == "k_norm.weight")) {
      ++num_norms_plus_one;
      for (double& number : numbers) number = static_cast<double>(static_cast<float>(number) + 1.0F);
    }
    EXPECT_EQ(numbers, as_doubles(capi_test::snapshot(expected.get(), name.c_str()).get())) << name;
  }
  EXPECT_EQ(num_norms_plus_one, is_gemma3 ? 2 : 0);
}

// A .safetensors file.
struct FileParts {
  std::string header;
  std::string data;
};

FileParts parts_of(const std::string& bytes) {
  uint64_t header_size = 0;
  std::copy_n(bytes.begin(), sizeof header_size, reinterpret_cast<char*>(&header_size));
  return {bytes.substr(8, header_size), bytes.substr(8 + header_size)};
}

std::string bytes_of(const FileParts& parts) { return capi_test::safetensors(parts.header, 0) + parts.data; }

void add_tensor(FileParts& parts, const std::string& name, const Tensor& tensor) {
  std::string dims;
  for (const int64_t dim : capi_test::dims_of(tensor.get())) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
  const std::vector<uint8_t> elements = capi_test::read_bytes(tensor.get());
  const size_t begin = parts.data.size();
  parts.data.append(elements.begin(), elements.end());
  parts.header.insert(parts.header.rfind('}'), ",\"" + name + R"(":{"dtype":"F32","shape":[)" + dims +
                                                   R"(],"data_offsets":[)" + std::to_string(begin) + "," +
                                                   std::to_string(parts.data.size()) + "]}");
}

void expect_refused(const ModelAttention& attention, const heed_multi_head_attention_options& options,
                    const std::vector<std::string>& words) {
  const Context context = capi_test::make_context();
  const Layer layer = capi_test::make_multi_head(context.get(), options);
  EXPECT_EQ(heed_layer_load(layer.get(), path_of(attention.family).c_str(), attention.prefix),
            HEED_ERROR_INVALID_ARGUMENT);
  const std::string sentence = heed_last_error();
  EXPECT_LT(sentence.size(), 511U) << "cut: " << sentence;
  for (const std::string& word : words)
    EXPECT_NE(sentence.find(word), std::string::npos) << word << "\nin " << sentence;
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
}

// If the configuration determines causal, the other value is refused by name.
TEST_P(EveryModelAttention, IsRefusedWithoutItsCausalMaskOrWithAnother) {
  const ModelAttention& attention = GetParam();
  Options other = attention.options();
  other.of_layer.causal = attention.causal ? HEED_CAUSAL_NONE : HEED_CAUSAL_TOP_LEFT;
  expect_refused(attention, other.bound(),
                 {attention.causal ? "options->causal is HEED_CAUSAL_NONE, expected HEED_CAUSAL_TOP_LEFT or "
                                     "HEED_CAUSAL_BOTTOM_RIGHT"
                                   : "options->causal is HEED_CAUSAL_TOP_LEFT, expected HEED_CAUSAL_NONE",
                  "with accept \"causal"});
}

TEST_P(EveryModelAttention, IsRefusedWithAnotherScale) {
  const ModelAttention& attention = GetParam();
  Options other = attention.options();
  other.of_layer.scale = 0.125F;
  expect_refused(attention, other.bound(), {"options->scale is 0.125, expected "});
}

TEST_P(EveryModelAttention, IsRefusedWithAnotherNumberOfHeads) {
  const ModelAttention& attention = GetParam();
  Options other = attention.options();
  const int64_t num_heads = other.of_layer.num_heads;
  if (other.of_layer.head_size == 0) other.of_layer.head_size = other.of_layer.num_hiddens / num_heads;
  other.of_layer.num_heads *= 2;
  expect_refused(
      attention, other.bound(),
      {"options->num_heads is " + std::to_string(2 * num_heads) + ", expected " + std::to_string(num_heads)});
}

// Each option that a model needs, left out or with another value.
TEST_P(EveryModelAttention, IsRefusedWithoutEachOptionOrWithAnother) {
  const ModelAttention& attention = GetParam();
  if (attention.set == nullptr) return;
  const Options right = attention.options();
  const auto expect = [&](const std::string& words, const auto& change) {
    SCOPED_TRACE(words);
    Options other = right;
    change(other);
    expect_refused(attention, other.bound(), {words});
  };
  const auto expect_rope = [&](const std::string& words, const auto& change) {
    expect("options->rope->" + words, [&](Options& options) { change(options.of_rope); });
  };
  const int32_t layout = right.of_rope.layout;
  if (layout != 0) {
    expect("options->rope is NULL, expected options->rope->layout ",
           [](Options& options) { options.of_rope.layout = 0; });
    const bool is_half = layout == HEED_ROPE_HALF;
    expect_rope(is_half ? "layout is HEED_ROPE_INTERLEAVED, expected HEED_ROPE_HALF"
                        : "layout is HEED_ROPE_HALF, expected HEED_ROPE_INTERLEAVED",
                [&](heed_rope_options& rope) { rope.layout = is_half ? HEED_ROPE_INTERLEAVED : HEED_ROPE_HALF; });
    expect_rope("base is 12345, expected ", [](heed_rope_options& rope) { rope.base = 12345; });
    expect_rope("rotary_size is 2, expected ", [](heed_rope_options& rope) {
      rope.rotary_size = 2;
      if (rope.num_factors > 0) rope.num_factors = 1;
    });
    expect_rope("rotary_offset is 2, expected 0", [](heed_rope_options& rope) {
      rope.rotary_offset = 2;
      rope.rotary_size = 2;
      if (rope.num_factors > 0) rope.num_factors = 1;
    });
    expect_rope("attention_factor is 2, expected ", [](heed_rope_options& rope) { rope.attention_factor = 2; });
  }
  const int32_t scaling = right.of_rope.scaling;
  if (scaling != HEED_ROPE_SCALING_NONE) {
    expect_rope("scaling is HEED_ROPE_SCALING_NONE, expected ", [](heed_rope_options& rope) {
      const heed_rope_options none = HEED_ROPE_OPTIONS_INIT;
      const heed_rope_options before = rope;
      rope = none;
      rope.layout = before.layout;
      rope.base = before.base;
      rope.rotary_size = before.rotary_size;
    });
  }
  if (scaling == HEED_ROPE_SCALING_FACTORS) {
    static constexpr float kOthers[] = {1, 2, 3};
    expect_rope("factors has other numbers than the model, expected its \"long_factor\" or \"short_factor\"",
                [](heed_rope_options& rope) { rope.factors = kOthers; });
  } else if (scaling != HEED_ROPE_SCALING_NONE) {
    expect_rope("factor is 3, expected ", [](heed_rope_options& rope) { rope.factor = 3; });
  }
  if (scaling == HEED_ROPE_SCALING_YARN || scaling == HEED_ROPE_SCALING_LLAMA3)
    expect_rope("original_length is 77, expected ", [](heed_rope_options& rope) { rope.original_length = 77; });
  if (scaling == HEED_ROPE_SCALING_YARN) {
    expect_rope("no_rounding is ", [](heed_rope_options& rope) { rope.no_rounding = 1 - rope.no_rounding; });
    expect_rope("beta_fast is 31, expected 32", [](heed_rope_options& rope) { rope.beta_fast = 31; });
    expect_rope("beta_slow is 2, expected 1", [](heed_rope_options& rope) { rope.beta_slow = 2; });
  }
  if (scaling == HEED_ROPE_SCALING_LLAMA3) {
    expect_rope("low_freq_factor is 2, expected 1", [](heed_rope_options& rope) { rope.low_freq_factor = 2; });
    expect_rope("high_freq_factor is 5, expected 4", [](heed_rope_options& rope) { rope.high_freq_factor = 5; });
  }
  if (right.of_layer.window != HEED_WINDOW_NONE) {
    expect("options->window is HEED_WINDOW_NONE, expected options->window_left ", [](Options& options) {
      options.of_layer.window = HEED_WINDOW_NONE;
      options.of_layer.window_left = options.of_layer.window_right = 0;
    });
    expect("options->window_left is 4 ", [](Options& options) { options.of_layer.window_left = 4; });
  } else {
    expect("options->window_left is 1 and options->window_right ", [](Options& options) {
      options.of_layer.window = HEED_WINDOW_TOP_LEFT;
      options.of_layer.window_left = 1;
    });
  }
  expect("options->soft_cap is 3, expected ", [](Options& options) { options.of_layer.soft_cap = 3; });
  if (right.of_layer.qk_norm_epsilon > 0) {
    expect("options->qk_norm_epsilon is 0, expected 1e-06, for \"" + std::string(attention.prefix) + ".q_norm.weight\"",
           [](Options& options) { options.of_layer.qk_norm_epsilon = 0; });
    expect("options->qk_norm_epsilon is 2e-06, expected 1e-06",
           [](Options& options) { options.of_layer.qk_norm_epsilon = 2e-6F; });
  }
  if (right.of_layer.sinks != 0) {
    expect("options->sinks is 0, expected 1, for \"" + std::string(attention.prefix) + ".sinks\"",
           [](Options& options) { options.of_layer.sinks = 0; });
  }
  if (right.of_layer.alibi != HEED_ALIBI_NONE) {
    expect("options->alibi is HEED_ALIBI_NONE, expected HEED_ALIBI_ADDED",
           [](Options& options) { options.of_layer.alibi = HEED_ALIBI_NONE; });
    expect("options->alibi is HEED_ALIBI_SCALED, expected HEED_ALIBI_ADDED",
           [](Options& options) { options.of_layer.alibi = HEED_ALIBI_SCALED; });
  } else {
    expect("options->alibi is HEED_ALIBI_ADDED, expected HEED_ALIBI_NONE",
           [](Options& options) { options.of_layer.alibi = HEED_ALIBI_ADDED; });
  }
  if (right.of_layer.relative_bias != HEED_RELATIVE_BIAS_NONE) {
    expect("options->relative_bias is HEED_RELATIVE_BIAS_NONE, expected HEED_RELATIVE_BIAS_", [](Options& options) {
      options.of_layer.relative_bias = HEED_RELATIVE_BIAS_NONE;
      options.of_layer.relative_bias_buckets = options.of_layer.relative_bias_max_distance = 0;
    });
    expect(", options->relative_bias_buckets 8, options->relative_bias_max_distance 12", [](Options& options) {
      int32_t& kind = options.of_layer.relative_bias;
      kind = kind == HEED_RELATIVE_BIAS_ONE_WAY ? HEED_RELATIVE_BIAS_BOTH_WAYS : HEED_RELATIVE_BIAS_ONE_WAY;
    });
    expect("options->relative_bias_max_distance is 128, expected 12",
           [](Options& options) { options.of_layer.relative_bias_max_distance = 0; });
    expect("options->relative_bias_buckets is 6, expected 8",
           [](Options& options) { options.of_layer.relative_bias_buckets = 6; });
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, EveryModelAttention, testing::ValuesIn(model_attentions()),
                         [](const auto& test) { return name_of(test.param); });

// Falcon adds bfloat16(bfloat16(slope) * position of the key) to the scores, before their scale.
class ScaledAlibi : public testing::Test {
 protected:
  std::vector<double> output(const heed_layer* layer, const heed_tensor* bias) {
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries_.get();
    inputs.valid_lens = valid_lens_.get();
    inputs.bias = bias;
    const Tensor output = capi_test::make_tensor(context_.get(), capi_test::dims_of(queries_.get()));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.get();
    property::check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
    return without_padding(as_doubles(output.get()));
  }

  std::vector<double> without_padding(std::vector<double> rows) const {
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<int64_t>(i / static_cast<size_t>(kHidden));
      if (row % kLength >= lens_.at(static_cast<size_t>(row / kLength))) rows[i] = 0;
    }
    return rows;
  }

  static constexpr int64_t kHidden = 36;
  static constexpr int64_t kLength = 11;
  static constexpr int64_t kHeads = 12;
  static constexpr int64_t kSize = 3;

  const Context context_ = capi_test::make_context();
  const Tensor queries_ = load_case(context_, "falcon-alibi", "layer0.attention.input");
  const std::vector<double> expected_ =
      as_doubles(load_case(context_, "falcon-alibi", "layer0.attention.output").get());
  std::vector<int32_t> lens_ = lengths_of(context_, "falcon-alibi");
  const Tensor valid_lens_ = capi_test::make_tensor_of(context_.get(), {2}, lens_);
};

TEST_F(ScaledAlibi, DiffersFromFalconByTheRoundingOfItsProducts) {
  Options options = falcon_with_alibi().options();
  const Layer layer = capi_test::make_multi_head(context_.get(), options.bound());
  property::check(heed_layer_load(layer.get(), path_of("falcon-alibi").c_str(), kFalconPrefix));
  const std::vector<double> is = output(layer.get(), nullptr);

  // The layer's product slope * distance is exact but for F32; the model's is rounded to bfloat16, whose unit round-off
  // is 2^-8. So a score differs by at most d = 2^-8 * slope * key / sqrt(head size), a weight by the factor exp(2 d),
  // and a head's output by (exp(2 d) - 1) * max |v|, which the output projection spreads.
  const std::vector<double> inputs = as_doubles(queries_.get());
  const std::vector<double> value_weight = as_doubles(capi_test::snapshot(layer.get(), "W_v.weight").get());
  const std::vector<double> value_bias = as_doubles(capi_test::snapshot(layer.get(), "W_v.bias").get());
  const std::vector<double> output_weight = as_doubles(capi_test::snapshot(layer.get(), "W_o.weight").get());
  const Tensor slopes = capi_test::make_tensor(context_.get(), {kHeads});
  property::check(heed_tensor_fill_alibi_slopes(slopes.get()));
  const std::vector<double> slope = as_doubles(slopes.get());
  const auto at = [](const std::vector<double>& matrix, int64_t row, int64_t column) {
    return matrix.at(static_cast<size_t>(row * kHidden + column));
  };
  for (int64_t b = 0; b < 2; ++b) {
    const int64_t last = lens_.at(static_cast<size_t>(b)) - 1;
    std::vector<double> error(kHidden);
    for (int64_t d = 0; d < kHidden; ++d) {
      double largest = 0;
      for (int64_t row = 0; row <= last; ++row) {
        double value = value_bias.at(static_cast<size_t>(d));
        for (int64_t e = 0; e < kHidden; ++e) value += at(value_weight, d, e) * at(inputs, b * kLength + row, e);
        largest = std::max(largest, std::abs(value));
      }
      const double score = std::ldexp(slope.at(static_cast<size_t>(d / kSize)) * static_cast<double>(last), -8) /
                           std::sqrt(static_cast<double>(kSize));
      error[static_cast<size_t>(d)] = std::expm1(2 * score) * largest;
    }
    for (int64_t row = 0; row <= last; ++row) {
      for (int64_t e = 0; e < kHidden; ++e) {
        double bound = 1e-5 * largest_of(expected_);
        for (int64_t d = 0; d < kHidden; ++d)
          bound += std::abs(at(output_weight, e, d)) * error[static_cast<size_t>(d)];
        ASSERT_LE(std::abs(at(is, b * kLength + row, e) - at(expected_, b * kLength + row, e)), bound);
      }
    }
  }
}

TEST_F(ScaledAlibi, WithFalconsTableAsBiasTheNumbersAreThose) {
  Options options = falcon_with_alibi().options();
  options.of_layer.alibi = HEED_ALIBI_NONE;
  const Layer layer = capi_test::make_multi_head(context_.get(), options.bound());
  EXPECT_EQ(load_accepting(layer.get(), "falcon-alibi", kFalconPrefix, "alibi"), HEED_OK) << heed_last_error();

  const std::vector<double> table = as_doubles(load_case(context_, "falcon-alibi", "alibi").get());
  std::vector<float> bias;
  for (int64_t h = 0; h < kHeads; ++h) {
    for (int64_t k = 0; k < kLength; ++k)
      bias.push_back(static_cast<float>(table.at(static_cast<size_t>(h * 16 + k)) / std::sqrt(3.0)));
  }
  const Tensor of_keys = capi_test::make_tensor_of(context_.get(), {1, kHeads, 1, kLength}, bias);
  const std::vector<double> is = output(layer.get(), of_keys.get());
  for (size_t i = 0; i < is.size(); ++i) ASSERT_NEAR(is[i], expected_.at(i), 1e-5 * largest_of(expected_));
}

TEST(FalconWithAlibi, IsRefusedWithoutItOrWithThatOfOthers) {
  for (const int32_t alibi : {HEED_ALIBI_NONE, HEED_ALIBI_ADDED}) {
    Options options = falcon_with_alibi().options();
    options.of_layer.alibi = alibi;
    expect_refused(falcon_with_alibi(), options.bound(), {", expected HEED_ALIBI_SCALED"});
  }
}

// Layer 0 has the table of all layers.
TEST(RelativeBias, OfTheFirstLayerServesAllLayers) {
  const Context context = capi_test::make_context();
  for (const bool is_decoder : {false, true}) {
    const std::string side = is_decoder ? "decoder" : "encoder";
    const auto table_of = [&](int layer_index) {
      Options options;
      options.of_layer = sizes_of("t5", is_decoder, kNoBiases, is_decoder);
      options.of_layer.scale = 1;
      if (is_decoder)
        set_buckets_one_way(options);
      else
        set_buckets(options);
      const std::string prefix = side + ".block." + std::to_string(layer_index) + ".layer.0.SelfAttention";
      const Layer layer = capi_test::make_multi_head(context.get(), options.bound());
      property::check(heed_layer_load(layer.get(), path_of("t5").c_str(), prefix.c_str()));
      return capi_test::read_bytes(capi_test::snapshot(layer.get(), "relative_bias.weight").get());
    };
    EXPECT_EQ(table_of(0), table_of(1));
  }
}

// Gemma 3's norms multiply by 1 + weight, Qwen 3's by weight.
TEST(Norms, OfGemmaAreTheFilesPlusOne) {
  const Context context = capi_test::make_context();
  for (const char* family : {"gemma3", "qwen3"}) {
    SCOPED_TRACE(family);
    const bool is_gemma = std::string(family) == "gemma3";
    Options options = of_llama(family, is_gemma ? set_gemma3 : set_qwen3).options();
    const Layer layer = capi_test::make_multi_head(context.get(), options.bound());
    property::check(heed_layer_load(layer.get(), path_of(family).c_str(), kLlamaPrefix));
    for (const char* name : {"q_norm.weight", "k_norm.weight"}) {
      heed_tensor* stored = nullptr;
      property::check(heed_tensor_load_safetensors(context.get(), path_of(family).c_str(),
                                                   (std::string(kLlamaPrefix) + "." + name).c_str(), &stored));
      const std::vector<double> in_file = as_doubles(Tensor(stored).get());
      const std::vector<double> in_layer = as_doubles(capi_test::snapshot(layer.get(), name).get());
      for (size_t i = 0; i < in_file.size(); ++i)
        EXPECT_EQ(in_layer.at(i), static_cast<double>(static_cast<float>(in_file[i]) + (is_gemma ? 1.0F : 0.0F)));
    }
  }
}

// The output of self-attention without padding.
std::vector<uint8_t> output_bytes(const Context& context, const Layer& layer, const Tensor& queries) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  const Tensor output = capi_test::make_tensor(context.get(), capi_test::dims_of(queries.get()));
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  return capi_test::read_bytes(output.get());
}

// data/models has Cohere without norms of queries and keys. This is its file with norms, which have a weight for each
// head.
TEST(Norms, OfCohereAreThoseOfTheFile) {
  const Context context = capi_test::make_context();
  const auto cohere =
      std::ranges::find_if(model_attentions(), [](const auto& one) { return one.family == std::string("cohere"); });
  Options options = cohere->options();
  const Layer without_norms = capi_test::make_multi_head(context.get(), options.bound());
  property::check(heed_layer_load(without_norms.get(), path_of("cohere").c_str(), kLlamaPrefix));
  options.of_layer.qk_norm = HEED_QK_NORM_LAYER;
  options.of_layer.qk_norm_epsilon = 1e-5F;

  const Tensor q_norm = capi_test::make_tensor(context.get(), {4, 8});
  const Tensor k_norm = capi_test::make_tensor(context.get(), {2, 8});
  property::check(heed_tensor_fill_arange(q_norm.get(), 0.25, 1.0 / 64));
  property::check(heed_tensor_fill_arange(k_norm.get(), 1.0, 1.0 / 64));
  FileParts parts = parts_of(capi_test::read_file(path_of("cohere")));
  add_tensor(parts, std::string(kLlamaPrefix) + ".q_norm.weight", q_norm);
  add_tensor(parts, std::string(kLlamaPrefix) + ".k_norm.weight", k_norm);
  std::string config = capi_test::read_file(folder_of("cohere") + "/config.json");
  const std::string setting = "\"use_qk_norm\": false";
  const size_t at = config.find(setting);
  ASSERT_NE(at, std::string::npos);
  config.replace(at, setting.size(), "\"use_qk_norm\": true");
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", bytes_of(parts));
  folder.write("config.json", config);
  const Layer loaded = capi_test::make_multi_head(context.get(), options.bound());
  ASSERT_EQ(heed_layer_load(loaded.get(), path.c_str(), kLlamaPrefix), HEED_OK) << heed_last_error();

  const Layer by_hand = capi_test::make_multi_head(context.get(), options.bound());
  for (int64_t i = 0; i < heed_layer_parameter_count(without_norms.get()); ++i) {
    const char* name = heed_layer_parameter_name(without_norms.get(), i);
    property::check(
        heed_layer_set_parameter(by_hand.get(), name, capi_test::snapshot(without_norms.get(), name).get()));
  }
  property::check(heed_layer_set_parameter(by_hand.get(), "q_norm.weight", q_norm.get()));
  property::check(heed_layer_set_parameter(by_hand.get(), "k_norm.weight", k_norm.get()));

  const Tensor queries = load_case(context, "cohere", "layer0.attention.input");
  const std::vector<uint8_t> output = output_bytes(context, loaded, queries);
  EXPECT_EQ(output, output_bytes(context, by_hand, queries));
  EXPECT_NE(output, output_bytes(context, without_norms, queries));

  // The epsilon is the configuration's layer_norm_eps.
  options.of_layer.qk_norm_epsilon = 1e-6F;
  const Layer other = capi_test::make_multi_head(context.get(), options.bound());
  EXPECT_EQ(heed_layer_load(other.get(), path.c_str(), kLlamaPrefix), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("options->qk_norm_epsilon is 1e-06, expected 1e-05"), std::string::npos)
      << heed_last_error();
}

// Multi-head latent attention has other projections.
TEST(OtherModels, AreRefusedWithTheMissingFeatures) {
  const Context context = capi_test::make_context();
  const std::string bytes = capi_test::read_file(path_of("deepseek-v3"));
  const capi_test::TemporaryFolder folder;
  for (const std::string& path : {path_of("deepseek-v3"), folder.write("model.safetensors", bytes)}) {
    const Layer layer = capi_test::make_multi_head(context.get(), sizes_of("deepseek-v3", false, kNoBiases, true));
    EXPECT_EQ(heed_layer_load(layer.get(), path.c_str(), kLlamaPrefix), HEED_ERROR_UNSUPPORTED) << heed_last_error();
    EXPECT_NE(std::string(heed_last_error()).find("holds keys and values compressed (multi-head latent attention)"),
              std::string::npos)
        << heed_last_error();
  }
}

// Without config.json, a layer without an option that the names ask for is refused by the option.
TEST(OtherModels, AreRefusedByTheirNamesAlone) {
  const struct {
    const char* family;
    const char* prefix;
    const char* words;
    int32_t biases = kNoBiases;
    int64_t num_kv_heads = 0;
  } cases[] = {
      {"llama", kLlamaPrefix, "the names of Hugging Face Llama and its kin: options->rope is NULL, expected rotary"},
      {"qwen3", kLlamaPrefix,
       "options->qk_norm_epsilon is 0, expected the norm's epsilon, for \"model.layers.0.self_attn"},
      {"gpt-oss", kLlamaPrefix, "options->sinks is 0, expected 1, for \"model.layers.0.self_attn.sinks\"", kAll},
      {"phi3", kLlamaPrefix, "the names of Hugging Face Phi-3: options->rope is NULL, expected rotary positions"},
      {"gpt-neox", "gpt_neox.layers.0.attention", "options->rope is NULL, expected rotary positions", kAll},
      {"gptj", "transformer.h.0.attn", "the names of Hugging Face GPT-J: options->rope is NULL, expected rotary"},
      {"modernbert", "layers.0.attn", "the names of Hugging Face ModernBERT: options->causal is"},
      {"mpt", "transformer.blocks.0.attn", "options->alibi is HEED_ALIBI_NONE, expected HEED_ALIBI_ADDED"},
      {"bloom", kFalconPrefix, "options->alibi is HEED_ALIBI_NONE and options->rope is NULL, expected one of them",
       kAll},
      {"falcon-new", kFalconPrefix, "options->alibi is HEED_ALIBI_NONE and options->rope is NULL", kNoBiases, 2},
      {"t5", "decoder.block.1.layer.0.SelfAttention",
       "expected HEED_RELATIVE_BIAS_ONE_WAY, for \"decoder.block.0.layer.0.SelfAttention.relative_attention_bias"},
  };
  const capi_test::TemporaryFolder folder;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family);
    const Context context = capi_test::make_context();
    const std::string path = folder.write("model.safetensors", capi_test::read_file(path_of(one.family)));
    heed_multi_head_attention_options options = sizes_of(one.family, false, one.biases, true);
    if (one.num_kv_heads != 0) options.num_kv_heads = one.num_kv_heads;
    const Layer layer = capi_test::make_multi_head(context.get(), options);
    EXPECT_EQ(heed_layer_load(layer.get(), path.c_str(), one.prefix), HEED_ERROR_INVALID_ARGUMENT);
    const std::string sentence = heed_last_error();
    EXPECT_LT(sentence.size(), 511U) << "cut: " << sentence;
    EXPECT_NE(sentence.find(one.words), std::string::npos) << one.words << "\nin " << sentence;
  }
}

// Each folder is in one of the tables above, or has no weights.
TEST(OtherModels, AreInTheTables) {
  std::set<std::string> known = {"deepseek-v3", "falcon-alibi", "llama-rope-dynamic"};
  for (const ModelAttention& attention : model_attentions()) known.insert(attention.family);
  std::set<std::string> folders;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of("")))
    folders.insert(entry.path().filename().string());
  EXPECT_EQ(known, folders);
}

TEST(OtherModels, AreLoadedIfTheCallerAcceptsTheMissingOptions) {
  const struct {
    const char* family;
    const char* accept;
    int32_t biases = kNoBiases;
  } cases[] = {
      {"llama", "rotary"},
      {"mistral", "rotary, window"},
      {"gemma2", "rotary,scale , soft_cap,window"},
      {"granite", "scale,rotary"},
      {"qwen3", "qk_norm, rotary"},
      {"qwen3", "q_norm.weight, model.layers.0.self_attn.k_norm.weight, rotary"},
      {"gpt-oss", "sinks, rotary, window", kAll},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family + std::string(" with ") + one.accept);
    const Context context = capi_test::make_context();
    const Layer layer = capi_test::make_multi_head(context.get(), sizes_of(one.family, false, one.biases, true));
    EXPECT_EQ(load_accepting(layer.get(), one.family, kLlamaPrefix, one.accept), HEED_OK) << heed_last_error();
  }
}

// Accepting one difference does not hide the others.
TEST(OtherModels, AreRefusedForOtherOptionsEvenIfRotaryIsAccepted) {
  const Context context = capi_test::make_context();
  const Layer layer = capi_test::make_multi_head(context.get(), sizes_of("gemma2", false, kNoBiases, true));
  EXPECT_EQ(load_accepting(layer.get(), "gemma2", kLlamaPrefix, "rotary"), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error())
                .find("is of a model with other options by model_type \"gemma2\" in config.json: options->scale is "
                      "0.288675135, expected 0.223606798; options->soft_cap is 0, expected 2; options->window is "
                      "HEED_WINDOW_NONE, expected options->window_left 3 and options->window_right unlimited; with "
                      "accept \"scale, "
                      "soft_cap, window\" it is loaded all the same"),
            std::string::npos)
      << heed_last_error();
}

// The frequencies of llama-rope-dynamic, which has only a configuration, with Llama's weights.
TEST(OtherModels, WithFrequenciesThatChangeAreRefused) {
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", capi_test::read_file(path_of("llama")));
  folder.write("config.json", capi_test::read_file(folder_of("llama-rope-dynamic") + "/config.json"));
  const Context context = capi_test::make_context();
  Options with_rope = of_llama("llama", set_half).options();
  const Layer layer = capi_test::make_multi_head(context.get(), with_rope.bound());
  EXPECT_EQ(heed_layer_load(layer.get(), path.c_str(), kLlamaPrefix), HEED_ERROR_UNSUPPORTED);
  EXPECT_NE(
      std::string(heed_last_error())
          .find("has attention with rotary positions of type \"dynamic\", whose frequencies change with the length "
                "while keys are cached (by model_type \"llama\" in config.json), and heed has no option for it; "
                "with accept \"rotary\" it is loaded all the same"),
      std::string::npos)
      << heed_last_error();
}

// transformers 5 uses other names in memory than save_pretrained writes.
TEST(StateDictNames, OfViTAreLoadedAsTheSavedOnes) {
  const Context context = capi_test::make_context();
  FileParts parts = parts_of(capi_test::read_file(path_of("vit")));
  const auto rename = [&](const std::string& from, const std::string& to) {
    std::string& header = parts.header;
    for (size_t at = header.find(from); at != std::string::npos; at = header.find(from, at + to.size()))
      header.replace(at, from.size(), to);
  };
  rename("encoder.layer.", "layers.");
  rename("attention.attention.query", "attention.q_proj");
  rename("attention.attention.key", "attention.k_proj");
  rename("attention.attention.value", "attention.v_proj");
  rename("attention.output.dense", "attention.o_proj");

  const heed_multi_head_attention_options options = sizes_of("vit", false, kAll, false);
  const Layer saved = capi_test::make_multi_head(context.get(), options);
  property::check(heed_layer_load(saved.get(), path_of("vit").c_str(), "encoder.layer.0.attention"));
  const capi_test::TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", bytes_of(parts));
  for (const bool has_config : {false, true}) {
    if (has_config) folder.write("config.json", capi_test::read_file(folder_of("vit") + "/config.json"));
    const Layer in_memory = capi_test::make_multi_head(context.get(), options);
    ASSERT_EQ(heed_layer_load(in_memory.get(), path.c_str(), "layers.0.attention"), HEED_OK) << heed_last_error();
    for (int64_t i = 0; i < heed_layer_parameter_count(saved.get()); ++i) {
      const char* name = heed_layer_parameter_name(saved.get(), i);
      EXPECT_EQ(capi_test::read_bytes(capi_test::snapshot(in_memory.get(), name).get()),
                capi_test::read_bytes(capi_test::snapshot(saved.get(), name).get()));
    }
  }
}

}  // namespace
}  // namespace heed::golden
