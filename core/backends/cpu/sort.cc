// SPDX-License-Identifier: Apache-2.0
// A row is sorted as whole numbers: each element becomes a key of as many bits, in whose order the elements are sorted, followed by
// its index, so that equal elements keep their order and no two numbers are equal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "backends/cpu/elementwise_rows.h"
#include "backends/cpu/engine/planned_loop.h"
#include "backends/cpu/kernel_operand.h"
#include "backends/cpu/operations.h"
#include "backends/cpu/width.h"
#include "base/rounding.h"
#include "tensor/copy.h"

namespace heed::cpu {
namespace {

// For one element and one halving: a comparison that is predicted half of the time.
constexpr double kFlopsPerComparison = 30;
// Elements that are converted together.
constexpr int64_t kConvertedTogether = 256;

// Keys of 32 bits with indices below 2^32 are one number.
struct LongKey {
  uint64_t key;
  int64_t index;
  bool operator<(const LongKey& other) const { return key != other.key ? key < other.key : index < other.index; }
};

bool is_short(const SortProblem& problem) {
  return size_of(problem.input.dtype) <= 4 && problem.sizes[kRowAxis] <= int64_t{UINT32_MAX};
}

// Unsigned numbers in the order of the elements.
template <typename Float>
auto key_of_float(Float x) {
  using Bits = std::conditional_t<sizeof(Float) == 4, uint32_t, uint64_t>;
  if (x != x) return static_cast<Bits>(~Bits{});
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto bits = std::bit_cast<Bits>(x + Float{0});  // 0 of -0
  return static_cast<Bits>((bits & kSign) != 0 ? ~bits : bits | kSign);
}
uint32_t key_of(float x) { return key_of_float(x); }
uint64_t key_of(double x) { return key_of_float(x); }
uint32_t key_of(int32_t x) { return static_cast<uint32_t>(x) ^ 0x80000000u; }
uint64_t key_of(int64_t x) { return static_cast<uint64_t>(x) ^ 0x8000000000000000u; }

// The type with as few bits as can hold every element.
DType wide_dtype(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::BF16: return DType::F32;
    case DType::F64: return DType::F64;
    case DType::I64: return DType::I64;
    case DType::I32:
    case DType::I8:
    case DType::U8:
    case DType::Bool: break;
  }
  return DType::I32;
}

void set_entry(uint64_t& entry, uint32_t key, int64_t index) {
  entry = static_cast<uint64_t>(key) << 32 | static_cast<uint64_t>(index);
}
void set_entry(LongKey& entry, uint32_t key, int64_t index) { entry = {key, index}; }
void set_entry(LongKey& entry, uint64_t key, int64_t index) { entry = {key, index}; }

int64_t index_of(uint64_t entry) { return static_cast<int64_t>(entry & UINT32_MAX); }
int64_t index_of(const LongKey& entry) { return entry.index; }

template <typename Element, typename Entry>
void set_entries(const SortProblem& problem, const StridedRow& input, Entry* entries) {
  const int64_t count = problem.sizes[kRowAxis];
  const int64_t step = input.stride * static_cast<int64_t>(size_of(input.dtype));
  Element elements[kConvertedTogether];
  for (int64_t i = 0; i < count; i += kConvertedTogether) {
    const int64_t part = std::min(kConvertedTogether, count - i);
    convert_elements(wide_dtype(input.dtype), elements, sizeof(Element), input.dtype,
                     static_cast<const std::byte*>(input.data) + i * step, step, part);
    for (int64_t k = 0; k < part; ++k) {
      const auto key = key_of(elements[k]);
      set_entry(entries[i + k], problem.descending != 0 ? static_cast<decltype(key)>(~key) : key, i + k);
    }
  }
}

// Bytes of a worker's scratch: the entries of a row, then its elements, since the values may be the input.
size_t entries_bytes(const SortProblem& problem) {
  const auto count = static_cast<size_t>(problem.sizes[kRowAxis]);
  return round_up_to_alignment(count * (is_short(problem) ? sizeof(uint64_t) : sizeof(LongKey)));
}
size_t worker_bytes(const SortProblem& problem) {
  return entries_bytes(problem) + static_cast<size_t>(problem.sizes[kRowAxis]) * size_of(problem.input.dtype);
}

template <typename Entry>
void sort_row(const SortProblem& problem, int64_t row, std::byte* scratch) {
  auto* entries = reinterpret_cast<Entry*>(scratch);
  const StridedRow input = row_of(problem.sizes, problem.input, row, 0);
  const int64_t count = problem.sizes[kRowAxis];
  const DType wide = wide_dtype(input.dtype);
  if (wide == DType::F32) {
    set_entries<float>(problem, input, entries);
  } else if (wide == DType::I32) {
    set_entries<int32_t>(problem, input, entries);
  } else if constexpr (std::is_same_v<Entry, LongKey>) {
    // Only long entries have room for such keys.
    if (wide == DType::F64) {
      set_entries<double>(problem, input, entries);
    } else {
      set_entries<int64_t>(problem, input, entries);
    }
  }
  if (problem.num_wanted < count) std::nth_element(entries, entries + problem.num_wanted, entries + count);
  std::sort(entries, entries + problem.num_wanted);

  if (problem.values.given != 0) {
    const StridedRow values = row_of(problem.sizes, problem.values, row, 0);
    const auto size = static_cast<int64_t>(size_of(input.dtype));
    std::byte* copy = scratch + entries_bytes(problem);
    convert_elements(input.dtype, copy, size, input.dtype, input.data, input.stride * size, count);
    for (int64_t i = 0; i < problem.num_wanted; ++i) {
      std::copy_n(copy + index_of(entries[i]) * size, size,
                  static_cast<std::byte*>(values.data) + i * values.stride * size);
    }
  }
  if (problem.indices.given != 0) {
    const StridedRow indices = row_of(problem.sizes, problem.indices, row, 0);
    auto* index = static_cast<int64_t*>(indices.data);
    for (int64_t i = 0; i < problem.num_wanted; ++i) index[i * indices.stride] = index_of(entries[i]);
  }
}

}  // namespace

Plan plan_problem(const KernelTable& kernels, const SortProblem& problem, int32_t num_workers) {
  require_width("the length of an axis that is sorted", problem.sizes[kRowAxis]);
  Plan plan;
  plan.kernel = "sort";
  plan.isa = kernels.isa;
  const Cost cost = {.flops = cost_of(problem).flops * kFlopsPerComparison, .bytes = bytes_of_operands(problem)};
  plan_loop_with_scratch(plan, count_tasks_of_rows(problem.sizes), work_of(cost), worker_bytes(problem), num_workers);
  return plan;
}

void run_problem(const KernelTable&, const SortProblem& problem, const Plan& plan, const Workers& workers,
                 void* scratch) {
  if (count_elements(problem.sizes) == 0) return;
  const auto num_rows = static_cast<int64_t>(count_rows(problem.sizes));
  const int64_t task_rows = rows_of_task(problem.sizes[kRowAxis]);
  run_loop_with_scratch(plan, workers, scratch, [&](int64_t task, std::byte* own) {
    const int64_t end = std::min(num_rows, (task + 1) * task_rows);
    for (int64_t row = task * task_rows; row < end; ++row) {
      if (is_short(problem)) {
        sort_row<uint64_t>(problem, row, own);
      } else {
        sort_row<LongKey>(problem, row, own);
      }
    }
  });
}

}  // namespace heed::cpu
