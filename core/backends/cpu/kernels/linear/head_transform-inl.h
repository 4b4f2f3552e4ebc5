// SPDX-License-Identifier: Apache-2.0
// What a projection does to each head before attention reads it: a norm, then rotary positions (ops/head_transform.h).
// Lanes are adjacent elements. The order of the sums depends only on the size of the head.
#pragma once

#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/simd/elements-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

// Copies a head to `to` with the first elements of all interleaved pairs before the second ones.
static void separate_pairs(const HeadTransform& transform, int64_t head_size, const float* from, float* to) {
  const int64_t begin = transform.rotary_offset;
  const int64_t num_pairs = transform.rotary_size / 2;
  for (int64_t d = 0; d < begin; ++d) to[d] = from[d];
  for (int64_t d = begin + 2 * num_pairs; d < head_size; ++d) to[d] = from[d];
  int64_t i = 0;
  for (; i + kLanes <= num_pairs; i += kLanes) {
    IntVec first = bits_of(load(from + begin + 2 * i));
    IntVec second = bits_of(load(from + begin + 2 * i + kLanes));
    separate(first, second);
    store(to + begin + i, from_bits(first));
    store(to + begin + num_pairs + i, from_bits(second));
  }
  for (; i < num_pairs; ++i) {
    to[begin + i] = from[begin + 2 * i];
    to[begin + num_pairs + i] = from[begin + 2 * i + 1];
  }
}

// The first `count` lanes; all of them if `is_whole`.
template <bool is_whole>
HEED_INLINE Vec load_lanes(const float* from, int64_t count) {
  return is_whole ? load(from) : load_first(from, count);
}
template <bool is_whole>
HEED_INLINE void store_lanes(float* to, Vec value, int64_t count) {
  if (is_whole)
    store(to, value);
  else
    store_first(to, value, count);
}

// The norm of one head as a function of each element: (element - shift) * factor * weight.
struct Normalizer {
  Vec shift;
  Vec factor;
  const float* weight;  // null: no norm

  template <bool is_whole>
  HEED_INLINE_MEMBER Vec of(const float* head, int64_t d, int64_t count) const {
    const Vec value = load_lanes<is_whole>(head + d, count);
    return weight == nullptr ? value : (value - shift) * factor * load_lanes<is_whole>(weight + d, count);
  }
};

template <bool is_whole>
HEED_INLINE Normalizer find_normalizer(const HeadTransform& transform, int64_t size, const float* head,
                                       const float* weight) {
  if (transform.norm == NormKind::None) return {Vec{}, Vec{}, nullptr};
  const auto count = static_cast<float>(size);
  Vec shift{};
  if (transform.norm == NormKind::Layer) {
    Vec sum{};
    for (int64_t d = 0; d < size; d += kLanes) sum += load_lanes<is_whole>(head + d, smaller(size - d, kLanes));
    shift = broadcast(sum_of_lanes(sum) / count);
  }
  Vec squares{};
  for (int64_t d = 0; d < size; d += kLanes) {
    const int64_t left = size - d;
    Vec value = load_lanes<is_whole>(head + d, smaller(left, kLanes)) - shift;
    if (!is_whole && left < kLanes)
      value = select(lane_numbers() < broadcast(static_cast<int32_t>(left)), value, Vec{});
    squares = fma(value, value, squares);
  }
  const float mean = sum_of_lanes(squares) / count;
  return {shift, broadcast(1.0f / __builtin_sqrtf(mean + transform.epsilon)), weight};
}

// Writes elements first .. end - 1, normalized.
template <bool is_whole>
HEED_INLINE void store_normalized(const Normalizer& normalizer, const float* from, int64_t first, int64_t end,
                                  float* to) {
  for (int64_t d = first; d < end; d += kLanes) {
    const int64_t count = smaller(end - d, kLanes);
    store_lanes<is_whole>(to + d, normalizer.of<is_whole>(from, d, count), count);
  }
}

// Transforms one head. `from` has the first elements of all pairs before the second ones; it may be `to`. `is_whole`: all
// sizes are multiples of kLanes.
template <bool is_whole>
static void transform_head(const HeadTransform& transform, int64_t head_size, const float* weight,
                           const float* rotations, const float* from, float* to) {
  const Normalizer normalizer = find_normalizer<is_whole>(transform, head_size, from, weight);
  const int64_t begin = transform.rotary_offset;
  const int64_t num_pairs = transform.rotary_size / 2;
  store_normalized<is_whole>(normalizer, from, 0, begin, to);
  for (int64_t i = 0; i < num_pairs; i += kLanes) {
    const int64_t count = smaller(num_pairs - i, kLanes);
    const Vec cosine = load_lanes<is_whole>(rotations + i, count);
    const Vec sine = load_lanes<is_whole>(rotations + num_pairs + i, count);
    const Vec a = normalizer.of<is_whole>(from, begin + i, count);
    const Vec b = normalizer.of<is_whole>(from, begin + num_pairs + i, count);
    store_lanes<is_whole>(to + begin + i, fma(a, cosine, -(b * sine)), count);
    store_lanes<is_whole>(to + begin + num_pairs + i, fma(b, cosine, a * sine), count);
  }
  store_normalized<is_whole>(normalizer, from, begin + 2 * num_pairs, head_size, to);
}

// Moves the elements of interleaved pairs back to where separate_pairs took them from. `scratch` has room for a head.
static void join_pairs(const HeadTransform& transform, float* scratch, float* head) {
  float* const slice = head + transform.rotary_offset;
  const int64_t num_pairs = transform.rotary_size / 2;
  for (int64_t i = 0; i < num_pairs; ++i) {
    scratch[2 * i] = slice[i];
    scratch[2 * i + 1] = slice[num_pairs + i];
  }
  for (int64_t d = 0; d < 2 * num_pairs; ++d) slice[d] = scratch[d];
}

// Floats of scratch for heads of this size: a head, its norm's weights, and the head in F32 where the output is narrower.
HEED_INLINE int64_t transform_floats(int64_t head_size) { return head_size > 0 ? 3 * row_stride(head_size) : 0; }

// The weights of a head's norm in the order of separate_pairs.
static void load_norm_weight(const HeadTransform& transform, int64_t head_size, int64_t head, float* scratch,
                             float* weight) {
  const Operand& operand = transform.norm_weight;
  const bool separates = transform.layout == RotaryLayout::Interleaved;
  float* widened = separates ? scratch : weight;
  widen_row(element_address(operand, head * operand.strides[0]), operand.dtype, operand.strides[3], head_size, widened);
  if (separates) separate_pairs(transform, head_size, widened, weight);
}

// Transforms one head of one row in place. `copy` has row_stride(head_size) floats.
static void transform_head_in_place(const HeadTransform& transform, int64_t head_size, const float* weight,
                                    const float* rotations, float* copy, float* head) {
  const float* from = head;
  if (transform.layout == RotaryLayout::Interleaved) {
    separate_pairs(transform, head_size, head, copy);
    from = copy;
  }
  const bool is_whole =
      head_size % kLanes == 0 && transform.rotary_offset % kLanes == 0 && transform.rotary_size % (2 * kLanes) == 0;
  if (is_whole)
    transform_head<true>(transform, head_size, weight, rotations, from, head);
  else
    transform_head<false>(transform, head_size, weight, rotations, from, head);
  if (transform.keeps_order != 0 && transform.layout == RotaryLayout::Interleaved) join_pairs(transform, copy, head);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
