// SPDX-License-Identifier: Apache-2.0
// Settings of whole models are read as they are written, or refused: every setting of every family in each other JSON.

#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "families/families.h"
#include "families/known_settings.h"
#include "families/load_accept.h"
#include "families/model_config.h"

namespace heed {
namespace {

struct Answer {
  Status status = Status::Ok;
  std::string text;
};

// What is said of a configuration with these settings.
Answer answer_of(const Family& family, const std::string& settings) {
  const std::string text = "{\"model_type\": \"" + std::string(family.model_types) + "\", " + settings + "}";
  try {
    require_known_settings(ModelConfig(MemorySource(text.data(), text.size())), family, LoadAccept(""));
  } catch (const Error& error) {
    return {error.status, error.text};
  }
  return {};
}

std::string in_json(const std::string& name, const std::string& value) { return "\"" + name + "\": " + value; }

std::vector<const Family*> families_of_models() {
  std::vector<const Family*> models;
  for (const std::span<const Family> families : all_families()) {
    for (const Family& family : families) {
      if (family.kind != ModelKind::None) models.push_back(&family);
    }
  }
  return models;
}

constexpr const char* kValues[] = {"\"text\"", "\"12\"", "\"\"",  "true", "false",   "0",   "-1",   "3.5", "12",
                                   "12.0",     "1e300",  "1e-50", "[]",   "[\"a\"]", "[1]", "[[]]", "{}",  "NaN"};

bool is_right(Json json, std::string_view value) {
  const auto is_one_of = [&](std::initializer_list<std::string_view> values) {
    return std::ranges::find(values, value) != values.end();
  };
  switch (json) {
    case Json::Count:
    case Json::Pattern: return is_one_of({"12", "12.0"});
    case Json::Integer: return is_one_of({"0", "-1", "12", "12.0", "1e300"});
    case Json::Index: return is_one_of({"0", "12", "12.0"});
    case Json::Number: return is_one_of({"0", "-1", "3.5", "12", "12.0", "1e-50"});
    case Json::Above0: return is_one_of({"3.5", "12", "12.0"});
    case Json::Flag: return is_one_of({"true", "false"});
    case Json::Word: return is_one_of({"\"text\"", "\"12\""});
    case Json::Words: return is_one_of({"[]", "[\"a\"]"});
    case Json::Numbers: return is_one_of({"[]", "[1]"});
    case Json::Lists: return is_one_of({"[]", "[[]]"});
    case Json::Object: return is_one_of({"{}"});
    case Json::Size: break;
  }
  return false;
}

Json json_in(const Family& family, Setting setting) {
  // A model without such tokens may have -1.
  const bool is_index = json_of(setting) == Json::Index;
  return is_index && !has_setting(family, setting) ? Json::Integer : json_of(setting);
}

// Settings of which more is asked than their JSON.
bool has_more_rules(Setting setting) {
  return setting == Setting::ImageSize || setting == Setting::LayerTypes || setting == Setting::PositionEmbeddingType;
}

TEST(SettingJson, OfAnotherKindIsRefused) {
  size_t count = 0;
  for (const Family* const family : families_of_models()) {
    for (size_t i = 1; i < kNumSettings; ++i) {
      const auto setting = static_cast<Setting>(i);
      const bool is_read = has_setting(*family, setting);
      const bool is_of_others = users_of(setting) == Users::Readers && !is_read;
      if (users_of(setting) == Users::NoWholeModels || setting == Setting::ModelType || is_of_others) continue;
      for (const char* const value : kValues) {
        SCOPED_TRACE(testing::Message() << family->model_types << ": " << name_of(setting) << " is " << value);
        const bool is_off = std::string_view(value) == "false" && !is_read;
        const Answer answer = answer_of(*family, in_json(name_of(setting), value));
        ++count;
        if (is_off || (is_right(json_in(*family, setting), value) && !has_more_rules(setting))) {
          EXPECT_EQ(answer.status, Status::Ok) << answer.text;
        } else if (!has_more_rules(setting)) {
          EXPECT_EQ(answer.status, Status::InvalidArgument);
          EXPECT_NE(answer.text.find("for the setting \"" + std::string(name_of(setting)) + "\", expected "),
                    std::string::npos)
              << answer.text;
        }
      }
      const Answer of_null = answer_of(*family, in_json(name_of(setting), "null"));
      EXPECT_EQ(of_null.status == Status::Ok, may_be_null(setting) || !is_read)
          << family->model_types << ": " << name_of(setting) << ": " << of_null.text;
    }
  }
  EXPECT_GT(count, 20000u);
}

std::string words_of(const std::string& type, const std::string& settings) {
  return answer_of(family_of(type), settings).text;
}

// 0 as a float, or infinite, they would be the default.
TEST(SettingJson, OfNumbersIsWhatAFloatHolds) {
  constexpr const char* kFloat = "expected a number above 0 in the range of F32";
  for (const auto& [type, setting] : {std::pair{"llama", "rope_theta"},
                                      {"llama", "rms_norm_eps"},
                                      {"granite", "logits_scaling"},
                                      {"granite", "embedding_multiplier"},
                                      {"bert", "layer_norm_eps"}}) {
    for (const char* const value : {"1e-50", "1e39", "1e50"})
      EXPECT_NE(words_of(type, in_json(setting, value)).find(kFloat), std::string::npos) << setting << ": " << value;
    for (const char* const value : {"0", "-1", "-1e50"}) {
      const std::string words = words_of(type, in_json(setting, value));
      EXPECT_TRUE(words.ends_with("expected a number above 0")) << words;
      EXPECT_NE(words.find("\"" + std::string(setting) + "\""), std::string::npos) << words;
    }
    for (const char* const value : {"1e-40", "3e38"}) EXPECT_EQ(words_of(type, in_json(setting, value)), "");
  }
}

// The sentence shows a whole number with all its digits, and names the largest one that is allowed.
TEST(SettingJson, OfWholeNumbersHasALargestOne) {
  EXPECT_EQ(words_of("mistral", in_json("sliding_window", "1073741823")), "");
  for (const char* const value : {"1073741824", "2147483648", "100000000000000"}) {
    const std::string words = words_of("mistral", in_json("sliding_window", value));
    EXPECT_NE(words.find("says " + std::string(value) +
                         " for the setting \"sliding_window\", expected a whole number "
                         "above 0, at most 1073741823"),
              std::string::npos)
        << words;
  }
  EXPECT_TRUE(words_of("mistral", in_json("sliding_window", "0")).ends_with("a whole number above 0"));
  EXPECT_EQ(words_of("roberta", in_json("pad_token_id", "0")), "");
  const std::string below = words_of("roberta", in_json("pad_token_id", "-1"));
  EXPECT_NE(below.find("says -1 for the setting \"pad_token_id\", expected a whole number of at least 0"),
            std::string::npos)
      << below;
  EXPECT_TRUE(words_of("roberta", in_json("pad_token_id", "1e30")).ends_with("at most 1073741823"));
  // The class of others does not read it.
  EXPECT_EQ(words_of("llama", in_json("pad_token_id", "-1")), "");
}

// The rules read what is left: no setting of another family moves a number.
TEST(SettingJson, OfOtherFamiliesIsRemoved) {
  for (const Family* const family : families_of_models()) {
    for (size_t i = 1; i < kNumSettings; ++i) {
      const auto setting = static_cast<Setting>(i);
      const std::string name = name_of(setting);
      const std::string text = "{\"vocab_size\": 3, " + in_json(name, "{\"model_type\": \"bert\"}") + "}";
      ModelConfig config(MemorySource(text.data(), text.size()));
      keep_settings_of(config, *family);
      const bool is_kept = has_setting(*family, setting) || users_of(setting) == Users::All;
      EXPECT_EQ(config.has(name), is_kept) << family->model_types << ": " << name;
      EXPECT_EQ(config.has(name + ".model_type"), is_kept) << family->model_types << ": " << name;
      EXPECT_EQ(config.models().size(), is_kept ? 1u : 0u) << family->model_types << ": " << name;
      EXPECT_FALSE(config.has("vocab_size"));
    }
  }
}

// transformers reads the general name as the class's own.
TEST(SettingJson, OfHeadsIsTheSameUnderBothNames) {
  for (const auto& [type, own] : {std::pair{"gpt2", "n_head"},
                                  {"distilbert", "n_heads"},
                                  {"t5", "num_heads"},
                                  {"bart", "encoder_attention_heads"}}) {
    const std::string four = in_json(own, "4") + ", ";
    EXPECT_EQ(words_of(type, four + in_json("num_attention_heads", "4")), "");
    const std::string words = words_of(type, four + in_json("num_attention_heads", "2"));
    EXPECT_NE(words.find("\"" + std::string(own) + "\" and \"num_attention_heads\", two names of one setting"),
              std::string::npos)
        << words;
  }
}

TEST(SettingJson, OfNullIsRefusedWhereTheClassHasNone) {
  for (const auto& [type, setting] : {std::pair{"llama", "rope_theta"},
                                      {"llama", "rms_norm_eps"},
                                      {"llama", "is_causal"},
                                      {"llama", "tie_word_embeddings"},
                                      {"bert", "layer_norm_eps"},
                                      {"bert", "is_causal"},
                                      {"granite", "embedding_multiplier"},
                                      {"gemma2", "query_pre_attn_scalar"},
                                      {"vit", "qkv_bias"},
                                      {"roberta", "pad_token_id"},
                                      {"t5", "is_gated_act"}}) {
    const Answer answer = answer_of(family_of(type), in_json(setting, "null"));
    EXPECT_EQ(answer.status, Status::InvalidArgument) << type << ": " << setting;
    EXPECT_NE(answer.text.find("says null for the setting \"" + std::string(setting) + "\""), std::string::npos)
        << answer.text;
  }
}

TEST(SettingJson, OfLayerTypesHasAKnownWordForEachLayer) {
  const auto answer = [](const std::string& json) {
    return answer_of(family_of("gemma2"), "\"num_hidden_layers\": 2, \"layer_types\": " + json);
  };
  EXPECT_EQ(answer(R"(["full_attention", "sliding_attention"])").status, Status::Ok);
  EXPECT_EQ(answer("null").status, Status::Ok);
  for (const char* json :
       {"[]", "[\"full_attention\"]", R"(["full_attention", "full_attention", "sliding_attention"])"}) {
    EXPECT_EQ(answer(json).status, Status::InvalidArgument) << json;
    EXPECT_NE(answer(json).text.find("kinds of layers in \"layer_types\", expected one for each of the 2 layers"),
              std::string::npos)
        << answer(json).text;
  }
  const std::string of_word = answer(R"(["full_attention", "sliding"])").text;
  EXPECT_NE(of_word.find("\"sliding\" as \"layer_types.1\""), std::string::npos) << of_word;
  EXPECT_EQ(answer(R"(["full_attention", 1])").status, Status::InvalidArgument);
  EXPECT_EQ(answer(R"("full_attention")").status, Status::InvalidArgument);
}

TEST(SettingJson, OfPositionsIsAbsoluteOrWhatTheFamilyHas) {
  for (const char* word : {"rotary", "rope", "alibi", "nope", "absolut"}) {
    const Answer answer =
        answer_of(family_of("bert"), in_json("position_embedding_type", "\"" + std::string(word) + "\""));
    EXPECT_EQ(answer.status, Status::Unsupported) << word;
    EXPECT_NE(answer.text.find("\"" + std::string(word) + "\" as \"position_embedding_type\""), std::string::npos)
        << answer.text;
  }
  EXPECT_EQ(answer_of(family_of("bert"), R"("position_embedding_type": "absolute")").status, Status::Ok);
  // Refused where attention is read, by what it is.
  EXPECT_EQ(answer_of(family_of("bert"), R"("position_embedding_type": "relative_key")").status, Status::Ok);
  EXPECT_EQ(answer_of(family_of("llama"), R"("position_embedding_type": "rope")").status, Status::Ok);
  EXPECT_EQ(answer_of(family_of("llama"), R"("position_embedding_type": "nope")").status, Status::Unsupported);
}

// ---- objects of rotary positions ------------------------------------------------------------------------------------

struct Rope {
  const char* type;
  const char* json;
  Status status;
  const char* words;
};

TEST(SettingJson, OfRotaryPositionsHasKnownMembers) {
  constexpr const char* kLlama3 = R"({"rope_type":"llama3","factor":8.0,"low_freq_factor":1.0,"high_freq_factor":4.0)";
  const std::string whole = std::string(kLlama3) + ",\"original_max_position_embeddings\":16}";
  const std::string shorter = std::string(kLlama3) + "}";
  const Rope ropes[] = {
      {"llama", R"({"rope_type":"default","rope_theta":700})", Status::Ok, ""},
      {"llama", R"({"rope_type":"default","attention_factor":null,"my_factor":null})", Status::Ok, ""},
      {"llama", R"({"rope_type":"default","rope_theta":"700.0"})", Status::InvalidArgument,
       ".rope_theta\", expected a number above 0"},
      {"llama", R"({"rope_type":"default","rope_theta":null})", Status::InvalidArgument, "says null"},
      {"llama", R"({"rope_type":"default","rope_theta":0})", Status::InvalidArgument, "says 0"},
      {"llama", R"({"rope_type":3})", Status::InvalidArgument, ".rope_type\", expected a text"},
      {"llama", R"({"rope_type":"default","my_factor":3})", Status::Unsupported, ".my_factor\""},
      {"llama", R"({"rope_type":"yarn","factor":"2"})", Status::InvalidArgument, ".factor\""},
      {"llama", R"({"rope_type":"yarn","factor":2,"attention_factor":"1"})", Status::InvalidArgument,
       ".attention_factor\""},
      {"llama", R"({"rope_type":"yarn","factor":2,"truncate":1})", Status::InvalidArgument, ".truncate\""},
      {"llama", R"({"rope_type":"yarn"})", Status::InvalidArgument,
       ".factor\", which rotary positions of type \"yarn\" need"},
      {"llama", R"({"rope_type":"linear"})", Status::InvalidArgument,
       ".factor\", which rotary positions of type \"linear\" need"},
      {"llama", R"({"type":"linear","factor":2})", Status::Ok, ""},
      {"llama", whole.c_str(), Status::Ok, ""},
      {"llama", shorter.c_str(), Status::InvalidArgument, ".original_max_position_embeddings\", which"},
      {"llama", R"({"rope_type":"llama3","factor":8.0,"high_freq_factor":4.0})", Status::InvalidArgument,
       ".low_freq_factor\""},
      {"llama", R"([{"rope_type":"default"}])", Status::InvalidArgument, "says a list"},
      {"llama", R"("default")", Status::InvalidArgument, "says \"default\""},
      {"llama", R"({"full_attention":{"rope_type":"default","rope_theta":700.0}})", Status::Unsupported,
       ".full_attention\""},
      {"gemma3_text", R"({"full_attention":{"rope_theta":7.0},"sliding_attention":{"rope_theta":5.0}})", Status::Ok,
       ""},
      {"gemma3_text", R"({"full_attention":{"rope_theta":7.0}})", Status::InvalidArgument,
       ".sliding_attention\", expected an object"},
      {"gemma3_text", R"({"full_attention":{"rope_theta":"7"},"sliding_attention":{}})", Status::InvalidArgument,
       "full_attention.rope_theta\""},
      {"gemma3_text", R"({"full_attention":{"rope_type":"linear"},"sliding_attention":{}})", Status::InvalidArgument,
       "full_attention.factor\""},
      {"gemma3_text", R"({"full_attention":{},"sliding_attention":{},"rope_theta":7.0})", Status::Unsupported,
       ".rope_theta\""},
      {"phi3", R"({"type":"longrope","long_factor":[1.0],"short_factor":[1.0]})", Status::Ok, ""},
      {"phi3", R"({"type":"longrope","long_factor":["1"],"short_factor":[1.0]})", Status::InvalidArgument,
       ".long_factor\", expected a list of numbers"},
  };
  for (const auto& [type, json, status, words] : ropes) {
    for (const char* setting : {"rope_parameters", "rope_scaling"}) {
      SCOPED_TRACE(testing::Message() << type << ", " << setting << ": " << json);
      const Answer answer = answer_of(family_of(type), in_json(setting, json));
      EXPECT_EQ(answer.status, status) << answer.text;
      EXPECT_NE(answer.text.find(words), std::string::npos) << answer.text;
    }
  }
  for (const char* const path : {"", "full_attention.", "sliding_attention."}) {
    const std::string part = R"({"rope_type":"default","partial_rotary_factor":0.5})";
    const std::string other = R"({"rope_type":"default","partial_rotary_factor":1.0})";
    const bool is_full = std::string_view(path) == "full_attention.";
    const std::string kinds = R"({"full_attention":)" + (is_full ? part : other) + R"(,"sliding_attention":)" +
                              (is_full ? other : part) + "}";
    const Answer answer = answer_of(family_of("gemma3_text"), in_json("rope_parameters", *path == 0 ? part : kinds));
    EXPECT_EQ(answer.status, Status::Unsupported);
    EXPECT_NE(answer.text.find("\"rope_parameters." + std::string(path) + "partial_rotary_factor\", a setting that"),
              std::string::npos)
        << answer.text;
  }
  // 0 would be the default of the layer.
  for (const char* const member : {"attention_factor", "beta_fast", "beta_slow", "high_freq_factor", "low_freq_factor",
                                   "long_mscale", "short_mscale", "factor", "rope_theta"}) {
    for (const char* const value : {"0", "-1", "1e-50", "1e50"}) {
      const std::string json = "{" + in_json(member, value) + "}";
      const Answer answer = answer_of(family_of("llama"), in_json("rope_parameters", json));
      EXPECT_EQ(answer.status, Status::InvalidArgument) << member << " is " << value;
      EXPECT_NE(answer.text.find("\"rope_parameters." + std::string(member) + "\", expected a number above 0"),
                std::string::npos)
          << answer.text;
    }
  }
  for (const char* const low : {"4.0", "5.0"}) {
    const std::string json = R"({"rope_type":"llama3","factor":8.0,"low_freq_factor":)" + std::string(low) +
                             R"(,"high_freq_factor":4.0,"original_max_position_embeddings":16})";
    const Answer answer = answer_of(family_of("llama"), in_json("rope_parameters", json));
    EXPECT_EQ(answer.status, Status::InvalidArgument);
    EXPECT_NE(answer.text.find("says 4 for the setting \"rope_parameters.high_freq_factor\", expected a number above "
                               "\"rope_parameters.low_freq_factor\", which is " +
                               std::string(1, *low)),
              std::string::npos)
        << answer.text;
  }
  // Files of earlier transformers have the original length beside the object of rotary settings, not in it.
  EXPECT_EQ(
      answer_of(family_of("llama"), "\"original_max_position_embeddings\": 16, \"rope_scaling\": " + shorter).status,
      Status::Ok);
}

}  // namespace
}  // namespace heed
