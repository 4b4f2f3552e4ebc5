// SPDX-License-Identifier: Apache-2.0
// Structs of callers that were compiled for another version of heed.
#include <gtest/gtest.h>

#include <cstddef>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/first_size.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// A struct of a later version, with more members at its end.
template <typename Struct>
struct Later {
  Struct known;
  unsigned char more[24] = {};
};

// Passes a struct of any size to one function.
template <typename Struct>
using Pass = std::function<heed_status(const Struct*)>;

// `macro` is the name of the initializer, `argument` that of the function's argument.
template <typename Struct>
void expect_growth(Struct valid, const char* argument, const char* macro, const Pass<Struct>& pass) {
  SCOPED_TRACE(macro);
  ASSERT_EQ(valid.struct_size, sizeof(Struct)) << "the macro does not set it";
  EXPECT_EQ(pass(&valid), HEED_OK) << heed_last_error();

  for (const size_t too_small : {size_t{0}, size_t{1}, sizeof(size_t), kFirstSize<Struct> - 1}) {
    Struct smaller = valid;
    smaller.struct_size = too_small;
    forget_last_error();
    EXPECT_TRUE(is_refused(pass(&smaller), {HEED_ERROR_INVALID_ARGUMENT,
                                            {argument, "struct_size is " + std::to_string(too_small),
                                             std::to_string(kFirstSize<Struct>), macro}}));
  }

  Later<Struct> later{valid};
  for (const size_t extra : {size_t{1}, size_t{8}, sizeof later.more}) {
    later.known.struct_size = sizeof(Struct) + extra;
    EXPECT_EQ(pass(&later.known), HEED_OK) << heed_last_error();
    later.more[extra - 1] = 1;
    forget_last_error();
    EXPECT_TRUE(is_refused(pass(&later.known), {HEED_ERROR_UNSUPPORTED,
                                                {argument, std::to_string(sizeof(Struct) + extra),
                                                 std::to_string(sizeof(Struct)), heed_version_string()}}));
    later.more[extra - 1] = 0;
  }
  // Bytes after struct_size are ignored.
  later.known.struct_size = sizeof(Struct);
  later.more[0] = 1;
  EXPECT_EQ(pass(&later.known), HEED_OK) << heed_last_error();
}

TEST(StructGrowth, OfOptions) {
  const Context context = make_context();
  expect_growth<heed_context_options>(HEED_CONTEXT_OPTIONS_INIT, "options", "HEED_CONTEXT_OPTIONS_INIT",
                                      [](const heed_context_options* options) {
                                        heed_context* made = nullptr;
                                        const heed_status status = heed_context_create(options, &made);
                                        EXPECT_EQ(made != nullptr, status == HEED_OK);
                                        heed_context_destroy(made);
                                        return status;
                                      });
  expect_growth<heed_dot_product_attention_options>(
      HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, "options", "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT",
      [&](const heed_dot_product_attention_options* options) {
        heed_layer* made = nullptr;
        const heed_status status = heed_dot_product_attention_create(context.get(), options, &made);
        EXPECT_EQ(made != nullptr, status == HEED_OK);
        heed_layer_destroy(made);
        return status;
      });
  expect_growth<heed_additive_attention_options>(five_hiddens(), "options", "HEED_ADDITIVE_ATTENTION_OPTIONS_INIT",
                                                 [&](const heed_additive_attention_options* options) {
                                                   heed_layer* made = nullptr;
                                                   const heed_status status =
                                                       heed_additive_attention_create(context.get(), options, &made);
                                                   EXPECT_EQ(made != nullptr, status == HEED_OK);
                                                   heed_layer_destroy(made);
                                                   return status;
                                                 });
  expect_growth<heed_general_attention_options>(six_in_queries(), "options", "HEED_GENERAL_ATTENTION_OPTIONS_INIT",
                                                [&](const heed_general_attention_options* options) {
                                                  heed_layer* made = nullptr;
                                                  const heed_status status =
                                                      heed_general_attention_create(context.get(), options, &made);
                                                  EXPECT_EQ(made != nullptr, status == HEED_OK);
                                                  heed_layer_destroy(made);
                                                  return status;
                                                });
  expect_growth<heed_multi_head_attention_options>(two_heads(), "options", "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT",
                                                   [&](const heed_multi_head_attention_options* options) {
                                                     heed_layer* made = nullptr;
                                                     const heed_status status = heed_multi_head_attention_create(
                                                         context.get(), options, &made);
                                                     EXPECT_EQ(made != nullptr, status == HEED_OK);
                                                     heed_layer_destroy(made);
                                                     return status;
                                                   });
  expect_growth<heed_rope_options>(
      whole_heads(), "options->rope", "HEED_ROPE_OPTIONS_INIT", [&](const heed_rope_options* rope) {
        heed_multi_head_attention_options options = two_heads();
        options.rope = rope;
        heed_layer* made = nullptr;
        const heed_status status = heed_multi_head_attention_create(context.get(), &options, &made);
        EXPECT_EQ(made != nullptr, status == HEED_OK);
        heed_layer_destroy(made);
        return status;
      });
  expect_growth<heed_positional_encoding_options>(ten_positions(), "options", "HEED_POSITIONAL_ENCODING_OPTIONS_INIT",
                                                  [&](const heed_positional_encoding_options* options) {
                                                    heed_layer* made = nullptr;
                                                    const heed_status status =
                                                        heed_positional_encoding_create(context.get(), options, &made);
                                                    EXPECT_EQ(made != nullptr, status == HEED_OK);
                                                    heed_layer_destroy(made);
                                                    return status;
                                                  });
  expect_growth<heed_linear_options>(five_outputs(), "options", "HEED_LINEAR_OPTIONS_INIT",
                                     [&](const heed_linear_options* options) {
                                       heed_layer* made = nullptr;
                                       const heed_status status = heed_linear_create(context.get(), options, &made);
                                       EXPECT_EQ(made != nullptr, status == HEED_OK);
                                       heed_layer_destroy(made);
                                       return status;
                                     });
  expect_growth<heed_dropout_options>(one_half(), "options", "HEED_DROPOUT_OPTIONS_INIT",
                                      [&](const heed_dropout_options* options) {
                                        heed_layer* made = nullptr;
                                        const heed_status status = heed_dropout_create(context.get(), options, &made);
                                        EXPECT_EQ(made != nullptr, status == HEED_OK);
                                        heed_layer_destroy(made);
                                        return status;
                                      });
}

// Passes options of any size to a function that makes a layer.
template <typename Options, typename Create>
void expect_growth_of_options(const Options& valid, const char* macro, Create create) {
  const Context context = make_context();
  expect_growth<Options>(valid, "options", macro, [&](const Options* options) {
    heed_layer* made = nullptr;
    const heed_status status = create(context.get(), options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

// Passes the options of a part of an encoder layer, which the member `part` refers to.
template <typename Part>
void expect_growth_of_part(const Part& valid, const Part* heed_encoder_layer_options::*part, const char* argument,
                           const char* macro) {
  const Context context = make_context();
  const BlockOptions blocks;
  expect_growth<Part>(valid, argument, macro, [&](const Part* given) {
    heed_encoder_layer_options options = blocks.encoder_layer;
    options.*part = given;
    heed_layer* made = nullptr;
    const heed_status status = heed_encoder_layer_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructGrowth, OfOptionsOfBlocks) {
  const BlockOptions blocks;
  expect_growth_of_options(blocks.norm, "HEED_LAYER_NORM_OPTIONS_INIT", heed_layer_norm_create);
  expect_growth_of_options(blocks.feed_forward, "HEED_FEED_FORWARD_OPTIONS_INIT", heed_feed_forward_create);
  expect_growth_of_options(ten_rows(), "HEED_EMBEDDING_OPTIONS_INIT", heed_embedding_create);
  expect_growth_of_options(six_pixels(), "HEED_PATCH_EMBEDDING_OPTIONS_INIT", heed_patch_embedding_create);
  expect_growth_of_options(four_mels(), "HEED_AUDIO_EMBEDDING_OPTIONS_INIT", heed_audio_embedding_create);
  expect_growth_of_options(blocks.encoder_layer, "HEED_ENCODER_LAYER_OPTIONS_INIT", heed_encoder_layer_create);
  expect_growth_of_options(blocks.decoder_layer, "HEED_DECODER_LAYER_OPTIONS_INIT", heed_decoder_layer_create);
  expect_growth_of_options(blocks.encoder, "HEED_ENCODER_OPTIONS_INIT", heed_encoder_create);
  expect_growth_of_options(blocks.decoder, "HEED_DECODER_OPTIONS_INIT", heed_decoder_create);
  expect_growth_of_options(blocks.transformer, "HEED_TRANSFORMER_OPTIONS_INIT", heed_transformer_create);
  expect_growth_of_part(blocks.attention, &heed_encoder_layer_options::attention, "options->attention",
                        "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT");
  expect_growth_of_part(blocks.feed_forward, &heed_encoder_layer_options::feed_forward, "options->feed_forward",
                        "HEED_FEED_FORWARD_OPTIONS_INIT");
  expect_growth_of_part(blocks.norm, &heed_encoder_layer_options::norm, "options->norm",
                        "HEED_LAYER_NORM_OPTIONS_INIT");
}

// Passes the options of a part of a Transformer, which the member `part` refers to.
template <typename Part>
void expect_growth_of_part(const Part& valid, const Part* heed_transformer_options::*part, const char* argument,
                           const char* macro) {
  const Context context = make_context();
  const BlockOptions blocks;
  expect_growth<Part>(valid, argument, macro, [&](const Part* given) {
    heed_transformer_options options = blocks.transformer;
    options.*part = given;
    heed_layer* made = nullptr;
    const heed_status status = heed_transformer_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructGrowth, OfOptionsOfTransformers) {
  const BlockOptions blocks;
  expect_growth_of_part(blocks.encoder, &heed_transformer_options::encoder, "options->encoder",
                        "HEED_ENCODER_OPTIONS_INIT");
  expect_growth_of_part(blocks.decoder, &heed_transformer_options::decoder, "options->decoder",
                        "HEED_DECODER_OPTIONS_INIT");
  expect_growth_of_part(blocks.output, &heed_transformer_options::output, "options->output",
                        "HEED_OUTPUT_OPTIONS_INIT");
  heed_embedding_options ids = ten_rows();
  ids.embedding_size = 0;
  expect_growth_of_part(ids, &heed_transformer_options::embedding, "options->embedding", "HEED_EMBEDDING_OPTIONS_INIT");
}

// Of a stack: those that have a macro of their own in it.
TEST(StructGrowth, OfOptionsAroundLayers) {
  const Context context = make_context();
  const BlockOptions blocks;
  const auto create = [&](const heed_decoder_options& options) {
    heed_layer* made = nullptr;
    const heed_status status = heed_decoder_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  };
  expect_growth<heed_output_options>(blocks.output, "options->output", "HEED_OUTPUT_OPTIONS_INIT",
                                     [&](const heed_output_options* output) {
                                       heed_decoder_options options = blocks.decoder;
                                       options.output = output;
                                       return create(options);
                                     });
  expect_growth<heed_embedding_options>(ten_rows(), "options->embedding", "HEED_EMBEDDING_OPTIONS_INIT",
                                        [&](const heed_embedding_options* embedding) {
                                          heed_decoder_options options = blocks.decoder;
                                          options.embedding = embedding;
                                          return create(options);
                                        });
  heed_positional_encoding_options positions = ten_positions();
  positions.size = 0;
  expect_growth<heed_positional_encoding_options>(positions, "options->positions",
                                                  "HEED_POSITIONAL_ENCODING_OPTIONS_INIT",
                                                  [&](const heed_positional_encoding_options* given) {
                                                    heed_decoder_options options = blocks.decoder;
                                                    options.positions = given;
                                                    return create(options);
                                                  });
  expect_growth<heed_decoder_layer_options>(
      blocks.decoder_layer, "options->layers[1]", "HEED_DECODER_LAYER_OPTIONS_INIT",
      [&](const heed_decoder_layer_options* given) {
        heed_decoder_options options = blocks.decoder;
        const heed_decoder_layer_options* layers[] = {&blocks.decoder_layer, given};
        options.layer = nullptr;
        options.layers = layers;
        return create(options);
      });
}

TEST(StructGrowth, OfInputsOfDecoders) {
  const AttentionCall call(Kind::Decoder);
  expect_growth<heed_decoder_inputs>(HEED_DECODER_INPUTS_INIT, "inputs->decoder", "HEED_DECODER_INPUTS_INIT",
                                     [&](const heed_decoder_inputs* decoder) {
                                       heed_layer_inputs inputs = call.inputs;
                                       inputs.decoder = decoder;
                                       return heed_layer_forward(call.layer.get(), &inputs, nullptr, &call.outputs);
                                     });
}

// A decoder whose cross attention reads a cache, which is filled.
class MemoryCacheCall {
 public:
  MemoryCacheCall() {
    heed_layer_inputs filling = HEED_LAYER_INPUTS_INIT;
    filling.keys = call_.inputs.keys;
    heed_cache_inputs filled = HEED_CACHE_INPUTS_INIT;
    filled.cache = cache_.get();
    filling.cache = &filled;
    check(heed_layer_fill_cache(call_.layer.get(), &filling, nullptr));
    given.cache = cache_.get();
    given.use = HEED_CACHE_READ;
  }

  heed_status forward_with(const heed_cache_inputs* memory_cache) const {
    heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
    decoder.memory_cache = memory_cache;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = call_.inputs.queries;
    inputs.decoder = &decoder;
    return heed_layer_forward(call_.layer.get(), &inputs, nullptr, &call_.outputs);
  }

  heed_cache_inputs given = HEED_CACHE_INPUTS_INIT;

 private:
  const AttentionCall call_{Kind::Decoder};
  const Cache cache_ = make_cache_of(call_.context.get(), call_.layer.get(), 2, 5);
};

TEST(StructGrowth, OfCachesOfTheEncodersOutput) {
  const MemoryCacheCall call;
  expect_growth<heed_cache_inputs>(call.given, "inputs->decoder->memory_cache", "HEED_CACHE_INPUTS_INIT",
                                   [&](const heed_cache_inputs* given) { return call.forward_with(given); });
}

// Its members are refused by their names there.
TEST(StructGrowth, MembersOfCachesOfTheEncodersOutputAreChecked) {
  const MemoryCacheCall call;
  const auto expect_refused_as = [&](const heed_cache_inputs& given, const char* sentence) {
    forget_last_error();
    EXPECT_TRUE(is_refused(call.forward_with(&given), invalid({sentence})));
  };
  heed_cache_inputs given = call.given;
  given.reserved = 1;
  expect_refused_as(given, "inputs->decoder->memory_cache->reserved is 1, expected 0");
  given = call.given;
  given.cache = nullptr;
  expect_refused_as(given, "inputs->decoder->memory_cache->cache is NULL, expected a pointer");
  given = call.given;
  given.use = 2;
  expect_refused_as(given,
                    "inputs->decoder->memory_cache->use is 2, expected HEED_CACHE_APPEND (0) or HEED_CACHE_READ (1)");
  given = call.given;
  given.layer = 1;
  expect_refused_as(given, "inputs->decoder->memory_cache->layer");
}

TEST(StructGrowth, OfStructsOfTheHost) {
  const auto create_with = [](const heed_context_options& options) {
    heed_context* made = nullptr;
    const heed_status status = heed_context_create(&options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_context_destroy(made);
    return status;
  };
  CountingAllocator counting;
  expect_growth<heed_allocator>(counting.as_struct(), "options->allocator", "HEED_ALLOCATOR_INIT",
                                [&](const heed_allocator* allocator) {
                                  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
                                  options.allocator = allocator;
                                  return create_with(options);
                                });
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = 2;
  expect_growth<heed_executor>(executor, "options->executor", "HEED_EXECUTOR_INIT", [&](const heed_executor* given) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = given;
    return create_with(options);
  });
  heed_logger silent = HEED_LOGGER_INIT;
  silent.write = [](void*, int32_t, const char*) {};
  expect_growth<heed_logger>(silent, "options->logger", "HEED_LOGGER_INIT", [&](const heed_logger* logger) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.logger = logger;
    return create_with(options);
  });
}

TEST(StructGrowth, OfInputs) {
  const AttentionCall call(Kind::MultiHead);
  heed_layer* const layer = call.layer.get();
  const std::vector<Pass<heed_layer_inputs>> functions = {
      [&](const heed_layer_inputs* inputs) { return heed_layer_initialize(layer, inputs, 1); },
      [&](const heed_layer_inputs* inputs) {
        heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
        const heed_status status = heed_layer_create_outputs(layer, inputs, HEED_WANT_OUTPUT, &made);
        heed_tensor_destroy(made.output);
        return status;
      },
      [&](const heed_layer_inputs* inputs) {
        size_t num_bytes = 0;
        return heed_layer_workspace_size(layer, inputs, &call.outputs, &num_bytes);
      },
      [&](const heed_layer_inputs* inputs) { return heed_layer_forward(layer, inputs, nullptr, &call.outputs); },
      [&](const heed_layer_inputs* inputs) {
        size_t num_bytes = 0;
        return heed_layer_explain(layer, inputs, &call.outputs, nullptr, 0, &num_bytes);
      },
  };
  for (const auto& function : functions) {
    expect_growth<heed_layer_inputs>(call.inputs, "inputs", "HEED_LAYER_INPUTS_INIT", function);
    expect_growth<heed_sequence_inputs>(HEED_SEQUENCE_INPUTS_INIT, "inputs->sequences", "HEED_SEQUENCE_INPUTS_INIT",
                                        [&](const heed_sequence_inputs* sequences) {
                                          heed_layer_inputs inputs = call.inputs;
                                          inputs.sequences = sequences;
                                          return function(&inputs);
                                        });
  }
}

TEST(StructGrowth, OfOutputs) {
  const AttentionCall call(Kind::MultiHead);
  heed_layer* const layer = call.layer.get();
  const std::vector<Pass<heed_layer_outputs>> functions = {
      [&](const heed_layer_outputs* outputs) {
        size_t num_bytes = 0;
        return heed_layer_workspace_size(layer, &call.inputs, outputs, &num_bytes);
      },
      [&](const heed_layer_outputs* outputs) { return heed_layer_forward(layer, &call.inputs, nullptr, outputs); },
      [&](const heed_layer_outputs* outputs) {
        size_t num_bytes = 0;
        return heed_layer_explain(layer, &call.inputs, outputs, nullptr, 0, &num_bytes);
      },
  };
  for (const auto& function : functions)
    expect_growth<heed_layer_outputs>(call.outputs, "outputs", "HEED_LAYER_OUTPUTS_INIT", function);
  expect_growth<heed_layer_outputs>(
      HEED_LAYER_OUTPUTS_INIT, "outputs", "HEED_LAYER_OUTPUTS_INIT", [&](const heed_layer_outputs* given) {
        // The struct is written as well as read.
        auto* outputs = const_cast<heed_layer_outputs*>(given);
        const heed_status status = heed_layer_create_outputs(layer, &call.inputs, HEED_WANT_WEIGHTS, outputs);
        EXPECT_EQ(outputs->weights != nullptr, status == HEED_OK);
        heed_tensor_destroy(outputs->weights);
        outputs->weights = nullptr;
        return status;
      });
}

// A program that was compiled before members were added has nothing behind its struct.
TEST(StructGrowth, MembersThatWereAddedAreOffInSmallerStructs) {
  const Context context = make_context();
  heed_multi_head_attention_options options = two_heads();
  options.alibi = HEED_ALIBI_ADDED;
  options.struct_size = kFirstSize<heed_multi_head_attention_options>;
  heed_layer* made = nullptr;
  check(heed_multi_head_attention_create(context.get(), &options, &made));
  const Layer layer(made);
  const AttentionCall call(Kind::MultiHead);
  heed_layer_inputs inputs = call.inputs;
  const float slopes[] = {0.5f, 0.25f};
  const Tensor tensor = make_tensor_of(call.context.get(), {2}, std::vector<float>(slopes, slopes + 2));
  // A layer with slopes of its own would refuse these.
  inputs.alibi_slopes = tensor.get();
  check(heed_layer_initialize(layer.get(), &inputs, 1));
  EXPECT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &call.outputs), HEED_OK) << heed_last_error();

  // Sinks of the wrong shape are not read.
  inputs.sinks = inputs.queries;
  inputs.struct_size = offsetof(heed_layer_inputs, sequences);
  EXPECT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &call.outputs), HEED_OK) << heed_last_error();
}

// Every default is 0 but one, so a struct of zeros with its size equals the macro's.
TEST(StructMacros, AreZeroAfterTheirSize) {
  const auto is_zero_behind_size = [](const auto& given) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
    for (size_t i = sizeof(size_t); i < sizeof given; ++i) {
      if (bytes[i] != 0) return false;
    }
    return given.struct_size == sizeof given;
  };
  EXPECT_TRUE(is_zero_behind_size(heed_allocator HEED_ALLOCATOR_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_executor HEED_EXECUTOR_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_logger HEED_LOGGER_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_context_options HEED_CONTEXT_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_dot_product_attention_options HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_additive_attention_options HEED_ADDITIVE_ATTENTION_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_general_attention_options HEED_GENERAL_ATTENTION_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_multi_head_attention_options HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_linear_options HEED_LINEAR_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_dropout_options HEED_DROPOUT_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_rope_options HEED_ROPE_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_positional_encoding_options HEED_POSITIONAL_ENCODING_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_layer_norm_options HEED_LAYER_NORM_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_feed_forward_options HEED_FEED_FORWARD_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_patch_embedding_options HEED_PATCH_EMBEDDING_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_audio_embedding_options HEED_AUDIO_EMBEDDING_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_encoder_layer_options HEED_ENCODER_LAYER_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_decoder_layer_options HEED_DECODER_LAYER_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_encoder_options HEED_ENCODER_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_decoder_options HEED_DECODER_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_decoder_inputs HEED_DECODER_INPUTS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_output_options HEED_OUTPUT_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_transformer_options HEED_TRANSFORMER_OPTIONS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_cache_inputs HEED_CACHE_INPUTS_INIT));
  // -1 is no id, and 0 is one.
  heed_embedding_options embedding = HEED_EMBEDDING_OPTIONS_INIT;
  EXPECT_EQ(embedding.padding_index, -1);
  embedding.padding_index = 0;
  EXPECT_TRUE(is_zero_behind_size(embedding));
  EXPECT_TRUE(is_zero_behind_size(heed_sequence_inputs HEED_SEQUENCE_INPUTS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_layer_inputs HEED_LAYER_INPUTS_INIT));
  EXPECT_TRUE(is_zero_behind_size(heed_layer_outputs HEED_LAYER_OUTPUTS_INIT));
}

}  // namespace
}  // namespace heed::capi_test
