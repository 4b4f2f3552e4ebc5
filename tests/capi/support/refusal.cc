// SPDX-License-Identifier: Apache-2.0
#include "capi/support/refusal.h"

#include <algorithm>

namespace heed::capi_test {
namespace {

constexpr size_t kLongestSentence = 511;

// An address that is never dereferenced, only compared.
template <typename Object>
Object* sentinel() {
  static char place;
  return reinterpret_cast<Object*>(&place);
}

// Without what stands between quotes: names of the caller, which may have anything in them.
std::string without_quotes(const std::string& text) {
  std::string rest;
  bool is_inside = false;
  for (const char c : text) {
    if (c == '"') is_inside = !is_inside;
    if (!is_inside) rest += c;
  }
  return rest;
}

bool is_one_sentence(const std::string& text) {
  const bool is_ascii = std::all_of(text.begin(), text.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return is_ascii && !text.empty() && text.size() <= kLongestSentence && text.back() != '.' &&
         without_quotes(text).find(". ") == std::string::npos && text.front() != ' ' && text.back() != ' ';
}

}  // namespace

void forget_last_error() { heed_device_count(static_cast<heed_device>(3)); }

testing::AssertionResult is_refused(heed_status returned, const Refusal& expected) {
  const std::string sentence = heed_last_error();
  if (returned != expected.status) {
    return testing::AssertionFailure() << "returned " << heed_status_name(returned) << ", expected "
                                       << heed_status_name(expected.status) << " (last error: " << sentence << ")";
  }
  if (heed_last_status() != expected.status)
    return testing::AssertionFailure() << "heed_last_status is " << heed_status_name(heed_last_status());
  if (!is_one_sentence(sentence)) return testing::AssertionFailure() << "not one sentence: " << sentence;
  for (const std::string& word : expected.words) {
    if (sentence.find(word) == std::string::npos)
      return testing::AssertionFailure() << "no \"" << word << "\" in: " << sentence;
  }
  return testing::AssertionSuccess();
}

OutParameters::OutParameters()
    : context(sentinel<heed_context>()),
      tensor(sentinel<heed_tensor>()),
      layer(sentinel<heed_layer>()),
      workspace(sentinel<heed_workspace>()) {
  text.fill('#');
}

void expect_refused(const std::vector<RefusedCall>& calls) {
  for (const RefusedCall& row : calls) {
    SCOPED_TRACE(row.what);
    OutParameters out;
    forget_last_error();
    EXPECT_TRUE(is_refused(row.call(out), row.expected));
    EXPECT_TRUE(out == OutParameters()) << "an out-parameter was touched";
  }
}

}  // namespace heed::capi_test
