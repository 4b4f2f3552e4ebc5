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
#include "errors/said_lines.h"

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

// In `expected` ... is any text.
bool says(std::string_view sentence, std::string_view expected) {
  constexpr std::string_view kAnyText = "...";
  const size_t any = expected.find(kAnyText);
  if (any == std::string_view::npos) return sentence == expected;
  if (!sentence.starts_with(expected.substr(0, any))) return false;
  const std::string_view rest = expected.substr(any + kAnyText.size());
  for (size_t begin = any; begin <= sentence.size(); ++begin) {
    if (says(sentence.substr(begin), rest)) return true;
  }
  return false;
}

}  // namespace

void expect_bad_value(bool is_bad_value) { EXPECT_TRUE(is_bad_value) << "a getter returned a value"; }

void Stage::begin() { capi_test::forget_last_error(); }

Refused Stage::end(heed_status status) {
  EXPECT_NE(status, HEED_OK);
  EXPECT_TRUE(capi_test::is_refused(status, {status, {}}));
  keep_said();
  return {status, heed_last_error()};
}

Cases::Cases(std::initializer_list<Cases> parts) {
  for (const Cases& part : parts) all_.insert(all_.end(), part.all_.begin(), part.all_.end());
}

Cases by(Reach reach, Cases cases) {
  for (Case& each : cases.all()) each.settings = {{std::nullopt, reach}};
  return cases;
}

Cases of(const std::vector<capi_test::Kind>& kinds, Cases cases) {
  for (Case& each : cases.all()) {
    const std::optional<Reach> reach = each.settings.front().reach;
    each.settings.clear();
    for (const capi_test::Kind kind : kinds) each.settings.push_back({kind, reach});
  }
  return cases;
}

Cases by(Reach reach, const std::vector<capi_test::Kind>& kinds, Cases cases) {
  return of(kinds, by(reach, std::move(cases)));
}

List::List(const std::vector<Topic>& topics, std::vector<Unprovoked> unprovoked) : unprovoked_(std::move(unprovoked)) {
  for (const Topic& topic : topics) {
    ListedTopic& made = topics_.emplace_back(ListedTopic{topic.title, topic.introduction, {}});
    for (const Case& each : topic.cases.all()) {
      const std::string call = (each.before.empty() ? "" : each.before + "; ") + each.call;
      std::optional<Refused> first;
      for (const Setting& setting : each.settings) {
        SCOPED_TRACE(call + (setting.kind ? std::string(" of ") + capi_test::name_of(*setting.kind) : ""));
        const Refused refused = each.run(setting);
        if (!first) first = refused;
        if (!each.expected) {
          EXPECT_EQ(refused.sentence, first->sentence);
          continue;
        }
        EXPECT_EQ(refused.status, each.expected->status);
        EXPECT_TRUE(says(refused.sentence, each.expected->sentence))
            << "it says: " << refused.sentence << "\nexpected: " << each.expected->sentence;
      }
      if (!each.expected) made.listed.push_back({{first->status, shown(first->sentence)}, call});
    }
  }
}

void List::expect_helpful() const {
  std::set<std::string> sentences;
  for (const ListedTopic& topic : topics_) {
    for (const auto& [refused, call] : topic.listed) {
      SCOPED_TRACE(call);
      expect_words(refused.status, refused.sentence);
      EXPECT_TRUE(sentences.insert(refused.sentence).second) << "another call gets this already: " << refused.sentence;
    }
  }
}

std::string List::text(const std::string& heading) const {
  std::ostringstream text;
  for (const ListedTopic& topic : topics_) {
    text << "\n" << heading << " " << topic.title << "\n\n";
    if (!topic.introduction.empty()) text << topic.introduction << "\n\n";
    for (const auto& [refused, call] : topic.listed) {
      text << "- **" << refused.sentence << "**<br>\n  `" << short_name(refused.status) << "` from `" << call << "`\n";
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
