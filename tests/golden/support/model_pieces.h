// SPDX-License-Identifier: Apache-2.0
// Models that continue a text: make_models.py sent 16 tokens through each of them in pieces, with the model's own cache,
// and stored what went into the first attention and what came out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/model_attentions.h"

namespace heed::golden {

// 9 tokens, three times one, and 4.
inline constexpr const char* kPieces[] = {"prefill", "step1", "step2", "step3", "chunk"};
inline constexpr int64_t kRowsOfPieces = 16;

// Why tests of pieces are skipped on Ascend.
inline constexpr const char* kNoBounds = "for few rows the bounds on the device accept zeros";

// For example "step1.layer0.attention.input".
std::string name_in_file(const char* piece, const ModelAttention& attention, const char* tensor);

bool has_case(const std::string& family, const std::string& name);

// The others have no cache, or are no first attention. Cross attention sees all its keys in each piece.
std::vector<ModelAttention> attentions_with_pieces();

// The options with which the last query is at the last key.
Options bottom_right(const ModelAttention& attention);

capi_test::Layer load_layer(const capi_test::Context& context, const ModelAttention& attention, Options options);

}  // namespace heed::golden
