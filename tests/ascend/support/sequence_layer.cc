// SPDX-License-Identifier: Apache-2.0
#include "ascend/support/sequence_layer.h"

#include <algorithm>
#include <cmath>

#include "ascend/support/explained.h"
#include "ascend/support/rotary_layer.h"

namespace heed::ascend_test {
namespace {

constexpr int64_t kElements = 2;
constexpr int64_t kMaxRows = 6;
constexpr int64_t kEmbedding = 16;
constexpr int64_t kSizeOfHead = 32;
constexpr int64_t kLens[] = {4, 6};

Layer make_sequence_layer(heed_context* context, const SequenceCase& call) {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_INTERLEAVED;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kEmbedding;
  options.num_heads = 2;
  options.head_size = kSizeOfHead;
  options.biases = HEED_BIAS_ALL;
  options.relative_bias = call.relative_bias;
  options.sinks = call.has_sinks ? 1 : 0;
  options.scoring = call.scoring;
  if (call.has_rope) options.rope = &rope;
  return capi_test::make_multi_head(context, options);
}

// The same numbers whatever the dtype: multiples of 1/16.
std::vector<float> numbers_of(const Dims& dims, uint64_t seed) {
  size_t count = 1;
  for (const int64_t dim : dims) count *= static_cast<size_t>(dim);
  std::vector<float> numbers(count);
  uint64_t state = seed;
  for (float& number : numbers) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    number = static_cast<float>(static_cast<int64_t>(state >> 59) - 16) / 16.0f;
  }
  return numbers;
}

}  // namespace

SequenceLayer::SequenceLayer(heed_context* context, const SequenceCase& call, heed_dtype dtype)
    : context_(context), case_(call), dtype_(dtype), layer_(make_sequence_layer(context, call)) {
  const Dims dims = call.is_packed ? Dims{kLens[0] + kLens[1], kEmbedding} : Dims{kElements, kMaxRows, kEmbedding};
  queries_ = make_tensor_of_floats(context, dims, numbers_of(dims, 1), dtype);
  output_ = capi_test::make_tensor(context, dims, dtype);
  inputs_.queries = queries_.get();
  outputs_.output = output_.get();
  if (call.has_positions) {
    positions_ =
        capi_test::make_tensor_of<int64_t>(context, {kElements, kMaxRows}, {0, 9, 9, 20, 21, 40, 2, 2, 13, 23, 35, 45});
    sequences_.positions = positions_.get();
  }
  if (call.has_query_lens) {
    query_lens_ = capi_test::make_tensor_of<int64_t>(context, {kElements}, {kLens[0], kLens[1]});
    sequences_.query_lens = query_lens_.get();
  }
  if (call.is_packed) {
    query_offsets_ = capi_test::make_tensor_of<int64_t>(context, {kElements + 1}, {0, kLens[0], kLens[0] + kLens[1]});
    sequences_.query_offsets = query_offsets_.get();
  }
  if (call.has_positions || call.has_query_lens || call.is_packed) inputs_.sequences = &sequences_;
  set_parameters();
}

void SequenceLayer::set_parameters() {
  property::check(heed_layer_initialize(layer_.get(), &inputs_, 3));
  uint64_t seed = 100;
  const auto set = [&](const char* name) {
    const Dims dims = capi_test::dims_of(capi_test::snapshot(layer_.get(), name).get());
    const Tensor value = make_tensor_of_floats(context_, dims, numbers_of(dims, ++seed), dtype_);
    property::check(heed_layer_set_parameter(layer_.get(), name, value.get()));
  };
  for (const char* name :
       {"W_q.weight", "W_q.bias", "W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias", "W_o.weight", "W_o.bias"})
    set(name);
  if (case_.has_sinks) set("sinks");
  if (case_.scoring == HEED_SCORING_ADDITIVE) set("w_v.weight");
  if (case_.relative_bias != HEED_RELATIVE_BIAS_NONE) set("relative_bias.weight");
}

nlohmann::json SequenceLayer::explained() const { return explain(layer_.get(), inputs_, outputs_); }

double SequenceLayer::difference_from_cpu() const {
  const Context cpu = capi_test::make_context();
  const SequenceLayer expected(cpu.get(), case_, HEED_F32);
  property::check(expected.forward());
  std::vector<float> results = expected.read();
  double largest = 1;
  for (const float result : results) largest = std::max(largest, std::fabs(static_cast<double>(result)));
  return difference(read(), results) / largest;
}

bool SequenceLayer::padding_is_zero() const {
  const std::vector<float> results = read();
  for (int64_t b = 0; b < kElements; ++b) {
    for (int64_t row = 0; row < kMaxRows; ++row) {
      bool has_other = false;
      for (int64_t i = 0; i < kEmbedding; ++i)
        has_other = has_other || results[static_cast<size_t>((b * kMaxRows + row) * kEmbedding + i)] != 0;
      if (has_other != (row < kLens[b])) return false;
    }
  }
  return true;
}

}  // namespace heed::ascend_test
