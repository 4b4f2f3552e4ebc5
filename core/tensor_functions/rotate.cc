// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/rotate.h"

#include <cinttypes>
#include <cstdint>

#include "base/error.h"
#include "ops/rotate.h"
#include "ops/tensor_operand.h"
#include "tensor/dtype_term.h"
#include "tensor_functions/broadcast.h"
#include "tensor_functions/check.h"
#include "tensor_functions/integers.h"
#include "tensor_functions/pooled_call.h"

namespace heed {
namespace {

// The axes of a tensor (S, D), (B, S, D) or (B, H, S, D) that are the problem's axes (b, h, s, d); -1 if there is none.
struct RotatedAxes {
  explicit RotatedAxes(int32_t rank) : axes{rank > 2 ? 0 : -1, rank > 3 ? 1 : -1, rank - 2, rank - 1} {}
  int32_t axes[kOperandRank];
};

void check_floats(const Argument& argument) {
  if (is_floating(argument.tensor.dtype())) return;
  fail(Status::InvalidArgument,
       "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") ", " DTYPE("BF16") " or " DTYPE("F64"), argument.name,
       term_of(argument.tensor.dtype()));
}

void check_tables(const Argument& cosines, const Argument& sines, const RotateProblem& problem, bool has_positions) {
  check_floats(cosines);
  check_floats(sines);
  const Shape& shape = cosines.tensor.shape();
  const bool fits_rows = shape.rank == 2 && (has_positions || shape[0] == problem.length);
  const bool fits_batch =
      shape.rank == 3 && !has_positions && (shape[0] == problem.batch || shape[0] == 1) && shape[1] == problem.length;
  if (!fits_rows && !fits_batch) {
    if (has_positions) {
      fail(Status::InvalidArgument,
           "cosines has " ARGUMENT("dims") " %s, expected rank 2: (T, R / 2), which positions count",
           to_string(shape).c_str());
    }
    fail(Status::InvalidArgument,
         "cosines has " ARGUMENT("dims") " %s, expected (%" PRId64 ", R / 2) or (%" PRId64 ", %" PRId64
                                         ", R / 2), without positions a row for each of " ARGUMENT("tensor"),
         to_string(shape).c_str(), problem.length, problem.batch, problem.length);
  }
  const int64_t num_pairs = shape[shape.rank - 1];
  if (num_pairs > problem.row_size / 2) {
    fail(Status::InvalidArgument,
         "cosines has %" PRId64 " columns, one for each pair, expected at most %" PRId64
         ", since the last axis of " ARGUMENT("tensor") " has size %" PRId64,
         num_pairs, problem.row_size / 2, problem.row_size);
  }
  check_shape(sines, shape, "those of cosines");
}

// The axes (b, -, t, i) of a table.
void set_table(Operand& operand, const Tensor& table) {
  set_operand(operand, table, {table.rank() == 3 ? 0 : -1, -1, table.rank() - 2, table.rank() - 1});
}

void check_positions(const Argument& positions, const RotateProblem& problem) {
  check_index_dtype(positions);
  const Shape& shape = positions.tensor.shape();
  const bool fits = (shape.rank == 1 && shape[0] == problem.length) ||
                    (shape.rank == 2 && shape[0] == problem.batch && shape[1] == problem.length);
  if (!fits) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s, expected (%" PRId64 ") or (%" PRId64 ", %" PRId64
                                    "), those of the rows of " ARGUMENT("tensor"),
         positions.name, to_string(shape).c_str(), problem.length, problem.batch, problem.length);
  }
  positions.tensor.require_data(positions.name);
  const int64_t count = problem.num_positions;
  if (const auto wrong =
          find_integer(positions.tensor, [count](int64_t position) { return position < 0 || position >= count; })) {
    fail(Status::InvalidArgument,
         "%s has %" PRId64 " at index %s, expected at least 0 and less than %" PRId64 ", the rows of cosines",
         positions.name, wrong->value, index_text(shape, wrong->position).c_str(), count);
  }
}

}  // namespace

void rotate(const Tensor& tensor, const Tensor& cosines, const Tensor& sines, const Tensor* positions,
            bool is_interleaved, const Tensor& result) {
  const Argument input = {ARGUMENT("tensor"), tensor};
  const Argument output = {"result", result};
  check_floats(input);
  if (tensor.rank() < 2 || tensor.rank() > 4) {
    fail(Status::InvalidArgument,
         "%s has " ARGUMENT("dims") " %s of rank %d, expected rank 2 to 4: (S, D), (B, S, D) or (B, H, S, D)",
         input.name, to_string(tensor.shape()).c_str(), tensor.rank());
  }
  const RotatedAxes rows(tensor.rank());
  const auto size = [&](int axis) { return rows.axes[axis] < 0 ? 1 : tensor.dim(rows.axes[axis]); };
  RotateProblem problem;
  problem.batch = size(0);
  problem.num_heads = size(1);
  problem.length = size(2);
  problem.row_size = size(3);
  const Argument of_cosines = {"cosines", cosines};
  const Argument of_sines = {"sines", sines};
  check_tables(of_cosines, of_sines, problem, positions != nullptr);
  problem.rotary_size = 2 * cosines.dim(cosines.rank() - 1);
  problem.num_positions = cosines.dim(cosines.rank() - 2);
  check_shape(output, tensor.shape(), "the " ARGUMENT("dims") " of " ARGUMENT("tensor"));
  check_dtype(output, tensor.dtype(), "the " WORD("dtype") " of " ARGUMENT("tensor"));
  check_same_device(output, input);
  result.require_writable(output.name);
  check_in_place(output, input);
  for (const Argument& table : {of_cosines, of_sines}) {
    check_same_device(table, input);
    check_memory(output, table);
  }
  if (positions != nullptr) {
    const Argument of_positions = {ARGUMENT("positions"), *positions};
    check_same_device(of_positions, input);
    check_memory(output, of_positions);
    check_positions(of_positions, problem);
    const int32_t rank = positions->rank();
    set_operand(problem.positions, *positions, {rank == 2 ? 0 : -1, -1, rank - 1, -1});
  }
  if (result.num_elements() == 0) return;

  problem.compute = compute_dtype(tensor.dtype());
  problem.is_interleaved = is_interleaved ? 1 : 0;
  set_operand(problem.input, tensor, rows.axes);
  set_table(problem.cosines, cosines);
  set_table(problem.sines, sines);
  set_operand(problem.output, result, rows.axes);
  PooledCall(context_of(result), "heed_rotary_embedding", "rotation", problem.op).run();
}

}  // namespace heed
