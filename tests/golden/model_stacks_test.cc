// SPDX-License-Identifier: Apache-2.0
// Encoders and decoders of the models in data/models: with the options of a model heed must give the numbers of each of
// its layers and of the whole stack; with another norm, epsilon, placement, activation or number of layers the file must
// be refused by the option's name.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
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

struct ModelStack {
  const char* family;
  const char* prefix;
  // The beginning of its tensors' names in cases.safetensors: "", "encoder." or "decoder.".
  const char* cases = "";
  bool is_decoder = false;
  bool norm_first = false;
  int32_t norm = HEED_NORM_LAYER;
  float epsilon = 1e-12F;
  int32_t activation = HEED_ACTIVATION_GELU;
  bool gated = false;
  bool has_biases = true;  // in the feed-forward network
  bool final_norm = false;
  int64_t hidden_size = 24;
  int64_t num_layers = 2;

  bool has_cross_attention() const { return is_decoder && cases == std::string("decoder."); }
};

std::ostream& operator<<(std::ostream& stream, const ModelStack& stack) {
  return stream << stack.family << " " << stack.prefix;
}

std::string name_of_stack(const testing::TestParamInfo<ModelStack>& info) {
  std::string name = std::string(info.param.family) + "_" + info.param.prefix;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

ModelStack of_bert(const char* family, const char* prefix, float epsilon = 1e-12F) {
  return {.family = family, .prefix = prefix, .epsilon = epsilon};
}

ModelStack of_bart(const char* family, const char* side, bool norm_first) {
  const bool is_decoder = side == std::string("decoder");
  ModelStack stack = {.family = family, .prefix = is_decoder ? "model.decoder" : "model.encoder"};
  stack.cases = is_decoder ? "decoder." : "encoder.";
  stack.is_decoder = is_decoder;
  stack.norm_first = stack.final_norm = norm_first;
  stack.epsilon = 1e-5F;
  return stack;
}

// Their decoders have one layer in the files.
ModelStack with_one_layer(ModelStack stack) {
  stack.num_layers = 1;
  return stack;
}

ModelStack of_t5(const char* side) {
  const bool is_decoder = side == std::string("decoder");
  return {.family = "t5",
          .prefix = side,
          .cases = is_decoder ? "decoder." : "encoder.",
          .is_decoder = is_decoder,
          .norm_first = true,
          .norm = HEED_NORM_RMS,
          .epsilon = 1e-6F,
          .activation = HEED_ACTIVATION_RELU,
          .has_biases = false,
          .final_norm = true};
}

ModelStack llama(const char* family, float epsilon, int32_t activation = HEED_ACTIVATION_SILU) {
  return {.family = family,
          .prefix = "model",
          .is_decoder = true,
          .norm_first = true,
          .norm = HEED_NORM_RMS,
          .epsilon = epsilon,
          .activation = activation,
          .gated = true,
          .has_biases = false,
          .final_norm = true};
}

const ModelStack kModelStacks[] = {
    of_bert("bert", "encoder"),
    of_bert("roberta", "roberta.encoder", 1e-5F),
    of_bert("electra", "encoder"),
    of_bert("distilbert", "transformer"),
    {.family = "vit", .prefix = "encoder", .norm_first = true},
    {.family = "clip-text",
     .prefix = "encoder",
     .norm_first = true,
     .epsilon = 1e-5F,
     .activation = HEED_ACTIVATION_GELU_QUICK},
    {.family = "gpt2",
     .prefix = "transformer",
     .is_decoder = true,
     .norm_first = true,
     .epsilon = 1e-5F,
     .activation = HEED_ACTIVATION_GELU_TANH,
     .final_norm = true,
     .hidden_size = 128},
    {.family = "opt",
     .prefix = "model.decoder",
     .is_decoder = true,
     .norm_first = true,
     .epsilon = 1e-5F,
     .activation = HEED_ACTIVATION_RELU,
     .final_norm = true},
    of_bart("bart", "encoder", false),
    with_one_layer(of_bart("bart", "decoder", false)),
    of_bart("mbart", "encoder", true),
    with_one_layer(of_bart("mbart", "decoder", true)),
    of_bart("marian", "encoder", false),
    with_one_layer(of_bart("marian", "decoder", false)),
    of_bart("whisper", "encoder", true),
    of_bart("whisper", "decoder", true),
    of_t5("encoder"),
    of_t5("decoder"),
    llama("llama", 1e-5F),
    llama("mistral", 1e-6F),
    llama("qwen2", 1e-6F),
    llama("qwen3", 1e-6F),
    llama("gemma", 1e-6F, HEED_ACTIVATION_GELU_TANH),
    llama("phi3", 1e-5F),
};

// The options of the attention of a stack's layers.
Options attention_options(const std::string& family, const std::string& cases) {
  for (const ModelAttention& attention : model_attentions()) {
    if (family == attention.family && cases == attention.cases) return attention.options();
  }
  ADD_FAILURE() << family << " has no " << cases;
  return {};
}

// A stack with its options, some of which a test may change before it is made.
class StackOptions {
 public:
  explicit StackOptions(const ModelStack& stack) : stack_(stack) {
    const std::string cases = stack.cases;
    self_ = attention_options(stack.family,
                              cases + (stack.has_cross_attention() ? "layer0.self_attention" : "layer0.attention"));
    if (stack.has_cross_attention()) cross_ = attention_options(stack.family, cases + "layer0.cross_attention");
    feed_forward.hidden_size = stack.hidden_size;
    feed_forward.activation = stack.activation;
    feed_forward.gated = stack.gated ? 1 : 0;
    feed_forward.no_bias = stack.has_biases ? 0 : 1;
    norm.kind = stack.norm;
    norm.epsilon = stack.epsilon;
    norm_first = stack.norm_first ? 1 : 0;
    num_layers = stack.num_layers;
    final_norm = stack.final_norm ? 1 : 0;
  }
  StackOptions(const StackOptions&) = delete;
  StackOptions& operator=(const StackOptions&) = delete;

  Layer make(heed_context* context) {
    heed_layer* made = nullptr;
    if (stack_.is_decoder) {
      heed_decoder_layer_options layer = HEED_DECODER_LAYER_OPTIONS_INIT;
      layer.self_attention = &self_.bound();
      if (stack_.has_cross_attention()) layer.cross_attention = &cross_.bound();
      layer.feed_forward = &feed_forward;
      layer.norm = &norm;
      layer.norm_first = norm_first;
      heed_decoder_options options = HEED_DECODER_OPTIONS_INIT;
      options.layer = &layer;
      options.num_layers = num_layers;
      options.final_norm = final_norm;
      property::check(heed_decoder_create(context, &options, &made));
    } else {
      heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
      layer.attention = &self_.bound();
      layer.feed_forward = &feed_forward;
      layer.norm = &norm;
      layer.norm_first = norm_first;
      heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
      options.layer = &layer;
      options.num_layers = num_layers;
      options.final_norm = final_norm;
      property::check(heed_encoder_create(context, &options, &made));
    }
    return Layer(made);
  }

  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
  int32_t norm_first = 0;
  int64_t num_layers = 0;
  int32_t final_norm = 0;

 private:
  const ModelStack& stack_;
  Options self_;
  Options cross_;
};

class EveryModelStack : public testing::TestWithParam<ModelStack> {
 protected:
  // The results are those of F32; on an NPU no bound is derived for blocks.
  void SetUp() override {
    if (property::on_ascend()) GTEST_SKIP() << "no bound on the device";
  }

  static Tensor load_case(const Context& context, const std::string& name) {
    return golden::load_case(context, GetParam().family, GetParam().cases + name);
  }

  // Runs the layer on rows of the file, with the model's lengths, and expects other rows of it. Padded rows have no meaning.
  static void expect_result(const Context& context, const heed_layer* layer, const std::string& input,
                            const std::string& output) {
    SCOPED_TRACE(output);
    const ModelStack& stack = GetParam();
    const Tensor rows = load_case(context, input);
    const Tensor should = load_case(context, output);
    ASSERT_TRUE(rows && should);
    const Tensor memory = stack.has_cross_attention() ? load_case(context, "layer0.cross_attention.memory") : Tensor();
    const std::vector<int32_t> lens = lengths_of(context, stack.family);
    Tensor valid_lens;
    if (!lens.empty()) valid_lens = capi_test::make_tensor_of(context.get(), {static_cast<int64_t>(lens.size())}, lens);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    heed_decoder_inputs of_self = HEED_DECODER_INPUTS_INIT;
    inputs.queries = rows.get();
    inputs.keys = memory.get();
    inputs.decoder = &of_self;
    // A decoder's own rows are padded only if there is no encoder.
    if (stack.is_decoder && !stack.has_cross_attention())
      of_self.self_valid_lens = valid_lens.get();
    else
      inputs.valid_lens = valid_lens.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor result(outputs.output);
    property::check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
    std::vector<double> is = numbers_of(result.get());
    std::vector<double> expected = numbers_of(should.get());
    ASSERT_EQ(is.size(), expected.size());
    const Dims dims = capi_test::dims_of(should.get());
    for (size_t i = 0; i < is.size() && !lens.empty() && !stack.has_cross_attention(); ++i) {
      const auto row = static_cast<int64_t>(i) / dims[2];
      if (row % dims[1] >= lens[static_cast<size_t>(row / dims[1])]) is[i] = expected[i] = 0;
    }
    expect_numbers_of_model(is, expected, nullptr);
  }

  // Expects the file to be refused with each of these words in the sentence.
  static void expect_refused(StackOptions& options, heed_status status, const std::vector<std::string>& words) {
    const Context context = capi_test::make_context();
    const Layer layer = options.make(context.get());
    EXPECT_EQ(heed_layer_load(layer.get(), path_of(GetParam().family).c_str(), GetParam().prefix), status);
    for (const std::string& word : words)
      EXPECT_NE(std::string(heed_last_error()).find(word), std::string::npos) << word << " in " << heed_last_error();
    EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
  }
};

TEST_P(EveryModelStack, GivesTheNumbersOfEachLayerAndOfAllTogether) {
  const Context context = capi_test::make_context();
  StackOptions options(GetParam());
  const Layer layer = options.make(context.get());
  property::check(heed_layer_load(layer.get(), path_of(GetParam().family).c_str(), GetParam().prefix));
  std::string input = "hidden_states";
  for (int64_t i = 0; i < GetParam().num_layers; ++i) {
    heed_layer* child = nullptr;
    property::check(heed_layer_child(layer.get(), ("layers." + std::to_string(i)).c_str(), &child));
    const Layer owned(child);
    const std::string output = "layer" + std::to_string(i) + ".output";
    expect_result(context, child, input, output);
    input = output;
  }
  // ViT's and CLIP's are behind a norm that is not in the stack.
  const bool is_whole = load_case(context, "last_hidden_state") != nullptr && GetParam().family != std::string("vit") &&
                        GetParam().family != std::string("clip-text");
  if (is_whole) expect_result(context, layer.get(), "hidden_states", "last_hidden_state");
  if (!GetParam().final_norm) expect_result(context, layer.get(), "hidden_states", input);
}

TEST_P(EveryModelStack, IsRefusedWithAnotherEpsilon) {
  StackOptions options(GetParam());
  options.norm.epsilon = 3e-4F;
  expect_refused(options, HEED_ERROR_INVALID_ARGUMENT, {"options->layer->norm->epsilon is 0.0003, expected 1e-"});
}

TEST_P(EveryModelStack, IsRefusedWithAnotherActivationAndPlacement) {
  StackOptions options(GetParam());
  options.norm_first = 1 - options.norm_first;
  options.feed_forward.activation =
      options.feed_forward.activation == HEED_ACTIVATION_SILU ? HEED_ACTIVATION_RELU : HEED_ACTIVATION_SILU;
  expect_refused(
      options, HEED_ERROR_INVALID_ARGUMENT,
      {GetParam().norm_first ? "options->layer->norm_first is 0, expected 1"
                             : "options->layer->norm_first is 1, expected 0",
       "options->layer->feed_forward->activation is HEED_ACTIVATION_", "by model_type \"", "with accept \"block\""});
}

TEST_P(EveryModelStack, IsRefusedWithFewerLayersOrWithoutItsFinalNorm) {
  if (GetParam().num_layers > 1) {
    StackOptions options(GetParam());
    options.num_layers = 1;
    expect_refused(options, HEED_ERROR_INVALID_ARGUMENT, {".1.", "which the ", "does not read, nor "});
  }
  if (GetParam().final_norm) {
    StackOptions options(GetParam());
    options.final_norm = 0;
    expect_refused(options, HEED_ERROR_INVALID_ARGUMENT, {"norm", "does not read"});
  }
}

TEST_P(EveryModelStack, IsRefusedWithMoreLayers) {
  StackOptions options(GetParam());
  options.num_layers = GetParam().num_layers + 1;
  expect_refused(options, HEED_ERROR_NOT_FOUND, {"has no tensor"});
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelStack, testing::ValuesIn(kModelStacks), name_of_stack);

// Models whose layers compute something that few others do.
TEST(ModelStacks, AreRefusedWithoutTheOptionsOfTheirLayers) {
  if (property::on_ascend()) GTEST_SKIP() << "the same on every device";
  const struct {
    ModelStack stack;
    const char* words;
  } kRefused[] = {
      {llama("granite", 1e-6F), "options->residual_scale is 1, expected 0.7"},
      {llama("gemma3", 1e-6F, HEED_ACTIVATION_GELU_TANH), "options->output_norms is 0, expected 1"},
  };
  for (const auto& [stack, words] : kRefused) {
    SCOPED_TRACE(stack.family);
    const Context context = capi_test::make_context();
    StackOptions options(stack);
    const Layer layer = options.make(context.get());
    heed_layer* child = nullptr;
    property::check(heed_layer_child(layer.get(), "layers.0", &child));
    const Layer owned(child);
    EXPECT_EQ(heed_layer_load(child, path_of(stack.family).c_str(), "model.layers.0"), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(heed_last_error()).find(words), std::string::npos) << heed_last_error();
  }
}

// Configurations of other versions of transformers, and of other models with the same names.
TEST(ModelStacks, AreComparedWithEveryFormOfTheirConfiguration) {
  if (property::on_ascend()) GTEST_SKIP() << "the same on every device";
  const struct {
    ModelStack stack;
    // Replaces settings of the file's configuration; null removes one.
    const char* settings;
    heed_status status;
    const char* words;
  } kConfigurations[] = {
      {of_t5("encoder"), R"({"dense_act_fn": null, "feed_forward_proj": "relu"})", HEED_OK, ""},
      {of_t5("encoder"), R"({"dense_act_fn": null, "feed_forward_proj": null})", HEED_OK, ""},
      {of_t5("encoder"), R"({"dense_act_fn": null, "feed_forward_proj": "gated-gelu"})", HEED_ERROR_INVALID_ARGUMENT,
       "activation is HEED_ACTIVATION_RELU, expected HEED_ACTIVATION_GELU_TANH;"},
      {of_t5("encoder"), R"({"dense_act_fn": null, "feed_forward_proj": "gated-silu"})", HEED_ERROR_INVALID_ARGUMENT,
       "activation is HEED_ACTIVATION_RELU, expected HEED_ACTIVATION_SILU;"},
      {llama("gemma", 1e-6F, HEED_ACTIVATION_GELU_TANH), R"({"hidden_activation": "gelu"})",
       HEED_ERROR_INVALID_ARGUMENT, "activation is HEED_ACTIVATION_GELU_TANH, expected HEED_ACTIVATION_GELU;"},
      {of_bert("bert", "encoder"), R"({"hidden_act": "mish"})", HEED_ERROR_UNSUPPORTED,
       "layers with the activation \"mish\", which heed does not know"},
      {of_bert("bert", "encoder"), R"({"model_type": "another"})", HEED_ERROR_UNSUPPORTED,
       "norms and activations that heed does not know (by model_type \"another\" in config.json)"},
  };
  const capi_test::TemporaryFolder folder;
  for (const auto& [stack, settings, status, words] : kConfigurations) {
    SCOPED_TRACE(testing::Message() << stack << " with " << settings);
    auto config = nlohmann::json::parse(capi_test::read_file(folder_of(stack.family) + "/config.json"));
    config.merge_patch(nlohmann::json::parse(settings));
    folder.write("config.json", config.dump());
    const std::string path = folder.write("model.safetensors", capi_test::read_file(path_of(stack.family)));
    const Context context = capi_test::make_context();
    StackOptions options(stack);
    const Layer layer = options.make(context.get());
    EXPECT_EQ(load_file_accepting(layer.get(), path, stack.prefix, "model_type"), status);
    if (status == HEED_OK) continue;
    EXPECT_NE(std::string(heed_last_error()).find(words), std::string::npos) << heed_last_error();
  }
}

}  // namespace
}  // namespace heed::golden
