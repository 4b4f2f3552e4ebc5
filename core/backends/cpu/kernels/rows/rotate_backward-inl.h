// SPDX-License-Identifier: Apache-2.0
// Reverses the rotation of a head's gradient: with (a cos - b sin, b cos + a sin) the rotated pair of (a, b), the gradient of a is
// that of the first times cos plus that of the second times sin, and so on.
#pragma once

#include "backends/cpu/kernels/linear/head_transform-inl.h"
#include "backends/cpu/kernels/rows/gradients.h"
#include "backends/cpu/kernels/rows/norm_backward-inl.h"
#include "backends/cpu/kernels/simd/simd.h"

namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {

static void rotate_backward_row(const RotateBackwardArguments* arguments) {
  const HeadTransform& transform = *arguments->transform;
  const int64_t head_size = arguments->head_size;
  const StridedRow& from = arguments->output_gradient;
  float* head = arguments->scratch;
  float* other = head + row_stride(head_size);
  const bool is_interleaved = transform.layout == RotaryLayout::Interleaved;
  widen_row(static_cast<const char*>(from.data), from.dtype, from.stride, head_size, head);
  if (is_interleaved && transform.keeps_order != 0) {
    separate_pairs(transform, head_size, head, other);
    float* const kept = head;
    head = other;
    other = kept;
  }
  const int64_t num_pairs = transform.rotary_size / 2;
  float* const first = head + transform.rotary_offset;
  float* const second = first + num_pairs;
  const float* cosines = arguments->rotations;
  const float* sines = cosines + num_pairs;
  Vec zeros{};
  for (int64_t i = 0; i < num_pairs; i += kLanes) {
    const int64_t count = smaller(num_pairs - i, kLanes);
    const Vec cosine = load_first(cosines + i, count);
    const Vec sine = load_first(sines + i, count);
    const Vec a = load_first(first + i, count);
    const Vec b = load_first(second + i, count);
    const Vec of_a = fma(a, cosine, b * sine);
    const Vec of_b = fma(b, cosine, -(a * sine));
    zeros = fma(of_a, Vec{}, fma(of_b, Vec{}, zeros));
    store_first(first + i, of_a, count);
    store_first(second + i, of_b, count);
  }
  if (any(zeros != zeros) && is_zero_row(from, head_size)) {
    for (int64_t d = 0; d < 2 * num_pairs; ++d) first[d] = 0;
  }
  if (is_interleaved) join_pairs(transform, other, head);
  const StridedRow& to = arguments->sum_gradient;
  narrow_row(head, head_size, static_cast<char*>(to.data), to.dtype, to.stride);
}

}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
