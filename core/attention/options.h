// SPDX-License-Identifier: Apache-2.0
// The options that every kind of attention shares. Meanings: docs/semantics.md.
#pragma once

#include <cstdint>

#include "base/json_writer.h"
#include "ops/attention.h"

namespace heed {

// Whether the first or the last query and key are aligned, which matters if there are more or fewer queries than keys.
// The numbers are those of HEED_CAUSAL_ and HEED_WINDOW_; capi/src asserts it.
enum class Alignment : int32_t { None = 0, TopLeft = 1, BottomRight = 2 };

// The numbers of HEED_QK_NORM_ and HEED_ALIBI_; capi/src asserts it.
enum class QkNorm : int32_t { Rms = 0, Layer = 1 };
enum class AlibiUse : int32_t { None = 0, Added = 1, Scaled = 2 };

struct AttentionOptions {
  float scale = 0;  // 0: 1 / sqrt(head_size), or the layer's own default
  float soft_cap = 0;
  float dropout = 0;
  Alignment causal = Alignment::None;
  Alignment window = Alignment::None;
  int64_t window_left = 0;   // negative: unlimited
  int64_t window_right = 0;  // negative: unlimited
  EmptyRows empty_rows = EmptyRows::Zero;
};

// Both throw InvalidArgument that names the member of `options`.
void check_dropout(float dropout);
void check_options(const AttentionOptions& options);

// Adds each option to the JSON object by its name in heed.h, enumerators in words such as "bottom_right".
void write_options(const AttentionOptions& options, JsonWriter& json);

}  // namespace heed
