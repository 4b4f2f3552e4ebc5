// SPDX-License-Identifier: Apache-2.0
// The records of families, and the names of settings: each model_type in one record, and what the records say of settings
// true of the configurations in tests/golden.
#include "families/families.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "families/model_config.h"

namespace heed {
namespace {

std::vector<Setting> all_settings() {
  std::vector<Setting> all;
  for (size_t i = 1; i < kNumSettings; ++i) all.push_back(static_cast<Setting>(i));
  return all;
}

std::vector<Family> model_families() {
  std::vector<Family> models;
  for (const std::span<const Family> families : all_families()) {
    for (const Family& family : families) {
      if (family.kind != ModelKind::None) models.push_back(family);
    }
  }
  return models;
}

std::vector<std::string> names_of(const Family& family) {
  std::istringstream words{std::string(family.model_types)};
  std::vector<std::string> names;
  for (std::string name; words >> name;) names.push_back(name);
  return names;
}

// The configurations of models that transformers saved and of those that only NumPy computes.
std::vector<ModelConfig> golden_configs() {
  std::vector<ModelConfig> configs;
  for (const char* folder : {"models", "model_settings"}) {
    for (const auto& entry :
         std::filesystem::directory_iterator(std::string(HEED_SOURCE_DIR "/tests/golden/data/") + folder)) {
      if (std::optional<ModelConfig> config = find_model_config(entry.path().string()))
        configs.push_back(std::move(*config));
    }
  }
  return configs;
}

std::string type_of(const ModelConfig& config) {
  return std::string(config.text(name_of(Setting::ModelType)).value_or(""));
}

TEST(Families, AreFoundByEachOfTheirModelTypes) {
  size_t count = 0;
  for (const std::span<const Family> families : all_families()) {
    for (const Family& family : families) {
      EXPECT_TRUE(family.is_known);
      for (const std::string& name : names_of(family)) {
        EXPECT_EQ(&family_of(name), &family) << name << " is in two records";
        ++count;
      }
    }
  }
  EXPECT_GE(model_families().size(), 27u);
  EXPECT_GE(count, 220u);
}

TEST(Families, OfOtherModelTypesAreNotKnown) {
  for (const char* type : {"", " ", "lla", "llama2", "Llama", "phi nemotron", "-generation"})
    EXPECT_FALSE(family_of(type).is_known) << type;
}

TEST(Families, AreOfWholeModelsIfTheyHaveAKind) {
  for (const std::span<const Family> families : all_families()) {
    for (const Family& family : families) {
      const bool is_of_models = family.kind != ModelKind::None;
      if (is_of_models) {
        EXPECT_EQ(names_of(family).size(), 1u) << family.model_types;
      }
      for (const std::string& name : names_of(family))
        EXPECT_EQ(model_family_of(name), is_of_models ? &family : nullptr) << name;
    }
  }
}

TEST(Families, HaveOnlySettingsThatWholeModelsMayHave) {
  for (const Family& family : model_families()) {
    for (const Setting setting : all_settings()) {
      if (has_setting(family, setting)) {
        EXPECT_NE(users_of(setting), Users::NoWholeModels) << family.model_types << ": " << name_of(setting);
      }
    }
  }
}

// A setting that only readers may have is of one at least; otherwise no configuration could have it.
TEST(Settings, OfReadersHaveReaders) {
  for (const Setting setting : all_settings()) {
    bool is_read = users_of(setting) != Users::Readers;
    for (const Family& family : model_families()) is_read = is_read || has_setting(family, setting);
    EXPECT_TRUE(is_read) << name_of(setting);
  }
}

TEST(Settings, AreFoundByTheirNames) {
  for (const Setting setting : all_settings()) {
    EXPECT_NE(std::string(name_of(setting)), "");
    EXPECT_EQ(setting_of(name_of(setting)), setting) << name_of(setting);
  }
  for (const char* name : {"", "hidden", "hidden_act ", "n_head.0", "dropout"})
    EXPECT_EQ(setting_of(name), Setting::None) << name;
}

// Each family of whole models is computed by transformers in a folder of golden data, or is the same as one that is.
TEST(Families, OfWholeModelsHaveGoldenData) {
  const std::map<std::string, std::string> same_as = {
      {"camembert", "roberta"}, {"mt5", "t5"}, {"xlm-roberta", "roberta"}};
  std::set<std::string> types;
  for (const ModelConfig& config : golden_configs()) types.insert(type_of(config));
  for (const Family& family : model_families()) {
    const std::string type(family.model_types);
    const auto other = same_as.find(type);
    EXPECT_TRUE(types.contains(other == same_as.end() ? type : other->second)) << type;
  }
}

TEST(Families, SaySizesByTheNamesOfTheirConfigurations) {
  for (const ModelConfig& config : golden_configs()) {
    const Family& family = family_of(type_of(config));
    if (family.kind == ModelKind::None) continue;
    for (const Setting setting :
         {family.sizes.layers, family.sizes.heads, family.sizes.decoder_layers, family.sizes.decoder_heads}) {
      if (setting != Setting::None) {
        EXPECT_TRUE(config.number(name_of(setting)).has_value()) << config.path() << ": " << name_of(setting);
      }
    }
  }
}

TEST(Settings, HaveTheirJsonInEachConfiguration) {
  std::set<Setting> seen;
  for (const ModelConfig& config : golden_configs()) {
    for (const Setting setting : all_settings()) {
      if (!config.has(name_of(setting))) continue;
      EXPECT_TRUE(is_json(config, name_of(setting), json_of(setting))) << config.path() << ": " << name_of(setting);
      seen.insert(setting);
    }
  }
  EXPECT_GT(seen.size(), 60u);
}

}  // namespace
}  // namespace heed
