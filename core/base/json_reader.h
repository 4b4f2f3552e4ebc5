// SPDX-License-Identifier: Apache-2.0
// Reads JSON as a sequence of events. It builds no document, because a nlohmann-json document allocates in its
// destructor: running out of memory there would end the process.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

namespace heed {

// A reader derives from it and overrides its functions; a function that returns false or throws ends the reading.
using JsonEvents = nlohmann::json_sax<nlohmann::json>;

// Calls the functions of `events` for everything in the text. A zero byte ends the text.
void read_json(std::string_view text, JsonEvents& events);

}  // namespace heed
