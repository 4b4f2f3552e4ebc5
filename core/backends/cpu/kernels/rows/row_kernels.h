// SPDX-License-Identifier: Apache-2.0
// The list of the kernels that compute a row or a block: for the table of kernels, and in the object of an ISA their code.
#pragma once

#include <stdint.h>

#include "backends/cpu/kernels/linear/matmul.h"
#include "backends/cpu/kernels/linear/weight_gradient.h"
#include "backends/cpu/kernels/rows/gradients.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "ops/activation.h"
#include "ops/elementwise_functions.h"
#include "ops/update.h"

// KERNEL(name, parameters...) for each of these functions, which have no result. The files below say what they do.
#define HEED_ROW_KERNELS(KERNEL)                                                                                  \
  KERNEL(softmax_row, const StridedRow* scores, int64_t length, const StridedRow* weights, int64_t num_keys,      \
         int32_t is_logarithm, float* scratch)                                                                    \
  KERNEL(dropout_row, const DropoutArguments* arguments)                                                          \
  KERNEL(copy_row, const StridedRow* input, const StridedRow* output, int64_t count)                              \
  KERNEL(merge_row, const MergeArguments* arguments)                                                              \
  KERNEL(add_row, const StridedRow* a, const StridedRow* b, const StridedRow* output, int64_t count)              \
  KERNEL(norm_row, const NormArguments* arguments)                                                                \
  KERNEL(scale_row, const StridedRow* input, const StridedRow* addend, const StridedRow* output, int64_t count,   \
         float scale)                                                                                             \
  KERNEL(activation_row, Activation activation, const StridedRow* input, const StridedRow* output, int64_t count) \
  KERNEL(element_block, ElementFunction function, const float* a, const float* b, float* output, int64_t count)   \
  KERNEL(matmul_block, const MatmulBlock* block)                                                                  \
  KERNEL(norm_backward_row, const NormBackwardArguments* arguments)                                               \
  KERNEL(norm_gradients, const NormGradientArguments* arguments, int64_t first, int64_t count)                    \
  KERNEL(activation_backward_row, const ActivateBackwardArguments* arguments)                                     \
  KERNEL(rotate_backward_row, const RotateBackwardArguments* arguments)                                           \
  KERNEL(rows_with_gradient, const WeightGradientArguments* arguments, int64_t* row_numbers, int64_t* num_rows)   \
  KERNEL(weight_gradient_task, const WeightGradientArguments* arguments, const WeightGradientTask* task,          \
         float* scratch)                                                                                          \
  KERNEL(bias_gradient_task, const WeightGradientArguments* arguments, int64_t first_output, int64_t count)       \
  KERNEL(sum_powers, CrossEntropyRow* row)                                                                        \
  KERNEL(scale_and_subtract, float* values, int64_t count, float factor, float subtrahend)                        \
  KERNEL(update_elements, const UpdateArguments* arguments)

#ifdef HEED_ISA_TABLE
#include "backends/cpu/kernels/attention/merge-inl.h"
#include "backends/cpu/kernels/linear/matmul-inl.h"
#include "backends/cpu/kernels/linear/weight_gradient-inl.h"
#include "backends/cpu/kernels/rows/activation_backward-inl.h"
#include "backends/cpu/kernels/rows/activation_row-inl.h"
#include "backends/cpu/kernels/rows/cross_entropy-inl.h"
#include "backends/cpu/kernels/rows/dropout-inl.h"
#include "backends/cpu/kernels/rows/element_functions-inl.h"
#include "backends/cpu/kernels/rows/norm-inl.h"
#include "backends/cpu/kernels/rows/norm_backward-inl.h"
#include "backends/cpu/kernels/rows/rotate_backward-inl.h"
#include "backends/cpu/kernels/rows/softmax-inl.h"
#include "backends/cpu/kernels/rows/update-inl.h"
#endif
