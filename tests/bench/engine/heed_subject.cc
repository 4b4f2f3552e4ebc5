// SPDX-License-Identifier: Apache-2.0
// heed as a subject.
#include "heed_subject.h"

#include <cstring>

#include "cache_data.h"
#include "encoder_data.h"
#include "fail.h"
#include "processors.h"

namespace bench {
namespace {

void set_ones(heed_context* context, heed_layer* layer, const char* name, const Dims& dims) {
  const Tensor ones = make_tensor(context, HEED_F32, dims);
  check(heed_tensor_fill(ones.get(), 1));
  check(heed_layer_set_parameter(layer, name, ones.get()));
}

Layer multi_head_layer(heed_context* context, const BenchCase& bench_case, const Data& data) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = bench_case.embedding;
  options.num_heads = bench_case.heads;
  options.biases = HEED_BIAS_ALL;
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_HALF;
  if (bench_case.rope) options.rope = &rope;
  if (bench_case.qk_norm) options.qk_norm_epsilon = 1e-6F;
  // As T5's encoder and decoder.
  if (bench_case.relative_bias)
    options.relative_bias = bench_case.causal ? HEED_RELATIVE_BIAS_ONE_WAY : HEED_RELATIVE_BIAS_BOTH_WAYS;
  heed_layer* layer = nullptr;
  check(heed_multi_head_attention_create(context, &options, &layer));
  const char* const names[] = {"W_q", "W_k", "W_v", "W_o"};
  for (int i = 0; i < 4; ++i) {
    check(heed_layer_set_parameter(layer, (std::string(names[i]) + ".weight").c_str(), data.weights[i].get()));
    check(heed_layer_set_parameter(layer, (std::string(names[i]) + ".bias").c_str(), data.biases[i].get()));
  }
  if (bench_case.qk_norm) {
    for (const char* name : {"q_norm.weight", "k_norm.weight"}) set_ones(context, layer, name, {bench_case.head_size});
  }
  if (bench_case.relative_bias) set_ones(context, layer, "relative_bias.weight", {32, bench_case.heads});
  return Layer(layer);
}

}  // namespace

Layer attention_layer(heed_context* context, const BenchCase& bench_case) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = bench_case.causal ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_NONE;
  heed_layer* layer = nullptr;
  check(heed_dot_product_attention_create(context, &options, &layer));
  return Layer(layer);
}

Layer linear_layer(heed_context* context, const BenchCase& bench_case, const heed_tensor* weight) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = bench_case.outputs;
  options.no_bias = 1;
  heed_layer* layer = nullptr;
  check(heed_linear_create(context, &options, &layer));
  check(heed_layer_set_parameter(layer, "weight", weight));
  return Layer(layer);
}

HeedSubject::HeedSubject(const BenchCase& bench_case, const Data& data, int threads)
    : context_(make_context(threads)), appends_(bench_case.appends) {
  {
    // Packing the first weight starts the context's threads.
    const StartingThreads elsewhere;
    make_layers(bench_case, data);
  }
  if (bench_case.kind == Kind::kMerge) {
    use_parts(bench_case, data);
    return;
  }
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = data.queries.get();
  inputs.mask = data.mask.get();
  inputs.alibi_slopes = data.slopes.get();
  inputs.sinks = data.sinks.get();
  inputs.bias = data.bias.get();
  sequences_.query_offsets = data.offsets.get();
  if (bench_case.packed)
    inputs.sequences = &sequences_;
  else
    inputs.valid_lens = data.lengths.get();
  if (data.keys.empty()) {
    inputs_.push_back(inputs);
  }
  for (size_t copy = 0; copy < data.keys.size(); ++copy) {
    inputs.keys = data.keys[copy].get();
    inputs.values = data.values[copy].get();
    inputs_.push_back(inputs);
  }
  if (bench_case.kind == Kind::kCache) use_caches(bench_case, data);
  check(heed_layer_create_outputs(layers_[0].get(), inputs_.data(), HEED_WANT_OUTPUT, &outputs_));
  output_.reset(outputs_.output);
  std::memset(heed_tensor_data(output_.get()), 0, heed_tensor_num_bytes(output_.get()));
}

void HeedSubject::prepare() {
  // Without weights, creating the first workspace starts the context's threads.
  const StartingThreads elsewhere;
  size_t num_bytes = 0;
  if (!layers_.empty()) check(heed_layer_workspace_size(layers_[0].get(), inputs_.data(), &outputs_, &num_bytes));
  heed_workspace* workspace = nullptr;
  check(heed_workspace_create(context_.get(), num_bytes, &workspace));
  workspace_.reset(workspace);
}

void HeedSubject::make_layers(const BenchCase& bench_case, const Data& data) {
  switch (bench_case.kind) {
    case Kind::kAttention:
    case Kind::kIdle: layers_.push_back(attention_layer(context_.get(), bench_case)); break;
    case Kind::kCache: layers_.push_back(cache_layer(context_.get(), bench_case, data.weights)); break;
    case Kind::kEncoder: layers_.push_back(make_encoder(context_.get(), bench_case)); break;
    case Kind::kLayer: layers_.push_back(multi_head_layer(context_.get(), bench_case, data)); break;
    case Kind::kLinear:
      for (const Tensor& weight : data.weights) {
        layers_.push_back(linear_layer(context_.get(), bench_case, weight.get()));
      }
      break;
    case Kind::kMerge: break;  // a function on tensors
  }
}

void HeedSubject::use_parts(const BenchCase& bench_case, const Data& data) {
  for (const Tensor& part : data.parts) parts_.push_back(part.get());
  for (const Tensor& row : data.log_sum_exps) log_sum_exps_.push_back(row.get());
  output_ = make_tensor(context_.get(), bench_case.dtype,
                        {bench_case.batch, bench_case.heads, bench_case.queries, bench_case.value_size});
  std::memset(heed_tensor_data(output_.get()), 0, heed_tensor_num_bytes(output_.get()));
}

void HeedSubject::use_caches(const BenchCase& bench_case, const Data& data) {
  for (int64_t b = 0; b < bench_case.batch; ++b) rows_before_.push_back(heed_cache_length(data.caches[0].get(), b));
  for (const Cache& cache : data.caches) {
    heed_cache_inputs inputs = HEED_CACHE_INPUTS_INIT;
    inputs.cache = cache.get();
    inputs.use = appends_ ? HEED_CACHE_APPEND : HEED_CACHE_READ;
    caches_.push_back(inputs);
  }
  inputs_.resize(caches_.size(), inputs_[0]);
  for (size_t copy = 0; copy < caches_.size(); ++copy) inputs_[copy].cache = &caches_[copy];
}

void HeedSubject::restore() {
  if (!appends_ || next_ == 0) return;
  heed_cache* last = caches_[(next_ - 1) % caches_.size()].cache;
  for (size_t b = 0; b < rows_before_.size(); ++b) {
    check(heed_cache_rewind(last, static_cast<int64_t>(b), rows_before_[b]));
  }
}

void HeedSubject::call() {
  if (!parts_.empty()) {
    check(heed_attention_merge(parts_.data(), log_sum_exps_.data(), static_cast<int64_t>(parts_.size()), nullptr,
                               output_.get(), nullptr));
    return;
  }
  const size_t turn = next_++;
  check(heed_layer_forward(layers_[turn % layers_.size()].get(), &inputs_[turn % inputs_.size()], workspace_.get(),
                           &outputs_));
}

std::string HeedSubject::explanation() const {
  if (layers_.empty()) return "{}";
  size_t num_bytes = 0;
  check(heed_layer_explain(layers_[0].get(), inputs_.data(), &outputs_, nullptr, 0, &num_bytes));
  std::string text(num_bytes, '\0');
  check(heed_layer_explain(layers_[0].get(), inputs_.data(), &outputs_, text.data(), num_bytes, nullptr));
  text.pop_back();
  return text;
}

}  // namespace bench
