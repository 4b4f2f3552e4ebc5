// SPDX-License-Identifier: Apache-2.0
// Whole models in data/models with a tokenizer's mask: a text has the bits that it has alone, wherever its padding is.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Cache;
using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

// Of every family whose models read ids.
constexpr const char* kEncoders[] = {"albert", "bert", "clip-text", "distilbert", "electra", "modernbert", "roberta"};
constexpr const char* kDecoders[] = {"gemma",   "gemma2", "gemma3", "gpt2",  "granite", "llama",
                                     "mistral", "opt",    "phi3",   "qwen2", "qwen3"};
constexpr const char* kTransformers[] = {"bart", "marian", "mbart", "t5"};

// No id of any table: hidden rows are not read.
constexpr int64_t kPadding = -7;

// A batch of texts as a tokenizer pads them.
struct Batch {
  std::vector<std::vector<int64_t>> texts;
  std::vector<std::vector<int64_t>> places;  // where each id of a text is
  int64_t width = 0;

  Dims dims() const { return {static_cast<int64_t>(texts.size()), width}; }
  std::vector<int64_t> ids() const {
    std::vector<int64_t> all(texts.size() * static_cast<size_t>(width), kPadding);
    for (size_t b = 0; b < texts.size(); ++b) {
      for (size_t i = 0; i < texts[b].size(); ++i)
        all[b * static_cast<size_t>(width) + static_cast<size_t>(places[b][i])] = texts[b][i];
    }
    return all;
  }
  std::vector<int64_t> mask() const {
    std::vector<int64_t> all = ids();
    for (int64_t& id : all) id = id == kPadding ? 0 : 1;
    return all;
  }
};

// The first text padded on the left, the second on the right, the third with holes, the fourth not at all.
Batch padded(const std::vector<int64_t>& ids) {
  constexpr int64_t kPadded = 2;
  const auto count = static_cast<int64_t>(ids.size());
  Batch batch;
  batch.width = count;
  const std::vector<int64_t> text(ids.begin(), ids.end() - kPadded);
  std::vector<int64_t> left, right, holes, all;
  for (int64_t i = 0; i < count; ++i) {
    if (i >= kPadded) left.push_back(i);
    if (i < count - kPadded) right.push_back(i);
    if (i != 0 && i != count / 2) holes.push_back(i);
    all.push_back(i);
  }
  batch.texts = {text, text, text, ids};
  batch.places = {left, right, holes, all};
  return batch;
}

class MaskedModel : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (property::on_ascend()) GTEST_SKIP() << "rule 10 is the CPU's";
    heed_layer* made = nullptr;
    property::check(heed_layer_create_from_folder(context_.get(), folder_of(GetParam()).c_str(), &made));
    layer_ = Layer(made);
    ids_ = first_row("input_ids");
    const Tensor decoder_ids = load_case(context_, GetParam(), "decoder_input_ids");
    if (decoder_ids) decoder_ids_ = first_row("decoder_input_ids");
  }

  bool is_transformer() const { return !decoder_ids_.empty(); }

  std::vector<int64_t> first_row(const char* name) const {
    const Tensor ids = load_case(context_, GetParam(), name);
    const auto count = static_cast<size_t>(capi_test::dims_of(ids.get())[1]);
    std::vector<int64_t> row;
    for (const double id : numbers_of(ids.get())) {
      if (row.size() < count) row.push_back(static_cast<int64_t>(id));
    }
    return row;
  }

  Tensor tensor(const Dims& dims, const std::vector<int64_t>& numbers) const {
    return capi_test::make_tensor_of(context_.get(), dims, numbers);
  }

  std::vector<double> forward(const heed_layer_inputs& inputs) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
    return numbers_of(output.get());
  }

  // A text alone. `source`: what the encoder of a Transformer reads.
  std::vector<double> alone(const std::vector<int64_t>& text, const std::vector<int64_t>& source = {}) const {
    const Tensor queries = tensor({1, static_cast<int64_t>(text.size())}, text);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    Tensor keys;
    if (!source.empty()) {
      keys = tensor({1, static_cast<int64_t>(source.size())}, source);
      inputs.keys = keys.get();
    }
    return forward(inputs);
  }

  static void expect_rows(const Batch& batch, size_t b, const std::vector<double>& is,
                          const std::vector<double>& should) {
    const std::vector<int64_t>& places = batch.places[b];
    const auto width = static_cast<size_t>(batch.width);
    const size_t size = is.size() / (batch.texts.size() * width);
    ASSERT_EQ(should.size(), places.size() * size);
    for (size_t row = 0; row < width; ++row) {
      const auto place = std::find(places.begin(), places.end(), static_cast<int64_t>(row));
      for (size_t d = 0; d < size; ++d) {
        const double element = is[(b * width + row) * size + d];
        const double expected =
            place == places.end() ? 0 : should[static_cast<size_t>(place - places.begin()) * size + d];
        ASSERT_EQ(element, expected) << "text " << b << ", row " << row << ", element " << d;
      }
    }
  }

  const Context context_ = capi_test::make_context();
  Layer layer_;
  std::vector<int64_t> ids_;
  std::vector<int64_t> decoder_ids_;
};

class EveryMaskedModel : public MaskedModel {};
class EveryMaskedDecoder : public MaskedModel {};
class EveryMaskedTransformer : public MaskedModel {};

TEST_P(EveryMaskedModel, HasTheBitsOfEachTextAlone) {
  const Batch sources = padded(ids_);
  const Batch batch = is_transformer() ? padded(decoder_ids_) : sources;
  const Tensor ids = tensor(batch.dims(), batch.ids());
  const Tensor mask = tensor(batch.dims(), batch.mask());
  const Tensor source_ids = tensor(sources.dims(), sources.ids());
  const Tensor source_mask = tensor(sources.dims(), sources.mask());
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  inputs.queries = ids.get();
  inputs.attention_mask = mask.get();
  if (is_transformer()) {
    inputs.keys = source_ids.get();
    inputs.attention_mask = source_mask.get();
    inputs.decoder = &decoder;
    decoder.self_attention_mask = mask.get();
  }
  const std::vector<double> is = forward(inputs);
  for (size_t b = 0; b < batch.texts.size(); ++b) {
    expect_rows(batch, b, is, alone(batch.texts[b], is_transformer() ? sources.texts[b] : std::vector<int64_t>()));
  }
}

// A prompt that is padded on the left leaves in the cache what counts, so that the next step needs no mask.
TEST_P(EveryMaskedDecoder, AppendsNoHiddenRow) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  property::check(heed_layer_cache_options(layer_.get(), &options));
  std::vector<int64_t> prompt = ids_;
  const int64_t next = prompt.back();
  prompt.pop_back();
  const Batch batch = padded(prompt);
  options.max_sequences = batch.dims()[0];
  options.capacity = batch.width + 1;
  const auto make_cache = [&] {
    heed_cache* made = nullptr;
    property::check(heed_cache_create(context_.get(), &options, &made));
    return Cache(made);
  };
  const Cache cache = make_cache();
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.cache = &cached;
  const Tensor ids = tensor(batch.dims(), batch.ids());
  const Tensor mask = tensor(batch.dims(), batch.mask());
  inputs.queries = ids.get();
  inputs.attention_mask = mask.get();
  const std::vector<double> is = forward(inputs);
  const Tensor step = tensor({batch.dims()[0], 1}, std::vector<int64_t>(batch.texts.size(), next));
  inputs.queries = step.get();
  inputs.attention_mask = nullptr;
  const std::vector<double> is_next = forward(inputs);
  const size_t size = is_next.size() / batch.texts.size();
  for (size_t b = 0; b < batch.texts.size(); ++b) {
    EXPECT_EQ(heed_cache_length(cache.get(), static_cast<int64_t>(b)), static_cast<int64_t>(batch.texts[b].size()) + 1);
    const Cache of_one = make_cache();
    heed_cache_inputs one = HEED_CACHE_INPUTS_INIT;
    one.cache = of_one.get();
    heed_layer_inputs alone_inputs = HEED_LAYER_INPUTS_INIT;
    alone_inputs.cache = &one;
    const Tensor text = tensor({1, static_cast<int64_t>(batch.texts[b].size())}, batch.texts[b]);
    alone_inputs.queries = text.get();
    expect_rows(batch, b, is, forward(alone_inputs));
    const Tensor last = tensor({1, 1}, {next});
    alone_inputs.queries = last.get();
    const auto first = is_next.begin() + static_cast<std::ptrdiff_t>(b * size);
    EXPECT_EQ(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(size)), forward(alone_inputs));
  }
}

// The encoder alone, and its output as the memory of the decoder, with and without a cache for it.
TEST_P(EveryMaskedTransformer, HidesRowsOfTheMemory) {
  const Batch sources = padded(ids_);
  const Tensor source_ids = tensor(sources.dims(), sources.ids());
  const Tensor source_mask = tensor(sources.dims(), sources.mask());
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.keys = source_ids.get();
  inputs.attention_mask = source_mask.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  property::check(heed_layer_create_outputs(layer_.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor memory(outputs.output);
  property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs));
  const std::vector<double> of_encoder = numbers_of(memory.get());
  for (size_t b = 0; b < sources.texts.size(); ++b) {
    heed_layer_inputs one = HEED_LAYER_INPUTS_INIT;
    const Tensor keys = tensor({1, static_cast<int64_t>(sources.texts[b].size())}, sources.texts[b]);
    one.keys = keys.get();
    expect_rows(sources, b, of_encoder, forward(one));
  }
  // The decoder: the same ids for all sources.
  std::vector<int64_t> all;
  for (size_t b = 0; b < sources.texts.size(); ++b) all.insert(all.end(), decoder_ids_.begin(), decoder_ids_.end());
  const Tensor ids = tensor({sources.dims()[0], static_cast<int64_t>(decoder_ids_.size())}, all);
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  inputs.keys = nullptr;
  inputs.queries = ids.get();
  inputs.decoder = &decoder;
  decoder.memory = memory.get();
  const std::vector<double> is = forward(inputs);
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  property::check(heed_layer_cache_options(layer_.get(), &options));
  options.max_sequences = sources.dims()[0];
  options.capacity = sources.width;
  heed_cache* made = nullptr;
  property::check(heed_cache_create(context_.get(), &options, &made));
  const Cache cache(made);
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  cached.cache = cache.get();
  heed_layer_inputs fill = HEED_LAYER_INPUTS_INIT;
  fill.keys = source_ids.get();
  fill.attention_mask = source_mask.get();
  fill.cache = &cached;
  property::check(heed_layer_fill_cache(layer_.get(), &fill, nullptr));
  heed_layer_inputs read = HEED_LAYER_INPUTS_INIT;
  heed_decoder_inputs of_cache = HEED_DECODER_INPUTS_INIT;
  heed_cache_inputs memory_cache = HEED_CACHE_INPUTS_INIT;
  memory_cache.cache = cache.get();
  memory_cache.use = HEED_CACHE_READ;
  of_cache.memory_cache = &memory_cache;
  read.queries = ids.get();
  read.decoder = &of_cache;
  const std::vector<double> of_memory_cache = forward(read);
  const size_t size = is.size() / sources.texts.size();
  double largest = 0;
  for (const double element : is) largest = std::max(largest, std::abs(element));
  for (size_t b = 0; b < sources.texts.size(); ++b) {
    EXPECT_EQ(heed_cache_length(cache.get(), static_cast<int64_t>(b)), static_cast<int64_t>(sources.texts[b].size()));
    const std::vector<double> should = alone(decoder_ids_, sources.texts[b]);
    ASSERT_EQ(should.size(), size);
    // Cross attention sums keys with hidden ones among them, and keys of a cache, in another order.
    for (size_t i = 0; i < size; ++i) {
      ASSERT_NEAR(is[b * size + i], should[i], 1e-5 * largest) << i;
      ASSERT_NEAR(of_memory_cache[b * size + i], should[i], 1e-5 * largest) << i;
    }
  }
}

// What GPT-2's own class gives, which counts columns: with padding on the left a caller passes them as positions.
struct MaskedStates {
  const char* folder;
  const char* prefix;  // of the case
  const char* states;
  bool counts_columns;
};
constexpr MaskedStates kMaskedStates[] = {
    {"gpt2-sequence-classification", "", "last_hidden_state", false},
    {"gpt2-sequence-classification", "last_pad.", "last_hidden_state", false},
    {"gpt2-sequence-classification", "left.", "last_hidden_state", true},
    {"gpt2-weighted-mean", "", "token_embeddings", false},
    {"gpt2-weighted-mean", "left.", "token_embeddings", true},
};

TEST(MaskedStates, AreThoseOfTheModel) {
  if (property::on_ascend()) GTEST_SKIP() << "no bound on the device";
  const Context context = capi_test::make_context();
  for (const auto& [folder, prefix, states, counts_columns] : kMaskedStates) {
    SCOPED_TRACE(std::string(folder) + ", " + prefix + states);
    heed_layer* made = nullptr;
    property::check(heed_layer_create_from_folder(context.get(), folder_of(folder).c_str(), &made));
    const Layer layer(made);
    const Tensor ids = load_case(context, folder, std::string(prefix) + "input_ids");
    const Tensor mask = load_case(context, folder, std::string(prefix) + "attention_mask");
    const Dims dims = capi_test::dims_of(ids.get());
    std::vector<int64_t> columns;
    for (int64_t i = 0; i < dims[0] * dims[1]; ++i) columns.push_back(i % dims[1]);
    const Tensor positions = capi_test::make_tensor_of(context.get(), dims, columns);
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    sequences.positions = positions.get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = ids.get();
    inputs.attention_mask = mask.get();
    if (counts_columns) inputs.sequences = &sequences;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    expect_numbers_of_model(numbers_of(output.get()),
                            numbers_of(load_case(context, folder, std::string(prefix) + states).get()), nullptr);
  }
}

std::string name_of_family(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Encoders, EveryMaskedModel, testing::ValuesIn(kEncoders), name_of_family);
INSTANTIATE_TEST_SUITE_P(Decoders, EveryMaskedModel, testing::ValuesIn(kDecoders), name_of_family);
INSTANTIATE_TEST_SUITE_P(Transformers, EveryMaskedModel, testing::ValuesIn(kTransformers), name_of_family);
INSTANTIATE_TEST_SUITE_P(Models, EveryMaskedDecoder, testing::ValuesIn(kDecoders), name_of_family);
INSTANTIATE_TEST_SUITE_P(Models, EveryMaskedTransformer, testing::ValuesIn(kTransformers), name_of_family);

}  // namespace
}  // namespace heed::golden
