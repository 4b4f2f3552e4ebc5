// SPDX-License-Identifier: Apache-2.0
// The parameters of PagedAttentionOperation: which of them go together, and which inputs they ask for.
#pragma once

#include <cstdint>
#include <vector>

#include "atb/infer_op_params.h"
#include "atb/operation_base.h"

namespace ascend_sim::atb_library::paged {

// What CreateOperation refuses, or null.
const char* wrong_with(const atb::infer::PagedAttentionParam& param);

uint32_t num_inputs_of(const atb::infer::PagedAttentionParam& param);

// Whether Setup accepts them here, or refuses them as the vendor's does.
bool is_simulated(const atb::infer::PagedAttentionParam& param);

// Query, the caches and the mask have one type. Empty for parameters that are not simulated, since Setup refuses those
// anyway.
std::vector<Types> types_of(const atb::infer::PagedAttentionParam& param);

}  // namespace ascend_sim::atb_library::paged
