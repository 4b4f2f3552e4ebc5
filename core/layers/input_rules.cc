// SPDX-License-Identifier: Apache-2.0
#include "layers/input_rules.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace heed {
namespace {

std::string with_kind(const char* words, const char* kind) {
  constexpr std::string_view kWithArticle = "%s %s";
  constexpr std::string_view kAlone = "%s";
  std::string text = words;
  if (const size_t at = text.find(kWithArticle); at != std::string::npos)
    return text.replace(at, kWithArticle.size(), std::string(article_of(kind)) + " " + kind);
  if (const size_t at = text.find(kAlone); at != std::string::npos) return text.replace(at, kAlone.size(), kind);
  return text;
}

}  // namespace

void refuse_unread(const GivenInputs& inputs, const InputRules& rules, const char* kind) {
  for (const GivenInput& given : inputs) {
    if (rules.reads.has(given.input)) continue;
    // There is one: covers_all_inputs.
    const auto refusal =
        std::ranges::find_if(rules.refusals, [&](const Refusal& one) { return one.inputs.has(given.input); });
    fail(refusal->status, "%s is set, but %s", given.name, with_kind(refusal->words, kind).c_str());
  }
}

}  // namespace heed
