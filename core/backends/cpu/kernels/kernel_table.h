// SPDX-License-Identifier: Apache-2.0
// What the object of an ISA exports: one table, of which a context chooses one.
#pragma once

#include "backends/cpu/kernels/attention.h"
#include "backends/cpu/kernels/linear.h"
#include "backends/cpu/kernels/rows.h"

namespace heed::cpu {

struct KernelTable {
  const char* isa;  // as HEED_ISA names it
  int32_t lanes;    // f32 in a vector

  // ---- flash_attention ----
  int32_t flash_panel_rows;  // rows of a panel
  int32_t flash_block_keys;
  // Bytes that a task of so many rows needs, beside its key ranges.
  size_t (*flash_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  void (*flash_attention)(const AttentionArguments* arguments, const AttentionTask* task, void* scratch);

  // ---- decode_attention ----
  int32_t decode_block_keys;
  int64_t decode_max_size;  // of a head of keys or values
  // Bytes that a task of so many rows needs, beside its key ranges, and what each of its chunks leaves behind.
  size_t (*decode_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  size_t (*decode_partial_bytes)(const AttentionProblem* problem, int64_t num_rows);
  // The keys first_key .. end_key - 1 of an item; `partial` gets what they leave behind.
  void (*decode_chunk)(const AttentionArguments* arguments, const AttentionTask* task, int64_t first_key,
                       int64_t end_key, void* partial, void* scratch);
  // The outputs of an item from what its chunks left, one after the other, which is overwritten.
  void (*decode_finish)(const AttentionArguments* arguments, const AttentionTask* task, int64_t chunk_keys,
                        int64_t num_chunks, void* partials, void* scratch);

  // ---- linear ----
  int32_t linear_tile_rows;
  int32_t linear_panel_columns;  // of a panel; the last ones may have fewer
  int32_t linear_streams;        // panels that items of one tile of rows had best be cut into multiples of
  // Rows and panels of an item at most.
  int64_t (*linear_max_rows)(int64_t input_size);
  int64_t (*linear_max_panels)(int64_t input_size);
  int64_t (*linear_panels)(int64_t output_size);
  // Bytes of a packed weight.
  size_t (*packed_linear_bytes)(int64_t output_size, int64_t input_size, DType dtype);
  void (*pack_linear)(const PackArguments* arguments);
  // to[column * to_stride + row] = from[row * from_stride + column], for elements of 2 or 4 bytes.
  void (*transpose)(const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                    int64_t to_stride, int64_t element_size);
  // Bytes that an item of at most so many rows and panels needs; never decreases when these grow.
  size_t (*linear_scratch_bytes)(int64_t input_size, int64_t num_rows, int64_t num_panels, int32_t is_packed);
  void (*linear_item)(const LinearArguments* arguments, const LinearItem* item, void* scratch);

  // ---- rows, rows.h ----
  // The softmax of the first `length` scores; the other weights up to num_keys are 0. `scratch` has num_keys floats,
  // rounded up to whole vectors.
  void (*softmax_row)(const KernelRow* scores, int64_t length, const KernelRow* weights, int64_t num_keys,
                      float* scratch);
  void (*dropout_row)(const DropoutArguments* arguments);
  void (*copy_row)(const KernelRow* input, const KernelRow* output, int64_t count);
  void (*merge_row)(const MergeArguments* arguments);
};

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;
#elif defined(__aarch64__)
extern const KernelTable kNeonKernels;
#endif

}  // namespace heed::cpu
