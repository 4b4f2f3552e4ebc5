// SPDX-License-Identifier: Apache-2.0
#include "capi/support/attention_call.h"

#include <algorithm>
#include <utility>

namespace heed::capi_test {
namespace {

constexpr int32_t kAllOutputs = HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;

struct InputDims {
  Dims queries;
  Dims keys;
  Dims values;
};

// The offsets of batch elements of which element i has `rows` - i rows, at least 0.
std::vector<int64_t> packed_offsets(int64_t batch, int64_t rows) {
  std::vector<int64_t> offsets = {0};
  for (int64_t i = 0; i < batch; ++i) offsets.push_back(offsets.back() + std::max<int64_t>(0, rows - i));
  return offsets;
}

InputDims input_dims(Kind kind, const Sizes& sizes) {
  const int64_t b = sizes.batch;
  const int64_t q = sizes.num_queries;
  const int64_t k = sizes.num_keys;
  switch (kind) {
    case Kind::MultiHead:
    case Kind::MultiHeadAdditive:
    case Kind::Additive:
    case Kind::General: return {{b, q, 6}, {b, k, 7}, {b, k, 9}};
    case Kind::DotProductRank3: return {{b, q, 4}, {b, k, 4}, {b, k, 6}};
    case Kind::Rotary: return {{b, q, 6}, {b, k, 7}, {b, k, 9}};
    case Kind::Packed: {
      const int64_t queries = packed_offsets(b, q).back();
      const int64_t keys = packed_offsets(b, k).back();
      return {{queries, 6}, {keys, 7}, {keys, 9}};
    }
    case Kind::Linear:
    case Kind::Positions:
    case Kind::Norm:
    case Kind::FeedForward:
    case Kind::Dropout: return {{b, q, 6}, {}, {}};
    case Kind::Embedding: return {{b, q}, {}, {}};
    case Kind::EncoderLayer:
    case Kind::Encoder: return {{b, q, 8}, {}, {}};
    case Kind::Decoder: return {{b, q, 8}, {b, k, 7}, {}};
    case Kind::DotProductRank4: break;
  }
  return {{b, 4, q, 4}, {b, 2, k, 4}, {b, 2, k, 6}};
}

Layer make_layer(heed_context* context, Kind kind, const Sizes& sizes) {
  const heed_rope_options rope = whole_heads();
  heed_multi_head_attention_options options = two_heads();
  switch (kind) {
    case Kind::MultiHeadAdditive: options.scoring = HEED_SCORING_ADDITIVE; [[fallthrough]];
    case Kind::MultiHead: return make_multi_head(context, options);
    case Kind::Additive: return make_additive(context, five_hiddens());
    case Kind::General: return make_general(context, six_in_queries());
    case Kind::Linear: return make_linear(context, five_outputs());
    case Kind::Dropout: return make_dropout(context, one_half());
    case Kind::Positions: {
      heed_positional_encoding_options positions = ten_positions();
      positions.max_positions = std::max<int64_t>(1, sizes.num_queries);
      return make_positional_encoding(context, positions);
    }
    case Kind::Rotary:
    case Kind::Packed: return make_multi_head(context, rotary_heads(rope));
    case Kind::Norm: return make_layer_norm(context, HEED_LAYER_NORM_OPTIONS_INIT);
    case Kind::FeedForward: return make_feed_forward(context, ten_hidden());
    case Kind::Embedding: return make_embedding(context, ten_rows());
    case Kind::EncoderLayer: return make_encoder_layer(context, BlockOptions().encoder_layer);
    case Kind::Encoder: return make_encoder(context, BlockOptions().encoder);
    case Kind::Decoder: return make_decoder(context, BlockOptions().decoder);
    default: return make_dot_product(context, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  }
}

}  // namespace

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::Linear: return "linear";
    case Kind::Dropout: return "dropout";
    case Kind::Positions: return "positional_encoding";
    case Kind::Norm: return "layer_norm";
    case Kind::FeedForward: return "feed_forward";
    case Kind::Embedding: return "embedding";
    case Kind::EncoderLayer: return "encoder_layer";
    case Kind::Encoder: return "encoder";
    case Kind::Decoder: return "decoder";
    default: return "attention";
  }
}

heed_multi_head_attention_options two_heads() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  return options;
}

heed_additive_attention_options five_hiddens() {
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 5;
  return options;
}

heed_general_attention_options six_in_queries() {
  heed_general_attention_options options = HEED_GENERAL_ATTENTION_OPTIONS_INIT;
  options.query_size = 6;
  return options;
}

heed_linear_options five_outputs() {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 5;
  return options;
}

heed_dropout_options one_half() {
  heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
  options.dropout = 0.5f;
  return options;
}

heed_positional_encoding_options ten_positions() {
  heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  options.max_positions = 10;
  options.size = 6;
  options.kind = HEED_POSITIONS_LEARNED;
  return options;
}

heed_feed_forward_options ten_hidden() {
  heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
  options.hidden_size = 10;
  options.activation = HEED_ACTIVATION_GELU;
  return options;
}

heed_embedding_options ten_rows() {
  heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
  options.num_embeddings = 10;
  options.embedding_size = 6;
  options.padding_index = 9;
  return options;
}

heed_patch_embedding_options six_pixels() {
  heed_patch_embedding_options options = HEED_PATCH_EMBEDDING_OPTIONS_INIT;
  options.patch_height = 2;
  options.patch_width = 3;
  options.num_channels = 3;
  options.size = 8;
  options.class_token = 1;
  return options;
}

heed_audio_embedding_options four_mels() {
  heed_audio_embedding_options options = HEED_AUDIO_EMBEDDING_OPTIONS_INIT;
  options.num_mels = 4;
  options.size = 8;
  return options;
}

BlockOptions::BlockOptions() {
  attention.biases = causal.biases = HEED_BIAS_ALL;
  causal.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  encoder_layer.attention = &attention;
  decoder_layer.self_attention = &causal;
  decoder_layer.cross_attention = &attention;
  encoder_layer.feed_forward = decoder_layer.feed_forward = &feed_forward;
  encoder_layer.norm = decoder_layer.norm = &norm;
  decoder_layer.norm_first = 1;
  decoder_layer.dropout = 0.5f;
  encoder.layer = &encoder_layer;
  decoder.layer = &decoder_layer;
  encoder.num_layers = decoder.num_layers = 2;
  encoder.final_norm = decoder.final_norm = 1;
  transformer.encoder = &encoder;
  transformer.decoder = &decoder;
  output.size = 5;
}

heed_rope_options whole_heads() {
  heed_rope_options options = HEED_ROPE_OPTIONS_INIT;
  options.layout = HEED_ROPE_HALF;
  return options;
}

heed_multi_head_attention_options rotary_heads(const heed_rope_options& rope) {
  heed_multi_head_attention_options options = two_heads();
  options.rope = &rope;
  options.qk_norm_epsilon = 1e-6f;
  options.sinks = 1;
  options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  options.alibi = HEED_ALIBI_ADDED;
  return options;
}

AttentionCall::AttentionCall(Kind kind, Sizes sizes, heed_dtype dtype)
    : AttentionCall(make_context(), kind, sizes, dtype) {}

AttentionCall::AttentionCall(Context given_context, Kind kind, Sizes sizes, heed_dtype dtype)
    : context(std::move(given_context)) {
  layer = make_layer(context.get(), kind, sizes);
  const InputDims dims = input_dims(kind, sizes);
  every_output_ = dims.values.empty() ? HEED_WANT_OUTPUT : kAllOutputs;
  if (kind == Kind::Packed) every_output_ &= ~HEED_WANT_WEIGHTS;
  inputs.queries = kind == Kind::Embedding ? ids(dims.queries) : random(dims.queries, 1, dtype);
  if (!dims.keys.empty()) inputs.keys = random(dims.keys, 2, dtype);
  if (!dims.values.empty()) inputs.values = random(dims.values, 3, dtype);
  inputs.training = kind == Kind::Dropout || kind == Kind::Decoder ? 1 : 0;
  give_sequences(kind, sizes);
  check(heed_layer_initialize(layer.get(), &inputs, 4));
  check(heed_layer_create_outputs(layer.get(), &inputs, every_output_, &outputs));
  keep(Tensor(outputs.output));
  keep(Tensor(outputs.weights));
  keep(Tensor(outputs.log_sum_exp));
}

void AttentionCall::give_sequences(Kind kind, const Sizes& sizes) {
  const int64_t b = sizes.batch;
  const int64_t q = sizes.num_queries;
  if (kind == Kind::Rotary) {
    std::vector<int32_t> positions;
    std::vector<int64_t> lens;
    for (int64_t i = 0; i < b * q; ++i) positions.push_back(static_cast<int32_t>(3 * i % (sizes.num_keys + 2)));
    for (int64_t i = 0; i < b; ++i) lens.push_back(std::max<int64_t>(0, q - i));
    sequences().positions = tensor_of<int32_t>({b, q}, positions);
    sequences().query_lens = tensor_of<int64_t>({b}, lens);
  } else if (kind == Kind::Packed) {
    sequences().query_offsets = tensor_of<int64_t>({b + 1}, packed_offsets(b, q));
    sequences().key_offsets = tensor_of<int64_t>({b + 1}, packed_offsets(b, sizes.num_keys));
  }
}

heed_sequence_inputs& AttentionCall::sequences() {
  if (sequences_ == nullptr)
    sequences_ = std::make_unique<heed_sequence_inputs>(heed_sequence_inputs HEED_SEQUENCE_INPUTS_INIT);
  inputs.sequences = sequences_.get();
  return *sequences_;
}

size_t AttentionCall::workspace_size() const {
  size_t num_bytes = 0;
  check(heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes));
  return num_bytes;
}

std::vector<uint8_t> AttentionCall::read_outputs() const {
  std::vector<uint8_t> all;
  for (const heed_tensor* output : {outputs.output, outputs.weights, outputs.log_sum_exp}) {
    if (output == nullptr) continue;
    const std::vector<uint8_t> bytes = read_bytes(output);
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

heed_tensor* AttentionCall::ids(const Dims& dims) {
  std::vector<int64_t> numbers(static_cast<size_t>(dims[0] * dims[1]));
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(3 * i % 10);
  return tensor_of<int64_t>(dims, numbers);
}

heed_tensor* AttentionCall::keep(Tensor tensor) { return tensors_.emplace_back(std::move(tensor)).get(); }

void AttentionCall::replace_layer(const heed_multi_head_attention_options& options) {
  layer = make_multi_head(context.get(), options);
}

}  // namespace heed::capi_test
