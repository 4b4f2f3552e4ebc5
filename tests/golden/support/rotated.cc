// SPDX-License-Identifier: Apache-2.0
#include "golden/support/rotated.h"

#include <cmath>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"

namespace heed::golden {
namespace {

using capi_test::check;
using capi_test::Layer;
using capi_test::Tensor;

Tensor identity(heed_context* context, int64_t size) {
  std::vector<float> elements(static_cast<size_t>(size * size));
  for (int64_t i = 0; i < size; ++i) elements[static_cast<size_t>(i * (size + 1))] = 1;
  return capi_test::make_tensor_of(context, {size, size}, elements);
}

}  // namespace

std::vector<double> rotated(heed_context* context, const heed_rope_options& rope, const Rows& rows) {
  const auto num_rows = static_cast<int64_t>(rows.positions.size());
  const int64_t size = rows.head_size;
  const int64_t width = rows.num_heads * size;
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = rows.num_heads;
  options.num_kv_heads = 1;
  options.head_size = size;
  options.value_head_size = 1;
  options.no_output_projection = 1;
  options.scale = 1;
  options.rope = &rope;
  const Layer layer = capi_test::make_multi_head(context, options);
  const Tensor unit_keys = identity(context, size);
  check(heed_layer_set_parameter(layer.get(), "W_q.weight", identity(context, width).get()));
  check(heed_layer_set_parameter(layer.get(), "W_k.weight", unit_keys.get()));
  check(heed_layer_set_parameter(layer.get(), "W_v.weight", capi_test::make_tensor(context, {1, size}).get()));

  const Tensor stored = capi_test::make_tensor_of(context, {num_rows, width}, rows.elements);
  const Tensor queries = capi_test::make_view(stored.get(), {size, num_rows, width}, {0, width, 1});
  const Tensor keys = capi_test::make_reshaped(unit_keys.get(), {size, 1, size});
  const Tensor all_positions = capi_test::make_tensor_of(context, {num_rows}, rows.positions);
  const Tensor positions = capi_test::make_view(all_positions.get(), {size, num_rows}, {0, 1});
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  sequences.positions = positions.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.sequences = &sequences;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  const Tensor scores = capi_test::make_tensor(context, {size, rows.num_heads, num_rows});
  outputs.log_sum_exp = scores.get();
  check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));

  const std::vector<double> read = numbers_of(scores.get());
  std::vector<double> result;
  for (int64_t row = 0; row < num_rows; ++row) {
    for (int64_t head = 0; head < rows.num_heads; ++head) {
      for (int64_t d = 0; d < size; ++d)
        result.push_back(read[static_cast<size_t>((d * rows.num_heads + head) * num_rows + row)]);
    }
  }
  return result;
}

Turn turn_of(heed_context* context, const heed_rope_options& rope, int64_t head_size, int64_t pair, int64_t position) {
  Rows rows{1, head_size, std::vector<float>(static_cast<size_t>(head_size)), {position}};
  rows.elements[static_cast<size_t>(pair)] = 1;
  const std::vector<double> turned = rotated(context, rope, rows);
  const double cosine = turned[static_cast<size_t>(pair)];
  const double sine = turned[static_cast<size_t>(pair + head_size / 2)];
  // The key has the factor too.
  return {std::atan2(sine, cosine), std::sqrt(std::hypot(cosine, sine))};
}

}  // namespace heed::golden
