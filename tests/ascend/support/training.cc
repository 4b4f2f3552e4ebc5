// SPDX-License-Identifier: Apache-2.0
#include "ascend/support/training.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace heed::ascend_test {
namespace {

using capi_test::read_elements;
using property::check;

constexpr int64_t kSize = 24;
constexpr int64_t kNumIds = 11;

heed_multi_head_attention_options three_heads() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kSize;
  options.num_heads = 3;
  return options;
}

// Options that point to others, which live as long.
struct EncoderLayer {
  EncoderLayer() {
    feed_forward.hidden_size = 40;
    options.attention = &attention;
    options.feed_forward = &feed_forward;
    options.dropout = 0.2F;
  }
  EncoderLayer(const EncoderLayer&) = delete;
  EncoderLayer& operator=(const EncoderLayer&) = delete;

  heed_multi_head_attention_options attention = three_heads();
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  heed_encoder_layer_options options = HEED_ENCODER_LAYER_OPTIONS_INIT;
};

Layer make_decoder_layer(heed_context* context) {
  heed_multi_head_attention_options self = three_heads();
  self.causal = HEED_CAUSAL_TOP_LEFT;
  const heed_multi_head_attention_options cross = three_heads();
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = 40;
  heed_decoder_layer_options options = HEED_DECODER_LAYER_OPTIONS_INIT;
  options.self_attention = &self;
  options.cross_attention = &cross;
  options.feed_forward = &feed_forward;
  return capi_test::make_decoder_layer(context, options);
}

// From ids to logits.
Layer make_model(heed_context* context) {
  const EncoderLayer layer;
  heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
  embedding.num_embeddings = kNumIds;
  embedding.embedding_size = kSize;
  heed_output_options output = HEED_OUTPUT_OPTIONS_INIT;
  output.size = kNumIds;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  options.layer = &layer.options;
  options.num_layers = 2;
  options.embedding = &embedding;
  options.output = &output;
  return capi_test::make_encoder(context, options);
}

const TrainedKind kKinds[] = {
    {"linear",
     [](heed_context* context) {
       heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
       options.output_size = 40;
       return capi_test::make_linear(context, options);
     },
     {2, 5, kSize}},
    {"layer norm",
     [](heed_context* context) { return capi_test::make_layer_norm(context, HEED_LAYER_NORM_OPTIONS_INIT); },
     {2, 5, kSize}},
    {"RMS norm",
     [](heed_context* context) {
       heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
       options.kind = HEED_NORM_RMS;
       return capi_test::make_layer_norm(context, options);
     },
     {2, 5, kSize}},
    {"feed-forward network",
     [](heed_context* context) {
       heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
       options.hidden_size = 40;
       options.activation = HEED_ACTIVATION_SILU;
       options.gated = 1;
       options.dropout = 0.2F;
       return capi_test::make_feed_forward(context, options);
     },
     {2, 5, kSize}},
    {"embedding",
     [](heed_context* context) {
       heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
       options.num_embeddings = kNumIds;
       options.embedding_size = kSize;
       return capi_test::make_embedding(context, options);
     },
     {2, 5},
     {},
     {},
     true},
    {"dot-product attention",
     [](heed_context* context) {
       heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
       options.soft_cap = 5;
       return capi_test::make_dot_product(context, options);
     },
     {2, 3, 5, 16},
     {2, 3, 7, 16},
     {4, 7}},
    {"multi-head attention",
     [](heed_context* context) {
       heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
       rope.layout = HEED_ROPE_INTERLEAVED;
       heed_multi_head_attention_options options = three_heads();
       options.num_kv_heads = 1;
       options.biases = HEED_BIAS_ALL;
       options.rope = &rope;
       options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
       options.dropout = 0.2F;
       return capi_test::make_multi_head(context, options);
     },
     {2, 5, kSize},
     {2, 7, kSize},
     {7, 4}},
    {"additive attention",
     [](heed_context* context) {
       heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
       options.num_hiddens = 10;
       return capi_test::make_additive(context, options);
     },
     {2, 5, kSize},
     {2, 7, kSize},
     {3, 7}},
    {"encoder layer",
     [](heed_context* context) { return capi_test::make_encoder_layer(context, EncoderLayer().options); },
     {2, 5, kSize},
     {},
     {3, 5}},
    {"decoder layer", make_decoder_layer, {2, 5, kSize}, {2, 7, kSize}, {7, 4}},
    {"encoder", make_model, {2, 5}, {}, {5, 3}, true},
};

}  // namespace

std::span<const TrainedKind> trained_kinds() { return kKinds; }

const TrainedKind& trained_kind(const char* name) {
  return *std::ranges::find_if(kKinds, [name](const TrainedKind& kind) { return std::string_view(kind.name) == name; });
}

Training::Training(Context made, const TrainedKind& kind) : context(std::move(made)), layer(kind.make(context.get())) {
  if (kind.reads_ids) {
    std::vector<int64_t> ids;
    for (int64_t i = 0; i < kind.queries[0] * kind.queries[1]; ++i) ids.push_back(i * 7 % kNumIds);
    inputs.queries = keep(capi_test::make_tensor_of(context.get(), kind.queries, ids));
  } else {
    inputs.queries = keep(capi_test::make_random(context.get(), kind.queries, 1));
    wanted.queries = keep(capi_test::make_tensor(context.get(), kind.queries));
  }
  if (!kind.keys.empty()) {
    inputs.keys = keep(capi_test::make_random(context.get(), kind.keys, 2));
    wanted.keys = keep(capi_test::make_tensor(context.get(), kind.keys));
  }
  if (!kind.lens.empty()) inputs.valid_lens = keep(capi_test::make_tensor_of(context.get(), {2}, kind.lens));
  inputs.training = 1;
  inputs.dropout_seed = 5;
  check(heed_layer_initialize(layer.get(), &inputs, 3));
  check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  keep(Tensor(outputs.output));
  wanted.output = keep(capi_test::make_random(context.get(), capi_test::dims_of(outputs.output), 4));
  gradients = capi_test::make_gradients(layer.get());
  wanted.parameters = gradients.get();
}

void Training::save() {
  size_t num_bytes = 0;
  check(heed_layer_saved_size(layer.get(), &inputs, &num_bytes));
  heed_saved* made = nullptr;
  check(heed_saved_create(context.get(), num_bytes, &made));
  saved_.reset(made);
  outputs.saved = made;
}

nlohmann::json Training::explain_backward() const {
  size_t num_bytes = 0;
  check(heed_layer_explain_backward(layer.get(), &inputs, &outputs, &wanted, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  check(heed_layer_explain_backward(layer.get(), &inputs, &outputs, &wanted, text.data(), text.size(), &num_bytes));
  return nlohmann::json::parse(text.c_str());
}

Numbers Training::numbers() const {
  Numbers all = {{"output", read_elements<float>(outputs.output)}};
  if (wanted.queries != nullptr) all["queries"] = read_elements<float>(wanted.queries);
  if (wanted.keys != nullptr) all["keys"] = read_elements<float>(wanted.keys);
  for (int64_t i = 0; i < heed_gradients_count(gradients.get()); ++i) {
    const char* const name = heed_gradients_name(gradients.get(), i);
    all[name] = read_elements<float>(capi_test::gradient_of(gradients.get(), name).get());
  }
  return all;
}

Numbers Training::parameters() const {
  Numbers all;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer.get()); ++i) {
    const char* const name = heed_layer_parameter_name(layer.get(), i);
    all[name] = read_elements<float>(capi_test::snapshot(layer.get(), name).get());
  }
  return all;
}

void Training::set_parameters(const Numbers& numbers) {
  for (const auto& [name, elements] : numbers) {
    const Tensor like = capi_test::snapshot(layer.get(), name.c_str());
    const Tensor value = capi_test::make_tensor_of(context.get(), capi_test::dims_of(like.get()), elements);
    check(heed_layer_set_parameter(layer.get(), name.c_str(), value.get()));
  }
}

std::vector<double> train(Training& model, heed_optimizer* optimizer, int num_steps) {
  heed_context* const context = model.context.get();
  // Of one row that does not count, and of rows beyond a length.
  const Tensor labels = capi_test::make_tensor_of<int32_t>(context, {2, 5}, {1, 2, 3, 4, -100, 6, 7, 8, 99, 99});
  const Tensor lens = capi_test::make_tensor_of<int64_t>(context, {2}, {5, 3});
  std::vector<double> numbers;
  model.save();
  model.wanted.output = model.outputs.output;
  for (int step = 0; step < num_steps; ++step) {
    check(model.forward());
    double loss = 0;
    check(heed_cross_entropy(model.outputs.output, labels.get(), lens.get(), nullptr, nullptr, &loss,
                             model.outputs.output));
    check(model.backward());
    heed_gradients* const sets[] = {model.gradients.get()};
    double norm = 0;
    check(heed_gradients_clip(sets, 1, 1.0, &norm));
    check(heed_optimizer_step(optimizer, model.layer.get(), model.gradients.get()));
    numbers.insert(numbers.end(), {loss, norm});
  }
  return numbers;
}

}  // namespace heed::ascend_test
