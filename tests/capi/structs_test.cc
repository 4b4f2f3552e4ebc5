// SPDX-License-Identifier: Apache-2.0
// Structs of callers that were compiled for another version of heed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/first_size.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "capi/support/reports.h"
#include "capi/support/struct_versions.h"

namespace heed::capi_test {
namespace {

// Passes options of any size to a function that makes a layer.
template <typename Options, typename Create>
void expect_options(const Options& valid, const char* macro, Create create) {
  const Context context = make_context();
  expect_any_version<Options>(valid, "options", macro, [&](const Options* options) {
    heed_layer* made = nullptr;
    const heed_status status = create(context.get(), options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructVersions, OfOptions) {
  const Context context = make_context();
  expect_any_version<heed_context_options>(HEED_CONTEXT_OPTIONS_INIT, "options", "HEED_CONTEXT_OPTIONS_INIT",
                                           [](const heed_context_options* options) {
                                             heed_context* made = nullptr;
                                             const heed_status status = heed_context_create(options, &made);
                                             EXPECT_EQ(made != nullptr, status == HEED_OK);
                                             heed_context_destroy(made);
                                             return status;
                                           });
  expect_options<heed_dot_product_attention_options>(HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT,
                                                     "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT",
                                                     heed_dot_product_attention_create);
  expect_options(five_hiddens(), "HEED_ADDITIVE_ATTENTION_OPTIONS_INIT", heed_additive_attention_create);
  expect_options(six_in_queries(), "HEED_GENERAL_ATTENTION_OPTIONS_INIT", heed_general_attention_create);
  expect_options(two_heads(), "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT", heed_multi_head_attention_create);
  expect_options(ten_positions(), "HEED_POSITIONAL_ENCODING_OPTIONS_INIT", heed_positional_encoding_create);
  expect_options(five_outputs(), "HEED_LINEAR_OPTIONS_INIT", heed_linear_create);
  expect_options(one_half(), "HEED_DROPOUT_OPTIONS_INIT", heed_dropout_create);
  expect_any_version<heed_rope_options>(
      whole_heads(), "options->rope", "HEED_ROPE_OPTIONS_INIT", [&](const heed_rope_options* rope) {
        heed_multi_head_attention_options options = two_heads();
        options.rope = rope;
        heed_layer* made = nullptr;
        const heed_status status = heed_multi_head_attention_create(context.get(), &options, &made);
        EXPECT_EQ(made != nullptr, status == HEED_OK);
        heed_layer_destroy(made);
        return status;
      });
}

// Passes the options of a part of an encoder layer, which the member `part` refers to.
template <typename Part>
void expect_part(const Part& valid, const Part* heed_encoder_layer_options::*part, const char* argument,
                 const char* macro) {
  const Context context = make_context();
  const BlockOptions blocks;
  expect_any_version<Part>(valid, argument, macro, [&](const Part* given) {
    heed_encoder_layer_options options = blocks.encoder_layer;
    options.*part = given;
    heed_layer* made = nullptr;
    const heed_status status = heed_encoder_layer_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructVersions, OfOptionsOfBlocks) {
  const BlockOptions blocks;
  expect_options(blocks.norm, "HEED_LAYER_NORM_OPTIONS_INIT", heed_layer_norm_create);
  expect_options(blocks.feed_forward, "HEED_FEED_FORWARD_OPTIONS_INIT", heed_feed_forward_create);
  expect_options(ten_rows(), "HEED_EMBEDDING_OPTIONS_INIT", heed_embedding_create);
  expect_options(six_pixels(), "HEED_PATCH_EMBEDDING_OPTIONS_INIT", heed_patch_embedding_create);
  expect_options(four_mels(), "HEED_AUDIO_EMBEDDING_OPTIONS_INIT", heed_audio_embedding_create);
  expect_options(blocks.encoder_layer, "HEED_ENCODER_LAYER_OPTIONS_INIT", heed_encoder_layer_create);
  expect_options(blocks.decoder_layer, "HEED_DECODER_LAYER_OPTIONS_INIT", heed_decoder_layer_create);
  expect_options(blocks.encoder, "HEED_ENCODER_OPTIONS_INIT", heed_encoder_create);
  expect_options(blocks.decoder, "HEED_DECODER_OPTIONS_INIT", heed_decoder_create);
  expect_options(blocks.transformer, "HEED_TRANSFORMER_OPTIONS_INIT", heed_transformer_create);
  expect_part(blocks.attention, &heed_encoder_layer_options::attention, "options->attention",
              "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT");
  expect_part(blocks.feed_forward, &heed_encoder_layer_options::feed_forward, "options->feed_forward",
              "HEED_FEED_FORWARD_OPTIONS_INIT");
  expect_part(blocks.norm, &heed_encoder_layer_options::norm, "options->norm", "HEED_LAYER_NORM_OPTIONS_INIT");
}

// Passes the options of a part of a Transformer, which the member `part` refers to.
template <typename Part>
void expect_part(const Part& valid, const Part* heed_transformer_options::*part, const char* argument,
                 const char* macro) {
  const Context context = make_context();
  const BlockOptions blocks;
  expect_any_version<Part>(valid, argument, macro, [&](const Part* given) {
    heed_transformer_options options = blocks.transformer;
    options.*part = given;
    heed_layer* made = nullptr;
    const heed_status status = heed_transformer_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructVersions, OfOptionsOfTransformers) {
  const BlockOptions blocks;
  expect_part(blocks.encoder, &heed_transformer_options::encoder, "options->encoder", "HEED_ENCODER_OPTIONS_INIT");
  expect_part(blocks.decoder, &heed_transformer_options::decoder, "options->decoder", "HEED_DECODER_OPTIONS_INIT");
  expect_part(blocks.output, &heed_transformer_options::output, "options->output", "HEED_OUTPUT_OPTIONS_INIT");
  heed_embedding_options ids = ten_rows();
  ids.embedding_size = 0;
  expect_part(ids, &heed_transformer_options::embedding, "options->embedding", "HEED_EMBEDDING_OPTIONS_INIT");
}

// Of a stack: those that have a macro of their own in it.
TEST(StructVersions, OfOptionsAroundLayers) {
  const Context context = make_context();
  const BlockOptions blocks;
  const auto create = [&](const heed_decoder_options& options) {
    heed_layer* made = nullptr;
    const heed_status status = heed_decoder_create(context.get(), &options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  };
  expect_any_version<heed_output_options>(blocks.output, "options->output", "HEED_OUTPUT_OPTIONS_INIT",
                                          [&](const heed_output_options* output) {
                                            heed_decoder_options options = blocks.decoder;
                                            options.output = output;
                                            return create(options);
                                          });
  expect_any_version<heed_embedding_options>(ten_rows(), "options->embedding", "HEED_EMBEDDING_OPTIONS_INIT",
                                             [&](const heed_embedding_options* embedding) {
                                               heed_decoder_options options = blocks.decoder;
                                               options.embedding = embedding;
                                               return create(options);
                                             });
  heed_positional_encoding_options positions = ten_positions();
  positions.size = 0;
  expect_any_version<heed_positional_encoding_options>(positions, "options->positions",
                                                       "HEED_POSITIONAL_ENCODING_OPTIONS_INIT",
                                                       [&](const heed_positional_encoding_options* given) {
                                                         heed_decoder_options options = blocks.decoder;
                                                         options.positions = given;
                                                         return create(options);
                                                       });
  expect_any_version<heed_decoder_layer_options>(
      blocks.decoder_layer, "options->layers[1]", "HEED_DECODER_LAYER_OPTIONS_INIT",
      [&](const heed_decoder_layer_options* given) {
        heed_decoder_options options = blocks.decoder;
        const heed_decoder_layer_options* layers[] = {&blocks.decoder_layer, given};
        options.layer = nullptr;
        options.layers = layers;
        return create(options);
      });
}

TEST(StructVersions, OfInputsOfDecoders) {
  const AttentionCall call(Kind::Decoder);
  expect_any_version<heed_decoder_inputs>(
      HEED_DECODER_INPUTS_INIT, "inputs->decoder", "HEED_DECODER_INPUTS_INIT", [&](const heed_decoder_inputs* decoder) {
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

TEST(StructVersions, OfCachesOfTheEncodersOutput) {
  const MemoryCacheCall call;
  expect_any_version<heed_cache_inputs>(call.given, "inputs->decoder->memory_cache", "HEED_CACHE_INPUTS_INIT",
                                        [&](const heed_cache_inputs* given) { return call.forward_with(given); });
}

// Its members are refused by their names there.
TEST(StructVersions, MembersOfCachesOfTheEncodersOutputAreChecked) {
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

TEST(StructVersions, OfStructsOfTheHost) {
  const auto create_with = [](const heed_context_options& options) {
    heed_context* made = nullptr;
    const heed_status status = heed_context_create(&options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_context_destroy(made);
    return status;
  };
  CountingAllocator counting;
  expect_any_version<heed_allocator>(counting.as_struct(), "options->allocator", "HEED_ALLOCATOR_INIT",
                                     [&](const heed_allocator* allocator) {
                                       heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
                                       options.allocator = allocator;
                                       return create_with(options);
                                     });
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = 2;
  expect_any_version<heed_executor>(executor, "options->executor", "HEED_EXECUTOR_INIT",
                                    [&](const heed_executor* given) {
                                      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
                                      options.executor = given;
                                      return create_with(options);
                                    });
  heed_logger silent = HEED_LOGGER_INIT;
  silent.write = [](void*, int32_t, const char*) {};
  expect_any_version<heed_logger>(silent, "options->logger", "HEED_LOGGER_INIT", [&](const heed_logger* logger) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.logger = logger;
    return create_with(options);
  });
}

TEST(StructVersions, OfInputs) {
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
    expect_any_version<heed_layer_inputs>(call.inputs, "inputs", "HEED_LAYER_INPUTS_INIT", function);
    expect_any_version<heed_sequence_inputs>(HEED_SEQUENCE_INPUTS_INIT, "inputs->sequences",
                                             "HEED_SEQUENCE_INPUTS_INIT", [&](const heed_sequence_inputs* sequences) {
                                               heed_layer_inputs inputs = call.inputs;
                                               inputs.sequences = sequences;
                                               return function(&inputs);
                                             });
  }
}

TEST(StructVersions, OfOutputs) {
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
    expect_any_version<heed_layer_outputs>(call.outputs, "outputs", "HEED_LAYER_OUTPUTS_INIT", function);
  expect_growth<heed_layer_outputs>(
      HEED_LAYER_OUTPUTS_INIT, "outputs", "HEED_LAYER_OUTPUTS_INIT", [&](const heed_layer_outputs* given) {
        // The struct is written as well as read, so all of it must be there.
        auto* outputs = const_cast<heed_layer_outputs*>(given);
        const heed_status status = heed_layer_create_outputs(layer, &call.inputs, HEED_WANT_WEIGHTS, outputs);
        EXPECT_EQ(outputs->weights != nullptr, status == HEED_OK);
        heed_tensor_destroy(outputs->weights);
        outputs->weights = nullptr;
        return status;
      });
}

TEST(StructVersions, OfProgressAndOfTheOneCall) {
  const AttentionCall call(Kind::DotProductRank4);
  const Reports reports;
  expect_any_version<heed_progress>(reports.progress, "inputs->progress", "HEED_PROGRESS_INIT",
                                    [&](const heed_progress* given) {
                                      heed_layer_inputs inputs = call.inputs;
                                      inputs.progress = given;
                                      return heed_layer_forward(call.layer.get(), &inputs, nullptr, &call.outputs);
                                    });
  expect_any_version<heed_dot_product_attention_options>(
      HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, "options", "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT",
      [&](const heed_dot_product_attention_options* given) {
        return heed_scaled_dot_product_attention(call.context.get(), given, &call.inputs, &call.outputs);
      });
}

TEST(StructVersions, OfOptionsOfModels) {
  const Context context = make_context();
  const std::string folder = golden_model("bert");
  const Pass<heed_model_options> create = [&](const heed_model_options* options) {
    heed_layer* made = nullptr;
    const heed_status status = heed_model_create(context.get(), folder.c_str(), options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  };
  expect_any_version<heed_model_options>(HEED_MODEL_OPTIONS_INIT, "options", "HEED_MODEL_OPTIONS_INIT", create);
  expect_any_version<heed_load_options>(HEED_LOAD_OPTIONS_INIT, "options->load", "HEED_LOAD_OPTIONS_INIT",
                                        [&](const heed_load_options* load) {
                                          heed_model_options options = HEED_MODEL_OPTIONS_INIT;
                                          options.load = load;
                                          return create(&options);
                                        });
  const Reports reports;
  expect_any_version<heed_progress>(reports.progress, "options->load->progress", "HEED_PROGRESS_INIT",
                                    [&](const heed_progress* progress) {
                                      heed_load_options load = HEED_LOAD_OPTIONS_INIT;
                                      load.progress = progress;
                                      heed_model_options options = HEED_MODEL_OPTIONS_INIT;
                                      options.load = &load;
                                      return create(&options);
                                    });
}

// A program that was compiled before members were added has nothing behind its struct.
TEST(StructVersions, MembersThatWereAddedAreOffInSmallerStructs) {
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

// Every default is 0 but one: -1 is no id, and 0 is one.
template <typename Struct>
bool is_zero_behind_size(Struct given) {
  if constexpr (std::is_same_v<Struct, heed_embedding_options>) {
    if (given.padding_index != -1) return false;
    given.padding_index = 0;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(&given);
  return given.struct_size == sizeof given &&
         std::all_of(bytes + sizeof(size_t), bytes + sizeof given, [](unsigned char byte) { return byte == 0; });
}

// So a struct of zeros with its size equals the macro's.
TEST(StructMacros, AreZeroAfterTheirSize) {
#define EVERY_STRUCT(name, macro) EXPECT_TRUE(is_zero_behind_size<name>(macro)) << #macro;
#include "generated/every_struct.inc"
#undef EVERY_STRUCT
}

}  // namespace
}  // namespace heed::capi_test
