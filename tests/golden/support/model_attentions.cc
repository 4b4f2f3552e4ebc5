// SPDX-License-Identifier: Apache-2.0
#include "golden/support/model_attentions.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "golden/support/models.h"

namespace heed::golden {

using nlohmann::json;

namespace {

constexpr int32_t kAllButKeys = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O;
constexpr int32_t kAllButOutput = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V;

json config_of(const std::string& family) { return json::parse(std::ifstream(folder_of(family) + "/config.json")); }

// The first of these settings in the configuration, or `otherwise`.
int64_t setting(const json& config, const std::vector<std::string>& names, int64_t otherwise) {
  for (const std::string& name : names) {
    if (config.contains(name) && config[name].is_number()) return config[name].get<int64_t>();
  }
  return otherwise;
}

}  // namespace

heed_multi_head_attention_options sizes_of(const std::string& family, bool is_decoder, int32_t biases, bool causal) {
  const json config = config_of(family);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = setting(config, {"hidden_size", "d_model", "n_embd", "dim"}, 0);
  options.num_heads = setting(config,
                              {is_decoder ? "decoder_attention_heads" : "encoder_attention_heads",
                               "num_attention_heads", "n_head", "n_heads", "num_heads"},
                              0);
  options.num_kv_heads = setting(config, {"num_key_value_heads"}, 0);
  options.head_size = setting(config, {"head_dim", "d_kv"}, 0);
  options.biases = biases;
  options.causal = causal ? HEED_CAUSAL_TOP_LEFT : HEED_CAUSAL_NONE;
  return options;
}

Options ModelAttention::options() const {
  Options options;
  options.of_layer = sizes_of(family, is_decoder, biases, causal);
  options.of_layer.scale = scale;
  if (set != nullptr) set(options);
  return options;
}

namespace {

constexpr const char* kEncoder = "encoder.layer0.attention";
constexpr const char* kDecoder = "decoder.layer0.self_attention";
constexpr const char* kCross = "decoder.layer0.cross_attention";
constexpr const char* kSecond = "layer1.attention";
const char* const kLlamaSecond = "model.layers.1.self_attn";

void set_linear(Options& options) {
  set_half(options);
  options.of_rope.scaling = HEED_ROPE_SCALING_LINEAR;
  options.of_rope.factor = 4;
}

void set_llama3(Options& options) {
  set_half(options);
  options.of_rope.scaling = HEED_ROPE_SCALING_LLAMA3;
  options.of_rope.factor = 8;
  options.of_rope.original_length = 64;
  options.of_rope.low_freq_factor = 1;
  options.of_rope.high_freq_factor = 4;
}

void set_yarn(Options& options) {
  set_half(options);
  options.of_rope.scaling = HEED_ROPE_SCALING_YARN;
  options.of_rope.factor = 4;
  options.of_rope.original_length = 512;
}

void set_yarn_with_factor(Options& options) {
  set_yarn(options);
  options.of_rope.attention_factor = 1;
}

void set_phi3(Options& options) {
  set_half(options);
  // int(8 * 0.75)
  options.of_rope.rotary_size = 6;
}

constexpr float kLongFactors[] = {3.6F, 4.38F, 5.15F};
constexpr float kShortFactors[] = {1.0F, 1.37F, 1.74F};

void set_factors(Options& options, const float* factors, int64_t original_length) {
  set_phi3(options);
  options.of_rope.scaling = HEED_ROPE_SCALING_FACTORS;
  options.of_rope.factors = factors;
  options.of_rope.num_factors = 3;
  options.of_rope.factor = 4;
  options.of_rope.original_length = original_length;
}
void set_long(Options& options) { set_factors(options, kLongFactors, 8); }
void set_short(Options& options) { set_factors(options, kShortFactors, 32); }

// Hugging Face's windows of 4 count the token itself.
void set_window(Options& options) {
  options.of_layer.window = HEED_WINDOW_TOP_LEFT;
  options.of_layer.window_left = 3;
  options.of_layer.window_right = -1;
}

void set_mistral(Options& options) {
  set_half(options);
  set_window(options);
}

// query_pre_attn_scalar is 20.
void set_gemma2_second(Options& options) {
  set_half(options);
  options.of_layer.scale = 1 / std::sqrt(20.0F);
  options.of_layer.soft_cap = 2;
}

void set_gemma2(Options& options) {
  set_gemma2_second(options);
  set_window(options);
}

void set_gemma3_second(Options& options) {
  set_qwen3(options);
  options.of_layer.scale = 1 / std::sqrt(20.0F);
  options.of_rope.base = 1e6F;
  options.of_rope.scaling = HEED_ROPE_SCALING_LINEAR;
  options.of_rope.factor = 8;
}

void set_gpt_neox(Options& options) {
  set_half(options);
  options.of_rope.rotary_size = 4;
}

void set_gptj(Options& options) {
  options.of_rope.layout = HEED_ROPE_INTERLEAVED;
  options.of_rope.rotary_size = 4;
}

void set_cohere(Options& options) {
  options.of_rope.layout = HEED_ROPE_INTERLEAVED;
  options.of_rope.base = 500000;
}

void set_granite(Options& options) {
  set_half(options);
  options.of_layer.scale = 0.5F;
}

void set_one_key_head(Options& options) {
  set_half(options);
  options.of_layer.num_kv_heads = 1;
}

void set_two_key_heads(Options& options) {
  set_half(options);
  options.of_layer.num_kv_heads = 2;
}

void set_alibi(Options& options) { options.of_layer.alibi = HEED_ALIBI_ADDED; }
void set_scaled_alibi(Options& options) { options.of_layer.alibi = HEED_ALIBI_SCALED; }

void set_gpt_oss_second(Options& options) {
  set_half(options);
  options.of_rope.base = 150000;
  options.of_rope.scaling = HEED_ROPE_SCALING_YARN;
  options.of_rope.factor = 32;
  options.of_rope.original_length = 4096;
  options.of_rope.no_rounding = 1;
  options.of_layer.sinks = 1;
}

void set_gpt_oss(Options& options) {
  set_gpt_oss_second(options);
  set_window(options);
}

void set_modernbert(Options& options) {
  set_half(options);
  options.of_rope.base = 160000;
}

// local_attention is 4: 2 tokens on each side.
void set_modernbert_second(Options& options) {
  set_half(options);
  options.of_layer.window = HEED_WINDOW_TOP_LEFT;
  options.of_layer.window_left = 2;
  options.of_layer.window_right = 2;
}

ModelAttention of_llama_second(const char* family, void (*set)(Options&), int32_t biases = kNoBiases) {
  return {.family = family, .prefix = kLlamaSecond, .cases = kSecond, .biases = biases, .causal = true, .set = set};
}
ModelAttention of_falcon(const char* family, void (*set)(Options&), int32_t biases) {
  return {.family = family, .prefix = kFalconPrefix, .biases = biases, .causal = true, .set = set};
}

const ModelAttention kModelAttentions[] = {
    {.family = "bert", .prefix = "encoder.layer.0.attention"},
    {.family = "roberta", .prefix = "roberta.encoder.layer.0.attention"},
    {.family = "electra", .prefix = "encoder.layer.0.attention"},
    {.family = "distilbert", .prefix = "transformer.layer.0.attention"},
    {.family = "albert", .prefix = "encoder.albert_layer_groups.0.albert_layers.0.attention"},
    {.family = "vit", .prefix = "encoder.layer.0.attention"},
    {.family = "clip-text", .prefix = "encoder.layers.0.self_attn", .causal = true},
    {.family = "gpt2", .prefix = "transformer.h.0.attn", .causal = true},
    {.family = "opt", .prefix = "model.decoder.layers.0.self_attn", .causal = true},
    {.family = "bart", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "bart",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "bart", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "mbart", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "mbart",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "mbart", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "marian", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder},
    {.family = "marian",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .causal = true,
     .is_decoder = true},
    {.family = "marian", .prefix = "model.decoder.layers.0.encoder_attn", .cases = kCross, .is_decoder = true},
    {.family = "whisper", .prefix = "model.encoder.layers.0.self_attn", .cases = kEncoder, .biases = kAllButKeys},
    {.family = "whisper",
     .prefix = "model.decoder.layers.0.self_attn",
     .cases = kDecoder,
     .biases = kAllButKeys,
     .causal = true,
     .is_decoder = true},
    {.family = "whisper",
     .prefix = "model.decoder.layers.0.encoder_attn",
     .cases = kCross,
     .biases = kAllButKeys,
     .is_decoder = true},
    {.family = "t5",
     .prefix = "decoder.block.0.layer.1.EncDecAttention",
     .cases = kCross,
     .biases = kNoBiases,
     .is_decoder = true,
     .scale = 1},
    {.family = "t5",
     .prefix = "encoder.block.0.layer.0.SelfAttention",
     .cases = kEncoder,
     .biases = kNoBiases,
     .scale = 1,
     .set = set_buckets},
    {.family = "t5",
     .prefix = "decoder.block.0.layer.0.SelfAttention",
     .cases = kDecoder,
     .biases = kNoBiases,
     .causal = true,
     .is_decoder = true,
     .scale = 1,
     .set = set_buckets_one_way},
    of_llama("llama", set_half),
    of_llama("llama-rope-linear", set_linear),
    of_llama("llama-rope-llama3", set_llama3),
    of_llama("llama-rope-yarn", set_yarn),
    of_llama("llama-rope-yarn-factor", set_yarn_with_factor),
    of_llama("phi3", set_phi3),
    of_llama("phi3-longrope-long", set_long),
    of_llama("phi3-longrope-short", set_short),
    of_llama("mistral", set_mistral),
    of_llama("qwen2", set_half, kAllButOutput),
    of_llama_second("qwen2", set_half, kAllButOutput),
    of_llama("qwen3", set_qwen3),
    of_llama_second("qwen3", set_qwen3),
    of_llama("gemma", set_half),
    of_llama("gemma2", set_gemma2),
    of_llama_second("gemma2", set_gemma2_second),
    of_llama("gemma3", set_gemma3),
    of_llama_second("gemma3", set_gemma3_second),
    of_llama("cohere", set_cohere, kAll),
    of_llama("granite", set_granite),
    of_llama("gpt-oss", set_gpt_oss, kAll),
    of_llama_second("gpt-oss", set_gpt_oss_second, kAll),
    {.family = "gpt-neox", .prefix = "gpt_neox.layers.0.attention", .causal = true, .set = set_gpt_neox},
    {.family = "gptj", .prefix = "transformer.h.0.attn", .biases = kNoBiases, .causal = true, .set = set_gptj},
    of_falcon("falcon-multi-query", set_one_key_head, kNoBiases),
    of_falcon("falcon-new", set_two_key_heads, kNoBiases),
    of_falcon("bloom", set_alibi, kAll),
    {.family = "mpt", .prefix = "transformer.blocks.0.attn", .biases = kNoBiases, .causal = true, .set = set_alibi},
    {.family = "modernbert", .prefix = "layers.0.attn", .biases = kNoBiases, .set = set_modernbert},
    {.family = "modernbert",
     .prefix = "layers.1.attn",
     .cases = kSecond,
     .biases = kNoBiases,
     .set = set_modernbert_second},
};

}  // namespace

void set_half(Options& options) { options.of_rope.layout = HEED_ROPE_HALF; }

void set_qwen3(Options& options) {
  set_half(options);
  options.of_layer.qk_norm_epsilon = 1e-6F;
}

void set_gemma3(Options& options) {
  set_qwen3(options);
  options.of_layer.scale = 1 / std::sqrt(20.0F);
  set_window(options);
}

void set_buckets(Options& options) {
  options.of_layer.relative_bias = HEED_RELATIVE_BIAS_BOTH_WAYS;
  options.of_layer.relative_bias_buckets = 8;
  options.of_layer.relative_bias_max_distance = 12;
}

void set_buckets_one_way(Options& options) {
  set_buckets(options);
  options.of_layer.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
}

ModelAttention of_llama(const char* family, void (*set)(Options&), int32_t biases) {
  return {.family = family, .prefix = kLlamaPrefix, .biases = biases, .causal = true, .set = set};
}

std::ostream& operator<<(std::ostream& stream, const ModelAttention& attention) {
  return stream << attention.family << " " << attention.prefix;
}

std::string name_of(const ModelAttention& attention) {
  std::string name = std::string(attention.family) + "_" + attention.cases;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c == '-' || c == '.'; }, '_');
  return name;
}

std::span<const ModelAttention> model_attentions() { return kModelAttentions; }
ModelAttention falcon_with_alibi() { return of_falcon("falcon-alibi", set_scaled_alibi, kAll); }

}  // namespace heed::golden
