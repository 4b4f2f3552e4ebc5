// SPDX-License-Identifier: Apache-2.0
// The settings of whole models: those that are not known are refused by their names, and no value of a known one does harm.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "families/families.h"

namespace heed::capi_test {
namespace {

heed_status try_model(const ModelCopy& copy) { return try_model_folder(copy.write()); }

bool is_refusal_of_a_model(heed_status status) {
  return status == HEED_ERROR_INVALID_ARGUMENT || status == HEED_ERROR_UNSUPPORTED || status == HEED_ERROR_NOT_FOUND;
}

TEST(ModelSettings, ThatAreNotKnownAreRefused) {
  for (const char* json : {"3", "0", "0.0", "true", "\"text\"", "[0]", "[null]", "[[]]", "{\"hidden_size\": 8}",
                           "{\"a\": null}", "NaN", "Infinity", "-Infinity"}) {
    SCOPED_TRACE(json);
    ModelCopy copy("bert");
    copy.config.insert(1, std::string("\"my_new_option\": ") + json + ",");
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"config.json", "\"my_new_option\""}}));
  }
  // No part of a name, and no names joined.
  for (const char* name : {"hidden", "hidden_siz", "size,hidden_size", "vocab_size,", ",", "", " ", "Hidden_Size",
                           "transformers.other", "rope_parameters.rope_theta", "."}) {
    SCOPED_TRACE(name);
    ModelCopy copy("bert");
    copy.set(name, "3");
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"a setting that heed does not know"}}));
  }
}

// transformers' classes ignore them; a model that needs one has another class.
TEST(ModelSettings, OfOtherFamiliesAreRefused) {
  constexpr const char* kSettings[][2] = {{"attention_multiplier", "0.5"},
                                          {"attn_logit_softcapping", "2.0"},
                                          {"embedding_multiplier", "3.0"},
                                          {"final_logit_softcapping", "5.0"},
                                          {"layer_types", "[\"full_attention\", \"sliding_attention\"]"},
                                          {"local_attention", "4"},
                                          {"logits_scaling", "4.0"},
                                          {"query_pre_attn_scalar", "20"},
                                          {"residual_multiplier", "0.7"},
                                          {"rope_parameters", "{\"partial_rotary_factor\": 0.5}"},
                                          {"partial_rotary_factor", "0.5"},
                                          {"use_bidirectional_attention", "true"},
                                          {"scale_decoder_outputs", "true"},
                                          {"scale_embedding", "true"},
                                          {"sliding_window", "4"}};
  for (const auto& [setting, json] : kSettings) {
    SCOPED_TRACE(setting);
    ModelCopy copy("llama");
    copy.set(setting, json);
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"config.json", setting, "\"llama\""}}));
    copy.set(setting, "null");
    EXPECT_EQ(try_model(copy), HEED_OK);
  }
  ModelCopy whole("llama");
  whole.set("partial_rotary_factor", "1.0");
  EXPECT_EQ(try_model(whole), HEED_OK);
  constexpr const char* kOfRotary[][2] = {{"rope_parameters", "{\"rope_type\": \"linear\", \"factor\": 2.0}"},
                                          {"rope_scaling", "{\"rope_type\": \"linear\", \"factor\": 2.0}"},
                                          {"rope_theta", "10000.0"}};
  for (const auto& [setting, json] : kOfRotary) {
    SCOPED_TRACE(setting);
    ModelCopy copy("bert");
    copy.set(setting, json);
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"config.json", setting, "\"bert\""}}));
  }
}

std::vector<const char*> values_of(heed::Json json) {
  switch (json) {
    case heed::Json::Count:
    case heed::Json::Size:
    case heed::Json::Pattern: return {"1", "2"};
    case heed::Json::Index:
    case heed::Json::Integer: return {"0", "1", "3"};
    case heed::Json::Number:
    case heed::Json::Above0: return {"0.5"};
    case heed::Json::Flag: return {"true", "false"};
    case heed::Json::Word: return {"\"relu\"", "\"gated-gelu\"", "\"relative_key\""};
    case heed::Json::Words: return {R"(["full_attention", "sliding_attention"])"};
    case heed::Json::Numbers: return {"[1, 0]"};
    case heed::Json::Lists: return {R"([[["local"], 2]])"};
    case heed::Json::Object: break;
  }
  return {R"({"rope_type": "linear", "factor": 2.0})"};
}

// Every known setting in every model whose record does not have it: refused, also by its name, or without effect. Those that
// heed does not know in whole models have none if they are accepted.
TEST(ModelSettings, OfOtherFamiliesMoveNoNumber) {
  // Each model has another value of a setting, so that all of them together have every value.
  size_t first = 0;
  size_t count = 0;
  for (const std::string& name : every_model()) {
    ++first;
    ModelCopy copy(name);
    const std::string config = copy.config;
    const std::string folder = copy.write();
    const std::vector<uint8_t> expected = ModelCall(folder).run();
    const std::string type = nlohmann::json::parse(config)["model_type"];
    const heed::Family& family = heed::family_of(type);
    for (size_t i = 1; i < heed::kNumSettings; ++i) {
      const auto setting = static_cast<heed::Setting>(i);
      const bool is_known = heed::users_of(setting) != heed::Users::NoWholeModels;
      if (heed::users_of(setting) == heed::Users::All || heed::has_setting(family, setting)) continue;
      const std::vector<const char*> values = values_of(heed::json_of(setting));
      const char* const json = values[first % values.size()];
      const char* const text = heed::name_of(setting);
      SCOPED_TRACE(testing::Message() << name << " with " << text << " " << json);
      copy.config = config;
      copy.set(text, json);
      copy.write_config();
      heed_load_options load = HEED_LOAD_OPTIONS_INIT;
      load.accept = is_known ? nullptr : text;
      heed_model_options options = HEED_MODEL_OPTIONS_INIT;
      options.load = &load;
      ++count;
      const heed_status status = try_model_folder(folder);
      if (status != HEED_OK) {
        EXPECT_TRUE(is_refused(status, {status, {"\"" + std::string(text) + "\""}}));
      }
      if (status == HEED_OK || !is_known) {
        EXPECT_EQ(ModelCall(folder, nullptr, &options).run(), expected);
      }
    }
  }
  EXPECT_GT(count, 1200u);
}

// Such a name may be the class's own, or the one that transformers reads in its place.
TEST(ModelSettings, OfHeadsMayHaveTheGeneralName) {
  constexpr const char* kOwn[][2] = {
      {"gpt2", "n_head"}, {"distilbert", "n_heads"}, {"t5", "num_heads"}, {"bart", "encoder_attention_heads"}};
  for (const auto& [family, own] : kOwn) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    const std::string heads = nlohmann::json::parse(copy.config)[own].dump();
    copy.set("num_attention_heads", heads);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    copy.remove_setting(own);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    copy.set(own, heads);
    copy.set("num_attention_heads", "1");
    EXPECT_TRUE(is_refused(try_model(copy), invalid({own, "\"num_attention_heads\"", "two names of one setting"})));
  }
}

// The sentence names the number, and offers nothing that would not help.
TEST(ModelSettings, OutOfRangeAreNamed) {
  struct Wrong {
    const char* family;
    const char* setting;
    const char* json;
    heed_status status;
    const char* words;
  };
  const Wrong wrong[] = {
      {"llama", "rms_norm_eps", "0", HEED_ERROR_INVALID_ARGUMENT,
       "says 0 for the setting \"rms_norm_eps\", expected a number above 0"},
      {"bert", "layer_norm_eps", "-1", HEED_ERROR_INVALID_ARGUMENT,
       "says -1 for the setting \"layer_norm_eps\", expected a number above 0"},
      {"llama", "rope_parameters", R"({"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5})",
       HEED_ERROR_UNSUPPORTED,
       "\"rope_parameters.partial_rotary_factor\", a setting that models of model_type \"llama\""},
      {"llama", "rope_parameters",
       R"({"rope_type": "longrope", "rope_theta": 1e4, "factor": 4, "short_factor": [1], "long_factor": [2, 2, 2],
           "original_max_position_embeddings": 8})",
       HEED_ERROR_INVALID_ARGUMENT, "rope_parameters.long_factor has 3 numbers, expected 4, one for each pair"},
      {"llama", "head_dim", "5", HEED_ERROR_INVALID_ARGUMENT, "rope->rotary_size is 5, expected an even number"},
      {"mistral", "sliding_window", "2147483648", HEED_ERROR_INVALID_ARGUMENT,
       "says 2147483648 for the setting \"sliding_window\", expected a whole number above 0, at most 1073741823"},
      {"t5", "feed_forward_proj", "\"gated-gelu\"", HEED_ERROR_NOT_FOUND, "with \"feed_forward_proj\" \"gated-gelu\""},
  };
  for (const auto& [family, setting, json, status, words] : wrong) {
    SCOPED_TRACE(testing::Message() << family << ": " << setting << " is " << json);
    ModelCopy copy(family);
    copy.set(setting, json);
    EXPECT_TRUE(is_refused(try_model(copy), {status, {words}}));
    EXPECT_EQ(std::string(heed_last_error()).find("accept"), std::string::npos) << heed_last_error();
  }
}

TEST(ModelSettings, ThatAreNotKnownButOffAreAccepted) {
  ModelCopy copy("bert");
  const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
  copy.set("my_new_option", "null");
  copy.set("my_other_option", "false");
  copy.set("my_empty_text", "\"\"");
  copy.set("my_empty_list", "[]");
  copy.set("my_empty_object", "{}");
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
}

// What published models of the families say beside the settings that transformers writes.
TEST(ModelSettings, OfPublishedModelsChangeNothing) {
  struct Published {
    const char* family;
    std::vector<std::pair<const char*, const char*>> settings;
  };
  const Published models[] = {
      {"bert",
       {{"position_embedding_type", "\"absolute\""},
        {"sbert_ce_default_activation_function", "\"torch.nn.modules.linear.Identity\""},
        {"_flash_attn_2_enabled", "true"},
        {"attn_implementation", "\"sdpa\""},
        {"matryoshka_dimensions", "[64, 128]"},
        {"onnx", "{\"a\": 1}"},
        {"xla_device", "true"},
        {"sentence_transformers", "{\"version\": \"5.1.0\"}"}}},
      {"distilbert", {{"tie_weights_", "true"}, {"pruned_heads", "{}"}, {"output_past", "true"}}},
      {"llama",
       {{"is_llama_config", "true"},
        {"max_sequence_length", "2048"},
        {"neftune_noise_alpha", "5.0"},
        {"unsloth_fixed", "true"},
        {"transformers.js_config", "{\"dtype\": \"q4\", \"kv_cache_dtype\": {\"q4f16\": \"float16\"}}"}}},
      {"gemma2", {{"sliding_window_size", "4"}, {"cache_implementation", "\"hybrid\""}}},
      // Mistral's and Phi-3's classes have none of Qwen's settings.
      {"mistral", {{"use_sliding_window", "false"}, {"max_window_layers", "1"}}},
      {"qwen2", {{"is_causal", "true"}}},
      {"phi3", {{"full_attn_mod", "1"}, {"interpolate_factor", "1"}, {"max_window_layers", "1"}}},
      {"bart", {{"force_bos_token_to_be_generated", "true"}, {"replacing_rate", "0"}}},
  };
  for (const Published& model : models) {
    SCOPED_TRACE(model.family);
    ModelCopy copy(model.family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    for (const auto& [setting, json] : model.settings) copy.set(setting, json);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  }
}

// The defaults of the configuration classes of transformers 5, but for ViT's and Whisper's. Another value gives other
// numbers, so that each is read.
TEST(ModelSettings, LeftOutAreTheDefaultsOfTransformers) {
  struct Default {
    const char* family;
    const char* setting;
    const char* json;
    const char* other;
  };
  constexpr const char* kRope = R"({"rope_type": "default", "rope_theta": 10000.0})";
  constexpr const char* kOtherRope = R"({"rope_type": "default", "rope_theta": 10.0})";
  constexpr Default kDefaults[] = {
      {"albert", "hidden_act", R"("gelu_new")", R"("relu")"},
      {"albert", "layer_norm_eps", "1e-12", "0.1"},
      {"bart", "activation_function", R"("gelu")", R"("relu")"},
      {"bart", "scale_embedding", "false", "true"},
      {"bert", "hidden_act", R"("gelu")", R"("relu")"},
      {"bert", "layer_norm_eps", "1e-12", "0.1"},
      {"clip-text", "hidden_act", R"("quick_gelu")", R"("relu")"},
      {"clip-text", "layer_norm_eps", "1e-05", "0.1"},
      {"distilbert", "activation", R"("gelu")", R"("relu")"},
      {"electra", "hidden_act", R"("gelu")", R"("relu")"},
      {"electra", "layer_norm_eps", "1e-12", "0.1"},
      {"gemma", "hidden_act", R"("gelu_pytorch_tanh")", R"("relu")"},
      {"gemma", "rms_norm_eps", "1e-06", "0.1"},
      {"gemma", "rope_parameters", kRope, kOtherRope},
      {"gemma2", "attn_logit_softcapping", "50.0", "1.0"},
      {"gemma2", "final_logit_softcapping", "30.0", "1.0"},
      {"gemma2", "hidden_activation", R"("gelu_pytorch_tanh")", R"("relu")"},
      {"gemma2", "layer_types", R"(["sliding_attention", "full_attention"])",
       R"(["full_attention", "full_attention"])"},
      {"gemma2", "query_pre_attn_scalar", "256", "4"},
      {"gemma2", "rms_norm_eps", "1e-06", "0.1"},
      {"gemma2", "rope_parameters", kRope, kOtherRope},
      {"gemma2", "sliding_window", "4096", "2"},
      {"gemma3", "hidden_activation", R"("gelu_pytorch_tanh")", R"("relu")"},
      {"gemma3", "query_pre_attn_scalar", "256", "4"},
      {"gemma3", "rms_norm_eps", "1e-06", "0.1"},
      {"gemma3", "rope_parameters",
       R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
           "full_attention": {"rope_type": "default", "rope_theta": 1000000.0}})",
       R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
           "full_attention": {"rope_type": "default", "rope_theta": 10.0}})"},
      {"gemma3", "sliding_window", "4096", "2"},
      {"gpt2", "activation_function", R"("gelu_new")", R"("relu")"},
      {"gpt2", "layer_norm_epsilon", "1e-05", "0.1"},
      {"gpt2", "scale_attn_by_inverse_layer_idx", "false", "true"},
      {"gpt2", "scale_attn_weights", "true", "false"},
      {"granite", "attention_multiplier", "1.0", "0.5"},
      {"granite", "embedding_multiplier", "1.0", "0.5"},
      {"granite", "hidden_act", R"("silu")", R"("relu")"},
      {"granite", "logits_scaling", "1.0", "0.5"},
      {"granite", "residual_multiplier", "1.0", "0.5"},
      {"granite", "rms_norm_eps", "1e-06", "0.1"},
      {"granite", "rope_parameters", kRope, kOtherRope},
      {"llama", "hidden_act", R"("silu")", R"("relu")"},
      {"llama", "rms_norm_eps", "1e-06", "0.1"},
      {"llama", "rope_parameters", kRope, kOtherRope},
      {"marian", "activation_function", R"("gelu")", R"("relu")"},
      {"marian", "scale_embedding", "false", "true"},
      {"mbart", "activation_function", R"("gelu")", R"("relu")"},
      {"mbart", "scale_embedding", "false", "true"},
      {"mistral", "hidden_act", R"("silu")", R"("relu")"},
      {"mistral", "rms_norm_eps", "1e-06", "0.1"},
      {"mistral", "rope_parameters", kRope, kOtherRope},
      {"mistral", "sliding_window", "4096", "2"},
      {"modernbert", "hidden_activation", R"("gelu")", R"("relu")"},
      {"modernbert", "layer_types", R"(["full_attention", "sliding_attention"])",
       R"(["sliding_attention", "sliding_attention"])"},
      {"modernbert", "local_attention", "128", "2"},
      {"modernbert", "norm_eps", "1e-05", "0.1"},
      {"modernbert", "rope_parameters",
       R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
           "full_attention": {"rope_type": "default", "rope_theta": 160000.0}})",
       R"({"sliding_attention": {"rope_type": "default", "rope_theta": 10000.0},
           "full_attention": {"rope_type": "default", "rope_theta": 10.0}})"},
      {"opt", "activation_function", R"("relu")", R"("gelu")"},
      {"phi3", "hidden_act", R"("silu")", R"("relu")"},
      {"phi3", "rms_norm_eps", "1e-05", "0.1"},
      {"phi3", "rope_parameters", kRope, kOtherRope},
      {"phi3", "sliding_window", "null", "2"},
      {"qwen2", "hidden_act", R"("silu")", R"("relu")"},
      {"qwen2", "rms_norm_eps", "1e-06", "0.1"},
      {"qwen2", "rope_parameters", kRope, kOtherRope},
      {"qwen3", "hidden_act", R"("silu")", R"("relu")"},
      {"qwen3", "rms_norm_eps", "1e-06", "0.1"},
      {"qwen3", "rope_parameters", kRope, kOtherRope},
      {"roberta", "hidden_act", R"("gelu")", R"("relu")"},
      {"roberta", "layer_norm_eps", "1e-12", "0.1"},
      {"roberta", "pad_token_id", "1", "2"},
      {"t5", "layer_norm_epsilon", "1e-06", "0.1"},
      {"t5", "relative_attention_max_distance", "128", "5"},
      {"t5", "scale_decoder_outputs", "true", "false"},
  };
  for (const Default& row : kDefaults) {
    SCOPED_TRACE(std::string(row.family) + ", " + row.setting);
    ModelCopy copy(row.family);
    copy.set(row.setting, row.json);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    copy.set(row.setting, row.other);
    EXPECT_NE(ModelCall(copy.write()).run(), expected);
    copy.remove_setting(row.setting);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  }
}

// Each of these was computed with the default.
TEST(ModelSettings, OfAnotherKindOfJsonAreRefused) {
  struct Wrong {
    const char* family;
    const char* setting;
    const char* json;
    const char* words;
  };
  constexpr Wrong kWrong[] = {
      {"llama", "rope_theta", R"("700.0")", "says \"700.0\" for the setting \"rope_theta\", expected a number above 0"},
      {"llama", "rope_theta", "0", "says 0 for the setting \"rope_theta\""},
      {"llama", "rope_theta", "null", "says null for the setting \"rope_theta\""},
      {"llama", "rope_parameters", R"({"rope_type": "default", "rope_theta": "700.0"})", "rope_parameters.rope_theta"},
      {"llama", "rope_parameters", R"({"rope_type": "default", "rope_theta": null})", "rope_parameters.rope_theta"},
      {"llama", "rope_parameters", R"([{"rope_type": "default", "rope_theta": 700.0}])", "says a list"},
      {"llama", "rope_scaling", R"({"rope_type": "linear", "factor": "2"})", "rope_scaling.factor"},
      {"llama", "rope_scaling", R"({"rope_type": "linear"})", "lacks the setting \"rope_scaling.factor\""},
      {"llama", "rope_scaling", R"({"rope_type": "llama3", "factor": 8.0})", "rope_scaling.low_freq_factor"},
      {"llama", "rms_norm_eps", R"("0.5")", "expected a number"},
      {"llama", "hidden_act", "3", "expected a text"},
      {"llama", "tie_word_embeddings", "1", "expected true or false"},
      {"llama", "attention_bias", R"("true")", "expected true or false"},
      {"bert", "layer_norm_eps", R"("0.5")", "expected a number"},
      {"bert", "is_decoder", "1", "expected true or false"},
      {"bart", "scale_embedding", "1", "expected true or false"},
      {"bart", "scale_embedding", R"("true")", "expected true or false"},
      {"gpt2", "scale_attn_by_inverse_layer_idx", "1", "expected true or false"},
      {"mistral", "sliding_window", R"("2")", "expected a whole number above 0"},
      {"mistral", "sliding_window", "3.5", "expected a whole number above 0"},
      {"mistral", "sliding_window", "[2]", "expected a whole number above 0"},
      {"qwen2", "use_sliding_window", R"("true")", "expected true or false"},
      {"qwen2", "is_causal", "0", "expected true or false"},
      {"qwen2", "is_causal", "null", "expected true or false"},
      {"gemma2", "layer_types", R"("sliding_attention")", "expected a list of texts"},
      {"gemma2", "layer_types", R"(["sliding_attention"])", "1 kinds of layers"},
      {"gemma2", "attn_logit_softcapping", R"("50")", "expected a number above 0"},
      {"gemma2", "final_logit_softcapping", "[30]", "expected a number above 0"},
      {"gemma2", "query_pre_attn_scalar", R"("4")", "expected a number above 0"},
      {"granite", "attention_multiplier", R"("0.5")", "expected a number above 0"},
      {"granite", "embedding_multiplier", R"("0.5")", "expected a number above 0"},
      {"granite", "logits_scaling", R"("0.5")", "expected a number above 0"},
      {"granite", "residual_multiplier", R"("0.5")", "expected a number above 0"},
      {"vit", "qkv_bias", "1", "expected true or false"},
      {"t5", "relative_attention_num_buckets", R"("8")", "expected a whole number above 0"},
  };
  for (const auto& [family, setting, json, words] : kWrong) {
    SCOPED_TRACE(testing::Message() << family << ": " << setting << " is " << json);
    ModelCopy copy(family);
    copy.set(setting, json);
    EXPECT_TRUE(is_refused(try_model(copy), invalid({"config.json", setting, words})));
  }
  ModelCopy by_kind("llama");
  by_kind.set("rope_parameters", R"({"full_attention": {"rope_type": "default", "rope_theta": 700.0}})");
  EXPECT_TRUE(
      is_refused(try_model(by_kind), {HEED_ERROR_UNSUPPORTED, {"\"rope_parameters.full_attention\"", "\"llama\""}}));
}

TEST(ModelSettings, OfWholeNumbersMayBeWrittenAsFractionsAndFractionsAsWholeNumbers) {
  const auto bits = [](const char* family, const char* setting, const char* json) {
    ModelCopy copy(family);
    copy.set(setting, json);
    return ModelCall(copy.write()).run();
  };
  EXPECT_EQ(bits("mistral", "sliding_window", "2"), bits("mistral", "sliding_window", "2.0"));
  EXPECT_EQ(bits("llama", "num_hidden_layers", "2"), bits("llama", "num_hidden_layers", "2.0"));
  EXPECT_EQ(bits("granite", "embedding_multiplier", "12"), bits("granite", "embedding_multiplier", "12.0"));
  EXPECT_NE(bits("granite", "embedding_multiplier", "12"), bits("granite", "embedding_multiplier", "11"));
}

// transformers' BERT has no such positions.
TEST(ModelSettings, OfPositionsThatTheClassLacksAreRefused) {
  for (const char* const family : {"albert", "bert", "electra", "roberta"}) {
    for (const char* const word : {"rotary", "alibi", "nobody_knows"}) {
      SCOPED_TRACE(std::string(family) + ", " + word);
      ModelCopy copy(family);
      copy.set("position_embedding_type", "\"" + std::string(word) + "\"");
      EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {word, "position_embedding_type"}}));
    }
    ModelCopy copy(family);
    copy.set("position_embedding_type", R"("relative_key")");
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"relative positions"}}));
  }
}

// A head of its own is required where it is not tied.
TEST(ModelSettings, LeftOutTieTheHeadAsInTransformers) {
  const auto expect_tied = [](ModelCopy& copy, bool is_tied) {
    std::erase_if(copy.tensors, [](const NamedFloats& tensor) { return tensor.name == "lm_head.weight"; });
    copy.remove_setting("tie_word_embeddings");
    const heed_status status = try_model(copy);
    EXPECT_EQ(status, is_tied ? HEED_OK : HEED_ERROR_NOT_FOUND) << heed_last_error();
    copy.set("tie_word_embeddings", is_tied ? "false" : "true");
    EXPECT_NE(try_model(copy), status);
  };
  for (const char* const family : {"gemma", "gemma2", "gemma3", "gpt2", "opt", "t5"}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    expect_tied(copy, true);
  }
  for (const char* const family : {"granite", "llama", "mistral", "phi3", "qwen2", "qwen3"}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    expect_tied(copy, false);
  }
  ModelCopy mt5("t5");
  mt5.set("model_type", "\"mt5\"");
  mt5.remove_setting("scale_decoder_outputs");
  expect_tied(mt5, false);
}

// Phi-3's first files have other names for longrope.
TEST(ModelSettings, OfLongropeHaveSeveralNames) {
  for (const char* const family : {"phi3-longrope-long", "phi3-longrope-short"}) {
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    for (const char* const name : {"\"su\"", "\"yarn\""}) {
      SCOPED_TRACE(std::string(family) + ", " + name);
      ModelCopy other(family);
      other.config.replace(other.config.find("\"longrope\""), 10, name);
      EXPECT_EQ(ModelCall(other.write()).run(), expected);
    }
  }
}

// transformers computes these families with the class of another.
TEST(ModelSettings, OfFamiliesOfTheSameLayersGiveTheSameNumbers) {
  constexpr const char* kTypes[][2] = {{"roberta", "xlm-roberta"}, {"roberta", "camembert"}};
  for (const auto& [family, model_type] : kTypes) {
    SCOPED_TRACE(model_type);
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    copy.set("model_type", "\"" + std::string(model_type) + "\"");
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  }
}

// Every row of a decoder then sees the whole sequence, as in text encoders made of one.
TEST(ModelSettings, IsCausalFalseShowsLaterRows) {
  ModelCopy copy("qwen2");
  const auto first_row = [&](int32_t last_id) {
    ModelCall call(copy.write());
    const std::vector<int32_t> ids = {4, 5, last_id};
    call.inputs.queries = call.keep(make_tensor_of(call.context.get(), {1, 3}, ids));
    std::vector<float> logits = call.run_for_floats();
    logits.resize(logits.size() / 3);
    return logits;
  };
  EXPECT_EQ(first_row(6), first_row(7));
  copy.set("is_causal", "false");
  EXPECT_NE(first_row(6), first_row(7));
  ModelCopy with_windows("mistral");
  with_windows.set("is_causal", "false");
  EXPECT_TRUE(is_refused(try_model(with_windows), {HEED_ERROR_UNSUPPORTED, {"visible keys of another kind"}}));
}

TEST(ModelSettings, OfUnknownFamiliesAreRefused) {
  for (const char* json : {"\"resnet\"", "\"BERT\""}) {
    SCOPED_TRACE(json);
    ModelCopy copy("bert");
    copy.set("model_type", json);
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"model_type in", "heed makes no whole models"}}));
  }
  for (const char* json : {"7", "true", "[\"bert\"]", "{}"}) {
    SCOPED_TRACE(json);
    ModelCopy copy("bert");
    copy.set("model_type", json);
    EXPECT_TRUE(is_refused(try_model(copy), invalid({"\"model_type\", expected a text"})));
  }
  const Refusal absent = invalid({"says no model_type, the name of the model's family"});
  for (const char* json : {"null", "\"\""}) {
    SCOPED_TRACE(json);
    ModelCopy copy("bert");
    copy.set("model_type", json);
    EXPECT_TRUE(is_refused(try_model(copy), absent));
  }
  ModelCopy copy("bert");
  copy.remove_setting("model_type");
  EXPECT_TRUE(is_refused(try_model(copy), absent));
}

// transformers 5 reads rope_scaling if a file has both.
TEST(ModelSettings, OfRotaryPositionsHaveOneName) {
  ModelCopy copy("llama");
  const std::string scaling = R"({"rope_type": "linear", "factor": 2.0, "rope_theta": 10000.0})";
  copy.remove_setting("rope_theta");
  copy.set("rope_parameters", scaling);
  const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
  for (const std::string& same : {scaling, std::string("{}"), std::string("null")}) {
    SCOPED_TRACE(same);
    copy.set("rope_scaling", same);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
  }
  for (const char* other : {R"({"rope_type": "linear", "factor": 3.0, "rope_theta": 10000.0})",
                            R"({"rope_type": "linear", "factor": 2.0})", R"({"rope_type": "default"})"}) {
    SCOPED_TRACE(other);
    copy.set("rope_scaling", other);
    EXPECT_TRUE(
        is_refused(try_model(copy), invalid({"\"rope_parameters\" and \"rope_scaling\"", "expected one of them"})));
  }
}

TEST(ModelSettings, OfQuantizedWeightsAreRefusedAsThose) {
  for (const char* name : {"quantization_config", "compression_config", "quantization"}) {
    SCOPED_TRACE(name);
    ModelCopy copy("llama");
    copy.set(name, R"({"quant_method": "gptq", "bits": 4})");
    // Also before other settings that are refused.
    copy.set("a_new_option", "3");
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {name, "the weights are quantized"}}));
    copy.remove_setting("a_new_option");
    copy.set(name, "null");
    EXPECT_EQ(try_model(copy), HEED_OK);
  }
}

TEST(ModelSettings, OfAnUnknownActivationAreRefusedByItsName) {
  const std::pair<const char*, const char*> kSettings[] = {
      {"bert", "hidden_act"}, {"gpt2", "activation_function"}, {"llama", "hidden_act"}, {"distilbert", "activation"}};
  for (const auto& [family, setting] : kSettings) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    copy.set(setting, "\"mish\"");
    EXPECT_TRUE(
        is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"the activation \"mish\", which heed does not know"}}));
  }
}

// A list of layers that are all alike and as the family's are says nothing.
TEST(ModelSettings, OfLayersOfOneKindMayBeListed) {
  struct Listed {
    const char* family;
    const char* right;
    const char* wrong;
  };
  constexpr const char* kFull = R"(["full_attention", "full_attention"])";
  constexpr const char* kWindows = R"(["sliding_attention", "sliding_attention"])";
  for (const auto& [family, right, wrong] : {Listed{"llama", kFull, kWindows},
                                             {"gemma", kFull, kWindows},
                                             {"mistral", kWindows, kFull},
                                             {"phi3", kFull, kWindows}}) {
    SCOPED_TRACE(family);
    ModelCopy copy(family);
    const std::vector<uint8_t> expected = ModelCall(copy.write()).run();
    copy.set("layer_types", right);
    EXPECT_EQ(ModelCall(copy.write()).run(), expected);
    copy.set("layer_types", wrong);
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {"\"layer_types\""}}));
    copy.set("layer_types", R"(["full_attention"])");
    EXPECT_NE(try_model(copy), HEED_OK);
    copy.set("layer_types", "[]");
    EXPECT_NE(try_model(copy), HEED_ERROR_INTERNAL);
  }
}

// Whatever a setting is: the model is made, or refused with a sentence.
TEST(ModelSettings, OfAnyValueDoNoHarm) {
  const char* const kValues[] = {
      "0",     "-1",   "1",    "3",    "0.5",   "5000", "1e300", "1000000000", "9223372036854775807",
      "\"x\"", "\"\"", "null", "true", "false", "[]",   "[1]",   "{}",         "{\"rope_type\":\"yarn\",\"factor\":0}"};
  constexpr size_t kStep = 4;
  size_t first = 0;
  for (const std::string& family : every_model_of_any_input()) {
    ModelCopy copy(family);
    const std::string config = copy.config;
    const std::string folder = copy.write();
    const auto expect_no_harm = [&] {
      copy.write_config();
      const heed_status status = try_model_folder(folder);
      if (status == HEED_OK) return;
      EXPECT_TRUE(is_refusal_of_a_model(status)) << heed_status_name(status);
      EXPECT_TRUE(is_refused(status, {status, {}}));
    };
    for (const std::string& setting : copy.settings()) {
      // Each family has other values of a setting, so that all of them together have every value.
      for (size_t i = first++ % kStep; i < std::size(kValues); i += kStep) {
        SCOPED_TRACE(testing::Message() << family << ": " << setting << " is " << kValues[i]);
        copy.config = config;
        copy.set(setting, kValues[i]);
        expect_no_harm();
      }
      SCOPED_TRACE(testing::Message() << family << " without " << setting);
      copy.config = config;
      copy.remove_setting(setting);
      expect_no_harm();
    }
  }
}

// Without any one of its tensors a model is refused, unless it is no part of the layer.
TEST(ModelSettings, WithoutAnyTensorAreRefused) {
  for (const std::string& family : every_model_of_any_input()) {
    ModelCopy copy(family);
    const std::vector<NamedFloats> all = copy.tensors;
    for (const NamedFloats& missing : all) {
      SCOPED_TRACE(testing::Message() << family << " without " << missing.name);
      copy.tensors = all;
      copy.remove_tensor(missing.name);
      const heed_status status = try_model(copy);
      if (status != HEED_OK) {
        EXPECT_TRUE(is_refusal_of_a_model(status)) << heed_status_name(status) << ": " << heed_last_error();
        continue;
      }
      const auto is_any_of = [&](std::initializer_list<const char*> parts) {
        return std::any_of(parts.begin(), parts.end(),
                           [&](const char* part) { return missing.name.find(part) != std::string::npos; });
      };
      EXPECT_TRUE(is_any_of({"pooler.", "lm_head.", "final_logits_bias"}));
    }
  }
}

// A table of sinusoids is computed for each position, whatever the size of the file.
TEST(ModelSettings, OfMorePositionsThanAnyModelHasAreRefused) {
  ModelCopy copy("marian");
  copy.set("max_position_embeddings", "65536");
  EXPECT_EQ(try_model(copy), HEED_OK) << heed_last_error();
  copy.set("max_position_embeddings", "65537");
  EXPECT_TRUE(is_refused(
      try_model(copy), invalid({"config.json", "has 65537 as \"max_position_embeddings\"", "expected at most 65536"})));
}

// ALBERT's groups are layers of their own.
TEST(ModelSettings, OfGroupsOfLayersAreRefused) {
  for (const char* setting : {"num_hidden_groups", "inner_group_num"}) {
    ModelCopy copy("albert");
    copy.set(setting, "2");
    EXPECT_TRUE(is_refused(try_model(copy), {HEED_ERROR_UNSUPPORTED, {setting}}));
  }
}

}  // namespace
}  // namespace heed::capi_test
