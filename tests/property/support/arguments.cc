// SPDX-License-Identifier: Apache-2.0
#include "support/arguments.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace heed::property {
namespace {

std::optional<Result> read(const std::optional<HostTensor>& tensor) {
  if (!tensor) return std::nullopt;
  if (!tensor->padding_is_untouched()) throw std::logic_error("a call wrote between the elements of a result");
  return Result{tensor->dtype(), tensor->read(), tensor->read_bytes()};
}

}  // namespace

Arguments::Arguments(heed_context* context, const heed_layer* layer, const Call& call) : context_(context) {
  inputs_.queries = add_input(call.queries);
  if (call.keys) inputs_.keys = add_input(*call.keys);
  if (call.values) inputs_.values = add_input(*call.values);
  if (call.valid_lens) inputs_.valid_lens = add_input(*call.valid_lens);
  if (call.mask) inputs_.mask = add_input(*call.mask);
  if (call.bias) inputs_.bias = add_input(*call.bias);
  if (call.alibi_slopes) inputs_.alibi_slopes = add_input(*call.alibi_slopes);
  if (call.sinks) inputs_.sinks = add_input(*call.sinks);
  if (call.positions) sequences_.positions = add_input(*call.positions);
  if (call.query_lens) sequences_.query_lens = add_input(*call.query_lens);
  if (call.query_offsets) sequences_.query_offsets = add_input(*call.query_offsets);
  if (call.key_offsets) sequences_.key_offsets = add_input(*call.key_offsets);
  if (call.key_positions) sequences_.key_positions = add_input(*call.key_positions);
  if (call.positions || call.query_lens || call.query_offsets || call.key_offsets || call.key_positions)
    inputs_.sequences = &sequences_;
  if (call.attention_mask) inputs_.attention_mask = add_input(*call.attention_mask);
  if (call.self_valid_lens) decoder_.self_valid_lens = add_input(*call.self_valid_lens);
  if (call.self_mask) decoder_.self_mask = add_input(*call.self_mask);
  if (call.self_bias) decoder_.self_bias = add_input(*call.self_bias);
  if (call.self_attention_mask) decoder_.self_attention_mask = add_input(*call.self_attention_mask);
  if (call.self_valid_lens || call.self_mask || call.self_bias || call.self_attention_mask) inputs_.decoder = &decoder_;
  inputs_.dropout_seed = call.dropout_seed;
  inputs_.training = call.training;
  inputs_.cache = call.cache;
  if (call.cache_layout) read_from_cache(layer, call);

  const ResultDims dims = result_dims(call);
  outputs_.output = add_output(output_, call.output, dims.output);
  outputs_.weights = add_output(weights_, call.weights, dims.weights);
  outputs_.log_sum_exp = add_output(log_sum_exp_, call.log_sum_exp, dims.log_sum_exp);
}

Results Arguments::read() const {
  for (const HostTensor& tensor : input_tensors_) {
    if (!tensor.input_is_untouched()) throw std::logic_error("a call changed an input");
  }
  return {property::read(output_), property::read(weights_), property::read(log_sum_exp_)};
}

void Arguments::read_from_cache(const heed_layer* layer, const Call& call) {
  const reference::AttentionSizes sizes = sizes_of(call);
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.layout = *call.cache_layout;
  options.max_sequences = std::max<int64_t>(sizes.batch, 1);
  options.num_kv_heads = sizes.num_kv_heads;
  options.head_size = sizes.head_size;
  options.value_head_size = sizes.value_head_size;
  options.capacity = std::max<int64_t>(sizes.num_keys, 1);
  if (options.layout == HEED_CACHE_PAGED) {
    options.page_size = 16;
    options.num_pages = options.max_sequences * ((options.capacity + 15) / 16);
  }
  heed_cache* cache = nullptr;
  check(heed_cache_create(context_, &options, &cache));
  cache_.reset(cache);
  cached_.cache = cache;
  heed_layer_inputs filled = HEED_LAYER_INPUTS_INIT;
  filled.keys = std::exchange(inputs_.keys, nullptr);
  filled.values = std::exchange(inputs_.values, nullptr);
  filled.cache = &cached_;
  check(heed_layer_fill_cache(layer, &filled, nullptr));
  cached_.use = HEED_CACHE_READ;
  inputs_.cache = &cached_;
}

heed_tensor* Arguments::add_output(std::optional<HostTensor>& tensor, const std::optional<OutputRequest>& request,
                                   const Dims& right_dims) {
  if (!request) return nullptr;
  const Dims& dims = request->dims ? *request->dims : right_dims;
  Random random(7);
  tensor.emplace(context_, request->dtype, dims, make_strides(request->layout, dims, random), request->unused_before);
  return tensor->handle();
}

}  // namespace heed::property
