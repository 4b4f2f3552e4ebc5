// SPDX-License-Identifier: Apache-2.0
#include "capi/support/attention_call.h"

#include <utility>

namespace heed::capi_test {
namespace {

constexpr int32_t kAllOutputs = HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP;

struct InputDims {
  Dims queries;
  Dims keys;
  Dims values;
};

InputDims input_dims(Kind kind, const Sizes& sizes) {
  const int64_t b = sizes.batch;
  const int64_t q = sizes.num_queries;
  const int64_t k = sizes.num_keys;
  switch (kind) {
    case Kind::MultiHead:
    case Kind::MultiHeadAdditive:
    case Kind::Additive: return {{b, q, 6}, {b, k, 7}, {b, k, 9}};
    case Kind::DotProductRank3: return {{b, q, 4}, {b, k, 4}, {b, k, 6}};
    case Kind::Linear:
    case Kind::Dropout: return {{b, q, 6}, {}, {}};
    case Kind::DotProductRank4: break;
  }
  return {{b, 4, q, 4}, {b, 2, k, 4}, {b, 2, k, 6}};
}

Layer make_layer(heed_context* context, Kind kind) {
  heed_multi_head_attention_options options = two_heads();
  switch (kind) {
    case Kind::MultiHeadAdditive: options.scoring = HEED_SCORING_ADDITIVE; [[fallthrough]];
    case Kind::MultiHead: return make_multi_head(context, options);
    case Kind::Additive: return make_additive(context, five_hiddens());
    case Kind::Linear: return make_linear(context, five_outputs());
    case Kind::Dropout: return make_dropout(context, one_half());
    default: return make_dot_product(context, HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  }
}

}  // namespace

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

AttentionCall::AttentionCall(Kind kind, Sizes sizes, heed_dtype dtype)
    : AttentionCall(make_context(), kind, sizes, dtype) {}

AttentionCall::AttentionCall(Context given_context, Kind kind, Sizes sizes, heed_dtype dtype)
    : context(std::move(given_context)) {
  layer = make_layer(context.get(), kind);
  const bool attends = kind != Kind::Linear && kind != Kind::Dropout;
  every_output_ = attends ? kAllOutputs : HEED_WANT_OUTPUT;
  const InputDims dims = input_dims(kind, sizes);
  inputs.queries = random(dims.queries, 1, dtype);
  if (attends) {
    inputs.keys = random(dims.keys, 2, dtype);
    inputs.values = random(dims.values, 3, dtype);
  }
  inputs.training = kind == Kind::Dropout ? 1 : 0;
  check(heed_layer_initialize(layer.get(), &inputs, 4));
  check(heed_layer_create_outputs(layer.get(), &inputs, every_output_, &outputs));
  keep(Tensor(outputs.output));
  keep(Tensor(outputs.weights));
  keep(Tensor(outputs.log_sum_exp));
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

heed_tensor* AttentionCall::keep(Tensor tensor) { return tensors_.emplace_back(std::move(tensor)).get(); }

void AttentionCall::replace_layer(const heed_multi_head_attention_options& options) {
  layer = make_multi_head(context.get(), options);
}

}  // namespace heed::capi_test
