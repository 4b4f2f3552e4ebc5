// SPDX-License-Identifier: Apache-2.0
// Whole models from their folders in data/models: heed_layer_create_from_folder must give the hidden states or logits of
// the model, with padding, and step by step with a cache.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/caches.h"
#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/model_pieces.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

struct ModelFolder {
  const char* family;
  enum class Kind { Encoder, Decoder, Transformer } kind;
};

std::ostream& operator<<(std::ostream& stream, const ModelFolder& model) { return stream << model.family; }

std::string name_of_folder(const testing::TestParamInfo<ModelFolder>& info) {
  std::string name = info.param.family;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

using enum ModelFolder::Kind;
constexpr ModelFolder kModelFolders[] = {
    {"albert", Encoder},
    {"bart", Transformer},
    {"bert", Encoder},
    {"clip-text", Encoder},
    {"distilbert", Encoder},
    {"electra", Encoder},
    {"gemma", Decoder},
    {"gemma2", Decoder},
    {"gemma3", Decoder},
    {"gpt2", Decoder},
    {"granite", Decoder},
    {"llama", Decoder},
    {"llama-rope-linear", Decoder},
    {"llama-rope-llama3", Decoder},
    {"llama-rope-yarn", Decoder},
    {"llama-rope-yarn-factor", Decoder},
    {"marian", Transformer},
    {"mbart", Transformer},
    {"mistral", Decoder},
    {"modernbert", Encoder},
    {"opt", Decoder},
    {"phi3", Decoder},
    {"phi3-longrope-long", Decoder},
    {"phi3-longrope-short", Decoder},
    {"qwen2", Decoder},
    {"qwen3", Decoder},
    {"roberta", Encoder},
    {"t5", Transformer},
    {"vit", Encoder},
    {"whisper", Transformer},
};

// Of data/model_settings: models whose settings differ from those above.
constexpr ModelFolder kFoldersOfOtherSettings[] = {
    {"albert-gelu-new", Encoder},
    {"bart-scaled-embedding", Transformer},
    {"bert-gamma-beta", Encoder},
    {"bert-masked-lm", Encoder},
    {"clip-text-gelu", Encoder},
    {"clip-text-prefix", Encoder},
    {"distilbert-masked-lm", Encoder},
    {"electra-without-projection", Encoder},
    {"gemma-key-heads", Decoder},
    {"gemma2-defaults", Decoder},
    {"gemma2-full-first", Decoder},
    {"gemma2-version-4", Decoder},
    {"gemma3-three-layers", Decoder},
    {"gemma3-version-4", Decoder},
    {"gpt2-buffers", Decoder},
    {"gpt2-scale-by-layer", Decoder},
    {"granite-defaults", Decoder},
    {"granite-tied", Decoder},
    {"llama-biases", Decoder},
    {"llama-head-beside", Decoder},
    {"llama-linear-version-4", Decoder},
    {"llama-version-4", Decoder},
    {"llama-yarn-mscale", Decoder},
    {"llama-yarn-untruncated", Decoder},
    {"marian-plain-embedding", Transformer},
    {"marian-two-vocabularies", Transformer},
    {"mbart-plain-embedding", Transformer},
    {"mistral-head-size", Decoder},
    {"modernbert-biases", Encoder},
    {"modernbert-version-4", Encoder},
    {"mt5-head-beside", Transformer},
    {"mt5-version-4", Transformer},
    {"opt-norm-last", Decoder},
    {"opt-projection", Decoder},
    {"phi3-longrope-factor", Decoder},
    {"phi3-longrope-version-4", Decoder},
    {"phi3-window", Decoder},
    {"qwen2-bidirectional", Decoder},
    {"qwen2-defaults", Decoder},
    {"qwen2-tied", Decoder},
    {"qwen2-version-4", Decoder},
    {"qwen3-biases", Decoder},
    {"roberta-without-head", Encoder},
    {"t5-encoder-alone", Encoder},
    {"t5-gated-untied", Transformer},
    {"t5-head-beside", Transformer},
    {"t5-tied-unscaled", Transformer},
    {"t5-version-4", Transformer},
    {"vit-without-qkv-bias", Encoder},
    {"whisper-mels", Transformer},
};

// The output of a call.
std::vector<double> run(const heed_layer* layer, const heed_layer_inputs& inputs, Dims* dims = nullptr) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  property::check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor result(outputs.output);
  property::check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
  if (dims != nullptr) *dims = capi_test::dims_of(result.get());
  return numbers_of(result.get());
}

class EveryModelFolder : public testing::TestWithParam<ModelFolder> {
 protected:
  // The results are those of F32; on an NPU no bound is derived for blocks.
  void SetUp() override {
    if (property::on_ascend()) GTEST_SKIP() << "no bound on the device";
    heed_layer* made = nullptr;
    ASSERT_EQ(heed_layer_create_from_folder(context_.get(), folder_of(GetParam().family).c_str(), &made), HEED_OK)
        << heed_last_error();
    layer_ = Layer(made);
    lens_ = lengths_of(context_, GetParam().family);
    if (!lens_.empty())
      valid_lens_ = capi_test::make_tensor_of(context_.get(), {static_cast<int64_t>(lens_.size())}, lens_);
  }

  Tensor load(const std::string& name) const { return load_case(context_, GetParam().family, name); }

  // What the model, or its encoder, reads: ids, images or features.
  Tensor load_input() const {
    for (const char* const name : {"pixel_values", "input_features"}) {
      if (Tensor signal = load(name)) return signal;
    }
    return load("input_ids");
  }

  // Expects the numbers of the file; rows beyond the lengths have no meaning.
  void expect(std::vector<double> is, const std::string& name, bool is_padded) const {
    SCOPED_TRACE(name);
    const Tensor should = load(name);
    ASSERT_TRUE(should);
    std::vector<double> expected = numbers_of(should.get());
    ASSERT_EQ(is.size(), expected.size());
    const Dims dims = capi_test::dims_of(should.get());
    for (size_t i = 0; i < is.size() && is_padded && !lens_.empty(); ++i) {
      const auto row = static_cast<int64_t>(i) / dims[2];
      if (row % dims[1] >= lens_[static_cast<size_t>(row / dims[1])]) is[i] = expected[i] = 0;
    }
    expect_numbers_of_model(is, expected, nullptr);
  }

  const Context context_ = capi_test::make_context();
  Layer layer_;
  std::vector<int32_t> lens_;
  Tensor valid_lens_;
};

TEST_P(EveryModelFolder, GivesTheNumbersOfTheModel) {
  const Tensor ids = load_input();
  const Tensor token_types = load("token_type_ids");
  const Tensor decoder_ids = load("decoder_input_ids");
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs of_self = HEED_DECODER_INPUTS_INIT;
  inputs.queries = ids.get();
  switch (GetParam().kind) {
    case Encoder:
      inputs.valid_lens = valid_lens_.get();
      inputs.token_types = token_types.get();
      // RoBERTa's file is of a model with a head, and has the hidden states as the output of the last layer.
      expect(run(layer_.get(), inputs), load("last_hidden_state") ? "last_hidden_state" : "layer1.output", true);
      break;
    case Decoder:
      of_self.self_valid_lens = valid_lens_.get();
      inputs.decoder = &of_self;
      expect(run(layer_.get(), inputs), "logits", true);
      break;
    case Transformer:
      inputs.keys = ids.get();
      inputs.queries = decoder_ids.get();
      inputs.valid_lens = valid_lens_.get();
      expect(run(layer_.get(), inputs), "logits", false);
      // The encoder alone, and then the decoder with its output.
      inputs.queries = nullptr;
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      property::check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
      const Tensor memory(outputs.output);
      property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
      expect(numbers_of(memory.get()), "encoder.last_hidden_state", true);
      inputs.queries = decoder_ids.get();
      inputs.keys = nullptr;
      inputs.decoder = &of_self;
      of_self.memory = memory.get();
      expect(run(layer_.get(), inputs), "logits", false);
      break;
  }
}

// The weights of the first attentions, tapped in a call of the whole model.
TEST_P(EveryModelFolder, GivesTheWeightsOfItsAttentions) {
  const bool has_encoder = GetParam().kind == Transformer;
  const Tensor ids = load_input();
  const Tensor decoder_ids = load("decoder_input_ids");
  const Tensor token_types = load("token_type_ids");
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs of_self = HEED_DECODER_INPUTS_INIT;
  inputs.queries = has_encoder ? decoder_ids.get() : ids.get();
  inputs.token_types = token_types.get();
  if (has_encoder) inputs.keys = ids.get();
  if (GetParam().kind == Decoder) {
    of_self.self_valid_lens = valid_lens_.get();
    inputs.decoder = &of_self;
  } else {
    inputs.valid_lens = valid_lens_.get();
  }
  const std::vector<std::pair<const char*, const char*>> alone = {
      {"layers.0.self_attention", "layer0.attention.weights"}, {"layers.1.self_attention", "layer1.attention.weights"}};
  const std::vector<std::pair<const char*, const char*>> both = {
      {"encoder.layers.0.self_attention", "encoder.layer0.attention.weights"},
      {"decoder.layers.0.self_attention", "decoder.layer0.self_attention.weights"},
      {"decoder.layers.0.cross_attention", "decoder.layer0.cross_attention.weights"}};
  for (const auto& [child, name] : has_encoder ? both : alone) {
    const Tensor should = load(name);
    if (!should) continue;
    SCOPED_TRACE(child);
    heed_layer_tap tap = HEED_LAYER_TAP_INIT;
    property::check(heed_layer_create_tap(layer_.get(), &inputs, child, HEED_WANT_WEIGHTS, &tap));
    const Tensor weights(tap.weights);
    const heed_layer_tap* const taps[] = {&tap};
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    outputs.taps = taps;
    outputs.num_taps = 1;
    property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
    std::vector<double> is = numbers_of(weights.get());
    std::vector<double> expected = numbers_of(should.get());
    ASSERT_EQ(is.size(), expected.size());
    const Dims dims = capi_test::dims_of(should.get());
    // Rows of padding have no meaning; a decoder's own rows are not padded.
    const bool is_padded = !lens_.empty() && std::string(name).find("decoder.") != 0;
    for (size_t i = 0; i < is.size() && is_padded; ++i) {
      const auto row = static_cast<int64_t>(i) / dims[3];
      if (row % dims[2] >= lens_[static_cast<size_t>(row / (dims[1] * dims[2]))]) is[i] = expected[i] = 0;
    }
    expect_numbers_of_model(is, expected, nullptr);
  }
}

// In pieces through a cache: positions continue those of the sequences.
TEST_P(EveryModelFolder, GivesTheNumbersOfEachStepWithACache) {
  const bool has_encoder = GetParam().kind == Transformer;
  const Tensor ids = load(has_encoder ? "decode.decoder_input_ids" : "decode.input_ids");
  if (!ids) GTEST_SKIP() << "the file has no steps";
  const Dims dims = capi_test::dims_of(ids.get());
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  property::check(heed_layer_cache_options(layer_.get(), &options));
  options.max_sequences = dims[0];
  options.capacity = dims[1];
  heed_cache* made = nullptr;
  property::check(heed_cache_create(context_.get(), &options, &made));
  const cache_test::Cache cache(made);
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs of_self = HEED_DECODER_INPUTS_INIT;
  Tensor memory;
  const Tensor source = load_input();
  if (has_encoder) {
    inputs.keys = source.get();
    inputs.valid_lens = valid_lens_.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    memory = Tensor(outputs.output);
    property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
    inputs.keys = nullptr;
    inputs.decoder = &of_self;
    of_self.memory = memory.get();
  }
  inputs.cache = &cached;
  int64_t begin = 0;
  for (const char* const piece : kPieces) {
    const Tensor should = load(std::string(piece) + ".logits");
    const int64_t size = capi_test::dims_of(should.get())[1];
    const Tensor rows = capi_test::make_slice(ids.get(), 1, begin, size);
    inputs.queries = rows.get();
    expect(run(layer_.get(), inputs), std::string(piece) + ".logits", false);
    begin += size;
  }
  EXPECT_EQ(heed_cache_length(cache.get(), 0), begin);
}

// The keys and values of the encoder's output are in a cache of their own, so that no step projects them again.
TEST_P(EveryModelFolder, GivesTheNumbersOfStepsWithTheMemoryInACache) {
  if (GetParam().kind != Transformer) GTEST_SKIP() << "there is no encoder";
  const Tensor source = load_input();
  const Tensor ids = load("decode.decoder_input_ids");
  const Dims dims = capi_test::dims_of(ids.get());
  const int64_t num_source = capi_test::dims_of(load("encoder.last_hidden_state").get())[1];
  const auto make_cache = [&](int64_t capacity) {
    heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
    property::check(heed_layer_cache_options(layer_.get(), &options));
    options.max_sequences = dims[0];
    options.capacity = capacity;
    return cache_test::make_cache(context_.get(), options);
  };
  const cache_test::Cache own = make_cache(dims[1]);
  const cache_test::Cache memory = make_cache(num_source);
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = memory.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.keys = source.get();
  inputs.valid_lens = valid_lens_.get();
  inputs.cache = &cached;
  property::check(heed_layer_fill_cache(layer_.get(), &inputs, nullptr));
  // Padding is not stored.
  EXPECT_EQ(heed_cache_length(memory.get(), 0), lens_.empty() ? num_source : lens_[0]);

  inputs = HEED_LAYER_INPUTS_INIT;
  heed_cache_inputs appended = HEED_CACHE_INPUTS_INIT;
  appended.cache = own.get();
  cached.use = HEED_CACHE_READ;
  heed_decoder_inputs of_decoder = HEED_DECODER_INPUTS_INIT;
  of_decoder.memory_cache = &cached;
  inputs.cache = &appended;
  inputs.decoder = &of_decoder;
  int64_t begin = 0;
  for (const char* const piece : kPieces) {
    const int64_t size = capi_test::dims_of(load(std::string(piece) + ".logits").get())[1];
    const Tensor rows = capi_test::make_slice(ids.get(), 1, begin, size);
    inputs.queries = rows.get();
    expect(run(layer_.get(), inputs), std::string(piece) + ".logits", false);
    begin += size;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModelFolder, testing::ValuesIn(kModelFolders), name_of_folder);
INSTANTIATE_TEST_SUITE_P(OtherSettings, EveryModelFolder, testing::ValuesIn(kFoldersOfOtherSettings), name_of_folder);

}  // namespace
}  // namespace heed::golden
