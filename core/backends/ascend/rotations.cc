// SPDX-License-Identifier: Apache-2.0
#include "backends/ascend/rotations.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "backends/ascend/arrange.h"

namespace heed::ascend {
namespace {

// The output (-, s, r, d), with one batch element if all of them share its rows.
StridedArray output_of(const RotationsProblem& problem) {
  const int64_t rows = problem.of_keys != 0 ? num_key_rows(problem.limits, problem.batch)
                                            : num_query_rows(problem.limits, problem.batch);
  return strided(problem.output, {1, problem.output.strides[1] == 0 ? 1 : problem.batch, rows, 2 * problem.num_pairs});
}

// Positions of the smallest table that is kept, and the largest size of one in bytes.
constexpr int64_t kFewestPositions = 256;
constexpr int64_t kMaxTableBytes = int64_t{16} << 20;

// Writes all rows of the problem, dense, to the host's memory.
void write_all(const RotationsProblem& problem, const StridedArray& output, void* host) {
  RotationsProblem on_host = problem;
  on_host.output.data = host;
  on_host.output.strides[1] = problem.output.strides[1] == 0 ? 0 : output.sizes[2] * output.sizes[3];
  on_host.output.strides[2] = output.sizes[3];
  for (int64_t b = 0; b < problem.batch; ++b) write_rotations(on_host, b, 0, num_rotated_rows(problem, b));
}

// The rotations of positions 0, 1, ..., of at least `num_positions`, which are kept for later calls.
DeviceArray table_of(Npu& npu, const RotationsProblem& problem, int64_t num_positions) {
  const auto rows =
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(std::max(num_positions, kFewestPositions))));
  const int64_t width = 2 * problem.num_pairs;
  std::string name = name_of("rotations", {rows, problem.num_pairs}) + " ";
  name.append(reinterpret_cast<const char*>(&problem.factor), sizeof problem.factor);
  // The rotations of value 1 of each digit say all frequencies, from which the other values follow.
  for (int64_t digit = 0; digit < kRotaryNumDigits; ++digit) {
    name.append(reinterpret_cast<const char*>(problem.digits + (digit * kRotaryRadix + 1) * width),
                static_cast<size_t>(width) * sizeof(double));
  }
  return npu.constant(name, ACL_FLOAT, dims_of({rows, width}), [&](void* host) {
    RotationsProblem all = problem;
    all.batch = 1;
    all.of_keys = 1;
    all.limits = unlimited(rows, rows);
    StridedArray dense = output_of(problem);
    dense.sizes[1] = 1;
    dense.sizes[2] = rows;
    write_all(all, dense, host);
  });
}

// Copies the rows from a table, if they are consecutive positions that a table may have. Returns whether they are.
bool copied_from_table(Npu& npu, const RotationsProblem& problem, const DeviceArray& rows) {
  const KeyLimits& limits = problem.limits;
  if (limits.has_table != 0 || limits.positions.given != 0 || problem.output.strides[1] != 0) return false;
  const int64_t first = problem.of_keys != 0 ? limits.sequence.key_position : limits.sequence.query_position;
  const int64_t row_bytes = 2 * problem.num_pairs * static_cast<int64_t>(sizeof(float));
  const int64_t num_positions = first + static_cast<int64_t>(rows.num_bytes()) / row_bytes;
  const bool is_aligned = first * row_bytes % static_cast<int64_t>(kMemoryAlignment) == 0;
  if (first < 0 || !is_aligned || 2 * num_positions * row_bytes > kMaxTableBytes) return false;
  const DeviceArray table = table_of(npu, problem, num_positions);
  npu.copy(rows.data, static_cast<char*>(table.data) + first * row_bytes, rows.num_bytes());
  return true;
}

}  // namespace

Plan plan_rotations(const RotationsProblem& problem) {
  Plan plan;
  plan.kernel = "angles by the host";
  if (!can_arrange(output_of(problem))) plan.add_reason(kOutOfReach);
  return plan;
}

void run_rotations(Npu& npu, const RotationsProblem& problem) {
  const StridedArray output = output_of(problem);
  const Target target(npu, output, ACL_FLOAT);
  if (target.array().num_bytes() == 0) return;
  if (!copied_from_table(npu, problem, target.array())) {
    std::vector<float> angles(static_cast<size_t>(target.array().num_elements()));
    write_all(problem, output, angles.data());
    npu.upload(target.array().data, angles.data(), target.array().num_bytes());
  }
  target.store();
}

}  // namespace heed::ascend
