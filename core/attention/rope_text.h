// SPDX-License-Identifier: Apache-2.0
// Rotary positions as text, as files of caches have them.
#pragma once

#include <cstdint>
#include <string_view>

namespace heed {

// Whether a RotaryTable of heads of that size may have this text.
bool is_rope_text(std::string_view text, int64_t head_size);

}  // namespace heed
