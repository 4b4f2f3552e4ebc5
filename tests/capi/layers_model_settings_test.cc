// SPDX-License-Identifier: Apache-2.0
// The settings of a model, by config.json beside its file: which family they name, and how they limit loading.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "capi/support/families.h"
#include "capi/support/files.h"
#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

// Each setting that a configuration may have, and the option that must agree with it.
TEST_F(Families, SettingsAreComparedWithTheOptions) {
  const struct {
    const char* config;
    const char* prefix;
    Names names;
    const char* words;
    bool is_causal = false;
  } cases[] = {
      {R"({"model_type":"bert","num_attention_heads":4})", "attention", kBert, "options->num_heads is 2, expected 4"},
      {R"({"model_type":"bert","is_decoder":true})", "attention", kBert, "options->causal is HEED_CAUSAL_NONE"},
      {R"({"model_type":"bert"})", "attention", kBert, "options->causal is HEED_CAUSAL_TOP_LEFT", true},
      {R"({"model_type":"bert","num_key_value_heads":1})", "attention", kBert,
       "options->num_kv_heads is 2, expected 1"},
      {R"({"model_type":"bert","head_dim":8})", "attention", kBert, "options->head_size is 4, expected 8"},
      {R"({"model_type":"bart","decoder_attention_heads":8,"encoder_attention_heads":2})", "decoder.self_attn", kBart,
       "options->num_heads is 2, expected 8", true},
      {R"({"model_type":"gpt2","scale_attn_weights":false})", "h.0.attn", kGpt2, "options->scale is 0.5, expected 1",
       true},
      {R"({"model_type":"gpt2","scale_attn_by_inverse_layer_idx":true})", "h.3.attn", kGpt2,
       "options->scale is 0.5, expected 0.125", true},
      {R"({"model_type":"gpt_neo","attention_layers":["global","local"],"window_size":256})", "h.1.attn.attention",
       kBart,
       "options->scale is 0.5, expected 1; options->window is HEED_WINDOW_NONE, expected options->window_left 255",
       true},
      {R"({"model_type":"gpt_neo","attention_types":[[["global","local"],6]]})", "h.3.attn.attention", kBart,
       "expected options->window_left 255", true},
      {R"({"model_type":"x","attention_multiplier":0.25})", "a", kBart, "options->scale is 0.5, expected 0.25"},
      {R"({"model_type":"x","attn_logit_softcapping":50.0})", "a", kBart, "options->soft_cap is 0, expected 50"},
      {R"({"model_type":"x","sliding_window":7})", "a", kBart,
       "expected options->window_left 6 and options->window_right unlimited"},
      {R"({"model_type":"x","is_decoder":true})", "a", kBart, "options->causal is HEED_CAUSAL_NONE"},
      {R"({"model_type":"x","query_pre_attn_scalar":16})", "a", kBart, "options->scale is 0.5, expected 0.25"},
      {R"({"model_type":"mpt","attn_config":{"softmax_scale":0.6}})", "a", kOwn, "options->scale is 0.5, expected 0.6",
       true},
      {R"({"model_type":"opt"})", "decoder.layers.0.self_attn", kBart, "options->causal is HEED_CAUSAL_NONE"},
      {R"({"model_type":"clip"})", "text_model.encoder.layers.0.self_attn", kBart,
       "options->causal is HEED_CAUSAL_NONE"},
      {R"({"model_type":"clip"})", "vision_model.encoder.layers.0.self_attn", kBart, "expected HEED_CAUSAL_NONE", true},
      {R"({"model_type":"xlm","causal":true})", "attentions.0", kXlm, "options->causal is HEED_CAUSAL_NONE"},
      {R"({"model_type":"flaubert"})", "attentions.0", kXlm, "options->causal is HEED_CAUSAL_TOP_LEFT", true},
      {R"({"model_type":"mllama_vision_model"})", "vision_model.layers.0.self_attn", kLlama,
       "expected HEED_CAUSAL_NONE", true},
      {R"({"model_type":"gemma3_text"})", "encoder_attn", kOwn, "expected HEED_CAUSAL_NONE", true},
      {R"({"model_type":"x","use_bidirectional_attention":true})", "a", kBart, "expected HEED_CAUSAL_NONE", true},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.config) + " " + one.prefix);
    const auto options = one.is_causal ? causal() : two_of_four();
    expect_refused(load(below(one.prefix, one.names), one.config, one.prefix, options, "model_type"),
                   HEED_ERROR_INVALID_ARGUMENT, one.words);
  }
  heed_multi_head_attention_options causal_from_the_end = two_of_four();
  causal_from_the_end.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  expect_refused(load(below("attention", kBert), R"({"model_type":"bert"})", "attention", causal_from_the_end),
                 HEED_ERROR_INVALID_ARGUMENT, "options->causal is HEED_CAUSAL_BOTTOM_RIGHT, expected HEED_CAUSAL_NONE");
}

// Read as nothing, each would be its default.
TEST_F(Families, SettingsOfAnotherKindOfJsonAreRefused) {
  const struct {
    const char* config;
    const char* words;
  } cases[] = {
      {R"({"model_type":"bert","num_attention_heads":"2"})", "says \"2\" for the setting \"num_attention_heads\""},
      {R"({"model_type":"bert","is_decoder":"true"})",
       "says \"true\" for the setting \"is_decoder\", expected true or"},
      {R"({"model_type":"bert","is_decoder":1})", "says 1 for the setting \"is_decoder\""},
      {R"({"model_type":"bert","position_embedding_type":3})", "says 3 for the setting \"position_embedding_type\""},
      {R"({"model_type":"bert","head_dim":true})", "says true for the setting \"head_dim\", expected a whole number"},
  };
  for (const auto& [config, words] : cases) {
    SCOPED_TRACE(config);
    const Answer answer = load(below("attention", kBert), config, "attention", two_of_four());
    expect_refused(answer, HEED_ERROR_INVALID_ARGUMENT, words);
    expect_refused(answer, HEED_ERROR_INVALID_ARGUMENT, "; with accept \"config\" the names alone are asked");
  }
  // Models of images have lists where others have one number, and "NaN" is a setting without a value.
  for (const char* config :
       {R"({"model_type":"bert","num_attention_heads":[2,4]})", R"({"model_type":"bert","num_attention_heads":NaN})",
        R"({"model_type":"bert","num_attention_heads":null})"}) {
    SCOPED_TRACE(config);
    EXPECT_EQ(load(below("attention", kBert), config, "attention", two_of_four()).status, HEED_OK);
  }
}

TEST_F(Families, WindowsDependOnTheLayersIndex) {
  const struct {
    const char* config;
    const char* prefix;
    bool is_windowed;
  } cases[] = {
      {R"({"model_type":"x","sliding_window":7})", "layers.0.a", true},
      {R"({"model_type":"x","sliding_window":null})", "layers.0.a", false},
      {R"({"model_type":"x","sliding_window":7,"use_sliding_window":false})", "layers.0.a", false},
      {R"({"model_type":"x","sliding_window":7,"use_sliding_window":true})", "layers.0.a", true},
      {R"({"model_type":"x","sliding_window":7,"max_window_layers":2})", "layers.1.a", false},
      {R"({"model_type":"x","sliding_window":7,"max_window_layers":2})", "layers.2.a", true},
      {R"({"model_type":"x","sliding_window":7,"sliding_window_pattern":4})", "layers.2.a", true},
      {R"({"model_type":"x","sliding_window":7,"sliding_window_pattern":4})", "layers.3.a", false},
      {R"({"model_type":"x","sliding_window":7,"layer_types":["full_attention","sliding_attention"]})", "layers.0.a",
       false},
      {R"({"model_type":"x","sliding_window":7,"layer_types":["full_attention","sliding_attention"]})", "layers.1.a",
       true},
      {R"({"model_type":"gemma2","sliding_window":7,"query_pre_attn_scalar":4,"attn_logit_softcapping":null})",
       "layers.0.a", true},
      {R"({"model_type":"gemma2","sliding_window":7,"query_pre_attn_scalar":4,"attn_logit_softcapping":null})",
       "layers.1.a", false},
      {R"({"model_type":"x","sliding_window":7})", "layers.0.cross_attn", false},
      // Settings that the family's class has by itself.
      {R"({"model_type":"cohere2","sliding_window":7})", "layers.2.a", true},
      {R"({"model_type":"exaone4","sliding_window":7})", "layers.2.a", true},
      {R"({"model_type":"gpt_oss","sliding_window":7})", "layers.0.a", true},
      {R"({"model_type":"gpt_oss","sliding_window":7})", "layers.1.a", false},
      {R"({"model_type":"olmo3","sliding_window":7})", "layers.2.a", true},
      {R"({"model_type":"olmo3","sliding_window":7})", "layers.3.a", false},
      {R"({"model_type":"qwen2","sliding_window":7})", "layers.0.a", false},
      {R"({"model_type":"qwen2","sliding_window":7,"use_sliding_window":true})", "layers.27.a", false},
      {R"({"model_type":"qwen2","sliding_window":7,"use_sliding_window":true})", "layers.28.a", true},
      {R"({"model_type":"qwen2_moe","sliding_window":7,"use_sliding_window":true})", "layers.0.a", true},
      {R"({"model_type":"qwen2_moe","sliding_window":7,"use_sliding_window":true})", "layers.1.a", false},
      {R"({"model_type":"qwen2_moe","sliding_window":7,"use_sliding_window":true})", "layers.28.a", false},
      {R"({"model_type":"qwen3_moe","sliding_window":7,"use_sliding_window":true,"max_window_layers":9})", "layers.0.a",
       true},
      {R"({"model_type":"mistral","sliding_window":7,"use_sliding_window":false,"max_window_layers":9})", "layers.0.a",
       true},
      {R"({"model_type":"qwen3","sliding_window":7,"use_sliding_window":true,"max_window_layers":0})", "layers.0.a",
       true},
      {R"({"model_type":"mistral","sliding_window":null})", "layers.0.a", false},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(std::string(one.config) + " " + one.prefix);
    const bool is_cross = std::string(one.prefix).find("cross") != std::string::npos;
    heed_multi_head_attention_options options = is_cross ? two_of_four() : causal();
    const auto answer = [&] {
      return load(below(one.prefix, kOwn), one.config, one.prefix, options, "rotary, sinks, model_type");
    };
    if (one.is_windowed) {
      expect_refused(answer(), HEED_ERROR_INVALID_ARGUMENT,
                     "options->window is HEED_WINDOW_NONE, expected options->window_left 6 and options->window_right "
                     "unlimited; with "
                     "accept \"window\"");
      options.window = HEED_WINDOW_BOTTOM_RIGHT;
      options.window_left = 6;
    }
    expect_loaded(answer());
  }
  // EXAONE 4 may have a text for the pattern, which does not say the layer's kind: the window is the caller's.
  const Answer of_text =
      load(below("layers.0.a", kOwn), R"({"model_type":"exaone4","sliding_window":7,"sliding_window_pattern":"LLLG"})",
           "layers.0.a", causal(), "rotary");
  expect_loaded(of_text);
  ASSERT_EQ(of_text.warnings.size(), 1U);
  EXPECT_NE(of_text.warnings[0].find("does not say its model's window"), std::string::npos) << of_text.warnings[0];
  // A window on both sides of the query: half of the setting on each.
  const char* const both_ways =
      R"({"model_type":"gemma3_text","use_bidirectional_attention":true,"sliding_window":512})";
  expect_refused(load(below("layers.0.a", kOwn), both_ways, "layers.0.a", two_of_four(), "rotary"),
                 HEED_ERROR_INVALID_ARGUMENT, "expected options->window_left 256 and options->window_right 256");
  // Without causal, the number of keys after the query matters, too.
  heed_multi_head_attention_options windowed = two_of_four();
  windowed.window = HEED_WINDOW_TOP_LEFT;
  windowed.window_left = -1;
  windowed.window_right = 2;
  expect_refused(load(below("attention", kBert), R"({"model_type":"bert"})", "attention", windowed),
                 HEED_ERROR_INVALID_ARGUMENT,
                 "options->window_left is unlimited and options->window_right 2, expected HEED_WINDOW_NONE");
}

// If the prefix does not show the index of the layer, or whether it belongs to the decoder.
TEST_F(Families, WarnOfSettingsThatThePrefixLeavesOpen) {
  const struct {
    const char* config;
    Names names;
    const char* unknown;
  } cases[] = {
      {R"({"model_type":"x","sliding_window":7,"max_window_layers":2})", kOwn, "causal, scale, window"},
      {R"({"model_type":"gpt2","scale_attn_by_inverse_layer_idx":true})", kGpt2, "scale"},
      {R"({"model_type":"gpt_neo"})", kOwn, "window"},
      {R"({"model_type":"bart"})", kBart, "causal"},
      {R"({"model_type":"clip"})", kBart, "causal"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.config);
    const Answer answer = load(below("a", one.names), one.config, "a", causal(), "scale, model_type");
    expect_loaded(answer);
    const std::string words = one.unknown;
    if (words == "scale") {
      EXPECT_TRUE(answer.warnings.empty());
      EXPECT_EQ(load(below("a", one.names), one.config, "a", causal()).warnings.size(), 1U);
      continue;
    }
    ASSERT_EQ(answer.warnings.size(), 1U);
    const std::string named = words == "causal, scale, window" ? "causal, window" : words;
    EXPECT_NE(answer.warnings[0].find("does not say its model's " + named + ", by model_type"), std::string::npos)
        << answer.warnings[0];
  }
}

TEST_F(Families, SettingsThatHeedHasNoOptionForAreRefused) {
  const char* const bias = "a bias of relative positions of another kind";
  const struct {
    const char* config;
    const char* words;
  } cases[] = {
      {R"({"model_type":"x","rope_theta":1e4,"rope_scaling":{"type":"dynamic","factor":2.0}})",
       "rotary positions of type \"dynamic\", whose frequencies change with the length while keys are cached"},
      {R"({"model_type":"llama","rope_parameters":{"rope_type":"proportional"}})",
       "rotary positions of a type that heed does not know"},
      {R"({"model_type":"llama","rope_scaling":{"rope_type":"linear"}})",
       "rotary positions whose settings are incomplete or out of range"},
      {R"({"model_type":"qwen2_vl","rope_scaling":{"type":"default","mrope_section":[1,1]}})",
       "rotary positions on several axes"},
      {R"({"model_type":"pixtral"})", "rotary positions on several axes"},
      {R"({"model_type":"bert","position_embedding_type":"relative_key"})", bias},
      {R"({"model_type":"beit","use_relative_position_bias":true})", bias},
      {R"({"model_type":"speecht5","encoder_max_relative_position":160})", bias},
      {R"({"model_type":"longt5"})", bias},
      {R"({"model_type":"longformer"})", "scores or visible keys of another kind"},
      {R"({"model_type":"big_bird","attention_type":"block_sparse"})", "scores or visible keys of another kind"},
      {R"({"model_type":"jamba","use_qk_norm":true})", "norms of queries and keys of another kind"},
      {R"({"model_type":"jamba","clip_qkv":8.0})", "clipped queries, keys and values"},
      {R"({"model_type":"mpt","attn_config":{"clip_qkv":1.5}})", "clipped queries, keys and values"},
      {R"({"model_type":"jamba","layer_types":["linear_attention"]})", "scores or visible keys of another kind"},
      {R"({"model_type":"gemma3n_text"})", "scores or visible keys of another kind"},
      {R"({"model_type":"roformer","rotary_value":true})", "scores or visible keys of another kind"},
      {R"({"model_type":"llama","partial_rotary_factor":1e300})",
       "rotary positions whose settings are incomplete or out of range"},
      {R"({"model_type":"llama","partial_rotary_factor":-1e300})",
       "rotary positions whose settings are incomplete or out of range"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.config);
    expect_refused(load(below("layers.0.a", kOwn), one.config, "layers.0.a", two_of_four(), "model_type"),
                   HEED_ERROR_UNSUPPORTED, std::string("has attention with ") + one.words + " (by model_type");
  }
}

// The rotary positions of a configuration in the styles of transformers 4 and 5, and the members that a layer needs.
TEST_F(Families, RotarySettingsAreComparedWithTheOptions) {
  // The expected members, without "options->rope->".
  const struct {
    const char* config;
    const char* expected;
    const char* prefix = "layers.1.self_attn";
  } cases[] = {
      {R"({"model_type":"llama"})", "layout HEED_ROPE_HALF, base 10000;"},
      {R"({"model_type":"llama","rope_theta":5e5})", "layout HEED_ROPE_HALF, base 500000;"},
      {R"({"model_type":"llama","rope_parameters":{"rope_type":"default","rope_theta":5e5}})",
       "layout HEED_ROPE_HALF, base 500000;"},
      {R"({"model_type":"cohere","rope_theta":8e6})", "layout HEED_ROPE_INTERLEAVED, base 8000000;"},
      {R"({"model_type":"llama","rope_scaling":{"type":"linear","factor":2.5}})",
       "layout HEED_ROPE_HALF, scaling HEED_ROPE_SCALING_LINEAR, base 10000, factor 2.5;"},
      {R"({"model_type":"llama","rope_theta":5e5,"rope_scaling":{"rope_type":"llama3","factor":32.0,"low_freq_factor":2.0,)"
       R"("high_freq_factor":5.0,"original_max_position_embeddings":8192}})",
       "scaling HEED_ROPE_SCALING_LLAMA3, base 500000, factor 32, original_length 8192, low_freq_factor 2, "
       "high_freq_factor 5;"},
      {R"({"model_type":"qwen2","max_position_embeddings":32768,"rope_scaling":{"type":"yarn","factor":4.0,)"
       R"("original_max_position_embeddings":32768}})",
       "scaling HEED_ROPE_SCALING_YARN, base 10000, factor 4, original_length 32768;"},
      {R"({"model_type":"qwen2","rope_scaling":{"type":"yarn","factor":4.0,"attention_factor":1.5,)"
       R"("original_max_position_embeddings":32768}})",
       "original_length 32768, attention_factor 1.5;"},
      {R"({"model_type":"llama","max_position_embeddings":512,"rope_parameters":{"rope_type":"yarn","factor":4.0,)"
       R"("mscale":0.707,"mscale_all_dim":1.3,"beta_fast":20,"beta_slow":2,"truncate":false}})",
       "factor 4, original_length 512, beta_fast 20, beta_slow 2, no_rounding 1, attention_factor 0.930345714;"},
      {R"({"model_type":"phi3","max_position_embeddings":64,"original_max_position_embeddings":8,"rope_scaling":)"
       R"({"type":"longrope","long_factor":[1,2,3,4],"short_factor":[1,1,1,1]}})",
       "scaling HEED_ROPE_SCALING_FACTORS, base 10000, attention_factor 1.41421354, factors \"long_factor\" or "
       "\"short_factor\";"},
      {R"({"model_type":"phi3","max_position_embeddings":8,"original_max_position_embeddings":8,"rope_scaling":)"
       R"({"type":"su","long_factor":[1,2,3,4],"short_factor":[1,1,1,1]}})",
       "base 10000, factors \"short_factor\";"},
      {R"({"model_type":"gpt_neox","rotary_pct":0.25,"rotary_emb_base":20000})",
       "layout HEED_ROPE_HALF, rotary_size 2, base 20000;"},
      {R"({"model_type":"phi","partial_rotary_factor":0.5})", "layout HEED_ROPE_HALF, rotary_size 4, base 10000;"},
      // A factor of its own goes before the ratio of lengths.
      {R"({"model_type":"phi3","max_position_embeddings":64,"original_max_position_embeddings":8,"rope_scaling":)"
       R"({"type":"longrope","factor":6,"long_factor":[1,2,3,4],"short_factor":[1,1,1,1]}})",
       "attention_factor 1.36442447, factors \"long_factor\" or \"short_factor\";"},
      // 8 * 0.6 is 4.8, 8 * 0.34 is 2.72.
      {R"({"model_type":"phi3","partial_rotary_factor":0.6})", "layout HEED_ROPE_HALF, rotary_size 4, base 10000;"},
      {R"({"model_type":"gpt_neox","rotary_pct":0.34})", "layout HEED_ROPE_HALF, rotary_size 2, base 10000;"},
      {R"({"model_type":"gptj","rotary_dim":4})", "layout HEED_ROPE_INTERLEAVED, rotary_size 4, base 10000;"},
      // Gemma 3 in version 4: the layers with a window have a base of their own, and no scaling.
      {R"({"model_type":"gemma3_text","sliding_window":4,"sliding_window_pattern":2,"rope_theta":1e6,)"
       R"("rope_local_base_freq":2e4,"rope_scaling":{"rope_type":"linear","factor":8.0}})",
       "scaling HEED_ROPE_SCALING_LINEAR, base 1000000, factor 8;"},
      {R"({"model_type":"gemma3_text","sliding_window":4,"sliding_window_pattern":2,"rope_theta":1e6,)"
       R"("rope_local_base_freq":2e4,"rope_scaling":{"rope_type":"linear","factor":8.0}})",
       "layout HEED_ROPE_HALF, base 20000;", "layers.0.self_attn"},
      {R"({"model_type":"gpt_oss","layer_types":["sliding_attention","full_attention"],"rope_parameters":)"
       R"({"rope_theta":10,"rope_type":"default"}})",
       "layout HEED_ROPE_HALF, base 10;"},
      // The pairing of the family is not known: the caller's is taken.
      {R"({"model_type":"x","rope_theta":7})", "base 7;"},
  };
  heed_multi_head_attention_options options = causal();
  options.num_heads = 1;
  for (const auto& one : cases) {
    SCOPED_TRACE(one.config);
    Answer refused = load(below(one.prefix, kOwn), one.config, one.prefix, options, "scale, window, sinks, model_type");
    expect_refused(refused, HEED_ERROR_INVALID_ARGUMENT, "options->rope is NULL, expected options->rope->");
    constexpr std::string_view kMember = "options->rope->";
    for (size_t at; (at = refused.sentence.find(kMember)) != std::string::npos;)
      refused.sentence.erase(at, kMember.size());
    expect_refused(refused, HEED_ERROR_INVALID_ARGUMENT, one.expected);
  }
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  options.rope = &rope;
  for (const int32_t layout : {HEED_ROPE_HALF, HEED_ROPE_INTERLEAVED}) {
    rope.layout = layout;
    rope.base = 7;
    const Answer loaded =
        load(below("a", kOwn), R"({"model_type":"x","rope_theta":7})", "a", options, "scale, causal, model_type");
    expect_loaded(loaded);
    ASSERT_EQ(loaded.warnings.size(), 1U);
    EXPECT_NE(loaded.warnings[0].find("does not say its model's rotary, by model_type \"x\" in config.json: "
                                      "options->rope->layout HEED_ROPE_"),
              std::string::npos)
        << loaded.warnings[0];
    expect_refused(load(below("a", kOwn), R"({"model_type":"bert","is_decoder":true})", "a", options),
                   HEED_ERROR_INVALID_ARGUMENT, "options->rope is set, expected NULL");
  }
  // The names alone tell the pairing of some families.
  options = causal();
  options.rope = &rope;
  rope.layout = HEED_ROPE_HALF;
  expect_refused(load(below("h.0.attn", kBart), "", "h.0.attn", options), HEED_ERROR_INVALID_ARGUMENT,
                 "by the names of Hugging Face GPT-J: options->rope->layout is HEED_ROPE_HALF, expected "
                 "HEED_ROPE_INTERLEAVED");
  rope.layout = HEED_ROPE_INTERLEAVED;
  const char* const neox = "gpt_neox.layers.0.attention";
  expect_refused(
      load({{std::string(neox) + ".query_key_value.weight", {24, 8}}, {std::string(neox) + ".dense.weight", {8, 8}}},
           "", neox, options),
      HEED_ERROR_INVALID_ARGUMENT, "options->rope->layout is HEED_ROPE_INTERLEAVED, expected HEED_ROPE_HALF");
  // Layers without rotary positions.
  options.rope = nullptr;
  expect_loaded(
      load(below("layers.1.a", kOwn), R"({"model_type":"smollm3","no_rope_layers":[1,0]})", "layers.1.a", options));
  expect_loaded(load(below("layers.1.cross_attn", kOwn), R"({"model_type":"llama"})", "layers.1.cross_attn", [&] {
    heed_multi_head_attention_options cross = options;
    cross.causal = HEED_CAUSAL_NONE;
    return cross;
  }()));
}

// The other options that come with positions.
TEST_F(Families, PositionSettingsAreComparedWithTheOptions) {
  const struct {
    const char* config;
    const char* prefix;
    const char* words;
    bool is_causal = true;
  } cases[] = {
      {R"({"model_type":"bert","position_embedding_type":"alibi"})", "a",
       "options->alibi is HEED_ALIBI_NONE, expected HEED_ALIBI_ADDED", false},
      {R"({"model_type":"bloom"})", "a", "options->alibi is HEED_ALIBI_NONE, expected HEED_ALIBI_ADDED"},
      {R"({"model_type":"falcon","alibi":true})", "a", "options->alibi is HEED_ALIBI_NONE, expected HEED_ALIBI_SCALED"},
      {R"({"model_type":"falcon"})", "a",
       "options->num_kv_heads is 2, expected 1; options->rope is NULL, expected options->rope->layout"},
      {R"({"model_type":"gpt_oss"})", "a", "options->sinks is 0, expected 1"},
      {R"({"model_type":"t5","relative_attention_num_buckets":16})", "encoder.a",
       "expected HEED_RELATIVE_BIAS_BOTH_WAYS, options->relative_bias_buckets 16, options->relative_bias_max_distance "
       "128",
       false},
      {R"({"model_type":"t5"})", "a",
       "expected HEED_RELATIVE_BIAS_BOTH_WAYS or HEED_RELATIVE_BIAS_ONE_WAY; with accept", false},
      {R"({"model_type":"t5"})", "decoder.a",
       "expected HEED_RELATIVE_BIAS_ONE_WAY, options->relative_bias_buckets 32, options->relative_bias_max_distance "
       "128"},
      {R"({"model_type":"modernbert","global_attn_every_n_layers":3,"local_attention":10})", "layers.3.attn",
       "options->rope is NULL, expected options->rope->layout HEED_ROPE_HALF, options->rope->base 160000", false},
      {R"({"model_type":"modernbert","global_attn_every_n_layers":3,"local_attention":10,"local_rope_theta":5})",
       "layers.4.attn",
       "expected options->window_left 5 and options->window_right 5; options->rope is NULL, expected "
       "options->rope->layout HEED_ROPE_HALF, options->rope->base 5",
       false},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.config);
    expect_refused(load(below(one.prefix, kOwn), one.config, one.prefix, one.is_causal ? causal() : two_of_four()),
                   HEED_ERROR_INVALID_ARGUMENT, one.words);
  }
  // Cohere's norm has a weight for each head, and its configuration says whether there is one.
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_INTERLEAVED;
  heed_multi_head_attention_options cohere = causal();
  cohere.rope = &rope;
  cohere.qk_norm_epsilon = 1e-5F;
  const std::vector<FileTensor> with_norms = below("self_attn", kLlama) +
                                             FileTensor{"self_attn.q_norm.weight", {2, 4}} +
                                             FileTensor{"self_attn.k_norm.weight", {2, 4}};
  const char* const config = R"({"model_type":"cohere","use_qk_norm":true,"layer_norm_eps":1e-5})";
  expect_refused(load(with_norms, config, "self_attn", cohere), HEED_ERROR_INVALID_ARGUMENT,
                 "options->qk_norm is HEED_QK_NORM_RMS, expected HEED_QK_NORM_LAYER; with accept \"qk_norm\"");
  cohere.qk_norm = HEED_QK_NORM_LAYER;
  expect_loaded(load(with_norms, config, "self_attn", cohere));
  // Without a configuration it is not known whether the norm multiplies by weight or by 1 + weight.
  const Answer by_names = load(with_norms, "", "self_attn", cohere, "rotary, scale, soft_cap, window");
  expect_loaded(by_names);
  ASSERT_EQ(by_names.warnings.size(), 1U);
  EXPECT_NE(by_names.warnings[0].find("does not say its model's qk_norm"), std::string::npos) << by_names.warnings[0];
}

// A learned table whose first rows belong to no position.
TEST_F(Families, TheFirstRowOfATableOfPositionsIsCompared) {
  const struct {
    const char* config;
    int64_t first_row;
  } cases[] = {{R"({"model_type":"opt","pad_token_id":1})", 2},
               {R"({"model_type":"bart"})", 2},
               {R"({"model_type":"roberta","pad_token_id":4})", 5},
               {R"({"model_type":"roberta","pad_token_id":1e300})", 2},
               {R"({"model_type":"bert"})", 0}};
  for (const auto& one : cases) {
    for (const int64_t first_row : {0, 2, 5}) {
      SCOPED_TRACE(one.config + (" with " + std::to_string(first_row)));
      heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
      options.kind = HEED_POSITIONS_LEARNED;
      options.max_positions = 9 - first_row;
      options.size = 3;
      options.first_row = first_row;
      const auto answer = [&](const char* accept) {
        heed_layer* layer = nullptr;
        check(heed_positional_encoding_create(context_.get(), &options, &layer));
        return load_layer(Layer(layer), {{"a.embed_positions.weight", {9, 3}}}, one.config, "a.embed_positions",
                          accept);
      };
      if (first_row == one.first_row) {
        expect_loaded(answer(nullptr));
        continue;
      }
      expect_refused(answer(nullptr), HEED_ERROR_INVALID_ARGUMENT,
                     "options->first_row is " + std::to_string(first_row) + ", expected " +
                         std::to_string(one.first_row) + "; with accept \"first_row\" it is loaded all the same");
      expect_loaded(answer("first_row"));
    }
  }
}

// For a configuration of several models, the prefix chooses one; otherwise all of them count.
TEST_F(Families, OfSeveralModelsInAConfigurationThePrefixChooses) {
  const char* const llava = R"({"model_type":"unheard_of","text_config":{"model_type":"opt","num_attention_heads":2},)"
                            R"("vision_config":{"model_type":"clip_vision_model","num_attention_heads":4}})";
  const auto answer = [&](const char* prefix, bool is_causal) {
    return load(below(prefix, kBart), llava, prefix, is_causal ? causal() : two_of_four());
  };
  expect_loaded(answer("language_model.decoder.layers.0.self_attn", true));
  expect_refused(answer("language_model.decoder.layers.0.self_attn", false), HEED_ERROR_INVALID_ARGUMENT,
                 "options->causal is HEED_CAUSAL_NONE");
  expect_refused(answer("vision_tower.layers.0.self_attn", false), HEED_ERROR_INVALID_ARGUMENT,
                 "options->num_heads is 2, expected 4");
  // If the prefix chooses none, the layer must fit at least one of them.
  expect_loaded(answer("layers.0.self_attn", true));
  expect_refused(answer("layers.0.self_attn", false), HEED_ERROR_INVALID_ARGUMENT, "by model_type");
  const char* const pair = R"({"model_type":"encoder-decoder","encoder":{"model_type":"bert"},)"
                           R"("decoder":{"model_type":"bert","is_decoder":true}})";
  const std::string decoder = "decoder.bert.encoder.layer.0.attention";
  expect_loaded(load(below(decoder, kBert), pair, decoder, causal()));
  const std::string encoder = "encoder.encoder.layer.0.attention";
  expect_loaded(load(below(encoder, kBert), pair, encoder, two_of_four()));
  expect_refused(load(below(encoder, kBert), pair, encoder, causal()), HEED_ERROR_INVALID_ARGUMENT, "HEED_CAUSAL_NONE");
}

// A configuration within another one has only the settings that differ from those of the family's class.
TEST_F(Families, SettingsThatAreLeftOutAreThoseOfTheFamily) {
  const char* const prefix = "language_model.model.layers.%d.self_attn";
  const auto at = [&](int layer) {
    std::string text = prefix;
    return text.replace(text.find("%d"), 2, std::to_string(layer));
  };
  const auto within = [](const std::string& settings) {
    return R"({"model_type":"unheard_of","text_config":{)" + settings + "}}";
  };
  const struct {
    std::string settings;
    int layer;
    const char* words;
  } cases[] = {
      {R"("model_type":"gemma3_text","sliding_window":1024,"rope_scaling":{"rope_type":"linear","factor":8})", 4,
       "options->scale is 0.5, expected 0.0625; options->window is HEED_WINDOW_NONE, expected options->window_left "
       "1023 "
       "and options->window_right unlimited; options->rope is NULL, expected options->rope->layout HEED_ROPE_HALF, "
       "options->rope->base 10000;"},
      {R"("model_type":"gemma3_text","sliding_window":1024,"rope_scaling":{"rope_type":"linear","factor":8})", 5,
       "options->scale is 0.5, expected 0.0625; options->rope is NULL, expected options->rope->layout HEED_ROPE_HALF, "
       "options->rope->scaling HEED_ROPE_SCALING_LINEAR, options->rope->base 1000000, options->rope->factor 8;"},
      {R"("model_type":"gemma2")", 0,
       "options->scale is 0.5, expected 0.0625; options->soft_cap is 0, expected 50; options->window is "
       "HEED_WINDOW_NONE, expected options->window_left 4095"},
      {R"("model_type":"gemma2","attn_logit_softcapping":null,"sliding_window":null)", 0,
       "options->scale is 0.5, expected 0.0625; options->rope is NULL"},
      {R"("model_type":"mistral")", 0, "options->window is HEED_WINDOW_NONE, expected options->window_left 4095"},
      {R"("model_type":"modernbert")", 1, "expected options->window_left 64 and options->window_right 64"},
      {R"("model_type":"modernbert")", 3,
       "expected HEED_CAUSAL_NONE; options->rope is NULL, expected options->rope->layout HEED_ROPE_HALF, "
       "options->rope->base 160000;"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.settings + " " + std::to_string(one.layer));
    const Answer answer = load(below(at(one.layer), kOwn), within(one.settings), at(one.layer), causal());
    expect_refused(answer, HEED_ERROR_INVALID_ARGUMENT, one.words);
  }
}

// The configuration of a vision tower may have the model_type of the whole model, or none.
TEST_F(Families, TowersOfDecodersAreNotCausal) {
  const char* const tower = "visual.blocks.0.attn";
  for (const char* const vision : {R"({"model_type":"qwen2_5_vl","num_heads":2,"fullatt_block_indexes":[7,0]})",
                                   R"({"model_type":"qwen2_vl","num_heads":2})", R"({"embed_dim":8})"}) {
    const std::string config = std::string(R"({"model_type":"qwen2_vl","num_attention_heads":4,"sliding_window":7,)") +
                               R"("vision_config":)" + vision + "}";
    SCOPED_TRACE(config);
    expect_loaded(load(below(tower, kLlama), config, tower, two_of_four(), "rotary"));
    expect_refused(load(below(tower, kLlama), config, tower, causal(), "rotary"), HEED_ERROR_INVALID_ARGUMENT,
                   "options->causal is HEED_CAUSAL_TOP_LEFT, expected HEED_CAUSAL_NONE");
    expect_refused(load(below("model.layers.0.attn", kLlama), config, "model.layers.0.attn", causal(), "rotary"),
                   HEED_ERROR_INVALID_ARGUMENT, "options->num_heads is 2, expected 4");
  }
  const char* const windowed =
      R"({"model_type":"qwen2_5_vl","vision_config":{"model_type":"qwen2_5_vl","fullatt_block_indexes":[7,15]}})";
  expect_refused(load(below(tower, kLlama), windowed, tower, two_of_four(), "rotary"), HEED_ERROR_UNSUPPORTED,
                 "scores or visible keys of another kind");
}

// Each message names its source: the tensors' names or a part of the configuration.
TEST_F(Families, RefusalsNameTheirSource) {
  const char* const several = R"({"model_type":"foo_vl","text_config":{"model_type":"foo_text"},)"
                              R"("vision_config":{"model_type":"foo_vision"}})";
  expect_refused(load(below("a", kLlama), several, "a", two_of_four(), "rotary, model_type"),
                 HEED_ERROR_INVALID_ARGUMENT,
                 "with other options by the names of Hugging Face Llama and its kin: options->causal is");
  const char* const two = R"({"model_type":"foo_vl","vision_config":{"model_type":"clip_vision_model"},)"
                          R"("text_config":{"model_type":"llama"},"audio_config":{"model_type":"wav2vec2"}})";
  expect_refused(
      load(below("a", {"qkv_proj.weight", "o_proj.weight"}), two, "a", two_of_four()), HEED_ERROR_UNSUPPORTED,
      "has \"a.qkv_proj.weight\", and how it packs queries, keys and values is not known of its model: expected "
      "the projections apart, as \"W_q.weight\", \"W_k.weight\" and \"W_v.weight\"");
}

// A family that no record knows is refused by its name: neither names nor settings say what its attention computes.
TEST_F(Families, ThatAreNotKnownAreRefusedByTheirModelType) {
  struct Unknown {
    const char* config;
    const char* prefix;
    Names names;
    const char* model_type;
  };
  const Unknown cases[] = {
      {R"({"model_type":"unheard_of"})", "self_attn", kBart, "unheard_of"},
      {R"({"model_type":"unheard_of"})", "a", kOwn, "unheard_of"},
      {R"({"model_type":"clvp","text_config":{"model_type":"clvp_encoder"}})", "text_encoder_model.layers.0.self_attn",
       kBart, "clvp_encoder"},
      {R"({"model_type":"sam3_vit_model","rope_theta":10000.0})", "layers.0.attention", kLlama, "sam3_vit_model"},
      {R"({"model_type":"hiera"})", "encoder.stages.0.layers.0.attn", kTimm, "hiera"},
      {R"({"model_type":"canine"})", "encoder.layer.0.attention", kBert, "canine"},
      {R"({"model_type":"bros"})", "encoder.layer.0.attention", kBert, "bros"},
      {R"({"model_type":"florence2","text_config":{"model_type":"bart"},"vision_config":{"model_type":"florence_vision"}})",
       "vision_tower.blocks.0.attn", kTimm, "florence_vision"},
      {R"({"model_type":"d_fine"})", "model.encoder.encoder.0.layers.0.self_attn", kLlama, "d_fine"},
      {R"({"model_type":"deimv2"})", "model.encoder.encoder.0.layers.0.self_attn", kLlama, "deimv2"},
      {R"({"model_type":"rt_detr_v2"})", "model.decoder.layers.0.self_attn", kLlama, "rt_detr_v2"},
      // One of the parts is not known, and the prefix does not say which it is.
      {R"({"model_type":"my_vl","text_config":{"model_type":"bert"},"vision_config":{"model_type":"my_vision"}})", "a",
       kBert, "my_vision"},
  };
  for (const auto& [config, prefix, names, model_type] : cases) {
    SCOPED_TRACE(config);
    expect_refused(
        load(below(prefix, names), config, prefix, two_of_four()), HEED_ERROR_UNSUPPORTED,
        "is of model_type \"" + std::string(model_type) + "\" by config.json, a family that heed does not know");
    const Answer accepted = load(below(prefix, names), config, prefix, two_of_four(), "model_type, rotary, causal");
    expect_loaded(accepted);
  }
  // An unknown model whose parts are all of known families; and one with an unknown part, where the prefix names a known one.
  constexpr const char* kOfKnown =
      R"({"model_type":"my_vl","text_config":{"model_type":"bert"},"vision_config":{"model_type":"vit"}})";
  expect_loaded(load(below("a", kBert), kOfKnown, "a", two_of_four()));
  constexpr const char* kOfOneKnown =
      R"({"model_type":"my_vl","text_config":{"model_type":"bert"},"vision_config":{"model_type":"my_vision"}})";
  expect_loaded(load(below("text_model.a", kBert), kOfOneKnown, "text_model.a", two_of_four()));
}

TEST_F(Families, ThatAreNotKnownHaveSettingsAtEveryLevel) {
  const struct {
    const char* config;
    heed_status status;
    const char* words;
  } cases[] = {
      {R"({"model_type":"x","backbone":{"rope_theta":10000.0}})", HEED_ERROR_INVALID_ARGUMENT, "options->rope is NULL"},
      {R"({"model_type":"x","a":{"b":{"sliding_window":7}}})", HEED_ERROR_INVALID_ARGUMENT, "options->window_left 6"},
      {R"({"model_type":"x","attention":{"num_attention_heads":4}})", HEED_ERROR_INVALID_ARGUMENT,
       "options->num_heads is 2, expected 4"},
      {R"({"model_type":"x","a":{"rope_scaling":{"type":"dynamic","factor":2.0}}})", HEED_ERROR_UNSUPPORTED,
       "type \"dynamic\""},
      {R"({"model_type":"x","a":{"use_relative_position_bias":true}})", HEED_ERROR_UNSUPPORTED,
       "a bias of relative positions of another kind"},
      // The outer one is nearer.
      {R"({"model_type":"x","a":{"num_attention_heads":2},"num_attention_heads":4})", HEED_ERROR_INVALID_ARGUMENT,
       "options->num_heads is 2, expected 4"},
  };
  for (const auto& [config, status, words] : cases) {
    SCOPED_TRACE(config);
    expect_refused(load(below("a", kOwn), config, "a", two_of_four(), "model_type"), status, words);
  }
  // A known family has them where its class has them.
  expect_loaded(load(below("a", kBert), R"({"model_type":"bert","b":{"num_attention_heads":4}})", "a", two_of_four()));
}

// Its LayerNorm comes before the attention, by the name that BERT's has behind the residual.
TEST_F(Families, OfANormBeforeTheAttentionAreRefused) {
  const std::vector<FileTensor> tensors =
      below("encoder.layer.0.attention", kBert) + FileTensor{"encoder.layer.0.attention.LayerNorm.weight", {8}};
  const auto answer = [&](const char* accept) {
    return load(tensors, R"({"model_type":"roberta-prelayernorm"})", "encoder.layer.0.attention", two_of_four(),
                accept);
  };
  expect_refused(answer(nullptr), HEED_ERROR_UNSUPPORTED,
                 "a norm before its projections (by model_type \"roberta-prelayernorm\" in config.json)");
  expect_loaded(answer("attention"));
}

// Vision models with rotary positions or windows have the names of timm's and of ViT's attention.
TEST_F(Families, WarnOfNamesThatModelsOfOtherPositionsShare) {
  const std::pair<const char*, Names> cases[] = {{"visual.blocks.3.attn", kTimm},
                                                 {"blocks.0.attn", kTimm},
                                                 {"transformer.layers.0.attention", kLlama},
                                                 {"layers.0.attention", kLlama}};
  for (const auto& [prefix, names] : cases) {
    SCOPED_TRACE(prefix);
    const Answer answer = load(below(prefix, names), "", prefix, two_of_four());
    expect_loaded(answer);
    ASSERT_EQ(answer.warnings.size(), 1U);
    EXPECT_NE(answer.warnings[0].find("does not say its model's rotary, window, by the names of"), std::string::npos)
        << answer.warnings[0];
    EXPECT_EQ(load(below(prefix, names), "", prefix, two_of_four(), "rotary, window").warnings, Names{});
  }
  EXPECT_EQ(load(below("blocks.0.attn", kTimm), R"({"model_type":"vit"})", "blocks.0.attn", two_of_four()).warnings,
            Names{});
}

// Options that the names determine need no warning, even if the configuration does not state them.
TEST_F(Families, WarnOnlyOfOptionsThatNothingDetermines) {
  const Answer gpt2 = load(below("h.0.attn", kGpt2), R"({"model_type":"my_gpt"})", "h.0.attn", causal(), "model_type");
  expect_loaded(gpt2);
  ASSERT_EQ(gpt2.warnings.size(), 1U);
  EXPECT_NE(gpt2.warnings[0].find("does not say its model's scale, by model_type \"my_gpt\""), std::string::npos)
      << gpt2.warnings[0];
  const Answer xlm = load(below("attentions.0", kXlm), "", "attentions.0", two_of_four());
  expect_loaded(xlm);
  ASSERT_EQ(xlm.warnings.size(), 1U);
  EXPECT_NE(xlm.warnings[0].find("does not say its model's causal, by the names of Hugging Face XLM"),
            std::string::npos)
      << xlm.warnings[0];
  const char* const speech = R"({"model_type":"speecht5","encoder_max_relative_position":160})";
  const char* const decoder = "decoder.wrapped_decoder.layers.0.self_attn";
  expect_loaded(load(below(decoder, kBart), speech, decoder, causal()));
}

TEST_F(Families, AConfigurationThatCannotBeReadIsNamed) {
  const std::vector<FileTensor> tensors = below("a", kOwn);
  const struct {
    std::string config;
    const char* words;
  } cases[] = {
      {"{", "config.json\" is not JSON in UTF-8 at its byte"},
      {R"({"a":tru})", "is not JSON in UTF-8 at its byte"},
      {std::string("{\"a\":1}\0", 8), "is not JSON in UTF-8 at its byte 7"},
      {"[1]", "is no JSON object, expected a model's settings"},
      {"7", "is no JSON object"},
      {R"({"model_type":"bert","model_type":"gpt2"})", "has \"model_type\" twice"},
      {R"({"a":{"b":1,"b":2}})", "has \"a.b\" twice"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.config);
    expect_refused(load(tensors, one.config, "a", two_of_four()), HEED_ERROR_CORRUPT_FILE, one.words);
    expect_refused(load(tensors, one.config, "a", two_of_four()), HEED_ERROR_CORRUPT_FILE,
                   "; with accept \"config\" the names alone are asked");
    expect_loaded(load(tensors, one.config, "a", two_of_four(), "config"));
  }
  const std::string many = [] {
    std::string text = "{\"a\":[0";
    for (int i = 0; i < 70'000; ++i) text += ",0";
    return text + "]}";
  }();
  expect_refused(load(tensors, many, "a", two_of_four()), HEED_ERROR_CORRUPT_FILE, "has more than 65536 settings");
  const std::string spaces(16'000'001, ' ');  // NOLINT(bugprone-string-constructor): more than is read
  expect_refused(load(tensors, spaces, "a", two_of_four()), HEED_ERROR_CORRUPT_FILE,
                 "has 16000001 bytes, expected at most 16000000 of a model's settings");
  // A configuration without a model_type, and one that nests too deep to be read.
  const std::string deep = "{\"a\":" + std::string(100'000, '[') + std::string(100'000, ']') + "}";
  for (const std::string& config : {std::string("{}"), std::string(R"({"num_heads":9})"), deep,
                                    std::string(R"({"model_type":null,"num_heads":9})")})
    expect_loaded(load(tensors, config, "a", two_of_four()));
  // NaN and infinities as Python writes them.
  expect_loaded(load(tensors, R"({"model_type":"bert","x":[NaN,-Infinity,Infinity],"y":"\"NaN"})", "a", two_of_four()));
}

TEST_F(Families, AConfigurationThatIsAFolderIsAnError) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", file_of(below("a", kOwn)));
  std::filesystem::create_directory(folder.path("config.json"));
  const Layer layer = make_multi_head(context_.get(), two_of_four());
  EXPECT_EQ(heed_layer_load(layer.get(), path.c_str(), "a"), HEED_ERROR_IO);
  EXPECT_NE(std::string(heed_last_error()).find("config.json"), std::string::npos);
}

}  // namespace
}  // namespace heed::capi_test
