// SPDX-License-Identifier: Apache-2.0
#include "errors/list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "capi/support/refusal.h"

namespace heed::errors_test {
namespace {

// Text between these two depends on the machine, and is shown as "...".
struct Varying {
  std::string_view before;
  std::string_view behind;  // empty: the end of the sentence
};
constexpr Varying kVarying[] = {
    {"this call needs ", ":"},                       // the needed bytes of a workspace
    {"those that this processor has: ", ""},         // instructions
    {"libheed_ascend.so is not in ", ": expected"},  // the folder of libheed
};

std::string shown(std::string sentence) {
  for (const auto& [before, behind] : kVarying) {
    const size_t found = sentence.find(before);
    if (found == std::string::npos) continue;
    const size_t begin = found + before.size();
    const size_t end = behind.empty() ? sentence.size() : sentence.find(behind, begin);
    sentence.replace(begin, end - begin, "...");
  }
  return sentence;
}

std::string short_name(heed_status status) {
  return std::string(heed_status_name(status)).substr(std::string("HEED_ERROR_").size());
}

bool has_any(const std::string& sentence, std::initializer_list<const char*> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](const char* part) { return sentence.find(part) != std::string::npos; });
}

// Checks what a program can check: the sentence states what was found, and what was expected.
void expect_words(heed_status status, const std::string& sentence) {
  if (status == HEED_ERROR_INVALID_ARGUMENT) {
    const bool has_number = sentence.find_first_of("0123456789") != std::string::npos;
    EXPECT_TRUE(has_number || has_any(sentence, {"\"", "NULL", "HEED_", "BOOL", " nan", " inf", "shares memory",
                                                 "read-only", "has no tensor", "so large", "is that of"}))
        << "says no value: " << sentence;
    EXPECT_TRUE(has_any(sentence, {"expected", " but ", ": "})) << "says not what was expected: " << sentence;
  }
  if (status == HEED_ERROR_IO || status == HEED_ERROR_CORRUPT_FILE || status == HEED_ERROR_NOT_FOUND) {
    EXPECT_TRUE(has_any(sentence, {"\""})) << "names no file, tensor or parameter: " << sentence;
  }
}

}  // namespace

List::Refused List::refused(const Provocation& provocation) {
  capi_test::forget_last_error();
  const std::string call = (provocation.before.empty() ? "" : provocation.before + "; ") + provocation.call;
  const heed_status status = provocation.run();
  EXPECT_NE(status, HEED_OK) << call;
  EXPECT_TRUE(capi_test::is_refused(status, {status, {}})) << call;
  return {status, shown(heed_last_error()), call};
}

List::List(const std::vector<Topic>& topics, std::vector<Unprovoked> unprovoked) : unprovoked_(std::move(unprovoked)) {
  for (const Topic& topic : topics) {
    RefusedTopic& made = topics_.emplace_back(RefusedTopic{topic.title, topic.introduction, {}});
    for (const Provocation& provocation : topic.provocations) made.refused.push_back(refused(provocation));
  }
}

void List::expect_helpful() const {
  std::set<std::string> sentences;
  for (const RefusedTopic& topic : topics_) {
    for (const Refused& each : topic.refused) {
      SCOPED_TRACE(each.call);
      expect_words(each.status, each.sentence);
      EXPECT_TRUE(sentences.insert(each.sentence).second) << "another call gets this already: " << each.sentence;
    }
  }
}

std::string List::text(const std::string& heading) const {
  std::ostringstream text;
  for (const RefusedTopic& topic : topics_) {
    text << "\n" << heading << " " << topic.title << "\n\n";
    if (!topic.introduction.empty()) text << topic.introduction << "\n\n";
    for (const Refused& each : topic.refused) {
      text << "- **" << each.sentence << "**<br>\n  `" << short_name(each.status) << "` from `" << each.call << "`\n";
    }
  }
  text << "\n"
       << heading << " Without a call\n\nThese sentences are in the sources, but no single call causes them.\n\n";
  for (const Unprovoked& each : unprovoked_) text << "- **" << each.format << "**<br>\n  " << each.reason << "\n";
  return text.str();
}

void expect_page(const std::string& path, const std::string& text) {
  if (std::getenv("HEED_UPDATE_ERRORS") != nullptr) std::ofstream(path) << text;
  std::istringstream now(text);
  std::ifstream then(path);
  std::string line;
  std::string listed;
  for (int64_t number = 1; std::getline(now, line); ++number) {
    std::getline(then, listed);
    ASSERT_EQ(line, listed) << "in line " << number << " of " << path << ": scripts/errors writes it anew";
  }
  EXPECT_FALSE(std::getline(then, listed)) << path << " is longer: scripts/errors writes it anew";
}

}  // namespace heed::errors_test
