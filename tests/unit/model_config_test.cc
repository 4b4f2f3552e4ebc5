// SPDX-License-Identifier: Apache-2.0
// Which settings of a model's config.json are kept: by depth, by name and by type.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "families/model_config.h"

namespace heed {
namespace {

ModelConfig config_of(std::string_view text) { return ModelConfig(MemorySource(text.data(), text.size())); }

TEST(ModelConfig, KeepsSettingsByTheirPaths) {
  const ModelConfig config = config_of(
      R"({"model_type":"a","heads":8,"flag":true,"none":null,"list":["x",[1.5]],"inner":{"model_type":"b","heads":-2}})");
  EXPECT_EQ(config.number("heads"), 8.0);
  EXPECT_EQ(config.flag("flag"), true);
  EXPECT_FALSE(config.has("none"));
  EXPECT_EQ(config.text("list.0"), "x");
  EXPECT_EQ(config.number("list.1.0"), 1.5);
  EXPECT_EQ(config.number("inner.heads"), -2.0);
  EXPECT_EQ(config.number("model_type"), std::nullopt);
  EXPECT_EQ(config.text("heads"), std::nullopt);
  EXPECT_TRUE(config.is_object("inner"));
  EXPECT_FALSE(config.is_object("list"));
  EXPECT_EQ(config.models(), (std::vector<std::string>{"", "inner"}));
}

// Level 1 is the outermost object.
TEST(ModelConfig, KeepsSettingsOfSixLevels) {
  std::string text = "{\"a\":1}";
  std::string path = "a";
  for (size_t level = 1; level <= kMaxModelSettingDepth + 3; ++level) {
    SCOPED_TRACE(level);
    const ModelConfig config = config_of(text);
    EXPECT_EQ(config.has(path), level <= kMaxModelSettingDepth);
    text = "{\"b\":" + text + ",\"c\":[7]}";
    EXPECT_EQ(config_of(text).number("c.0"), 7.0) << "a setting after an object that is too deep";
    path = "b." + path;
  }
}

TEST(ModelConfig, KeepsNoNamesOfLabels) {
  for (const char* const labels : {"id2label", "label2id"}) {
    const std::string text =
        "{\"" + std::string(labels) + "\":{\"0\":\"x\",\"more\":{\"1\":\"y\",\"2\":[1]}},\"heads\":3}";
    const ModelConfig config = config_of(text);
    EXPECT_FALSE(config.has(std::string(labels) + ".0"));
    EXPECT_FALSE(config.has("0"));
    EXPECT_FALSE(config.has("1"));
    EXPECT_FALSE(config.has("more.1"));
    EXPECT_FALSE(config.has("more.2.0"));
    EXPECT_EQ(config.number("heads"), 3.0);
  }
}

// Python writes NaN and Infinity, which JSON lacks. Inside a string they are text.
TEST(ModelConfig, ReadsNumbersThatJsonLacksAsMissing) {
  const ModelConfig config = config_of(R"({"a":NaN,"b":[-Infinity,Infinity],"c":"\\\"NaN","d":1})");
  EXPECT_EQ(config.number("a"), std::nullopt);
  EXPECT_EQ(config.text("a"), "");
  EXPECT_EQ(config.text("b.0"), "");
  EXPECT_EQ(config.text("b.1"), "");
  EXPECT_EQ(config.text("c"), "\\\"NaN");
  EXPECT_EQ(config.number("d"), 1.0);
}

// Values that say nothing are not in use. NaN says that there is no number, but of a setting that may have one.
TEST(ModelConfig, NamesTheSettingsThatSaySomething) {
  const ModelConfig config = config_of(
      R"({"a":null,"b":false,"c":"","d":[],"e":{},"f":0,"g":true,"h":" ","i":[null],"j":{"k":null},"l":NaN,"m":[[]],"n":0.0})");
  EXPECT_EQ(config.names_in_use(), (std::vector<std::string>{"f", "g", "h", "i", "j", "l", "m", "n"}));
}

TEST(ModelConfig, RefusesTextThatIsNotOneObject) {
  for (const char* const text : {"", " ", "[]", "[{}]", "3", "NaN", "{\"a\":1", "{}{}"}) {
    SCOPED_TRACE(text);
    try {
      config_of(text);
      ADD_FAILURE() << "read";
    } catch (const Error& error) {
      EXPECT_EQ(error.status, Status::CorruptFile);
    }
  }
}

}  // namespace
}  // namespace heed
