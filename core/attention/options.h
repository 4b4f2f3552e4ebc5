// SPDX-License-Identifier: Apache-2.0
// The options that every kind of attention shares. Meanings: docs/semantics.md.
#pragma once

#include <cstdint>

#include "base/json_writer.h"
#include "ops/attention.h"

namespace heed {

// Where positions are counted from when there are fewer or more queries than keys. Same numbers as HEED_CAUSAL_ and
// HEED_WINDOW_; capi/src asserts it.
enum class Alignment : int32_t { None = 0, TopLeft = 1, BottomRight = 2 };

struct AttentionOptions {
  float scale = 0;  // 0: 1 / sqrt(head_size), unless the layer has put its own default here
  float soft_cap = 0;
  float dropout = 0;
  Alignment causal = Alignment::None;
  Alignment window = Alignment::None;
  int64_t window_left = 0;   // negative: unlimited
  int64_t window_right = 0;  // negative: unlimited
  EmptyRows empty_rows = EmptyRows::Zero;
};

// These throw InvalidArgument naming the member of `options`.
void check_dropout(float dropout);
void check_options(const AttentionOptions& options);

// Adds each as a member of the object, by its name in heed.h, enumerators in words: "bottom_right".
void write_options(const AttentionOptions& options, JsonWriter& json);

}  // namespace heed
