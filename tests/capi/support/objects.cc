// SPDX-License-Identifier: Apache-2.0
#include "capi/support/objects.h"

#include "property/support/random.h"

namespace heed::capi_test {
namespace {

int32_t rank_of(const Dims& dims) { return static_cast<int32_t>(dims.size()); }

}  // namespace

Context make_context(const heed_context_options* options) {
  heed_context* context = nullptr;
  check(heed_context_create(options, &context));
  return Context(context);
}

Tensor make_tensor(heed_context* context, const Dims& dims, heed_dtype dtype) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_create(context, dtype, rank_of(dims), dims.data(), &tensor));
  return Tensor(tensor);
}

Tensor make_random(heed_context* context, const Dims& dims, uint64_t seed, heed_dtype dtype) {
  Tensor tensor = make_tensor(context, dims, dtype);
  property::Random random(seed);
  std::vector<double> elements(static_cast<size_t>(heed_tensor_num_elements(tensor.get())));
  for (double& element : elements) element = random.uniform(-1.0, 1.0);
  check(heed_tensor_copy(tensor.get(), make_tensor_of(context, dims, elements).get()));
  return tensor;
}

Tensor make_shape_only(heed_context* context, const Dims& dims, heed_dtype dtype) {
  return wrap(context, dims, {}, nullptr, dtype);
}

Tensor wrap(heed_context* context, const Dims& dims, const Dims& strides, void* data, heed_dtype dtype) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_wrap(context, dtype, rank_of(dims), dims.data(), strides.empty() ? nullptr : strides.data(), data,
                         nullptr, nullptr, &tensor));
  return Tensor(tensor);
}

Tensor make_view(heed_tensor* tensor, const Dims& dims, const Dims& strides, int64_t offset) {
  heed_tensor* view = nullptr;
  check(
      heed_tensor_view(tensor, rank_of(dims), dims.data(), strides.empty() ? nullptr : strides.data(), offset, &view));
  return Tensor(view);
}

Tensor make_transposed(heed_tensor* tensor, const std::vector<int32_t>& axes) {
  heed_tensor* view = nullptr;
  check(heed_tensor_transpose(tensor, axes.data(), &view));
  return Tensor(view);
}

Tensor make_slice(heed_tensor* tensor, int32_t axis, int64_t start, int64_t length) {
  heed_tensor* view = nullptr;
  check(heed_tensor_slice(tensor, axis, start, length, &view));
  return Tensor(view);
}

Tensor make_reshaped(heed_tensor* tensor, const Dims& dims) {
  heed_tensor* view = nullptr;
  check(heed_tensor_reshape(tensor, rank_of(dims), dims.data(), &view));
  return Tensor(view);
}

Tensor snapshot(const heed_layer* layer, const char* name) {
  heed_tensor* tensor = nullptr;
  check(heed_layer_parameter(layer, name, &tensor));
  return Tensor(tensor);
}

Dims dims_of(const heed_tensor* tensor) {
  Dims dims;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) dims.push_back(heed_tensor_dim(tensor, axis));
  return dims;
}

Dims strides_of(const heed_tensor* tensor) {
  Dims strides;
  for (int32_t axis = 0; axis < heed_tensor_rank(tensor); ++axis) strides.push_back(heed_tensor_stride(tensor, axis));
  return strides;
}

std::vector<float> read_floats(heed_context* context, const heed_tensor* tensor) {
  const Tensor floats = make_tensor(context, dims_of(tensor));
  check(heed_tensor_copy(floats.get(), tensor));
  return read_elements<float>(floats.get());
}

std::vector<uint8_t> read_bytes(const heed_tensor* tensor) {
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(tensor));
  check(heed_tensor_read(tensor, bytes.data(), bytes.size()));
  return bytes;
}

Layer make_dot_product(heed_context* context, const heed_dot_product_attention_options& options) {
  heed_layer* layer = nullptr;
  check(heed_dot_product_attention_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_additive(heed_context* context, const heed_additive_attention_options& options) {
  heed_layer* layer = nullptr;
  check(heed_additive_attention_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_general(heed_context* context, const heed_general_attention_options& options) {
  heed_layer* layer = nullptr;
  check(heed_general_attention_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_multi_head(heed_context* context, const heed_multi_head_attention_options& options) {
  heed_layer* layer = nullptr;
  check(heed_multi_head_attention_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_linear(heed_context* context, const heed_linear_options& options) {
  heed_layer* layer = nullptr;
  check(heed_linear_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_positional_encoding(heed_context* context, const heed_positional_encoding_options& options) {
  heed_layer* layer = nullptr;
  check(heed_positional_encoding_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_dropout(heed_context* context, const heed_dropout_options& options) {
  heed_layer* layer = nullptr;
  check(heed_dropout_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_layer_norm(heed_context* context, const heed_layer_norm_options& options) {
  heed_layer* layer = nullptr;
  check(heed_layer_norm_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_feed_forward(heed_context* context, const heed_feed_forward_options& options) {
  heed_layer* layer = nullptr;
  check(heed_feed_forward_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_embedding(heed_context* context, const heed_embedding_options& options) {
  heed_layer* layer = nullptr;
  check(heed_embedding_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_encoder_layer(heed_context* context, const heed_encoder_layer_options& options) {
  heed_layer* layer = nullptr;
  check(heed_encoder_layer_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_decoder_layer(heed_context* context, const heed_decoder_layer_options& options) {
  heed_layer* layer = nullptr;
  check(heed_decoder_layer_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_encoder(heed_context* context, const heed_encoder_options& options) {
  heed_layer* layer = nullptr;
  check(heed_encoder_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_decoder(heed_context* context, const heed_decoder_options& options) {
  heed_layer* layer = nullptr;
  check(heed_decoder_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_transformer(heed_context* context, const heed_transformer_options& options) {
  heed_layer* layer = nullptr;
  check(heed_transformer_create(context, &options, &layer));
  return Layer(layer);
}

Layer make_model(heed_context* context, const std::string& folder, const heed_model_options* options) {
  heed_layer* layer = nullptr;
  check(options == nullptr ? heed_layer_create_from_folder(context, folder.c_str(), &layer)
                           : heed_model_create(context, folder.c_str(), options, &layer));
  return Layer(layer);
}

Layer make_child(const heed_layer* layer, const char* name) {
  heed_layer* child = nullptr;
  check(heed_layer_child(layer, name, &child));
  return Layer(child);
}

Cache make_cache_of(heed_context* context, const heed_layer* layer, int64_t max_sequences, int64_t capacity) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  check(heed_layer_cache_options(layer, &options));
  options.max_sequences = max_sequences;
  options.capacity = capacity;
  heed_cache* cache = nullptr;
  check(heed_cache_create(context, &options, &cache));
  return Cache(cache);
}

Gradients make_gradients(const heed_layer* layer) {
  heed_gradients* gradients = nullptr;
  check(heed_gradients_create(layer, &gradients));
  return Gradients(gradients);
}

Gradients make_gradients_of(heed_tensor* value, const char* name) {
  heed_gradients* gradients = nullptr;
  check(heed_gradients_create_of_tensor(value, name, &gradients));
  return Gradients(gradients);
}

Tensor gradient_of(heed_gradients* gradients, const char* name) {
  heed_tensor* view = nullptr;
  check(heed_gradients_tensor(gradients, name, &view));
  return Tensor(view);
}

Optimizer make_sgd(heed_context* context, const heed_sgd_options& options) {
  heed_optimizer* optimizer = nullptr;
  check(heed_sgd_create(context, &options, &optimizer));
  return Optimizer(optimizer);
}

Optimizer make_adamw(heed_context* context, const heed_adamw_options& options) {
  heed_optimizer* optimizer = nullptr;
  check(heed_adamw_create(context, &options, &optimizer));
  return Optimizer(optimizer);
}

Workspace make_workspace(heed_context* context, size_t num_bytes) {
  heed_workspace* workspace = nullptr;
  check(heed_workspace_create(context, num_bytes, &workspace));
  return Workspace(workspace);
}

}  // namespace heed::capi_test
