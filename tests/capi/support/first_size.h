// SPDX-License-Identifier: Apache-2.0
// The size of a struct of heed.h before members were added to it: the smallest that a caller's struct can have.
#pragma once

#include <heed/heed.h>

#include <cstddef>

namespace heed::capi_test {

template <typename Struct>
inline constexpr size_t kFirstSize = sizeof(Struct);
template <>
inline constexpr size_t kFirstSize<heed_layer_inputs> = offsetof(heed_layer_inputs, alibi_slopes);
template <>
inline constexpr size_t kFirstSize<heed_multi_head_attention_options> = offsetof(heed_multi_head_attention_options,
                                                                                 rope);

template <>
inline constexpr size_t kFirstSize<heed_rope_options> = offsetof(heed_rope_options, short_factors);
template <>
inline constexpr size_t kFirstSize<heed_load_options> = offsetof(heed_load_options, progress);
template <>
inline constexpr size_t kFirstSize<heed_sequence_inputs> = offsetof(heed_sequence_inputs, key_positions);
template <>
inline constexpr size_t kFirstSize<heed_decoder_inputs> = offsetof(heed_decoder_inputs, self_attention_mask);
template <>
inline constexpr size_t kFirstSize<heed_cache_options> = offsetof(heed_cache_options, layer_capacities);
template <>
inline constexpr size_t kFirstSize<heed_layer_outputs> = offsetof(heed_layer_outputs, taps);
template <>
inline constexpr size_t kFirstSize<heed_patch_embedding_options> = offsetof(heed_patch_embedding_options, image_height);

}  // namespace heed::capi_test
