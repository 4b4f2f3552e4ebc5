// SPDX-License-Identifier: Apache-2.0
// Reading JSON as a sequence of events, without a tree of it: trees of nlohmann-json allocate in their destructors,
// where memory that ends would end the process.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace heed {

// Whoever reads a text overrides its functions. One that returns false, or throws, ends the reading.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

// Tells `events` all that the text holds. A zero byte ends the text.
void read_json(std::string_view text, JsonEvents& events);

}  // namespace heed
