// SPDX-License-Identifier: Apache-2.0
#include "layers/errors_of_member.h"

#include <string_view>

namespace heed {

void ErrorsOfMember::rethrow(const Error& error) const {
  constexpr std::string_view kOptions = "options->";
  std::string text = error.text;
  const std::string inserted = std::string(member_) + "->";
  for (size_t at = text.find(kOptions); at != std::string::npos; at = text.find(kOptions, at + 1))
    text.insert(at + kOptions.size(), inserted);
  fail(error.status, "%s", text.c_str());
}

}  // namespace heed
