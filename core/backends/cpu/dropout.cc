// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/dropout.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "backends/cpu/dropout_mask.h"
#include "backends/cpu/elements.h"
#include "base/half.h"
#include "tensor/walk.h"

namespace heed::cpu {
namespace {

static_assert(kElementwiseRank == kMaxRank);

constexpr int kLast = kElementwiseRank - 1;

// The bits of NaN stay, which a conversion there and back would not keep.
template <typename Element>
void copy_row(const DropoutProblem& problem, int64_t input, int64_t output) {
  const auto* from = static_cast<const Element*>(problem.input.data) + input;
  auto* to = static_cast<Element*>(problem.output.data) + output;
  for (int64_t i = 0; i < problem.sizes[kLast]; ++i)
    to[i * problem.output.strides[kLast]] = from[i * problem.input.strides[kLast]];
}

void convert_row(const DropoutProblem& problem, int64_t input, int64_t output) {
  for (int64_t i = 0; i < problem.sizes[kLast]; ++i) {
    store_element(problem.output.data, problem.output.dtype, output + i * problem.output.strides[kLast],
                  load_element(problem.input.data, problem.input.dtype, input + i * problem.input.strides[kLast]));
  }
}

// `first` is the row's first element among all.
void drop_row(const DropoutProblem& problem, const DropoutMask& mask, float scale, int64_t input, int64_t output,
              int64_t first) {
  const int64_t end = first + problem.sizes[kLast];
  for (int64_t place = first; place < end;) {
    const PhiloxCounter words = mask.words_of(place / 4);
    for (const int64_t stop = std::min(end, place / 4 * 4 + 4); place < stop; ++place) {
      const int64_t i = place - first;
      const float value =
          load_element(problem.input.data, problem.input.dtype, input + i * problem.input.strides[kLast]);
      store_element(problem.output.data, problem.output.dtype, output + i * problem.output.strides[kLast],
                    mask.keeps(words, place) ? value * scale : 0.0f);
    }
  }
}

}  // namespace

Plan plan_dropout(const DropoutProblem& problem, int32_t /*num_workers*/) {
  Plan plan;
  plan.kernel = problem.dropout == 0 ? "copy" : "element_by_element";
  plan.isa = "portable";
  return plan;
}

void run_dropout(const DropoutProblem& problem, const Workers& /*workers*/) {
  if (problem.sizes[kLast] == 0) return;
  Shape rows;  // all axes but the last
  rows.rank = kLast;
  Dims input_strides{};
  Dims output_strides{};
  std::copy_n(problem.sizes, kElementwiseRank, rows.dims.begin());
  std::copy_n(problem.input.strides, kElementwiseRank, input_strides.begin());
  std::copy_n(problem.output.strides, kElementwiseRank, output_strides.begin());

  const DropoutMask mask(problem.dropout, problem.seed);
  const float scale = dropout_scale(problem.dropout);
  const bool same_dtype = problem.input.dtype == problem.output.dtype;
  int64_t first = 0;
  walk<2>(rows, {input_strides, output_strides}, [&](const auto& offsets) {
    const auto [input, output] = offsets;
    if (problem.dropout != 0) {
      drop_row(problem, mask, scale, input, output, first);
    } else if (!same_dtype) {
      convert_row(problem, input, output);
    } else if (problem.input.dtype == DType::F32) {
      copy_row<float>(problem, input, output);
    } else if (problem.input.dtype == DType::F16) {
      copy_row<Half>(problem, input, output);
    } else {
      copy_row<BFloat16>(problem, input, output);
    }
    first += problem.sizes[kLast];
  });
}

}  // namespace heed::cpu
