// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/reduce_blocks.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// For one element: a load, and a few steps if it is converted.
constexpr double kFlopsPerReducedElement = 2;

template <typename T>
constexpr DType dtype_for() {
  if constexpr (std::is_same_v<T, float>) return DType::F32;
  if constexpr (std::is_same_v<T, double>) return DType::F64;
  return DType::I64;
}

int first_reduced(const ReduceProblem& problem) { return kElementwiseRank - problem.num_reduced; }

int64_t product_of(const int64_t* sizes, int begin, int end) {
  int64_t product = 1;
  for (int axis = begin; axis < end; ++axis) product *= sizes[axis];
  return product;
}

// The problem as units of work: a chunk of the elements of one output, or of some adjacent outputs, the columns.
struct ReduceUnits {
  explicit ReduceUnits(const ReduceProblem& problem) {
    const int reduced = first_reduced(problem);
    length = product_of(problem.sizes, reduced, kElementwiseRank);
    num_outputs = product_of(problem.sizes, 0, reduced);
    const int column_axis = reduced - 1;
    // Adjacent columns are read row by row. The order of each sum is the same in both ways.
    const bool has_columns = column_axis >= 0 && problem.input.strides[column_axis] == 1 &&
                             problem.input.strides[kElementwiseRank - 1] != 1 && problem.sizes[column_axis] > 1;
    row_columns = has_columns ? problem.sizes[column_axis] : 1;
    group_columns = std::min(row_columns, kReduceColumns);
    groups_of_row = (row_columns + group_columns - 1) / group_columns;
    num_groups = num_outputs / row_columns * groups_of_row;
    num_chunks = std::max<int64_t>(1, (length + kChunkElements - 1) / kChunkElements);
    const int64_t unit_elements = std::max<int64_t>(1, std::min(length, kChunkElements) * group_columns);
    task_units = std::max<int64_t>(1, kTaskElements / unit_elements);
  }

  int64_t num_units() const { return num_groups * num_chunks; }

  int64_t length = 0;  // of each reduction
  int64_t num_outputs = 0;
  int64_t row_columns = 1;    // outputs side by side in the input
  int64_t group_columns = 1;  // of a unit, at most
  int64_t groups_of_row = 1;
  int64_t num_groups = 0;
  int64_t num_chunks = 1;
  int64_t task_units = 1;
};

// A unit: outputs first_output .. first_output + columns - 1, elements begin .. end - 1 of each.
struct ReduceUnit {
  ReduceUnit(const ReduceUnits& units, int64_t number) {
    const int64_t group = number / units.num_chunks;
    chunk = number % units.num_chunks;
    const int64_t first_column = group % units.groups_of_row * units.group_columns;
    first_output = group / units.groups_of_row * units.row_columns + first_column;
    columns = std::min(units.group_columns, units.row_columns - first_column);
    begin = chunk * kChunkElements;
    end = std::min(units.length, begin + kChunkElements);
  }

  int64_t chunk = 0;
  int64_t first_output = 0;
  int64_t columns = 1;
  int64_t begin = 0;
  int64_t end = 0;
};

// The offset of an output's elements, in the input or the output.
int64_t offset_of_output(const ReduceProblem& problem, const ElementwiseOperand& operand, int64_t output) {
  int64_t offset = 0;
  for (int axis = first_reduced(problem) - 1; axis >= 0 && output != 0; --axis) {
    offset += output % problem.sizes[axis] * operand.strides[axis];
    output /= problem.sizes[axis];
  }
  return offset;
}

// Goes through the elements of reductions in order, converted to the dtype in which they are computed. One of them is an element
// of each column. Not a template, and not inlined: there are some twenty loops over blocks.
class ReducedElements {
 public:
  [[gnu::noinline]] ReducedElements(const ReduceProblem& problem, int64_t output, int64_t begin) : problem_(problem) {
    const ElementwiseOperand& input = problem.input;
    size_ = static_cast<int64_t>(size_of(input.dtype));
    address_ = static_cast<const std::byte*>(input.data) + offset_of_output(problem, input, output) * size_;
    for (int axis = kElementwiseRank - 1; axis >= first_reduced(problem); --axis) {
      index_[axis] = begin % problem.sizes[axis];
      begin /= problem.sizes[axis];
      address_ += index_[axis] * input.strides[axis] * size_;
    }
    is_direct_ = input.dtype == problem.compute;
  }

  // The next `count` elements of one output side by side, in `buffer` if they are not in memory.
  [[gnu::noinline]] const void* take(int64_t count, void* buffer) {
    const int64_t stride = problem_.input.strides[kLast];
    if (is_direct_ && stride == 1 && count <= problem_.sizes[kLast] - index_[kLast]) {
      const void* elements = address_;
      advance(count);
      return elements;
    }
    const auto wide = static_cast<int64_t>(size_of(problem_.compute));
    for (int64_t filled = 0; filled < count;) {
      const int64_t run = std::min(count - filled, problem_.sizes[kLast] - index_[kLast]);
      convert_elements(problem_.compute, static_cast<std::byte*>(buffer) + filled * wide, wide, problem_.input.dtype,
                       address_, stride * size_, run);
      filled += run;
      advance(run);
    }
    return buffer;
  }

  // The next element of each of `columns` adjacent outputs.
  [[gnu::noinline]] const void* take_row(int64_t columns, void* buffer) {
    const std::byte* row = address_;
    advance(1);
    if (is_direct_) return row;
    convert_elements(problem_.compute, buffer, static_cast<int64_t>(size_of(problem_.compute)), problem_.input.dtype,
                     row, size_, columns);
    return buffer;
  }

 private:
  static constexpr int kLast = kElementwiseRank - 1;

  // By at most the rest of the last axis.
  void advance(int64_t count) {
    const ElementwiseOperand& input = problem_.input;
    index_[kLast] += count;
    address_ += count * input.strides[kLast] * size_;
    for (int axis = kLast; axis > first_reduced(problem_) && index_[axis] == problem_.sizes[axis]; --axis) {
      address_ += (input.strides[axis - 1] - problem_.sizes[axis] * input.strides[axis]) * size_;
      index_[axis] = 0;
      ++index_[axis - 1];
    }
  }

  const ReduceProblem& problem_;
  const std::byte* address_ = nullptr;
  int64_t size_ = 0;
  bool is_direct_ = false;
  int64_t index_[kElementwiseRank] = {};
};

// Results of a unit, one for each column.
template <typename Rule>
void reduce_unit(const ReduceProblem& problem, const Rule& rule, const ReduceUnit& unit, typename Rule::Type* results) {
  using T = typename Rule::Type;
  ReducedElements elements(problem, unit.first_output, unit.begin);
  alignas(64) T buffer[kReduceBlock];
  if (unit.columns == 1) {
    PairwiseResults<Rule, kChunkBlocks> blocks;
    for (int64_t k = unit.begin; k < unit.end; k += kReduceBlock) {
      const int64_t count = std::min(kReduceBlock, unit.end - k);
      *blocks.next() = reduce_block(rule, static_cast<const T*>(elements.take(count, buffer)), count);
      blocks.add_block(1);
    }
    *results = *blocks.finish(1);
    return;
  }
  PairwiseResults<Rule, kChunkBlocks, kReduceColumns> blocks;
  const auto row = [&](int64_t) { return static_cast<const T*>(elements.take_row(unit.columns, buffer)); };
  for (int64_t k = unit.begin; k < unit.end; k += kReduceBlock) {
    reduce_columns(rule, row, std::min(kReduceBlock, unit.end - k), unit.columns, blocks.next());
    blocks.add_block(unit.columns);
  }
  std::copy_n(blocks.finish(unit.columns), unit.columns, results);
}

template <typename T>
void write_output(const ReduceProblem& problem, int64_t output, T value) {
  const int64_t offset = offset_of_output(problem, problem.output, output);
  const auto size = static_cast<int64_t>(size_of(problem.output.dtype));
  convert_elements(problem.output.dtype, static_cast<std::byte*>(problem.output.data) + offset * size, size,
                   dtype_for<T>(), &value, sizeof value, 1);
}

// Of more elements than a chunk has, the chunks' results are combined in the same tree.
template <typename Rule, typename T = typename Rule::Type>
T combine_chunks(const T* chunks, int64_t num_chunks) {
  // As many as there are bits in the number of elements.
  PairwiseResults<Rule, std::numeric_limits<int64_t>::max()> results;
  for (int64_t chunk = 0; chunk < num_chunks; ++chunk) {
    *results.next() = chunks[chunk];
    results.add_block(1);
  }
  return *results.finish(1);
}

// A power of 2 with which squares neither overflow nor become subnormal; 1 if there is none.
double scale_for(const ReduceProblem& problem, const ReduceUnits& units, int64_t output) {
  double largest = 0;
  ReducedElements elements(problem, output, 0);
  double buffer[kReduceBlock];
  for (int64_t k = 0; k < units.length; k += kReduceBlock) {
    const int64_t count = std::min(kReduceBlock, units.length - k);
    const auto* block = static_cast<const double*>(elements.take(count, buffer));
    for (int64_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(block[i]));
  }
  if (largest == 0 || !std::isfinite(largest)) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, std::clamp(-exponent, -1000, 1000));
}

double norm_of(const ReduceProblem& problem, const ReduceUnits& units, int64_t output, double squares) {
  // Below, squares may have lost digits.
  constexpr double kLeast = 0x1p-900;
  if (squares >= kLeast && squares <= std::numeric_limits<double>::max()) return std::sqrt(squares);
  const SquareSum scaled = {.scale = scale_for(problem, units, output)};
  if (scaled.scale == 1) return std::sqrt(squares);
  ReduceUnits one = units;
  one.row_columns = one.group_columns = one.groups_of_row = 1;
  PairwiseResults<SquareSum, std::numeric_limits<int64_t>::max()> chunks;
  for (int64_t chunk = 0; chunk < units.num_chunks; ++chunk) {
    reduce_unit(problem, scaled, ReduceUnit(one, output * units.num_chunks + chunk), chunks.next());
    chunks.add_block(1);
  }
  return std::sqrt(*chunks.finish(1)) / scaled.scale;
}

// The number of elements along the reduction divides a sum in double.
template <typename T>
void finish_output(const ReduceProblem& problem, const ReduceUnits& units, int64_t output, T value) {
  if (problem.reduction == Reduction::Mean) {
    const double mean = static_cast<double>(value) / static_cast<double>(units.length);
    return write_output(problem, output, mean);
  }
  if constexpr (std::is_same_v<T, double>) {
    if (problem.reduction == Reduction::Norm)
      return write_output(problem, output, norm_of(problem, units, output, value));
  }
  write_output(problem, output, value);
}

// ---- index of the largest -------------------------------------------------------------------------------------------

template <typename T>
struct Best {
  T value;
  int64_t index;
};

// Whether `other` takes the place of the best, which stands before it.
template <bool is_largest, typename T>
bool is_better(T other, T best) {
  const bool beats = is_largest ? other > best : other < best;
  return beats || (other != other && best == best);
}

// The first best element of each column of a unit.
template <bool is_largest, typename T>
void find_best(const ReduceProblem& problem, const ReduceUnit& unit, Best<T>* results) {
  using Rule = std::conditional_t<is_largest, MaximumOf<T>, MinimumOf<T>>;
  ReducedElements elements(problem, unit.first_output, unit.begin);
  alignas(64) T buffer[kReduceBlock];
  if (unit.columns == 1) {
    bool has_best = false;
    for (int64_t k = unit.begin; k < unit.end; k += kReduceBlock) {
      const int64_t count = std::min(kReduceBlock, unit.end - k);
      const auto* block = static_cast<const T*>(elements.take(count, buffer));
      const T best = reduce_block(Rule(), block, count);
      if (has_best && !is_better<is_largest>(best, results->value)) continue;
      const T* found = std::find_if(block, block + count, [&](T x) { return x == best || (x != x && best != best); });
      *results = {best, k + (found - block)};
      has_best = true;
    }
    return;
  }
  for (int64_t k = unit.begin; k < unit.end; ++k) {
    const auto* row = static_cast<const T*>(elements.take_row(unit.columns, buffer));
    for (int64_t column = 0; column < unit.columns; ++column) {
      if (k == unit.begin || is_better<is_largest>(row[column], results[column].value))
        results[column] = {row[column], k};
    }
  }
}

// ---- all units ------------------------------------------------------------------------------------------------------

// A reduction: the bytes of a result, and what makes results of units, one for each column, and outputs of them.
struct ReduceFunctions {
  size_t result_bytes;
  void (*reduce)(const ReduceProblem& problem, const ReduceUnit& unit, void* results);
  // The results of an output's chunks are contiguous.
  void (*finish)(const ReduceProblem& problem, const ReduceUnits& units, int64_t output, const void* chunks);
};

template <typename Rule, typename T = typename Rule::Type>
constexpr ReduceFunctions of_rule() {
  return {sizeof(T),
          [](const ReduceProblem& problem, const ReduceUnit& unit, void* results) {
            reduce_unit(problem, Rule(), unit, static_cast<T*>(results));
          },
          [](const ReduceProblem& problem, const ReduceUnits& units, int64_t output, const void* chunks) {
            finish_output(problem, units, output,
                          combine_chunks<Rule>(static_cast<const T*>(chunks), units.num_chunks));
          }};
}

template <bool is_largest, typename T>
constexpr ReduceFunctions of_best() {
  return {sizeof(Best<T>),
          [](const ReduceProblem& problem, const ReduceUnit& unit, void* results) {
            find_best<is_largest>(problem, unit, static_cast<Best<T>*>(results));
          },
          [](const ReduceProblem& problem, const ReduceUnits& units, int64_t output, const void* results) {
            const auto* chunks = static_cast<const Best<T>*>(results);
            Best<T> best = chunks[0];
            for (int64_t chunk = 1; chunk < units.num_chunks; ++chunk) {
              if (is_better<is_largest>(chunks[chunk].value, best.value)) best = chunks[chunk];
            }
            write_output(problem, output, best.index);
          }};
}

template <typename T>
ReduceFunctions functions_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::Sum:
    case Reduction::Mean: return of_rule<SumOf<T>>();
    case Reduction::Max: return of_rule<MaximumOf<T>>();
    case Reduction::Min: return of_rule<MinimumOf<T>>();
    case Reduction::Prod: return of_rule<ProductOf<T>>();
    case Reduction::Norm: return of_rule<SquareSum>();
    case Reduction::ArgMax: return of_best<true, T>();
    case Reduction::ArgMin: return of_best<false, T>();
  }
  __builtin_unreachable();  // there is no other reduction
}

ReduceFunctions functions_of(const ReduceProblem& problem) {
  if (problem.compute == DType::F32) return functions_of<float>(problem.reduction);
  return problem.compute == DType::F64 ? functions_of<double>(problem.reduction)
                                       : functions_of<int64_t>(problem.reduction);
}

// `partials` has room for num_outputs * num_chunks results, if there is more than one chunk.
void run_units(const ReduceProblem& problem, const ReduceUnits& units, const Plan& plan, const Workers& workers,
               std::byte* partials) {
  const ReduceFunctions functions = functions_of(problem);
  const auto size = static_cast<int64_t>(functions.result_bytes);
  run_loop(plan, workers, [&](int64_t task) {
    const int64_t end = std::min(units.num_units(), (task + 1) * units.task_units);
    for (int64_t number = task * units.task_units; number < end; ++number) {
      const ReduceUnit unit(units, number);
      alignas(Best<double>) std::byte results[kReduceColumns * sizeof(Best<double>)];
      functions.reduce(problem, unit, results);
      for (int64_t column = 0; column < unit.columns; ++column) {
        const int64_t output = unit.first_output + column;
        const std::byte* result = results + column * size;
        if (units.num_chunks == 1) {
          functions.finish(problem, units, output, result);
        } else {
          std::memcpy(partials + (output * units.num_chunks + unit.chunk) * size, result, functions.result_bytes);
        }
      }
    }
  });
  if (units.num_chunks == 1) return;
  for (int64_t output = 0; output < units.num_outputs; ++output)
    functions.finish(problem, units, output, partials + output * units.num_chunks * size);
}

// Without elements: 0 of a sum, 1 of a product, NaN of a mean. The other reductions have been refused.
void write_empty(const ReduceProblem& problem) {
  const double value = problem.reduction == Reduction::Prod   ? 1
                       : problem.reduction == Reduction::Mean ? std::numeric_limits<double>::quiet_NaN()
                                                              : 0;
  const int64_t num_outputs = product_of(problem.sizes, 0, first_reduced(problem));
  for (int64_t output = 0; output < num_outputs; ++output) write_output(problem, output, value);
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const ReduceProblem& problem, int32_t num_workers) {
  Plan plan;
  plan.kernel = "reduce";
  plan.isa = kernels.isa;
  const ReduceUnits units(problem);
  const double num_tasks = std::ceil(static_cast<double>(units.num_units()) / static_cast<double>(units.task_units));
  Cost cost = {.flops = count_elements(problem.sizes) * kFlopsPerReducedElement, .bytes = 0};
  // One task is not divided, whatever it costs: small arrays are planned in each call.
  if (num_tasks > 1) cost.bytes = bytes_of_operands(problem);
  plan_loop(plan, num_tasks, work_of(cost), num_workers);
  if (units.num_chunks > 1)
    plan.scratch_bytes = static_cast<size_t>(units.num_outputs * units.num_chunks) * sizeof(Best<double>);
  if (units.row_columns == 1 && is_gathered(problem.input, problem.sizes[kRowAxis]))
    plan.add_reason("the elements that are reduced do not lie side by side (stride 1), so they are gathered");
  return plan;
}

void run_problem(const KernelTable&, const ReduceProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  const ReduceUnits units(problem);
  if (units.num_outputs == 0) return;
  if (units.length == 0) return write_empty(problem);
  run_units(problem, units, plan, workers, static_cast<std::byte*>(scratch));
}

}  // namespace heed::cpu
