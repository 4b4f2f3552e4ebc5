// SPDX-License-Identifier: Apache-2.0
#include "golden/support/derived_bound.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <optional>

#include "property/support/call.h"
#include "reference/error_bound.h"

namespace heed::golden {
namespace {

using property::Call;
using property::Input;
using property::Kind;

Input input_of(const heed_tensor* tensor) {
  return property::make_input({capi_test::dims_of(tensor), numbers_of(tensor)}, heed_tensor_dtype(tensor));
}

std::optional<Input> input_if_present(const heed_tensor* tensor) {
  return tensor == nullptr ? std::nullopt : std::optional(input_of(tensor));
}

Call call_of(Kind kind, const heed_layer* layer, const heed_layer_inputs& inputs) {
  Call call;
  call.kind = kind;
  call.queries = input_of(inputs.queries);
  call.keys = input_if_present(inputs.keys);
  call.values = input_if_present(inputs.values);
  call.valid_lens = input_if_present(inputs.valid_lens);
  call.mask = input_if_present(inputs.mask);
  call.bias = input_if_present(inputs.bias);
  call.dropout_seed = inputs.dropout_seed;
  call.training = inputs.training;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    const char* name = heed_layer_parameter_name(layer, i);
    call.parameters[name] = input_of(capi_test::snapshot(layer, name).get());
  }
  return call;
}

Derived as_tensors(const reference::AttentionResult& result, const property::ResultDims& dims) {
  const capi_test::Context cpu = capi_test::make_context();
  const auto all = [&](std::vector<double> reference::Bounded::*member) {
    return Outputs{capi_test::make_tensor_of(cpu.get(), dims.output, result.output.*member),
                   capi_test::make_tensor_of(cpu.get(), dims.weights, result.weights.*member),
                   capi_test::make_tensor_of(cpu.get(), dims.log_sum_exp, result.log_sum_exp.*member)};
  };
  return {all(&reference::Bounded::values), all(&reference::Bounded::errors)};
}

Derived derived_of(const Call& call) { return as_tensors(property::solve(call), property::result_dims(call)); }

}  // namespace

Derived derive(const heed_layer* layer, const heed_dot_product_attention_options& options,
               const heed_layer_inputs& inputs) {
  if (!property::on_ascend()) return {};
  const bool has_heads = heed_tensor_rank(inputs.queries) == 4;
  Call call = call_of(has_heads ? Kind::DotProductRank4 : Kind::DotProductRank3, layer, inputs);
  property::copy_shared_options(options, call.options);
  return derived_of(call);
}

Derived derive(const heed_layer* layer, const heed_multi_head_attention_options& options,
               const heed_layer_inputs& inputs) {
  return property::on_ascend() ? derive_anywhere(layer, options, inputs) : Derived();
}

Derived derive_anywhere(const heed_layer* layer, const heed_multi_head_attention_options& options,
                        const heed_layer_inputs& inputs) {
  Call call = call_of(Kind::MultiHead, layer, inputs);
  call.options = options;
  return derived_of(call);
}

Derived derive(const heed_layer* layer, const heed_additive_attention_options& options,
               const heed_layer_inputs& inputs) {
  if (!property::on_ascend()) return {};
  Call call = call_of(Kind::Additive, layer, inputs);
  call.options.num_hiddens = options.num_hiddens;
  property::copy_shared_options(options, call.options);
  return derived_of(call);
}

Derived as_tensors(const reference::AttentionResult& result, const Outputs& results) {
  return as_tensors(result, {capi_test::dims_of(results.output.get()), capi_test::dims_of(results.weights.get()),
                             capi_test::dims_of(results.log_sum_exp.get())});
}

std::vector<double> numbers_of(const heed_tensor* tensor) {
  const capi_test::Context cpu = capi_test::make_context();
  const capi_test::Tensor wide = capi_test::make_tensor(cpu.get(), capi_test::dims_of(tensor), HEED_F64);
  property::check(heed_tensor_copy(wide.get(), tensor));
  return capi_test::read_elements<double>(wide.get());
}

size_t num_beyond(heed_dtype dtype, const std::vector<double>& is, const std::vector<double>& should,
                  const std::vector<double>& errors) {
  const reference::Format format = property::format_of(dtype);
  size_t count = 0;
  for (size_t i = 0; i < is.size(); ++i) {
    if (!reference::accepts(format, should.at(i), errors.at(i), is[i])) ++count;
  }
  return count;
}

void expect_that_zeros_are_refused(heed_dtype dtype, const std::vector<double>& should,
                                   const std::vector<double>& errors) {
  for (const double error : errors) EXPECT_TRUE(std::isfinite(error)) << "an element without a bound";
  EXPECT_GT(num_beyond(dtype, std::vector<double>(should.size()), should, errors), 0U)
      << "a result of zeros would be accepted";
}

}  // namespace heed::golden
