// SPDX-License-Identifier: Apache-2.0
// The list of the kernels that compute a row or a block: for the table of kernels, and in the object of an ISA their code.
#pragma once

#include <stdint.h>

#include "backends/cpu/kernels/linear/matmul.h"
#include "backends/cpu/kernels/rows/rows.h"
#include "ops/activation.h"
#include "ops/elementwise_functions.h"

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
  KERNEL(matmul_block, const MatmulBlock* block)

#ifdef HEED_ISA_TABLE
#include "backends/cpu/kernels/attention/merge-inl.h"
#include "backends/cpu/kernels/linear/matmul-inl.h"
#include "backends/cpu/kernels/rows/activation_row-inl.h"
#include "backends/cpu/kernels/rows/dropout-inl.h"
#include "backends/cpu/kernels/rows/element_functions-inl.h"
#include "backends/cpu/kernels/rows/norm-inl.h"
#include "backends/cpu/kernels/rows/softmax-inl.h"
#endif
