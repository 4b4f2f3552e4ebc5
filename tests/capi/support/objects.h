// SPDX-License-Identifier: Apache-2.0
// Functions that create heed's objects in one line.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "property/support/handles.h"

namespace heed::capi_test {

using property::CallFailed;
using property::check;
using property::Context;
using property::Layer;
using property::Tensor;
using property::Workspace;

using Cache = std::unique_ptr<heed_cache, property::Destroyer<heed_cache_destroy>>;

using Gradients = std::unique_ptr<heed_gradients, property::Destroyer<heed_gradients_destroy>>;
using Optimizer = std::unique_ptr<heed_optimizer, property::Destroyer<heed_optimizer_destroy>>;

using Dims = std::vector<int64_t>;

// The dtype for elements of C++ type T.
template <typename T>
constexpr heed_dtype kDTypeOf = std::is_same_v<T, float>     ? HEED_F32
                                : std::is_same_v<T, double>  ? HEED_F64
                                : std::is_same_v<T, int32_t> ? HEED_I32
                                : std::is_same_v<T, int64_t> ? HEED_I64
                                : std::is_same_v<T, int8_t>  ? HEED_I8
                                                             : HEED_U8;

Context make_context(const heed_context_options* options = nullptr);

// A tensor of zeros.
Tensor make_tensor(heed_context* context, const Dims& dims, heed_dtype dtype = HEED_F32);

// Numbers between -1 and 1 that depend on the seed.
Tensor make_random(heed_context* context, const Dims& dims, uint64_t seed, heed_dtype dtype = HEED_F32);

// A shape-only tensor.
Tensor make_shape_only(heed_context* context, const Dims& dims, heed_dtype dtype = HEED_F32);

// A tensor over memory of the test, row-major if strides is empty.
Tensor wrap(heed_context* context, const Dims& dims, const Dims& strides, void* data, heed_dtype dtype = HEED_F32);

Tensor make_view(heed_tensor* tensor, const Dims& dims, const Dims& strides, int64_t offset = 0);
Tensor make_transposed(heed_tensor* tensor, const std::vector<int32_t>& axes);
Tensor make_slice(heed_tensor* tensor, int32_t axis, int64_t start, int64_t length);
Tensor make_reshaped(heed_tensor* tensor, const Dims& dims);

Tensor snapshot(const heed_layer* layer, const char* name);

Dims dims_of(const heed_tensor* tensor);
Dims strides_of(const heed_tensor* tensor);

// The elements in row-major order; T must correspond to the tensor's dtype.
template <typename T>
std::vector<T> read_elements(const heed_tensor* tensor) {
  std::vector<T> elements(static_cast<size_t>(heed_tensor_num_elements(tensor)));
  check(heed_tensor_read(tensor, elements.data(), elements.size() * sizeof(T)));
  return elements;
}

// The elements converted to F32.
std::vector<float> read_floats(heed_context* context, const heed_tensor* tensor);

// The bytes of the elements in row-major order.
std::vector<uint8_t> read_bytes(const heed_tensor* tensor);

template <typename T>
Tensor make_tensor_of(heed_context* context, const Dims& dims, const std::vector<T>& elements,
                      heed_dtype dtype = kDTypeOf<T>) {
  Tensor tensor = make_tensor(context, dims, dtype);
  check(heed_tensor_write(tensor.get(), elements.data(), elements.size() * sizeof(T)));
  return tensor;
}

Layer make_dot_product(heed_context* context, const heed_dot_product_attention_options& options);
Layer make_additive(heed_context* context, const heed_additive_attention_options& options);
Layer make_general(heed_context* context, const heed_general_attention_options& options);
Layer make_multi_head(heed_context* context, const heed_multi_head_attention_options& options);
Layer make_linear(heed_context* context, const heed_linear_options& options);
Layer make_positional_encoding(heed_context* context, const heed_positional_encoding_options& options);
Layer make_dropout(heed_context* context, const heed_dropout_options& options);
Layer make_layer_norm(heed_context* context, const heed_layer_norm_options& options);
Layer make_feed_forward(heed_context* context, const heed_feed_forward_options& options);
Layer make_embedding(heed_context* context, const heed_embedding_options& options);
Layer make_encoder_layer(heed_context* context, const heed_encoder_layer_options& options);
Layer make_decoder_layer(heed_context* context, const heed_decoder_layer_options& options);
Layer make_encoder(heed_context* context, const heed_encoder_options& options);
Layer make_decoder(heed_context* context, const heed_decoder_options& options);
Layer make_transformer(heed_context* context, const heed_transformer_options& options);
// The model of a folder, by heed_model_create if there are options.
Layer make_model(heed_context* context, const std::string& folder, const heed_model_options* options = nullptr);
// The part of a layer by its name.
Layer make_child(const heed_layer* layer, const char* name);
// A contiguous cache of the sizes of a layer's attentions.
Cache make_cache_of(heed_context* context, const heed_layer* layer, int64_t max_sequences, int64_t capacity);
// A set of gradients of the layer, 0 each.
Gradients make_gradients(const heed_layer* layer);
// One gradient of a tensor, 0.
Gradients make_gradients_of(heed_tensor* value, const char* name);
// The gradient of that name; it shares the set's memory.
Tensor gradient_of(heed_gradients* gradients, const char* name);
// With the macro's options, unless others are given.
Optimizer make_sgd(heed_context* context, const heed_sgd_options& options = HEED_SGD_OPTIONS_INIT);
Optimizer make_adamw(heed_context* context, const heed_adamw_options& options = HEED_ADAMW_OPTIONS_INIT);
Workspace make_workspace(heed_context* context, size_t num_bytes);

}  // namespace heed::capi_test
