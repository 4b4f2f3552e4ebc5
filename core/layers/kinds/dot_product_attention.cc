// SPDX-License-Identifier: Apache-2.0
#include "layers/kinds/dot_product_attention.h"

#include <cinttypes>
#include <utility>

#include "base/error.h"

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

void DotProductAttention::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  const InputValues& inputs = call.inputs;
  const int32_t rank = inputs.queries.rank();
  const bool packed = is_packed(inputs);
  const int32_t batch = packed ? -1 : 0;
  const int32_t heads = rank == (packed ? 3 : 4) ? rank - 3 : -1;
  const auto set = [&](Operand& operand, const Value& value) {
    schedule.set_operand(operand, value, {batch, heads, rank - 2, rank - 1});
  };
  AttentionProblem& attention = *call.attention;
  schedule.add("attention", attention);
  set(attention.queries, inputs.queries);
  set(attention.keys, inputs.keys);
  if (outputs.output.is_given()) {
    set(attention.values, inputs.values);
    set(attention.output, outputs.output);
  }
  if (outputs.weights.is_given()) set(attention.weights, outputs.weights);
  if (outputs.log_sum_exp.is_given())
    schedule.set_operand(attention.log_sum_exp, outputs.log_sum_exp, {batch, heads, rank - 2, -1});
}

void scaled_dot_product_attention(std::shared_ptr<Context> context, const AttentionOptions& options,
                                  const LayerInputs& inputs, const LayerOutputs& outputs) {
  OneCall(std::move(context), options).forward(inputs, nullptr, outputs);
}

void DotProductAttention::write_options(JsonWriter& json) const { heed::write_options(options_, json); }

}  // namespace heed
