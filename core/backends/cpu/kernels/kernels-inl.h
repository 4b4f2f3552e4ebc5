// SPDX-License-Identifier: Apache-2.0
// All kernels for one ISA, and the table that its object file exports. An ISA's .cc file defines HEED_ISA_NAMESPACE,
// HEED_ISA_TEXT, HEED_ISA_TABLE and the choice of its shim, and includes this file.
#pragma once

#include "backends/cpu/kernels/attention/attention_backward-inl.h"
#include "backends/cpu/kernels/attention/cached_attention-inl.h"
#include "backends/cpu/kernels/attention/decode_attention-inl.h"
#include "backends/cpu/kernels/attention/flash_attention-inl.h"
#include "backends/cpu/kernels/kernel_table.h"
#include "backends/cpu/kernels/linear/linear-inl.h"
#include "backends/cpu/kernels/linear/packing-inl.h"

namespace heed::cpu {

extern constexpr KernelTable HEED_ISA_TABLE = {
    .isa = HEED_ISA_TEXT,
    .lanes = HEED_ISA_NAMESPACE::kLanes,
    .flash_tile_rows = HEED_ISA_NAMESPACE::kQueryTileRows,
    .flash_block_keys = HEED_ISA_NAMESPACE::kBlockKeys,
    .flash_scratch_bytes = HEED_ISA_NAMESPACE::flash_scratch_bytes,
    .flash_attention = HEED_ISA_NAMESPACE::flash_attention,
    .backward_block_queries = static_cast<int32_t>(HEED_ISA_NAMESPACE::kBlockQueries),
    .backward_block_keys = static_cast<int32_t>(HEED_ISA_NAMESPACE::kGroupKeys),
    .backward_chunk_keys = HEED_ISA_NAMESPACE::kChunkKeys,
    .backward_scratch_bytes = HEED_ISA_NAMESPACE::backward_scratch_bytes,
    .backward_query_floats = HEED_ISA_NAMESPACE::backward_query_floats,
    .attention_backward = HEED_ISA_NAMESPACE::attention_backward,
    .backward_add_queries = HEED_ISA_NAMESPACE::backward_add_queries,
    .decode_block_keys = static_cast<int32_t>(HEED_ISA_NAMESPACE::kRowBlockKeys),
    .decode_max_size = HEED_ISA_NAMESPACE::kDecodeMaxSize,
    .decode_scratch_bytes = HEED_ISA_NAMESPACE::decode_scratch_bytes,
    .decode_partial_bytes = HEED_ISA_NAMESPACE::decode_partial_bytes,
    .decode_chunk = HEED_ISA_NAMESPACE::decode_chunk,
    .decode_finish = HEED_ISA_NAMESPACE::decode_finish,
    .cached_block_keys = static_cast<int32_t>(HEED_ISA_NAMESPACE::kCachedBlockKeys),
    .cached_chunk_keys = HEED_ISA_NAMESPACE::kCachedChunkKeys,
    .cached_max_rows = HEED_ISA_NAMESPACE::kCachedMaxRows,
    .cached_scratch_bytes = HEED_ISA_NAMESPACE::cached_scratch_bytes,
    .cached_result_bytes = HEED_ISA_NAMESPACE::cached_result_bytes,
    .cached_store = HEED_ISA_NAMESPACE::cached_store,
    .cached_begin = HEED_ISA_NAMESPACE::cached_begin,
    .cached_begin_results = HEED_ISA_NAMESPACE::cached_begin_results,
    .cached_chunk = HEED_ISA_NAMESPACE::cached_chunk,
    .cached_merge = HEED_ISA_NAMESPACE::cached_merge,
    .cached_finish = HEED_ISA_NAMESPACE::cached_finish,
    .linear_tile_rows = HEED_ISA_NAMESPACE::kLinearRows,
    .linear_panel_columns = static_cast<int32_t>(HEED_ISA_NAMESPACE::kPanelColumns),
    .linear_streams = HEED_ISA_NAMESPACE::kMaxStreams,
    .linear_max_rows = HEED_ISA_NAMESPACE::linear_max_rows,
    .linear_max_panels = HEED_ISA_NAMESPACE::linear_max_panels,
    .linear_panels = HEED_ISA_NAMESPACE::panels_of,
    .packed_linear_bytes = HEED_ISA_NAMESPACE::packed_linear_bytes,
    .pack_linear = HEED_ISA_NAMESPACE::pack_linear,
    .unpack_linear = HEED_ISA_NAMESPACE::unpack_linear,
    .packed_row = HEED_ISA_NAMESPACE::packed_row,
    .transpose = HEED_ISA_NAMESPACE::transpose_elements,
    .linear_scratch_bytes = HEED_ISA_NAMESPACE::linear_scratch_bytes,
    .linear_head_unit = HEED_ISA_NAMESPACE::linear_head_unit,
    .linear_task = HEED_ISA_NAMESPACE::linear_task,
#define HEED_OF_ISA(name, ...) .name = HEED_ISA_NAMESPACE::name,
    HEED_ROW_KERNELS(HEED_OF_ISA)
#undef HEED_OF_ISA
};

}  // namespace heed::cpu
