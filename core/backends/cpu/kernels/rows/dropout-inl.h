// SPDX-License-Identifier: Apache-2.0
// Dropout of the elements of one row: word i % 4 of Philox's counter i / 4 decides whether element i of a call is kept.
#pragma once

#include "backends/cpu/kernels/attention/row_parts-inl.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/philox-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

constexpr int64_t kWordsAtOnce = 4 * kLanes;

// The random words of elements first .. first + kWordsAtOnce - 1. `first` is a multiple of kWordsAtOnce, so that the
// low half of the counters does not overflow between them.
HEED_INLINE void words_of(int64_t first, uint64_t seed, int32_t* words) {
  const auto quad = static_cast<uint64_t>(first) / 4;
  IntVec counters[4] = {broadcast(static_cast<int32_t>(static_cast<uint32_t>(quad))) | lane_numbers(),
                        broadcast(static_cast<int32_t>(quad >> 32)), IntVec{}, IntVec{}};
  philox_rounds(counters, seed);
  // Word i of a lane's counter belongs to element 4 * lane + i.
  const auto [even_low, even_high] = interleave(counters[0], counters[2]);
  const auto [odd_low, odd_high] = interleave(counters[1], counters[3]);
  const auto first_half = interleave(even_low, odd_low);
  const auto second_half = interleave(even_high, odd_high);
  store(words, first_half.low);
  store(words + kLanes, first_half.high);
  store(words + 2 * kLanes, second_half.low);
  store(words + 3 * kLanes, second_half.high);
}

// Kept elements times the scale; dropped elements become +0, whatever they were.
HEED_INLINE Vec dropped(Vec value, const int32_t* words, const DropoutArguments& arguments) {
  return select(is_kept(load(words), arguments.threshold), value * broadcast(arguments.scale), Vec{});
}

static void dropout_row(const DropoutArguments* arguments) {
  const StridedRow& input = arguments->input;
  const StridedRow& output = arguments->output;
  const int64_t input_step = input.stride * size_of_element(input.dtype);
  const int64_t output_step = output.stride * size_of_element(output.dtype);
  const int64_t end = arguments->first + arguments->count;
  auto* from = static_cast<const char*>(input.data);
  auto* to = static_cast<char*>(output.data);
  for (int64_t i = arguments->first; i < end;) {
    // The additional words are loaded with the last elements and not used.
    int32_t words[kWordsAtOnce + kLanes] = {};
    const int64_t base = i / kWordsAtOnce * kWordsAtOnce;
    words_of(base, arguments->seed, words);
    const int64_t stop = smaller(end, base + kWordsAtOnce);
    while (i < stop) {
      const int64_t count = smaller(stop - i, kLanes);
      float elements[kLanes] = {};
      widen_row(from, input.dtype, input.stride, count, elements);
      Vec value = dropped(load(elements), words + (i - base), *arguments);
      if (arguments->addend.data != nullptr) value += load_row_part(arguments->addend, i - arguments->first, count);
      store(elements, value);
      narrow_row(elements, count, to, output.dtype, output.stride);
      i += count;
      from += count * input_step;
      to += count * output_step;
    }
  }
}

// Copies elements without a conversion.
template <typename Element>
HEED_INLINE void copy_elements(const StridedRow& input, const StridedRow& output, int64_t count) {
  const auto* from = static_cast<const Element*>(input.data);
  auto* to = static_cast<Element*>(output.data);
  for (int64_t i = 0; i < count; ++i) to[i * output.stride] = from[i * input.stride];
}

// Bitwise between rows of the same dtype: a conversion to f32 and back would change the bits of NaN.
static void copy_row(const StridedRow* input, const StridedRow* output, int64_t count) {
  if (input->dtype == output->dtype) {
    if (input->stride == 1 && output->stride == 1) {
      __builtin_memcpy(output->data, input->data, static_cast<size_t>(count * size_of_element(input->dtype)));
    } else if (input->dtype == DType::F32) {
      copy_elements<float>(*input, *output, count);
    } else {
      copy_elements<uint16_t>(*input, *output, count);
    }
    return;
  }
  const auto* from = static_cast<const char*>(input->data);
  auto* to = static_cast<char*>(output->data);
  for (int64_t i = 0; i < count; i += kLanes) {
    const int64_t part = smaller(count - i, kLanes);
    float elements[kLanes];
    widen_row(from + i * input->stride * size_of_element(input->dtype), input->dtype, input->stride, part, elements);
    narrow_row(elements, part, to + i * output->stride * size_of_element(output->dtype), output->dtype, output->stride);
  }
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
