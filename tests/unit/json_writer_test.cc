// SPDX-License-Identifier: Apache-2.0
#include "base/json_writer.h"

#include <gtest/gtest.h>

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
  "huge": 1.2676506002282294e+30
})");
}

}  // namespace
}  // namespace heed
