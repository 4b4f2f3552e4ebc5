// SPDX-License-Identifier: Apache-2.0
// The table of kernels that the object file of each ISA exports. A context uses one table.
#pragma once

#include "backends/cpu/kernels/attention/attention.h"
#include "backends/cpu/kernels/attention/backward.h"
#include "backends/cpu/kernels/linear/linear.h"
#include "backends/cpu/kernels/rows/row_kernels.h"

namespace heed::cpu {

struct KernelTable {
  const char* isa;  // the name in HEED_ISA
  int32_t lanes;    // f32 in a vector

  // ---- flash_attention ----
  int32_t flash_tile_rows;  // rows of a query tile, in both attention kernels
  int32_t flash_block_keys;
  // Scratch bytes of a task with num_rows rows, without its key ranges.
  size_t (*flash_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  void (*flash_attention)(const AttentionArguments* arguments, const AttentionTask* task, void* scratch);

  // ---- attention_backward ----
  int32_t backward_block_queries;
  int32_t backward_block_keys;
  int64_t backward_chunk_keys;  // of a task
  size_t (*backward_scratch_bytes)(const AttentionBackwardProblem* problem);
  int64_t (*backward_query_floats)(const AttentionProblem* problem);
  void (*attention_backward)(const BackwardArguments* arguments, const BackwardTask* task, void* scratch);
  // Adds task->query_sums, which it overwrites, to the gradient of the queries, or writes it there for chunk 0.
  void (*backward_add_queries)(const BackwardArguments* arguments, const BackwardTask* task, void* scratch);

  // ---- decode_attention ----
  int32_t decode_block_keys;
  int64_t decode_max_size;  // largest head size of keys and values
  // Scratch bytes of a task with num_rows rows, without its key ranges, and bytes of the partial result of one chunk.
  size_t (*decode_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  size_t (*decode_partial_bytes)(const AttentionProblem* problem, int64_t num_rows);
  // Computes the partial result of keys first_key .. end_key - 1 of a task.
  void (*decode_chunk)(const AttentionArguments* arguments, const AttentionTask* task, int64_t first_key,
                       int64_t end_key, void* partial, void* scratch);
  // Computes a task's outputs from the partial results of its chunks, which are contiguous and are overwritten.
  void (*decode_finish)(const AttentionArguments* arguments, const AttentionTask* task, int64_t chunk_keys,
                        int64_t num_chunks, void* partials, void* scratch);

  // ---- attention over a cache ----
  int32_t cached_block_keys;
  int64_t cached_chunk_keys;  // the results of chunks of this many keys are merged in order
  int64_t cached_max_rows;    // of a task
  // Scratch bytes of a task with num_rows rows, and bytes of the result of a row.
  size_t (*cached_scratch_bytes)(const AttentionProblem* problem, int64_t num_rows);
  size_t (*cached_result_bytes)(const AttentionProblem* problem);
  // Stores rows first .. end - 1 of the call's keys and values of a batch element, for one key head. `memory` has room
  // for a row of the larger of the two, in whole vectors.
  void (*cached_store)(const AttentionProblem* problem, const Sequence* sequence, int64_t batch_index, int64_t kv_head,
                       int64_t first, int64_t end, float* memory);
  // Prepares the scratch memory of a task for the functions below.
  void (*cached_begin)(const AttentionArguments* arguments, const CachedTask* task, void* scratch);
  // Sets results[r] of each row to the result of the keys that every row sees.
  void (*cached_begin_results)(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                               void* scratch);
  // Sets results[r] of each row to that of the chunk that begins with key first_key.
  void (*cached_chunk)(const AttentionArguments* arguments, const CachedTask* task, int64_t first_key,
                       float* const* results, void* scratch);
  // Merges the result of later keys of a row, which is not used afterwards, into that of earlier ones.
  void (*cached_merge)(const AttentionProblem* problem, float* result, float* later);
  // Writes the outputs of the task's rows from results[r], the results of all keys, which are overwritten.
  void (*cached_finish)(const AttentionArguments* arguments, const CachedTask* task, float* const* results,
                        void* scratch);

  // ---- linear ----
  int32_t linear_tile_rows;
  int32_t linear_panel_columns;  // of a panel; the last panels may have fewer
  int32_t linear_streams;        // a task of one tile of rows should have a multiple of this number of panels
  // The largest numbers of rows and panels in a task.
  int64_t (*linear_max_rows)(int64_t input_size);
  int64_t (*linear_max_panels)(int64_t input_size);
  int64_t (*linear_panels)(int64_t output_size);
  // Bytes of a packed weight; SIZE_MAX if that is too small a number.
  size_t (*packed_linear_bytes)(int64_t output_size, int64_t input_size, DType dtype);
  void (*pack_linear)(const PackArguments* arguments);
  // Writes the block from the packed weight.
  void (*unpack_linear)(const PackArguments* arguments);
  PackedRow (*packed_row)(int64_t output_size, int64_t input_size, int64_t row);
  // to[column * to_stride + row] = from[row * from_stride + column], for elements of 2 or 4 bytes.
  void (*transpose)(const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                    int64_t to_stride, int64_t element_size);
  // Scratch bytes of a task with at most these rows and panels; does not decrease when they grow.
  // `head_size`: of heads that are transformed; 0 if none are.
  size_t (*linear_scratch_bytes)(int64_t input_size, int64_t num_rows, int64_t num_panels, int32_t is_packed,
                                 int64_t head_size);
  // A task with transformed heads has a multiple of this number of panels. If one panel remained at the end, it belongs to
  // the task before.
  int64_t (*linear_head_unit)(int64_t head_size);
  void (*linear_task)(const LinearArguments* arguments, const LinearTask* task, void* scratch);

  // ---- rows ----
#define HEED_MEMBER(name, ...) void (*name)(__VA_ARGS__);
  HEED_ROW_KERNELS(HEED_MEMBER)
#undef HEED_MEMBER
};

extern const KernelTable kPortableKernels;
#if defined(__x86_64__)
extern const KernelTable kAvx2Kernels;
extern const KernelTable kAvx512Kernels;
extern const KernelTable kAvx512Bf16Kernels;  // the functions of kAvx512Kernels
#elif defined(__aarch64__)
extern const KernelTable kNeonKernels;
#endif

}  // namespace heed::cpu
