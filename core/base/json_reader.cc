// SPDX-License-Identifier: Apache-2.0
#include "base/json_reader.h"

namespace heed {

// Takes the base class, so that the parser, some 40 KB of code, is compiled once for all formats.
void read_json(std::string_view text, JsonEvents& events) {
  nlohmann::json::sax_parse(text.begin(), text.end(), &events);
}

}  // namespace heed
