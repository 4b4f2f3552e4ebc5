// SPDX-License-Identifier: Apache-2.0
#include "support/samples.h"

#include <cmath>
#include <string>

namespace heed::property {

Array random_array(const Dims& dims, Random& random, double amplitude) {
  Array array = filled(dims, 0.0);
  for (double& element : array.values) element = random.uniform(-amplitude, amplitude);
  return array;
}

Call dot_product_call(const reference::AttentionSizes& sizes, Random& random, heed_dtype dtype) {
  const bool has_heads = sizes.num_heads > 1;
  const auto input = [&](int64_t num_heads, int64_t length, int64_t size) {
    Dims dims = {sizes.batch, length, size};
    if (has_heads) dims.insert(dims.begin() + 1, num_heads);
    return make_input(random_array(dims, random, 2.0), dtype);
  };
  Call call;
  call.kind = has_heads ? Kind::DotProductRank4 : Kind::DotProductRank3;
  call.queries = input(sizes.num_heads, sizes.num_queries, sizes.head_size);
  call.keys = input(sizes.num_kv_heads, sizes.num_keys, sizes.head_size);
  call.values = input(sizes.num_kv_heads, sizes.num_keys, sizes.value_head_size);
  call.output = OutputRequest{dtype};
  return call;
}

namespace {

// Queries, keys and values of rank 3, and an output of their dtype.
Call sequences_call(Kind kind, const heed_multi_head_attention_options& options, const MultiHeadSample& sample,
                    Random& random) {
  const auto input = [&](int64_t length, int64_t size) {
    return make_input(random_array({sample.batch, length, size}, random, 2.0), sample.dtype);
  };
  Call call;
  call.kind = kind;
  call.options = options;
  call.queries = input(sample.num_queries, sample.query_size);
  call.keys = input(sample.num_keys, sample.key_size);
  call.values = input(sample.num_keys, sample.value_size);
  call.output = OutputRequest{sample.dtype};
  return call;
}

void add_weight(Call& call, const std::string& name, int64_t output_size, int64_t input_size, heed_dtype dtype,
                Random& random) {
  const double amplitude = std::sqrt(3.0 / static_cast<double>(input_size));
  call.parameters[name + ".weight"] = make_input(random_array({output_size, input_size}, random, amplitude), dtype);
}

}  // namespace

Call multi_head_call(const heed_multi_head_attention_options& options, const MultiHeadSample& sample, Random& random) {
  Call call = sequences_call(Kind::MultiHead, options, sample, random);
  const reference::AttentionSizes sizes = sizes_of(call);
  const auto add = [&](const std::string& name, int64_t output_size, int64_t input_size, int32_t bias) {
    add_weight(call, name, output_size, input_size, sample.parameter_dtype, random);
    if ((options.biases & bias) == 0) return;
    call.parameters[name + ".bias"] = make_input(random_array({output_size}, random), sample.parameter_dtype);
  };
  const auto add_constant = [&](const std::string& name, int64_t size) {
    call.parameters[name] = make_input(random_array({sizes.num_kv_heads * size}, random, 2.0), sample.parameter_dtype);
  };
  if (options.add_bias_kv != 0) {
    add_constant("bias_k", sizes.head_size);
    add_constant("bias_v", sizes.value_head_size);
  }
  add("W_q", sizes.num_heads * sizes.head_size, sample.query_size, HEED_BIAS_Q);
  add("W_k", sizes.num_kv_heads * sizes.head_size, sample.key_size, HEED_BIAS_K);
  add("W_v", sizes.num_kv_heads * sizes.value_head_size, sample.value_size, HEED_BIAS_V);
  if (!options.no_output_projection) {
    add("W_o", result_dims(call).output[2], sizes.num_heads * sizes.value_head_size, HEED_BIAS_O);
  }
  if (options.scoring == HEED_SCORING_ADDITIVE)
    add_weight(call, "w_v", sizes.num_heads, sizes.head_size, sample.parameter_dtype, random);
  return call;
}

Call additive_call(int64_t num_hiddens, const MultiHeadSample& sample, Random& random) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = num_hiddens;
  Call call = sequences_call(Kind::Additive, options, sample, random);
  add_weight(call, "W_q", num_hiddens, sample.query_size, sample.parameter_dtype, random);
  add_weight(call, "W_k", num_hiddens, sample.key_size, sample.parameter_dtype, random);
  add_weight(call, "w_v", 1, num_hiddens, sample.parameter_dtype, random);
  return call;
}

Call general_call(const MultiHeadSample& sample, Random& random) {
  Call call = sequences_call(Kind::General, HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT, sample, random);
  add_weight(call, "W", sample.query_size, sample.key_size, sample.parameter_dtype, random);
  return call;
}

heed_multi_head_attention_options two_heads() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  options.biases = HEED_BIAS_ALL;
  return options;
}

heed_multi_head_attention_options with_positions() {
  heed_multi_head_attention_options options = two_heads();
  options.num_heads = 4;
  options.num_kv_heads = 2;
  options.head_size = 16;
  options.num_hiddens = 0;
  options.output_size = 9;
  options.qk_norm_epsilon = 1e-5F;
  options.sinks = 1;
  options.alibi = HEED_ALIBI_ADDED;
  options.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  return options;
}

Call positions_call(const heed_multi_head_attention_options& options, const MultiHeadSample& sample, Random& random) {
  Call call = multi_head_call(options, sample, random);
  const reference::AttentionSizes sizes = sizes_of(call);
  if (options.qk_norm_epsilon != 0.0F) {
    for (const char* name : {"q_norm.weight", "k_norm.weight"})
      call.parameters[name] = make_input(random_array({sizes.head_size}, random, 2.0));
  }
  if (options.sinks != 0) call.parameters["sinks"] = make_input(random_array({sizes.num_heads}, random, 2.0));
  if (options.relative_bias != HEED_RELATIVE_BIAS_NONE)
    call.parameters["relative_bias.weight"] = make_input(random_array({32, sizes.num_heads}, random, 2.0));
  call.rope = heed_rope_options HEED_ROPE_OPTIONS_INIT;
  call.rope->layout = HEED_ROPE_INTERLEAVED;
  return call;
}

std::vector<Call> call_of_each_kind(Random& random, heed_dtype dtype, int64_t num_queries, int64_t num_keys) {
  heed_multi_head_attention_options options = two_heads();
  options.num_kv_heads = 1;
  heed_multi_head_attention_options additive = options;
  additive.scoring = HEED_SCORING_ADDITIVE;
  MultiHeadSample sample;
  sample.num_queries = num_queries;
  sample.num_keys = num_keys;
  sample.dtype = dtype;
  return {dot_product_call({2, 1, 1, num_queries, num_keys, 4, 3}, random, dtype),
          dot_product_call({2, 4, 2, num_queries, num_keys, 4, 3}, random, dtype),
          multi_head_call(options, sample, random),
          multi_head_call(additive, sample, random),
          additive_call(5, sample, random),
          general_call(sample, random)};
}

void want_everything(Call& call) {
  const heed_dtype dtype = call.queries.dtype;
  if (!call.output) call.output = OutputRequest{dtype};
  if (!call.weights) call.weights = OutputRequest{dtype};
  if (!call.log_sum_exp) call.log_sum_exp = OutputRequest{HEED_F32};
}

void want_everything_in_f32(Call& call) {
  want_everything(call);
  call.output->dtype = HEED_F32;
  call.weights->dtype = HEED_F32;
}

double weight_at(const Results& results, const reference::AttentionSizes& sizes, int64_t b, int64_t h, int64_t q,
                 int64_t k) {
  const int64_t row = (b * sizes.num_heads + h) * sizes.num_queries + q;
  const Array& weights = results.weights->contents;
  return weights.values.at(static_cast<size_t>(row * weights.dims.back() + k));
}

double log_sum_exp_at(const Results& results, const reference::AttentionSizes& sizes, int64_t b, int64_t h, int64_t q) {
  const int64_t row = (b * sizes.num_heads + h) * sizes.num_queries + q;
  return results.log_sum_exp->contents.values.at(static_cast<size_t>(row));
}

}  // namespace heed::property
