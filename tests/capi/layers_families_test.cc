// SPDX-License-Identifier: Apache-2.0
// The family of a model, by the names of its tensors, and how it limits loading. layers_model_settings_test.cc has
// configurations. The models of make_models.py are tested in tests/golden.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/support/families.h"
#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

// Tensors beside the projections that belong to a computation that heed does not support.
TEST_F(Families, UnknownTensorsInTheModuleAreRefused) {
  const struct {
    Names projections;
    const char* prefix;
    const char* unknown;
    const char* accept;
  } cases[] = {
      {kLlama, "blocks.0.attention", "blocks.0.attention.relative_position_bias_table", "relative_bias"},
      {kLlama, "blocks.0.attention", "blocks.0.attention.relative_position_bias.relative_position_bias_table",
       "relative_bias"},
      {kLlama, "blocks.0.attention", "blocks.0.relative_position_bias.table", "relative_bias"},
      {kLlama, "encoder.layers.0.attention", "encoder.relative_position_bias.relative_position_bias_table",
       "relative_bias"},
      {kBert, "a.attention", "a.attention.relative_position_bias_table", "relative_bias"},
      {kBert, "a.attention", "a.shared_position_bias.weight", "relative_bias"},
      {kT5, "encoder.layer.0.attention.attn", "encoder.relative_attention_bias.weight", "relative_bias"},
      {kBart, "a.attention", "a.attention.emb_rel_k", "relative_bias"},
      {kBart, "a", "a.gate_proj.weight", "gate_proj.weight"},
      {kBart, "a", "a.lambda_q1", "lambda_q1"},
      {kBart, "a", "a.per_dim_scale", "per_dim_scale"},
      {kBart, "a", "a.scaling", "scaling"},
      {kBart, "a", "a.layout_query.weight", "layout_query.weight"},
      {kTimm, "a", "a.fsmn.conv.weight", "fsmn.conv.weight"},
      {kBert, "a", "a.self.key_conv_attn_layer.depthwise.weight", "self.key_conv_attn_layer.depthwise.weight"},
      {kBert, "a", "a.self.sequence_reduction.weight", "self.sequence_reduction.weight"},
      {kBert, "a", "a.self.w2e_query.weight", "self.w2e_query.weight"},
      {kBart, "", "lambda_q1", "lambda_q1"},
      {kOwn, "a", "a.gate.weight", "gate.weight"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.unknown);
    const std::vector<FileTensor> tensors = below(one.prefix, one.projections) + FileTensor{one.unknown, {2, 3}};
    const Answer refused = load(tensors, "", one.prefix, two_of_four());
    expect_refused(refused, HEED_ERROR_UNSUPPORTED, "has \"" + std::string(one.unknown) + "\", which changes what ");
    expect_refused(refused, HEED_ERROR_UNSUPPORTED,
                   "with accept \"" + std::string(one.accept) + "\" it is loaded all the same");
    heed_multi_head_attention_options options = two_of_four();
    if (one.projections == kT5) options.scale = 0;
    expect_loaded(load(tensors, "", one.prefix, options, one.accept));
    expect_loaded(load(tensors, "", one.prefix, options, one.unknown));
  }
}

TEST_F(Families, SeveralUnknownTensorsAreNamedTogether) {
  std::vector<FileTensor> tensors = below("a", kBart);
  for (const char* name : {"a.lambda_k1", "a.lambda_k2", "a.lambda_q1", "a.lambda_q2", "a.subln.weight"})
    tensors.push_back({name, {4}});
  expect_refused(
      load(tensors, "", "a", two_of_four()), HEED_ERROR_UNSUPPORTED,
      "has \"a.lambda_k1\", which changes what Hugging Face BART computes, and heed has no option for it, nor "
      "for \"a.lambda_k2\", \"a.lambda_q1\", \"a.lambda_q2\" and 1 more; with accept \"lambda_k1, lambda_k2, "
      "lambda_q1, lambda_q2, subln.weight\" it is loaded all the same");
}

TEST_F(Families, TensorsKnownToBeHarmlessAreIgnored) {
  expect_loaded(load(below("a.attention", kBert) + FileTensor{"a.attention.output.LayerNorm.weight", {8}} +
                         FileTensor{"a.attention.LayerNorm.bias", {8}} + FileTensor{"a.mlp.weight", {8}},
                     "", "a.attention", two_of_four()));
  expect_loaded(load(
      below("h.0.attn", kGpt2) + FileTensor{"h.0.attn.bias", {1, 1, 5, 5}} + FileTensor{"h.0.attn.masked_bias", {}}, "",
      "h.0.attn", causal()));
  expect_refused(load(below("h.0.attn", kGpt2) + FileTensor{"h.0.attn.bias", {8}}, "", "h.0.attn", causal()),
                 HEED_ERROR_UNSUPPORTED, "\"h.0.attn.bias\"");
  // The prefix of a whole layer; and the inputs of a call beside parameters without a prefix.
  expect_loaded(
      load(below("layers.0", kOwn) + FileTensor{"layers.0.mlp.fc1.weight"} + FileTensor{"layers.0.linear1.weight"}, "",
           "layers.0", two_of_four()));
  expect_loaded(load(
      below("", kOwn) + FileTensor{"queries", {1}} + FileTensor{"average_weights_bound", {1}} + FileTensor{"bias", {1}},
      "", "", two_of_four()));
  expect_loaded(
      load(below("", kTimm) + FileTensor{"queries", {1}} + FileTensor{"valid_lens", {1}}, "", "", two_of_four()));
  // Beside heed's own names, a tensor outside any module is data, unless its name has a known meaning.
  expect_loaded(load(below("a", kOwn) + FileTensor{"a.vocabulary", {3}}, "", "a", two_of_four()));
  expect_refused(load(below("a", kOwn) + FileTensor{"a.sinks", {2}}, "", "a", two_of_four()),
                 HEED_ERROR_INVALID_ARGUMENT, "options->sinks is 0, expected 1, for \"a.sinks\"");
  // The first checkpoints of T5 have a table in cross attention that is never read.
  heed_multi_head_attention_options t5 = two_of_four();
  t5.scale = 1;
  const std::string cross = "decoder.block.0.layer.1.EncDecAttention";
  expect_loaded(load(below(cross, kT5) + FileTensor{cross + ".relative_attention_bias.weight"}, "", cross, t5));
}

TEST_F(Families, AreRecognizedByNamesAlone) {
  const auto refused = [&](const std::string& prefix, const Names& names, const std::string& words,
                           const heed_multi_head_attention_options& options, heed_status status) {
    SCOPED_TRACE(prefix);
    expect_refused(load(below(prefix, names), "", prefix, options), status, words);
  };
  const std::string of_llama = "is of a model with other options by the names of Hugging Face Llama and its kin: ";
  const std::string rotary = "options->rope is NULL, expected rotary positions";
  refused("model.layers.0.self_attn", kLlama, of_llama + rotary + "; with accept \"rotary\" it is loaded all the same",
          causal(), HEED_ERROR_INVALID_ARGUMENT);
  refused("", kLlama, of_llama + rotary, causal(), HEED_ERROR_INVALID_ARGUMENT);
  refused("transformer.h.0.attn", kBart, "by the names of Hugging Face GPT-J: " + rotary, causal(),
          HEED_ERROR_INVALID_ARGUMENT);
  refused("layer.0.attention", kLlama,
          "has attention with rotary positions on several axes (by the names of Hugging Face DINOv3)", two_of_four(),
          HEED_ERROR_UNSUPPORTED);
  refused("roformer.encoder.layer.0.attention", kBert, "by the names of Hugging Face RoFormer: " + rotary,
          two_of_four(), HEED_ERROR_INVALID_ARGUMENT);
  refused("h.0.attn", kGpt2, "options->causal is HEED_CAUSAL_NONE, expected HEED_CAUSAL_TOP_LEFT", two_of_four(),
          HEED_ERROR_INVALID_ARGUMENT);
  refused("decoder.block.0.layer.1.EncDecAttention", kT5, "options->scale is 0.5, expected 1", two_of_four(),
          HEED_ERROR_INVALID_ARGUMENT);
  refused(
      "decoder.block.1.layer.0.SelfAttention", kT5,
      "is of a model with other options by the names of Hugging Face T5: options->causal is HEED_CAUSAL_NONE, expected "
      "HEED_CAUSAL_TOP_LEFT or HEED_CAUSAL_BOTTOM_RIGHT; options->scale is 0.5, expected 1; options->relative_bias is "
      "HEED_RELATIVE_BIAS_NONE, expected HEED_RELATIVE_BIAS_ONE_WAY; with accept \"causal, scale, relative_bias\"",
      two_of_four(), HEED_ERROR_INVALID_ARGUMENT);
  refused("layer.0.crossattention", kBert, "options->causal is HEED_CAUSAL_TOP_LEFT, expected HEED_CAUSAL_NONE",
          causal(), HEED_ERROR_INVALID_ARGUMENT);
  refused("layers.0.cross_attn", kLlama, "options->causal is HEED_CAUSAL_TOP_LEFT, expected HEED_CAUSAL_NONE", causal(),
          HEED_ERROR_INVALID_ARGUMENT);
  // A tensor of rotary frequencies proves rotary positions, whatever the other names are.
  const std::vector<FileTensor> with_frequencies = below("a", kBart) + FileTensor{"a.rotary_emb.inv_freq", {2}};
  expect_refused(
      load(with_frequencies, "", "a", two_of_four()), HEED_ERROR_INVALID_ARGUMENT,
      "options->rope is NULL, expected rotary positions, for \"a.rotary_emb.inv_freq\"; with accept \"rotary\"");
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_HALF;
  heed_multi_head_attention_options with_rope = two_of_four();
  with_rope.rope = &rope;
  expect_loaded(load(with_frequencies, "", "a", with_rope));
  // A BERT with cross attention beside the self-attention is a decoder.
  const std::vector<FileTensor> decoder = below("layer.0.attention", kBert) + FileTensor{"layer.0.crossattention.x"};
  expect_refused(load(decoder, "", "layer.0.attention", two_of_four()), HEED_ERROR_INVALID_ARGUMENT,
                 "options->causal is HEED_CAUSAL_NONE");
  expect_loaded(load(decoder, "", "layer.0.attention", causal()));
  // In an encoder or a vision tower, Llama's names do not show whether the attention is causal.
  for (const char* prefix : {"encoder.layers.0.self_attn", "visual.blocks.0.attn", "vision_model.layers.0.attn"}) {
    SCOPED_TRACE(prefix);
    refused(prefix, kLlama, of_llama + rotary, two_of_four(), HEED_ERROR_INVALID_ARGUMENT);
    for (const auto& options : {two_of_four(), causal()}) {
      const Answer answer = load(below(prefix, kLlama), "", prefix, options, "rotary");
      expect_loaded(answer);
      ASSERT_EQ(answer.warnings.size(), 1U);
      EXPECT_NE(answer.warnings[0].find("causal, scale, soft_cap, window"), std::string::npos) << answer.warnings[0];
    }
  }
  // ViT as transformers 5 names it in memory.
  expect_loaded(load(below("layers.0.attention", kLlama), "", "layers.0.attention", two_of_four()));
}

TEST_F(Families, WarnOfOptionsThatNoNameDetermines) {
  const Answer bart = load(below("decoder.layers.0.self_attn", kBart), "", "decoder.layers.0.self_attn", two_of_four());
  expect_loaded(bart);
  ASSERT_EQ(bart.warnings.size(), 1U);
  EXPECT_NE(bart.warnings[0].find("does not say its model's causal, scale, window, by the names of Hugging Face BART, "
                                  "OPT, GPT-Neo and others: options->causal is HEED_CAUSAL_NONE, options->scale is "
                                  "0.5, options->window is HEED_WINDOW_NONE"),
            std::string::npos)
      << bart.warnings[0];
  EXPECT_EQ(bart.warnings[0].find("heed_layer_load_weights: \""), 0U);
  const Answer llama = load(below("self_attn", kLlama), "", "self_attn", causal(), "rotary");
  expect_loaded(llama);
  ASSERT_EQ(llama.warnings.size(), 1U);
  EXPECT_NE(llama.warnings[0].find("scale, soft_cap, window, by the names of Hugging Face Llama"), std::string::npos);
  EXPECT_EQ(load(below("self_attn", kLlama), "", "self_attn", causal(), "rotary, scale, soft_cap, window").warnings,
            Names{});
  // The class of a library's module determines its options.
  EXPECT_EQ(load(below("a", kOwn), "", "a", two_of_four()).warnings, Names{});
  EXPECT_EQ(load(below("a", kTimm), "", "a", two_of_four()).warnings, Names{});
  // The configuration determines the options.
  EXPECT_EQ(load(below("encoder.layers.0.self_attn", kBart), R"({"model_type":"bart"})", "encoder.layers.0.self_attn",
                 two_of_four())
                .warnings,
            Names{});
  // With accept "model_type", one that heed does not know is treated as if there were only names.
  EXPECT_EQ(load(below("self_attn", kBart), R"({"model_type":"unheard_of"})", "self_attn", two_of_four(), "model_type")
                .warnings.size(),
            1U);
}

TEST_F(Families, AcceptTakesOnlyKnownNames) {
  const std::vector<FileTensor> tensors = below("a", kOwn);
  expect_refused(load(tensors, "", "a", two_of_four(), "rotary, rotation"), HEED_ERROR_INVALID_ARGUMENT,
                 "accept has \"rotation\", expected a name in \"");
  // A feature that the file does not need, tensors by both of their names, and empty lists.
  for (const char* accept : {"rotary", "a.W_q.weight , W_k.weight", "", " , "})
    expect_loaded(load(tensors, "", "a", two_of_four(), accept));
}

TEST_F(Families, Conv1dWeightsAreNotTakenForLinearOnes) {
  heed_linear_options five = HEED_LINEAR_OPTIONS_INIT;
  five.output_size = 5;
  const auto load_linear = [&](const Dims& weight, const std::string& config, const char* accept = nullptr,
                               const char* prefix = "h.0.mlp.c_proj") {
    const std::string name = prefix;
    return load_layer(make_linear(context_.get(), five), {{name + ".weight", weight}, {name + ".bias", {5}}}, config,
                      prefix, accept);
  };
  const std::string words = "\"h.0.mlp.c_proj.weight\" in ";
  expect_refused(load_linear({5, 5}, ""), HEED_ERROR_UNSUPPORTED, words);
  expect_refused(
      load_linear({5, 5}, R"({"model_type":"gpt2"})"), HEED_ERROR_UNSUPPORTED,
      "is Conv1D's by its name, whose weights are (in, out): expected (out, in), so transpose it first; with "
      "accept \"conv1d\" it is read as (out, in)");
  expect_loaded(load_linear({5, 5}, "", "conv1d"));
  // The weight's shape shows its orientation; the family has linear modules of this name; the name is another one.
  expect_loaded(load_linear({5, 7}, ""));
  expect_loaded(load_linear({5, 5}, R"({"model_type":"gpt_bigcode"})"));
  expect_loaded(load_linear({5, 5}, "", nullptr, "fc"));
}

TEST_F(Families, BiasesAreNamedTogetherWithTheValueThatFits) {
  std::vector<FileTensor> bert = below("a", kBert);
  for (const char* name : {"self.query", "self.key", "self.value", "output.dense"})
    bert.push_back({"a." + std::string(name) + ".bias", {8}});
  expect_refused(load(bert, "", "a", two_of_four()), HEED_ERROR_INVALID_ARGUMENT,
                 "has \"a.self.query.bias\" for W_q.bias, a parameter that this layer's options lack: expected "
                 "HEED_BIAS_Q in options->biases, and as it has W_k.bias, W_v.bias, W_o.bias too, options->biases "
                 "HEED_BIAS_ALL");
  heed_multi_head_attention_options all = two_of_four();
  all.biases = HEED_BIAS_ALL;
  expect_refused(load(below("a", kBert), "", "a", all), HEED_ERROR_NOT_FOUND,
                 "has 4 of the 8 parameters by the names of Hugging Face BERT, without W_k.bias, W_v.bias, W_o.bias: "
                 "expected options->biases HEED_BIAS_NONE");
  bert.pop_back();
  expect_refused(load(bert, "", "a", all), HEED_ERROR_NOT_FOUND,
                 ": expected options->biases HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V");
}

TEST_F(Families, TwoLayoutsThatFitEquallyAreBothNamed) {
  expect_refused(load(below("a", {"q_proj.weight", "k_proj.weight", "v_proj.weight"}), "", "a", two_of_four()),
                 HEED_ERROR_NOT_FOUND,
                 "has no tensor \"a.out_proj.weight\" for W_o.weight; it has 3 of the 4 parameters by the names of "
                 "Hugging Face BART and by those of Hugging Face Llama, which lack \"a.o_proj.weight\" for W_o.weight");
}

}  // namespace
}  // namespace heed::capi_test
