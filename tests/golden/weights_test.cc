// SPDX-License-Identifier: Apache-2.0
// Files with the names and shapes of PyTorch, Hugging Face, timm, Keras and DJL, loaded directly. make_weights.py
// generates the files with the bound of each element of the output.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "property/support/device.h"

namespace heed::capi_test {
namespace {

using property::Fallback;
using property::on_device;

struct Weights {
  const char* file;
  const char* prefix = nullptr;
  int64_t num_hiddens = 12;
  int64_t num_heads = 3;
  int64_t num_kv_heads = 0;
  int64_t head_size = 0;
  int64_t value_head_size = 0;
  int64_t output_size = 0;
  int32_t biases = HEED_BIAS_ALL;
  float scale = 0;
  int32_t causal = HEED_CAUSAL_NONE;
  bool has_output_projection = true;
  bool is_additive = false;      // the additive layer
  heed_dtype dtype = HEED_F32;   // of the parameters
  const char* accept = nullptr;  // the features of the model that these numbers do not use

  std::string path() const {
    return std::string(HEED_SOURCE_DIR "/tests/golden/data/weights/") + file + ".safetensors";
  }
};

constexpr int32_t kCausal = HEED_CAUSAL_TOP_LEFT;

const Weights kWeights[] = {
    {.file = "pytorch"},
    {.file = "pytorch_no_bias", .biases = HEED_BIAS_NONE},
    {.file = "pytorch_kdim_vdim"},
    {.file = "pytorch_kdim_no_bias", .biases = HEED_BIAS_NONE},
    {.file = "pytorch_f16", .dtype = HEED_F16},
    {.file = "pytorch_bf16", .dtype = HEED_BF16},
    {.file = "pytorch_f64"},
    {.file = "pytorch_encoder", .prefix = "encoder.layers.1.self_attn"},
    {.file = "bert", .prefix = "bert.encoder.layer.1.attention"},
    {.file = "vit", .prefix = "vit.encoder.layer.1.attention"},
    {.file = "albert", .prefix = "albert.encoder.albert_layer_groups.0.albert_layers.1.attention"},
    {.file = "whisper",
     .prefix = "model.decoder.layers.1.encoder_attn",
     .biases = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O},
    {.file = "llama",
     .prefix = "model.layers.1.self_attn",
     .num_heads = 6,
     .num_kv_heads = 2,
     .biases = HEED_BIAS_NONE,
     .causal = kCausal,
     .dtype = HEED_BF16,
     .accept = "rotary"},
    {.file = "qwen2",
     .prefix = "model.layers.1.self_attn",
     .num_heads = 4,
     .num_kv_heads = 2,
     .head_size = 5,
     .biases = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V,
     .causal = kCausal,
     .accept = "rotary"},
    {.file = "t5",
     .prefix = "decoder.block.1.layer.1.EncDecAttention",
     .num_heads = 2,
     .head_size = 4,
     .biases = HEED_BIAS_NONE,
     .scale = 1},
    {.file = "distilbert", .prefix = "distilbert.transformer.layer.1.attention"},
    {.file = "gpt2", .prefix = "h.1.attn", .causal = kCausal},
    {.file = "timm", .prefix = "blocks.1.attn"},
    {.file = "keras",
     .prefix = "model/attention",
     .num_heads = 2,
     .head_size = 5,
     .value_head_size = 3,
     .output_size = 8},
    {.file = "keras_no_bias", .prefix = "attention", .biases = HEED_BIAS_NONE},
    {.file = "keras_grouped", .prefix = "attention", .num_heads = 4, .num_kv_heads = 2, .head_size = 3},
    {.file = "djl", .prefix = "01selfAttention"},
    {.file = "d2l_java", .prefix = "01attention", .biases = HEED_BIAS_NONE},
    {.file = "d2l_pytorch", .prefix = "attention", .biases = HEED_BIAS_NONE},
    {.file = "bart", .prefix = "model.encoder.layers.1.self_attn"},
    {.file = "bert_self",
     .prefix = "bert.encoder.layer.1.attention.self",
     .biases = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V,
     .has_output_projection = false},
    {.file = "d2l_java_additive", .prefix = "01attention", .num_hiddens = 5, .is_additive = true},
};

std::ostream& operator<<(std::ostream& stream, const Weights& weights) { return stream << weights.file; }

heed_multi_head_attention_options options_of(const Weights& weights) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = weights.num_hiddens;
  options.num_heads = weights.num_heads;
  options.num_kv_heads = weights.num_kv_heads;
  options.head_size = weights.head_size;
  options.value_head_size = weights.value_head_size;
  options.output_size = weights.output_size;
  options.biases = weights.biases;
  options.scale = weights.scale;
  options.causal = weights.causal;
  options.no_output_projection = weights.has_output_projection ? 0 : 1;
  return options;
}

// NULL if the file has no such tensor.
Tensor load_if_present(const Context& context, const Weights& weights, const char* name) {
  heed_tensor* tensor = nullptr;
  const heed_status status = heed_tensor_load_safetensors(context.get(), weights.path().c_str(), name, &tensor);
  if (status != HEED_ERROR_NOT_FOUND) check(status);
  return Tensor(tensor);
}

class FrameworkWeights : public testing::TestWithParam<Weights> {
 protected:
  static heed_additive_attention_options additive_options() {
    heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
    options.num_hiddens = GetParam().num_hiddens;
    return options;
  }
  Layer make_layer() const {
    if (!GetParam().is_additive) return make_multi_head(context_.get(), options_of(GetParam()));
    return make_additive(context_.get(), additive_options());
  }
  Layer load() const {
    Layer layer = make_layer();
    load_into(layer.get());
    return layer;
  }
  // By heed_layer_load, or with heed_load_options if `accept` is given.
  void load_into(heed_layer* layer) const {
    if (GetParam().accept == nullptr) {
      check(heed_layer_load(layer, GetParam().path().c_str(), GetParam().prefix));
      return;
    }
    heed_weights* weights = nullptr;
    check(heed_weights_open(context_.get(), GetParam().path().c_str(), &weights));
    load_accepted(layer, weights);
  }
  heed_status load_from_memory(heed_layer* layer, const std::string& bytes) const {
    if (GetParam().accept == nullptr)
      return heed_layer_load_memory(layer, bytes.data(), bytes.size(), GetParam().prefix);
    heed_weights* weights = nullptr;
    check(heed_weights_open_memory(context_.get(), bytes.data(), bytes.size(), &weights));
    load_accepted(layer, weights);
    return HEED_OK;
  }
  static void load_accepted(heed_layer* layer, heed_weights* weights) {
    heed_load_options options = HEED_LOAD_OPTIONS_INIT;
    options.accept = GetParam().accept;
    const heed_status status = heed_layer_load_weights(layer, weights, GetParam().prefix, &options);
    heed_weights_destroy(weights);
    check(status);
  }

  struct Inputs {
    Tensor queries, keys, values, valid_lens;
    heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
  };
  Inputs load_inputs() const {
    Inputs inputs{load_if_present(context_, GetParam(), "queries"), load_if_present(context_, GetParam(), "keys"),
                  load_if_present(context_, GetParam(), "values"), load_if_present(context_, GetParam(), "valid_lens")};
    inputs.given.queries = inputs.queries.get();
    inputs.given.keys = inputs.keys.get();
    inputs.given.values = inputs.values.get();
    inputs.given.valid_lens = inputs.valid_lens.get();
    return inputs;
  }

  std::vector<float> forward(const Layer& layer) const {
    const Inputs inputs = load_inputs();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(layer.get(), &inputs.given, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    check(heed_layer_forward(layer.get(), &inputs.given, nullptr, &outputs));
    return read_elements<float>(output.get());
  }

  // On Ascend: the reference must agree with the framework's numbers, and the output must be within the reference's
  // bounds.
  void expect_within_derived_bound(const Layer& layer, const std::vector<float>& output,
                                   const std::vector<double>& expected, const std::vector<double>& bound) const {
    const Inputs inputs = load_inputs();
    const golden::Derived derived = GetParam().is_additive
                                        ? golden::derive(layer.get(), additive_options(), inputs.given)
                                        : golden::derive(layer.get(), options_of(GetParam()), inputs.given);
    const std::vector<double> errors = golden::numbers_of(derived.errors.output.get());
    EXPECT_EQ(golden::num_beyond(HEED_F32, golden::numbers_of(derived.values.output.get()), expected, bound), 0U);
    EXPECT_EQ(golden::num_beyond(HEED_F32, {output.begin(), output.end()}, expected, errors), 0U);
    golden::expect_that_zeros_are_refused(HEED_F32, expected, errors);
  }

  Context context_;
};

TEST_P(FrameworkWeights, GiveTheFrameworksOutput) {
  on_device([&](Fallback fallback) {
    context_ = property::make_context(fallback);
    const Weights& weights = GetParam();
    const Layer layer = load();
    for (int64_t i = 0; i < heed_layer_parameter_count(layer.get()); ++i) {
      const Tensor parameter = snapshot(layer.get(), heed_layer_parameter_name(layer.get(), i));
      EXPECT_EQ(heed_tensor_dtype(parameter.get()), weights.dtype);
    }
    const std::vector<float> output = forward(layer);
    const auto expected = read_elements<double>(load_if_present(context_, weights, "output").get());
    const auto bound = read_elements<double>(load_if_present(context_, weights, "bound").get());
    ASSERT_EQ(output.size(), expected.size());
    for (size_t i = 0; i < output.size(); ++i) {
      // Small enough to detect a wrong layout.
      ASSERT_LT(bound[i], 1e-3);
      if (property::on_ascend()) continue;
      EXPECT_LE(std::abs(double{output[i]} - expected[i]), bound[i]) << "element " << i;
    }
    if (property::on_ascend()) expect_within_derived_bound(layer, output, expected, bound);
  });
}

TEST_P(FrameworkWeights, AreTheSameFromMemoryAndAsHeedSavesThem) {
  on_device([&](Fallback fallback) {
    context_ = property::make_context(fallback);
    const std::vector<float> expected = forward(load());

    const std::string bytes = read_file(GetParam().path());
    const Layer from_memory = make_layer();
    ASSERT_EQ(load_from_memory(from_memory.get(), bytes), HEED_OK) << heed_last_error();
    EXPECT_EQ(forward(from_memory), expected);

    size_t num_bytes = 0;
    check(heed_layer_save_memory(from_memory.get(), nullptr, 0, &num_bytes));
    std::vector<uint8_t> saved(num_bytes);
    check(heed_layer_save_memory(from_memory.get(), saved.data(), saved.size(), &num_bytes));
    const Layer loaded = make_layer();
    ASSERT_EQ(heed_layer_load_memory(loaded.get(), saved.data(), num_bytes, nullptr), HEED_OK) << heed_last_error();
    EXPECT_EQ(forward(loaded), expected);
  });
}

// An initialized layer keeps its dtype, whatever the file's dtype is.
TEST_P(FrameworkWeights, AreConvertedToTheLayersDType) {
  on_device([&](Fallback fallback) {
    context_ = property::make_context(fallback);
    const Layer loaded = load();
    const Layer kept = make_layer();
    for (int64_t i = 0; i < heed_layer_parameter_count(kept.get()); ++i) {
      const char* name = heed_layer_parameter_name(kept.get(), i);
      const Tensor like = make_tensor(context_.get(), dims_of(snapshot(loaded.get(), name).get()), HEED_F16);
      check(heed_layer_set_parameter(kept.get(), name, like.get()));
    }
    load_into(kept.get());
    for (int64_t i = 0; i < heed_layer_parameter_count(kept.get()); ++i) {
      const char* name = heed_layer_parameter_name(kept.get(), i);
      const Tensor is = snapshot(kept.get(), name);
      const Tensor should = make_tensor(context_.get(), dims_of(is.get()), HEED_F16);
      check(heed_tensor_copy(should.get(), snapshot(loaded.get(), name).get()));
      EXPECT_EQ(heed_tensor_dtype(is.get()), HEED_F16);
      EXPECT_EQ(read_bytes(is.get()), read_bytes(should.get())) << name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, FrameworkWeights, testing::ValuesIn(kWeights),
                         [](const testing::TestParamInfo<Weights>& test) { return std::string(test.param.file); });

}  // namespace
}  // namespace heed::capi_test
