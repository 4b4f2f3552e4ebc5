// SPDX-License-Identifier: Apache-2.0
#include "ascend/support/simulated.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace heed::ascend_test {
namespace {

constexpr int64_t kBatch = 2;
constexpr int64_t kNumQueries = 4;
constexpr int64_t kNumKeys = 6;
constexpr int64_t kNumHiddens = 64;

Layer make_layer(heed_context* context) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kNumHiddens;
  options.num_heads = 4;
  options.biases = HEED_BIAS_ALL;
  return capi_test::make_multi_head(context, options);
}

}  // namespace

heed_context_options npu_options() {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.device = HEED_DEVICE_ASCEND;
  options.strict = 1;
  options.allow_reduced_precision = 1;
  return options;
}

Context make_npu_context() {
  const heed_context_options options = npu_options();
  return capi_test::make_context(&options);
}

Attention::Attention(heed_context* context, heed_dtype dtype, const Dims& lens)
    : layer(make_layer(context)),
      queries(capi_test::make_random(context, {kBatch, kNumQueries, kNumHiddens}, 1, dtype)),
      keys(capi_test::make_random(context, {kBatch, kNumKeys, kNumHiddens}, 2, dtype)),
      output(capi_test::make_tensor(context, {kBatch, kNumQueries, kNumHiddens}, dtype)),
      context_(context) {
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  if (!lens.empty()) {
    valid_lens = capi_test::make_tensor_of<int64_t>(context, {kBatch}, lens);
    inputs.valid_lens = valid_lens.get();
  }
  outputs.output = output.get();
  property::check(heed_layer_initialize(layer.get(), &inputs, 3));
}

heed_status Attention::forward() const { return heed_layer_forward(layer.get(), &inputs, nullptr, &outputs); }

std::vector<float> Attention::read() const { return capi_test::read_floats(context_, output.get()); }

double difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double apart = std::fabs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    // NaN counts as infinitely far.
    largest = apart <= largest ? largest : std::isnan(apart) ? std::numeric_limits<double>::infinity() : apart;
  }
  return largest;
}

}  // namespace heed::ascend_test
