// SPDX-License-Identifier: Apache-2.0
// Encoders and decoders of ids: their parts are children, which by themselves, one after another, must give the bits of
// the whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "property/support/device.h"
#include "property/support/random.h"
#include "support/activations.h"
#include "support/numbers.h"

namespace heed::property {
namespace {

using capi_test::Context;
using capi_test::Layer;
using capi_test::Tensor;

// Options of a stack that reads ids, drawn by a seed.
class RandomModel {
 public:
  explicit RandomModel(uint64_t seed) : random_(seed) {
    is_decoder = random_.chance(0.5);
    attention_.num_heads = random_.one_of<int64_t>({1, 2, 4});
    attention_.num_hiddens = size_ = attention_.num_heads * random_.one_of<int64_t>({2, 4, 8});
    if (random_.chance(0.5)) attention_.causal = HEED_CAUSAL_BOTTOM_RIGHT;
    feed_forward_.hidden_size = random_.one_of<int64_t>({1, 5, 16});
    feed_forward_.activation = static_cast<int32_t>(random_.below(kNumActivationsOfC));
    norm_.kind = random_.one_of<int32_t>({HEED_NORM_LAYER, HEED_NORM_RMS});
    norm_first_ = random_.chance(0.5) ? 1 : 0;
    num_layers = 1 + random_.below(3);
    final_norm_ = random_.chance(0.5) ? 1 : 0;
    embedding_.num_embeddings = 1 + random_.below(20);
    const bool is_projected = random_.chance(0.3);
    const int64_t embedding_size = is_projected ? random_.one_of<int64_t>({3, 6, 20}) : size_;
    embedding_.embedding_size = is_projected || random_.chance(0.5) ? embedding_size : 0;
    if (random_.chance(0.4)) embedding_.scale = static_cast<float>(random_.uniform(-3.0, 3.0));
    if (random_.chance(0.5)) num_token_types_ = 1 + random_.below(3);
    has_positions_ = random_.chance(0.6);
    positions_.kind = random_.one_of<int32_t>({HEED_POSITIONS_SINUSOIDAL, HEED_POSITIONS_LEARNED});
    positions_.max_positions = kMostRows + random_.below(3);
    if (positions_.kind == HEED_POSITIONS_LEARNED) positions_.first_row = random_.below(3);
    if (random_.chance(0.5)) positions_.size = random_.chance(0.5) ? size_ : embedding_size;
    embedding_norm_ = random_.chance(0.5) ? 1 : 0;
    share_layers_ = random_.chance(0.2) ? 1 : 0;
    has_output = random_.chance(0.6);
    output_.tied = random_.chance(0.5) ? 1 : 0;
    no_projection_bias_ = random_.chance(0.5) ? 1 : 0;
    if (output_.tied == 0) output_.size = 1 + random_.below(30);
    output_.bias = random_.chance(0.5) ? 1 : 0;
    if (random_.chance(0.4)) output_.scale = static_cast<float>(random_.uniform(-2.0, 2.0));
    if (random_.chance(0.4)) output_.soft_cap = static_cast<float>(random_.uniform(0.5, 5.0));
    batch = random_.one_of<int64_t>({1, 2, 3});
    num_rows = 1 + random_.below(kMostRows);
  }
  RandomModel(const RandomModel&) = delete;
  RandomModel& operator=(const RandomModel&) = delete;

  Layer make(heed_context* context) const {
    heed_layer* made = nullptr;
    if (is_decoder) {
      heed_decoder_layer_options layer = HEED_DECODER_LAYER_OPTIONS_INIT;
      layer.self_attention = &attention_;
      heed_decoder_options options = HEED_DECODER_OPTIONS_INIT;
      set(layer, options);
      check(heed_decoder_create(context, &options, &made));
    } else {
      heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
      layer.attention = &attention_;
      heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
      set(layer, options);
      check(heed_encoder_create(context, &options, &made));
    }
    return Layer(made);
  }

  Tensor draw_ids(heed_context* context) { return draw(context, embedding_.num_embeddings); }
  std::optional<Tensor> draw_token_types(heed_context* context) {
    if (num_token_types_ == 0 || random_.chance(0.3)) return std::nullopt;
    return draw(context, num_token_types_);
  }
  std::optional<Tensor> draw_positions(heed_context* context) {
    if (!has_positions_ || random_.chance(0.5)) return std::nullopt;
    // Positions may not fall where a layer is causal or rotates.
    return draw(context, positions_.max_positions, true);
  }

  bool is_decoder = false;
  bool has_output = false;
  int64_t num_layers = 0;
  int64_t batch = 0;
  int64_t num_rows = 0;

 private:
  static constexpr int64_t kMostRows = 7;

  template <typename LayerOptions, typename StackOptions>
  void set(LayerOptions& layer, StackOptions& options) const {
    layer.feed_forward = &feed_forward_;
    layer.norm = &norm_;
    layer.norm_first = norm_first_;
    options.layer = &layer;
    options.num_layers = num_layers;
    options.final_norm = final_norm_;
    options.embedding = &embedding_;
    if (has_positions_) options.positions = &positions_;
    if (has_output) options.output = &output_;
    options.num_token_types = num_token_types_;
    options.embedding_norm = embedding_norm_;
    options.share_layers = share_layers_;
    options.no_projection_bias = no_projection_bias_;
  }

  Tensor draw(heed_context* context, int64_t end, bool rises = false) {
    std::vector<int32_t> numbers;
    for (int64_t i = 0; i < batch * num_rows; ++i) numbers.push_back(static_cast<int32_t>(random_.below(end)));
    for (auto row = numbers.begin(); rises && row != numbers.end(); row += num_rows) std::sort(row, row + num_rows);
    return capi_test::make_tensor_of(context, {batch, num_rows}, numbers);
  }

  Random random_;
  int64_t size_ = 0;
  heed_multi_head_attention_options attention_ = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_feed_forward_options feed_forward_ = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_layer_norm_options norm_ = HEED_LAYER_NORM_OPTIONS_INIT;
  heed_embedding_options embedding_ = HEED_EMBEDDING_OPTIONS_INIT;
  heed_positional_encoding_options positions_ = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  heed_output_options output_ = HEED_OUTPUT_OPTIONS_INIT;
  int64_t num_token_types_ = 0;
  bool has_positions_ = false;
  int32_t norm_first_ = 0;
  int32_t final_norm_ = 0;
  int32_t embedding_norm_ = 0;
  int32_t share_layers_ = 0;
  int32_t no_projection_bias_ = 0;
};

Tensor run(const heed_layer* layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs));
  Tensor result(outputs.output);
  check(heed_layer_forward(layer, &inputs, nullptr, &outputs));
  return result;
}

Tensor run_child(const Layer& model, const std::string& name, heed_layer_inputs inputs, const Tensor& rows) {
  heed_layer* made = nullptr;
  check(heed_layer_child(model.get(), name.c_str(), &made));
  const Layer child(made);
  inputs.queries = rows.get();
  return run(child.get(), inputs);
}

Tensor sum(heed_context* context, const Tensor& a, const Tensor& b) {
  std::vector<float> sums = capi_test::read_elements<float>(a.get());
  const std::vector<float> others = capi_test::read_elements<float>(b.get());
  for (size_t i = 0; i < sums.size(); ++i) sums[i] += others[i];
  return capi_test::make_tensor_of(context, capi_test::dims_of(a.get()), sums);
}

TEST(Models, HaveTheBitsOfTheirParts) {
  HEED_SKIP_ON_ASCEND("intermediates are F32 on the CPU");
  for (int64_t round = 0; round < num_rounds(300) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    RandomModel options(static_cast<uint64_t>(round));
    const Context context = capi_test::make_context();
    const Layer model = options.make(context.get());
    const Tensor ids = options.draw_ids(context.get());
    const std::optional<Tensor> token_types = options.draw_token_types(context.get());
    const std::optional<Tensor> positions = options.draw_positions(context.get());
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    if (positions) sequences.positions = positions->get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = ids.get();
    if (token_types) inputs.token_types = token_types->get();
    inputs.sequences = &sequences;
    check(heed_layer_initialize(model.get(), &inputs, static_cast<uint64_t>(round)));
    const Tensor whole = run(model.get(), inputs);

    heed_layer_inputs plain = HEED_LAYER_INPUTS_INIT;
    heed_layer_inputs with_positions = HEED_LAYER_INPUTS_INIT;
    with_positions.sequences = &sequences;
    Tensor rows;
    for (int64_t i = 0; i < heed_layer_child_count(model.get()); ++i) {
      const std::string name = heed_layer_child_name(model.get(), i);
      if (name == "embedding") {
        rows = run_child(model, name, plain, ids);
      } else if (name == "token_type_embedding") {
        const Tensor zeros = capi_test::make_tensor_of(context.get(), {options.batch, options.num_rows},
                                                       std::vector<int32_t>(options.batch * options.num_rows, 0));
        rows = sum(context.get(), rows, run_child(model, name, plain, token_types ? *token_types : zeros));
      } else if (name == "positions" || name.starts_with("layers.")) {
        rows = run_child(model, name, with_positions, rows);
      } else if (name != "embedding_dropout") {
        rows = run_child(model, name, plain, rows);
      }
    }
    EXPECT_EQ(capi_test::read_elements<float>(rows.get()), capi_test::read_elements<float>(whole.get()));
  }
}

}  // namespace
}  // namespace heed::property
