// SPDX-License-Identifier: Apache-2.0
// What Java and C# say for terms of heed's sentences. tests/bindings/check_words.py checks the sentences themselves.
#include "../../bindings/swig/said.h"

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstring>
#include <string>

#include "base/logger.h"
#include "base/terms.h"
#include "errors.h"

namespace heed::capi {
namespace {

std::string said_in(Language language, const char* message, size_t capacity = SAID_CAPACITY) {
  std::string said(capacity, '#');
  say(language, message, said.data(), capacity);
  said.resize(std::strlen(said.c_str()));
  return said;
}

void expect_said(const std::string& sentence, const std::string& c, const std::string& java,
                 const std::string& csharp) {
  set_last_error(Status::Io, sentence.c_str());
  EXPECT_EQ(heed_last_error(), c);
  EXPECT_EQ(said_in(kJava, heed_last_error()), java);
  EXPECT_EQ(said_in(kCsharp, heed_last_error()), csharp);
}

TEST(Said, OptionsInCamelCase) {
  expect_said(OPTION("num_heads") " is 0", "options->num_heads is 0", "numHeads is 0", "NumHeads is 0");
  expect_said(OPTION("cross_attention->num_hiddens") " is 8, as " MEMBER("self_attention") " has",
              "options->cross_attention->num_hiddens is 8, as self_attention has",
              "numHiddens is 8, as selfAttention has", "NumHiddens is 8, as SelfAttention has");
}

TEST(Said, OptionsOfAnotherName) {
  expect_said(OPTION("decoder->output->size") ", " OPTION("positions->size") " and " OPTION("device_index"),
              "options->decoder->output->size, options->positions->size and options->device_index",
              "size, numHiddens and the device's index", "Size, NumHiddens and the device's index");
  expect_said(OPTION("encoder->output") " and " OPTION("output") ", but " OPTION("decoder->embedding"),
              "options->encoder->output and options->output, but options->decoder->embedding",
              "the encoder's output and output, but the decoder's embedding",
              "the encoder's Output and Output, but the decoder's Embedding");
}

TEST(Said, OptionsOfTheLayersOfAStack) {
  expect_said(OPTION("layer->dropout") " is 2, " OPTION("decoder->layer->cross_attention"),
              "options->layer->dropout is 2, options->decoder->layer->cross_attention",
              "layer.dropout is 2, the decoder's layer.crossAttention",
              "Layer.Dropout is 2, the decoder's Layer.CrossAttention");
  expect_said(OPTION("encoder->layers[1]->attention->num_hiddens") " is 6, " OPTION("layers[0]"),
              "options->encoder->layers[1]->attention->num_hiddens is 6, options->layers[0]",
              "layers[1].numHiddens is 6, layers[0]", "Layers[1].NumHiddens is 6, Layers[0]");
}

TEST(Said, FlagsAsTrueAndFalse) {
  expect_said(OPTION("add_bias_kv") " is " FLAG("add_bias_kv", "1") ": expected " FLAG("add_bias_kv", "0"),
              "options->add_bias_kv is 1: expected 0", "addBiasKv is true: expected false",
              "AddBiasKv is true: expected false");
  expect_said(OPTION("rope->no_rounding") " is " FLAG("no_rounding", "0") ", expected " FLAG("no_rounding", "1"),
              "options->rope->no_rounding is 0, expected 1", "rounding is true, expected false",
              "Rounding is true, expected false");
  expect_said(OPTION("no_output_projection") " is " FLAG("no_output_projection", "set"),
              "options->no_output_projection is set", "outputProjection is false", "OutputProjection is false");
}

TEST(Said, OptionsWithTheirValues) {
  expect_said(SETTING("no_bias", "0") " and " SETTING("output->bias", "1"),
              "options->no_bias 0 and options->output->bias 1", "bias true and bias true", "bias true and Bias true");
  expect_said(SETTING("layer->attention->biases", "HEED_BIAS_NONE"), "options->layer->attention->biases HEED_BIAS_NONE",
              "no biases", "Layer.Biases Bias.None");
  expect_said(SETTING("biases", "HEED_BIAS_ALL"), "options->biases HEED_BIAS_ALL",
              "biases Bias.Q, Bias.K, Bias.V, Bias.O", "Biases Bias.All");
  expect_said(OPTION("biases") " " CONSTANT("HEED_BIAS_Q") WORD(" | ") CONSTANT("HEED_BIAS_V"),
              "options->biases HEED_BIAS_Q | HEED_BIAS_V", "biases Bias.Q, Bias.V", "Biases Bias.Q | Bias.V");
}

TEST(Said, InputsAndOutputs) {
  expect_said(INPUT("decoder->memory_cache->layer") " is 2, " INPUT("cache->cache") ", " INPUT("decoder"),
              "inputs->decoder->memory_cache->layer is 2, inputs->cache->cache, inputs->decoder",
              "memoryCacheLayer is 2, cache, selfValidLens, selfMask and selfBias",
              "MemoryCacheLayer is 2, Cache, SelfValidLens, SelfMask and SelfBias");
  expect_said(OUTPUT("taps[12]->log_sum_exp") " has " ARGUMENT("dims") " (2)",
              "outputs->taps[12]->log_sum_exp has dims (2)", "taps[12].logSumExp has shape (2)",
              "Taps[12].LogSumExp has shape (2)");
}

TEST(Said, Constants) {
  expect_said(CONSTANT("HEED_CAUSAL_TOP_LEFT") " " CONSTANT("HEED_ROPE_SCALING_YARN") " " CONSTANT("HEED_ROPE_HALF"),
              "HEED_CAUSAL_TOP_LEFT HEED_ROPE_SCALING_YARN HEED_ROPE_HALF",
              "Causal.TOP_LEFT RopeScaling.YARN RopeLayout.HALF", "Causal.TopLeft RopeScaling.Yarn RopeLayout.Half");
  expect_said(
      CONSTANT("HEED_POSITIONS_SINUSOIDAL_HALVES_2I") " " CONSTANT("HEED_CACHE_READ") " " CONSTANT("HEED_OTHER"),
      "HEED_POSITIONS_SINUSOIDAL_HALVES_2I HEED_CACHE_READ HEED_OTHER",
      "PositionKind.SINUSOIDAL_HALVES_2I CacheUse.READ HEED_OTHER",
      "PositionKind.SinusoidalHalves2I CacheUse.Read HEED_OTHER");
}

TEST(Said, KindsOfLayers) {
  expect_said(KIND("an encoder layer") " and " KIND("a decoder_layer layer") ", " KIND("encoder_layer layer"),
              "an encoder layer and a decoder_layer layer, encoder_layer layer",
              "a TransformerEncoder and a TransformerDecoderBlock, TransformerEncoderBlock",
              "a TransformerEncoder and a TransformerDecoderBlock, TransformerEncoderBlock");
  expect_said(KIND("an additive_attention layer") ", " KIND("a linear layer") ", " KIND("layer_norm layer"),
              "an additive_attention layer, a linear layer, layer_norm layer",
              "an AdditiveAttention block, a linear block, LayerNorm block",
              "an AdditiveAttention block, a linear block, LayerNorm block");
}

TEST(Said, OtherTerms) {
  expect_said(FUNCTION("heed_layer_load") " " FUNCTION("heed_other") " " ARGUMENT("valid_lens") " " ARGUMENT(
                  "a") " " DTYPE("U8"),
              "heed_layer_load heed_other valid_lens a U8", "load heed_other validLens this array UINT8",
              "Load heed_other validLens this array UInt8");
  expect_said(WORD("NULL") " " WORD("a tensor") " " WORD("other"), "NULL a tensor other", "null an array other",
              "null an array other");
}

TEST(Said, TextStaysAsItIs) {
  const std::string text = "\"options->num_heads NULL\" has F32, not HEED_F16";
  expect_said(text, text, text, text);
  expect_said("", "", "", "");
}

TEST(Said, IsCutToTheCapacity) {
  set_last_error(Status::Io, OPTION("num_heads"));
  EXPECT_EQ(said_in(kJava, heed_last_error(), 4), "num");
  EXPECT_EQ(said_in(kJava, heed_last_error(), 1), "");
}

TEST(Said, PartsAreThoseOfTheLastErrorOnly) {
  set_last_error(Status::Io, OPTION("size") " is 0");
  heed_role role = HEED_ROLE_WORD;
  size_t size = 7;
  EXPECT_EQ(heed_message_part(heed_last_error(), 0, &role, &size), heed_last_error() + 9);
  EXPECT_EQ(size, 4U);
  EXPECT_EQ(role, HEED_ROLE_OPTION);
  EXPECT_STREQ(heed_message_part(heed_last_error(), 1, &role, &size), " is 0");
  EXPECT_EQ(size, 5U);
  EXPECT_EQ(role, HEED_ROLE_TEXT);
  role = HEED_ROLE_WORD;
  EXPECT_EQ(heed_message_part(heed_last_error(), 2, &role, &size), nullptr);
  EXPECT_EQ(heed_message_part(heed_last_error(), -1, &role, &size), nullptr);
  EXPECT_EQ(heed_message_part(nullptr, 0, &role, &size), nullptr);
  EXPECT_EQ(heed_message_part("options->size is 0", 0, &role, &size), nullptr);
  EXPECT_EQ(heed_message_part(heed_last_error(), 0, nullptr, &size), nullptr);
  EXPECT_EQ(heed_message_part(heed_last_error(), 0, &role, nullptr), nullptr);
  EXPECT_EQ(role, HEED_ROLE_WORD);
  EXPECT_EQ(size, 5U);
}

TEST(Said, MessagesOfTheLoggerHaveTheirParts) {
  std::string said;
  const Logger logger{[](void* user, int32_t, const char* text) {
                        *static_cast<std::string*>(user) =
                            said_in(kJava, text) + "; " + said_in(kJava, heed_last_error());
                      },
                      &said};
  set_last_error(Status::Io, "the " WORD("context") " is strict");
  log(logger, LogLevel::Info, FUNCTION("%s") ": a " WORD("tensor") " of %d", "heed_layer_load", 3);
  EXPECT_EQ(said, "load: a array of 3; the manager is strict");
}

}  // namespace
}  // namespace heed::capi
