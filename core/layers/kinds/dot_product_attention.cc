// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/dot_product_attention.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"
#include "layers/backward/added_gradients.h"
#include "layers/kinds/backward/attention_backward.h"
#include "layers/kinds/projection.h"

namespace heed {
namespace {

void require_same_dim(const Value& value, const char* name, int32_t axis, const Value& other, const char* other_name,
                      const char* what) {
  if (value.dim(axis) != other.dim(axis)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, but %s has %s: expected the same %s, %" PRId64, name,
         to_string(value.shape()).c_str(), other_name, to_string(other.shape()).c_str(), what, other.dim(axis));
  }
}

// A temporary layer for one call. Its messages name the context, since the caller has no layer.
class OneCall final : public DotProductAttention {
 public:
  using DotProductAttention::DotProductAttention;

  const char* owner() const override { return "the context"; }
  const char* forward_function() const override { return "heed_scaled_dot_product_attention"; }
};

}  // namespace

DotProductAttention::DotProductAttention(std::shared_ptr<Context> context, const AttentionOptions& options)
    : AttentionLayer(std::move(context), {}), options_(options) {
  check_options(options);
}

int64_t DotProductAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const Value& queries = inputs.queries;
  const Value& keys = inputs.keys;
  const Value& values = inputs.values;
  const bool packed = is_packed(inputs);
  const int32_t rank = queries.rank();
  const int32_t flat_rank = packed ? 2 : 3;  // without an axis of heads
  if (rank != flat_rank && rank != flat_rank + 1) {
    fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " %s of rank %d, expected rank %s",
         to_string(queries.shape()).c_str(), rank,
         packed ? "2, (total, D), or rank 3, (H, total, D), of a packed batch"
                : "3, (B, Q, D), or rank 4, (B, H, Q, D)");
  }
  for (const auto& [value, name] : {std::pair{keys, INPUT("keys")}, std::pair{values, INPUT("values")}}) {
    if (value.rank() != rank) {
      fail(Status::InvalidArgument,
           "%s has " ARGUMENT("dims") " %s of rank %d, but " INPUT("queries") " has %s: expected rank %d", name,
           to_string(value.shape()).c_str(), value.rank(), to_string(queries.shape()).c_str(), rank);
    }
    if (!packed) require_same_dim(value, name, 0, queries, INPUT("queries"), "batch");
  }
  require_same_dim(keys, INPUT("keys"), rank - 1, queries, INPUT("queries"), "head size");
  require_same_dim(values, INPUT("values"), rank - 2, keys, INPUT("keys"), "number of keys");
  if (queries.dim(rank - 1) < 1) {
    fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " %s with head size 0, expected at least 1",
         to_string(queries.shape()).c_str());
  }
  if (rank != flat_rank) {
    require_same_dim(values, INPUT("values"), rank - 3, keys, INPUT("keys"), "number of heads");
    const int64_t num_heads = queries.dim(rank - 3);
    const int64_t num_kv_heads = keys.dim(rank - 3);
    if (num_heads < 1) {
      fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " %s with 0 heads, expected at least 1",
           to_string(queries.shape()).c_str());
    }
    if (num_kv_heads < 1 || num_heads % num_kv_heads != 0) {
      fail(Status::InvalidArgument,
           INPUT("keys") " has %" PRId64 " heads, expected a divisor of the %" PRId64 " of " INPUT("queries"),
           num_kv_heads, num_heads);
    }
  }

  shapes.dtype = queries.dtype();
  shapes.is_packed = packed;
  shapes.output = queries.shape();
  shapes.output[rank - 1] = values.dim(rank - 1);
  Shape of_rows = queries.shape();
  of_rows.rank = rank - 1;
  shapes.log_sum_exp.emplace(of_rows);
  if (packed) return packed_batch(*inputs.sequences, keys_are_queries(inputs));
  shapes.weights.emplace(queries.shape());
  (*shapes.weights)[rank - 1] = keys.dim(rank - 2);
  return queries.dim(0);
}

bool DotProductAttention::has_heads(const InputValues& inputs) const {
  return inputs.queries.rank() == (is_packed(inputs) ? 3 : 4);
}

void DotProductAttention::set_attention(const InputValues& inputs, AttentionProblem& problem) const {
  const int32_t rank = inputs.queries.rank();
  problem.batch = batch_of(inputs);
  problem.num_heads = has_heads(inputs) ? inputs.queries.dim(rank - 3) : 1;
  problem.num_kv_heads = has_heads(inputs) ? inputs.keys.dim(rank - 3) : 1;
  problem.limits = unlimited(inputs.queries.dim(rank - 2), inputs.keys.dim(rank - 2));
  problem.head_size = inputs.queries.dim(rank - 1);
  problem.value_head_size = inputs.values.dim(rank - 1);
}

void DotProductAttention::set_rows(Schedule& schedule, Operand& operand, const Value& value,
                                   const InputValues& inputs) const {
  const int32_t rank = inputs.queries.rank();
  schedule.set_operand(operand, value, {batch_axis(inputs), has_heads(inputs) ? rank - 3 : -1, rank - 2, rank - 1});
}

void DotProductAttention::set_numbers(Schedule& schedule, Operand& operand, const Value& value,
                                      const InputValues& inputs) const {
  const int32_t rank = inputs.queries.rank();
  schedule.set_operand(operand, value, {batch_axis(inputs), has_heads(inputs) ? rank - 3 : -1, rank - 2, -1});
}

void DotProductAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const OutputValues results = saved_results(schedule, call, outputs);
  AttentionProblem& attention = *call.attention;
  schedule.add("attention", attention);
  set_rows(schedule, attention.queries, inputs.queries, inputs);
  set_rows(schedule, attention.keys, inputs.keys, inputs);
  if (results.output.is_given()) {
    set_rows(schedule, attention.values, inputs.values, inputs);
    set_rows(schedule, attention.output, results.output, inputs);
  }
  if (results.weights.is_given()) set_rows(schedule, attention.weights, results.weights, inputs);
  if (results.log_sum_exp.is_given()) set_numbers(schedule, attention.log_sum_exp, results.log_sum_exp, inputs);
  add_copies_of_results(schedule, results, outputs);
}

void DotProductAttention::compose_backward(Schedule& schedule, const LayerCall& call,
                                           const GradientValues& gradients) const {
  const InputValues& inputs = call.inputs;
  const Value queries = written_gradient(schedule, gradients.queries, inputs.queries.shape());
  const Value keys = written_gradient(schedule, gradients.keys, inputs.keys.shape());
  const Value values = written_gradient(schedule, gradients.values, inputs.values.shape());
  AttentionBackwardProblem& problem = add_attention_backward(schedule, call, gradients);
  set_rows(schedule, problem.forward.queries, inputs.queries, inputs);
  set_rows(schedule, problem.forward.keys, inputs.keys, inputs);
  set_rows(schedule, problem.forward.values, inputs.values, inputs);
  set_rows(schedule, problem.forward.output, call.saved[kSavedOutput], inputs);
  set_numbers(schedule, problem.forward.log_sum_exp, call.saved[kSavedLogSumExp], inputs);
  set_rows(schedule, problem.output_gradient, gradients.output, inputs);
  if (queries.is_given()) set_rows(schedule, problem.queries_gradient, queries, inputs);
  if (keys.is_given()) set_rows(schedule, problem.keys_gradient, keys, inputs);
  if (values.is_given()) set_rows(schedule, problem.values_gradient, values, inputs);
  add_addend(schedule, queries, gradients.queries);
  add_addend(schedule, keys, gradients.keys);
  add_addend(schedule, values, gradients.values);
}

void scaled_dot_product_attention(std::shared_ptr<Context> context, const AttentionOptions& options,
                                  const LayerInputs& inputs, const LayerOutputs& outputs) {
  OneCall(std::move(context), options).forward(inputs, nullptr, outputs);
}

void DotProductAttention::write_options(JsonWriter& json) const { heed::write_options(options_, json); }

}  // namespace heed
