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
  int32_t flash_tile_rows;  // rows of a query tile, of both attention kernels
  int32_t flash_block_keys;
  // Bytes that a task of so many rows needs, beside its key ranges.
  size_t (*flash_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  void (*flash_attention)(const AttentionArguments* arguments, const AttentionTask* task, void* scratch);

  // ---- decode_attention ----
  int32_t decode_block_keys;
  int64_t decode_max_size;  // of a head of keys or values
  // Bytes that a task of so many rows needs, beside its key ranges, and bytes of the partial result of one of its chunks.
  size_t (*decode_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  size_t (*decode_partial_bytes)(const AttentionProblem* problem, int64_t num_rows);
  // The keys first_key .. end_key - 1 of a task; `partial` gets their partial result.
  void (*decode_chunk)(const AttentionArguments* arguments, const AttentionTask* task, int64_t first_key,
                       int64_t end_key, void* partial, void* scratch);
  // The outputs of a task from the partial results of its chunks, which lie one after the other and are overwritten.
  void (*decode_finish)(const AttentionArguments* arguments, const AttentionTask* task, int64_t chunk_keys,
                        int64_t num_chunks, void* partials, void* scratch);

  // ---- linear ----
  int32_t linear_tile_rows;
  int32_t linear_panel_columns;  // of a panel; the last ones may have fewer
  int32_t linear_streams;        // panels that tasks of one tile of rows had best be cut into multiples of
  // Rows and panels of a task at most.
  int64_t (*linear_max_rows)(int64_t input_size);
  int64_t (*linear_max_panels)(int64_t input_size);
  int64_t (*linear_panels)(int64_t output_size);
  // Bytes of a packed weight.
  size_t (*packed_linear_bytes)(int64_t output_size, int64_t input_size, DType dtype);
  void (*pack_linear)(const PackArguments* arguments);
  // to[column * to_stride + row] = from[row * from_stride + column], for elements of 2 or 4 bytes.
  void (*transpose)(const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                    int64_t to_stride, int64_t element_size);
  // Bytes that a task of at most so many rows and panels needs; never decreases when these grow.
  size_t (*linear_scratch_bytes)(int64_t input_size, int64_t num_rows, int64_t num_panels, int32_t is_packed);
  void (*linear_task)(const LinearArguments* arguments, const LinearTask* task, void* scratch);

  // ---- rows, rows.h ----
  // The softmax of the first `length` scores; the other weights up to num_keys are 0. `scratch` has num_keys floats,
  // rounded up to whole vectors.
  void (*softmax_row)(const StridedRow* scores, int64_t length, const StridedRow* weights, int64_t num_keys,
                      float* scratch);
  void (*dropout_row)(const DropoutArguments* arguments);
  void (*copy_row)(const StridedRow* input, const StridedRow* output, int64_t count);
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
