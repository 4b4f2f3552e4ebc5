// SPDX-License-Identifier: Apache-2.0
// Arguments of the kernels for gradients of norms, activations and transformed heads.
#pragma once

#include <stdint.h>

#include "backends/cpu/kernels/rows/rows.h"
#include "ops/activation.h"
#include "ops/head_transform.h"

namespace heed::cpu {

// A row of F32 from which the gradients of a norm's parameters are summed: its normalized elements are
// ((input[i] * scale - shift) - correction) * factor.
struct NormalizedRow {
  const float* input;  // null: the row adds nothing
  const float* output_gradient;
  float scale;
  float shift;
  float correction;
  float factor;
};

// The gradient of the norm of a row. All rows are F32.
struct NormBackwardArguments {
  StridedRow output_gradient;
  StridedRow input;
  StridedRow addend;          // null: nothing is added
  StridedRow input_gradient;  // null: not wanted; may be the output_gradient's or the addend's
  const float* weight;        // for whole vectors
  int64_t size;
  NormKind kind;
  float epsilon;
  float* scratch;             // for whole vectors
  NormalizedRow* normalized;  // where it is described; null: not wanted
};

// The gradients of a norm's parameters, in a range of columns.
struct NormGradientArguments {
  const NormalizedRow* rows;
  int64_t num_rows;
  int64_t input_stride;  // between the elements of a row
  int64_t gradient_stride;
  StridedRow weight_gradient;  // F32; null: not wanted
  StridedRow bias_gradient;    // the same
  int32_t accumulates_weight;
  int32_t accumulates_bias;
};
// The vectors of such a range.
inline constexpr int64_t kNormGradientVectors = 4;

// Some elements of ActivateBackwardProblem. All rows are F32.
struct ActivateBackwardArguments {
  StridedRow output_gradient;
  StridedRow sum;
  StridedRow factor;           // null: 1
  StridedRow sum_gradient;     // null: not wanted
  StridedRow factor_gradient;  // the same
  Activation activation;
  float scale;
  float soft_cap;  // 0: none
  int64_t count;
};

// The gradient of a head from that of the rotated head. All rows are F32.
struct RotateBackwardArguments {
  const HeadTransform* transform;
  int64_t head_size;
  StridedRow output_gradient;
  StridedRow sum_gradient;
  const float* rotations;  // of the row
  float* scratch;          // two heads of whole vectors
};

}  // namespace heed::cpu
