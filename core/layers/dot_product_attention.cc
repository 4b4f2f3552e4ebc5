// SPDX-License-Identifier: Apache-2.0
#include "layers/dot_product_attention.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"

namespace heed {
namespace {

void require_same_dim(const Value& value, const char* name, int32_t axis, const Value& other, const char* other_name,
                      const char* what) {
  if (value.dim(axis) != other.dim(axis)) {
    fail(Status::InvalidArgument, "%s has dims %s, but %s has %s: expected the same %s, %" PRId64, name,
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

void DotProductAttention::check_inputs(const InputValues& inputs, OutputShapes& shapes) const {
  const Value& queries = inputs.queries;
  const Value& keys = inputs.keys;
  const Value& values = inputs.values;
  const int32_t rank = queries.rank();
  if (rank != 3 && rank != 4) {
    fail(Status::InvalidArgument,
         "inputs->queries has dims %s of rank %d, expected rank 3, (B, Q, D), or rank 4, (B, H, Q, D)",
         to_string(queries.shape()).c_str(), rank);
  }
  for (const auto& [value, name] : {std::pair{keys, "inputs->keys"}, std::pair{values, "inputs->values"}}) {
    if (value.rank() != rank) {
      fail(Status::InvalidArgument, "%s has dims %s of rank %d, but inputs->queries has %s: expected rank %d", name,
           to_string(value.shape()).c_str(), value.rank(), to_string(queries.shape()).c_str(), rank);
    }
    require_same_dim(value, name, 0, queries, "inputs->queries", "batch");
  }
  require_same_dim(keys, "inputs->keys", rank - 1, queries, "inputs->queries", "head size");
  require_same_dim(values, "inputs->values", rank - 2, keys, "inputs->keys", "number of keys");
  if (queries.dim(rank - 1) < 1) {
    fail(Status::InvalidArgument, "inputs->queries has dims %s with head size 0, expected at least 1",
         to_string(queries.shape()).c_str());
  }

  shapes.dtype = queries.dtype();
  const int64_t num_queries = queries.dim(rank - 2);
  const int64_t num_keys = keys.dim(rank - 2);
  if (rank == 3) {
    shapes.output = {queries.dim(0), num_queries, values.dim(2)};
    shapes.weights.emplace({queries.dim(0), num_queries, num_keys});
    shapes.log_sum_exp.emplace({queries.dim(0), num_queries});
    return;
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
  shapes.weights.emplace({queries.dim(0), num_heads, num_queries, num_keys});
  shapes.log_sum_exp.emplace({queries.dim(0), num_heads, num_queries});
}

void DotProductAttention::set_attention(const InputValues& inputs, bool reads_lengths,
                                        AttentionProblem& problem) const {
  const int32_t rank = inputs.queries.rank();
  const bool has_heads = rank == 4;
  problem.batch = inputs.queries.dim(0);
  problem.num_heads = has_heads ? inputs.queries.dim(1) : 1;
  problem.num_kv_heads = has_heads ? inputs.keys.dim(1) : 1;
  problem.limits = unlimited(inputs.queries.dim(rank - 2), inputs.keys.dim(rank - 2));
  problem.head_size = inputs.queries.dim(rank - 1);
  problem.value_head_size = inputs.values.dim(rank - 1);
  set_visibility(problem, *inputs.others, inputs.queries.dtype(), options_, has_heads, reads_lengths);
}

void DotProductAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const bool has_heads = inputs.queries.rank() == 4;
  const auto set = [&](Operand& operand, const Value& value) {
    if (has_heads) {
      schedule.set_operand(operand, value, {0, 1, 2, 3});
    } else {
      schedule.set_operand(operand, value, {0, -1, 1, 2});
    }
  };
  AttentionProblem& attention = *call.attention;
  schedule.add_attention("attention", attention);
  set(attention.queries, inputs.queries);
  set(attention.keys.rows, inputs.keys);
  if (outputs.output.is_given()) {
    set(attention.values.rows, inputs.values);
    set(attention.output, outputs.output);
  }
  if (outputs.weights.is_given()) set(attention.weights, outputs.weights);
  if (!outputs.log_sum_exp.is_given()) return;
  if (has_heads) {
    schedule.set_operand(attention.log_sum_exp, outputs.log_sum_exp, {0, 1, 2, -1});
  } else {
    schedule.set_operand(attention.log_sum_exp, outputs.log_sum_exp, {0, -1, 1, -1});
  }
}

void scaled_dot_product_attention(std::shared_ptr<Context> context, const AttentionOptions& options,
                                  const LayerInputs& inputs, const LayerOutputs& outputs) {
  OneCall(std::move(context), options).forward(inputs, nullptr, outputs);
}

void DotProductAttention::write_options(JsonWriter& json) const { heed::write_options(options_, json); }

}  // namespace heed
