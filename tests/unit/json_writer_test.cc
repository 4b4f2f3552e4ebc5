// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <utility>

namespace heed {
namespace {

TEST(JsonWriter, WritesNestedValues) {
  JsonWriter json;
  json.begin_object();
  json.member("text", "a \"quoted\" \\ line\n");
  json.member("number", int64_t{-3});
  json.member("truth", true);
  json.key("empty");
  json.begin_array();
  json.end_array();
  json.key("list");
  json.begin_array();
  json.value(1);
  json.begin_object();
  json.end_object();
  json.end_array();
  json.key("count");
  json.count(50331648.0);
  json.key("huge");
  json.count(0x1p100);
  json.key("infinite");
  json.count(std::numeric_limits<double>::infinity());
  json.key("largest");
  json.count(0x1.fffffffffffffp62);
  json.key("size");
  json.count(SIZE_MAX);
  json.end_object();
  EXPECT_EQ(json.text(), R"({
  "text": "a \"quoted\" \\ line\u000a",
  "number": -3,
  "truth": true,
  "empty": [],
  "list": [
    1,
    {}
  ],
  "count": 50331648,
  "huge": 9223372036854775807,
  "infinite": 9223372036854775807,
  "largest": 9223372036854774784,
  "size": 9223372036854775807
})");
}

TEST(JsonWriter, WritesWithoutSpaces) {
  JsonWriter json(JsonStyle::Compact);
  json.begin_object();
  json.member("text", "a b");
  json.key("list");
  json.begin_array();
  json.value(1);
  json.value(2);
  json.end_array();
  json.end_object();
  EXPECT_EQ(json.text(), R"({"text":"a b","list":[1,2]})");
}

TEST(JsonWriter, WritesFloatsInTheFewestDigitsThatReadAsTheSame) {
  for (const auto& [number, text] : {std::pair<float, const char*>{0.1f, "0.1"},
                                     {-1.0f / 3.0f, "-0.33333334"},
                                     {0.0f, "0"},
                                     {1e-30f, "1e-30"},
                                     {3.4028235e38f, "3.4028235e+38"}}) {
    JsonWriter json;
    json.value(number);
    EXPECT_EQ(json.text(), text);
  }
}

}  // namespace
}  // namespace heed
