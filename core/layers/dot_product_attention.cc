// SPDX-License-Identifier: Apache-2.0
#include "layers/dot_product_attention.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

void require_same_dim(const Tensor& tensor, const char* name, int32_t axis, const Tensor& other, const char* other_name,
                      const char* what) {
  if (tensor.dim(axis) != other.dim(axis)) {
    fail(Status::InvalidArgument, "%s has dims %s, but %s has %s: expected the same %s, %" PRId64, name,
         to_string(tensor.shape()).c_str(), other_name, to_string(other.shape()).c_str(), what, other.dim(axis));
  }
}

}  // namespace

DotProductAttention::DotProductAttention(std::shared_ptr<Context> context, const AttentionOptions& options)
    : AttentionLayer(std::move(context), {}), options_(options) {
  check_options(options);
}

OutputShapes DotProductAttention::check_inputs(const LayerInputs& inputs) const {
  const Tensor& queries = *inputs.queries;
  const Tensor& keys = *inputs.keys;
  const Tensor& values = *inputs.values;
  const int32_t rank = queries.rank();
  if (rank != 3 && rank != 4) {
    fail(Status::InvalidArgument,
         "inputs->queries has dims %s of rank %d, expected rank 3, (B, Q, D), or rank 4, (B, H, Q, D)",
         to_string(queries.shape()).c_str(), rank);
  }
  for (const auto& [tensor, name] : {std::pair{&keys, "inputs->keys"}, std::pair{&values, "inputs->values"}}) {
    if (tensor->rank() != rank) {
      fail(Status::InvalidArgument, "%s has dims %s of rank %d, but inputs->queries has %s: expected rank %d", name,
           to_string(tensor->shape()).c_str(), tensor->rank(), to_string(queries.shape()).c_str(), rank);
    }
    require_same_dim(*tensor, name, 0, queries, "inputs->queries", "batch");
  }
  require_same_dim(keys, "inputs->keys", rank - 1, queries, "inputs->queries", "head size");
  require_same_dim(values, "inputs->values", rank - 2, keys, "inputs->keys", "number of keys");
  if (queries.dim(rank - 1) < 1) {
    fail(Status::InvalidArgument, "inputs->queries has dims %s with head size 0, expected at least 1",
         to_string(queries.shape()).c_str());
  }

  OutputShapes shapes;
  shapes.dtype = queries.dtype();
  const int64_t num_queries = queries.dim(rank - 2);
  const int64_t num_keys = keys.dim(rank - 2);
  if (rank == 3) {
    shapes.output = {queries.dim(0), num_queries, values.dim(2)};
    shapes.weights = {queries.dim(0), num_queries, num_keys};
    shapes.log_sum_exp = {queries.dim(0), num_queries};
    return shapes;
  }
  require_same_dim(values, "inputs->values", 1, keys, "inputs->keys", "number of heads");
  const int64_t num_heads = queries.dim(1);
  const int64_t num_kv_heads = keys.dim(1);
  if (num_heads < 1) {
    fail(Status::InvalidArgument, "inputs->queries has dims %s with 0 heads, expected at least 1",
         to_string(queries.shape()).c_str());
  }
  if (num_kv_heads < 1 || num_heads % num_kv_heads != 0) {
    fail(Status::InvalidArgument,
         "inputs->keys has %" PRId64 " heads, expected a divisor of the %" PRId64 " of inputs->queries", num_kv_heads,
         num_heads);
  }
  shapes.output = {queries.dim(0), num_heads, num_queries, values.dim(3)};
  shapes.weights = {queries.dim(0), num_heads, num_queries, num_keys};
  shapes.log_sum_exp = {queries.dim(0), num_heads, num_queries};
  return shapes;
}

const char* const* DotProductAttention::possible_parameters() const {
  static constexpr const char* kNone[] = {nullptr};
  return kNone;
}

AttentionProblem DotProductAttention::attention_problem(const LayerInputs& inputs, Purpose purpose) const {
  const int32_t rank = inputs.queries->rank();
  const bool has_heads = rank == 4;
  AttentionProblem problem;
  problem.batch = inputs.queries->dim(0);
  problem.num_heads = has_heads ? inputs.queries->dim(1) : 1;
  problem.num_kv_heads = has_heads ? inputs.keys->dim(1) : 1;
  problem.num_queries = inputs.queries->dim(rank - 2);
  problem.num_keys = inputs.keys->dim(rank - 2);
  problem.head_size = inputs.queries->dim(rank - 1);
  problem.value_head_size = inputs.values->dim(rank - 1);
  set_visibility(problem, inputs, options_, has_heads, purpose);
  return problem;
}

void DotProductAttention::compose(const CheckedInputs& call, const LayerOutputs& outputs, Schedule& schedule) const {
  const LayerInputs& inputs = call.inputs;
  const bool has_heads = inputs.queries->rank() == 4;
  const auto operand = [has_heads](const Tensor& tensor) {
    return has_heads ? operand_of(tensor, {0, 1, 2, 3}) : operand_of(tensor, {0, -1, 1, 2});
  };
  AttentionProblem& attention = schedule.add_attention("attention");
  attention = call.attention;
  attention.queries = operand(*inputs.queries);
  attention.keys = operand(*inputs.keys);
  if (outputs.output != nullptr) {
    attention.values = operand(*inputs.values);
    attention.output = operand(*outputs.output);
  }
  if (outputs.weights != nullptr) attention.weights = operand(*outputs.weights);
  if (outputs.log_sum_exp != nullptr) {
    attention.log_sum_exp =
        has_heads ? operand_of(*outputs.log_sum_exp, {0, 1, 2, -1}) : operand_of(*outputs.log_sum_exp, {0, -1, 1, -1});
  }
}

}  // namespace heed
