// SPDX-License-Identifier: Apache-2.0
// An invalid struct_size is refused before any other member is read: a struct that was not initialized by its macro may
// contain any number there, and may be at the end of readable memory.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/first_size.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "capi/support/reports.h"
#include "support/platform/memory.h"

namespace heed::capi_test {
namespace {

constexpr size_t kLargest = 65536;

template <typename Struct>
using Pass = std::function<heed_status(const Struct*)>;

// `macro` is the name of the initializer, `argument` that of the function's argument.
template <typename Struct>
void expect_limit(const Struct& valid, const char* argument, const char* macro, const Pass<Struct>& pass) {
  SCOPED_TRACE(macro);
  const auto is_refused_for = [&](const Struct* given) {
    forget_last_error();
    return is_refused(pass(given), invalid({argument, "->struct_size is " + std::to_string(given->struct_size),
                                            std::to_string(kFirstSize<Struct>) + " to 65536", macro}));
  };
  // Exactly the struct can be read, and no byte after it.
  const BytesBeforeAWall whole(sizeof(Struct));
  auto* const given = static_cast<Struct*>(whole.get());
  std::memcpy(given, &valid, sizeof valid);
  EXPECT_EQ(pass(given), HEED_OK) << heed_last_error();
  for (const size_t size : {kLargest + 1, size_t{0x7FFF'0000'1234}, SIZE_MAX}) {
    given->struct_size = size;
    EXPECT_TRUE(is_refused_for(given));
  }
  // Only struct_size can be read.
  const BytesBeforeAWall only_size(sizeof(size_t));
  auto* const cut = static_cast<Struct*>(only_size.get());
  for (const size_t size : {size_t{0}, kFirstSize<Struct> - 1, kLargest + 1, SIZE_MAX}) {
    std::memcpy(only_size.get(), &size, sizeof size);
    EXPECT_TRUE(is_refused_for(cut));
  }
  // The largest size, which a later version of heed might have.
  const BytesBeforeAWall largest(kLargest);
  auto* const later = static_cast<Struct*>(largest.get());
  std::memcpy(later, &valid, sizeof valid);
  later->struct_size = kLargest;
  EXPECT_EQ(pass(later), HEED_OK) << heed_last_error();
  static_cast<std::byte*>(largest.get())[kLargest - 1] = std::byte{1};
  forget_last_error();
  EXPECT_TRUE(is_refused(pass(later), {HEED_ERROR_UNSUPPORTED, {argument, "65536"}}));
}

template <typename Options, typename Create>
void expect_limit_of_options(const Options& valid, const char* macro, Create create) {
  const Context context = make_context();
  expect_limit<Options>(valid, "options", macro, [&](const Options* options) {
    heed_layer* made = nullptr;
    const heed_status status = create(context.get(), options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  });
}

TEST(StructSize, OutOfRangeIsRefusedInOptionsOfLayers) {
  expect_limit_of_options<heed_dot_product_attention_options>(HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT,
                                                              "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT",
                                                              heed_dot_product_attention_create);
  expect_limit_of_options(five_hiddens(), "HEED_ADDITIVE_ATTENTION_OPTIONS_INIT", heed_additive_attention_create);
  expect_limit_of_options(six_in_queries(), "HEED_GENERAL_ATTENTION_OPTIONS_INIT", heed_general_attention_create);
  expect_limit_of_options(two_heads(), "HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT", heed_multi_head_attention_create);
  expect_limit_of_options(five_outputs(), "HEED_LINEAR_OPTIONS_INIT", heed_linear_create);
  expect_limit_of_options(one_half(), "HEED_DROPOUT_OPTIONS_INIT", heed_dropout_create);
  expect_limit_of_options(ten_positions(), "HEED_POSITIONAL_ENCODING_OPTIONS_INIT", heed_positional_encoding_create);
  const BlockOptions blocks;
  expect_limit_of_options(blocks.norm, "HEED_LAYER_NORM_OPTIONS_INIT", heed_layer_norm_create);
  expect_limit_of_options(blocks.feed_forward, "HEED_FEED_FORWARD_OPTIONS_INIT", heed_feed_forward_create);
  expect_limit_of_options(ten_rows(), "HEED_EMBEDDING_OPTIONS_INIT", heed_embedding_create);
  expect_limit_of_options(six_pixels(), "HEED_PATCH_EMBEDDING_OPTIONS_INIT", heed_patch_embedding_create);
  expect_limit_of_options(four_mels(), "HEED_AUDIO_EMBEDDING_OPTIONS_INIT", heed_audio_embedding_create);
  expect_limit_of_options(blocks.encoder_layer, "HEED_ENCODER_LAYER_OPTIONS_INIT", heed_encoder_layer_create);
  expect_limit_of_options(blocks.decoder_layer, "HEED_DECODER_LAYER_OPTIONS_INIT", heed_decoder_layer_create);
  expect_limit_of_options(blocks.encoder, "HEED_ENCODER_OPTIONS_INIT", heed_encoder_create);
  expect_limit_of_options(blocks.decoder, "HEED_DECODER_OPTIONS_INIT", heed_decoder_create);
  expect_limit_of_options(blocks.transformer, "HEED_TRANSFORMER_OPTIONS_INIT", heed_transformer_create);
  const Context context = make_context();
  expect_limit<heed_rope_options>(
      whole_heads(), "options->rope", "HEED_ROPE_OPTIONS_INIT", [&](const heed_rope_options* rope) {
        heed_multi_head_attention_options options = two_heads();
        options.rope = rope;
        heed_layer* made = nullptr;
        const heed_status status = heed_multi_head_attention_create(context.get(), &options, &made);
        EXPECT_EQ(made != nullptr, status == HEED_OK);
        heed_layer_destroy(made);
        return status;
      });
  expect_limit<heed_output_options>(
      blocks.output, "options->output", "HEED_OUTPUT_OPTIONS_INIT", [&](const heed_output_options* output) {
        heed_transformer_options options = blocks.transformer;
        options.output = output;
        heed_layer* made = nullptr;
        const heed_status status = heed_transformer_create(context.get(), &options, &made);
        EXPECT_EQ(made != nullptr, status == HEED_OK);
        heed_layer_destroy(made);
        return status;
      });
}

TEST(StructSize, OutOfRangeIsRefusedInOptionsOfContexts) {
  const Pass<heed_context_options> create = [](const heed_context_options* options) {
    heed_context* made = nullptr;
    const heed_status status = heed_context_create(options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_context_destroy(made);
    return status;
  };
  expect_limit<heed_context_options>(HEED_CONTEXT_OPTIONS_INIT, "options", "HEED_CONTEXT_OPTIONS_INIT", create);
  CountingAllocator counting;
  expect_limit<heed_allocator>(counting.as_struct(), "options->allocator", "HEED_ALLOCATOR_INIT",
                               [&](const heed_allocator* allocator) {
                                 heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
                                 options.allocator = allocator;
                                 return create(&options);
                               });
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = 2;
  expect_limit<heed_executor>(executor, "options->executor", "HEED_EXECUTOR_INIT", [&](const heed_executor* given) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = given;
    return create(&options);
  });
  heed_logger silent = HEED_LOGGER_INIT;
  silent.write = [](void*, int32_t, const char*) {};
  expect_limit<heed_logger>(silent, "options->logger", "HEED_LOGGER_INIT", [&](const heed_logger* logger) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.logger = logger;
    return create(&options);
  });
}

TEST(StructSize, OutOfRangeIsRefusedInCalls) {
  const AttentionCall call(Kind::DotProductRank4);
  expect_limit<heed_layer_inputs>(call.inputs, "inputs", "HEED_LAYER_INPUTS_INIT", [&](const heed_layer_inputs* given) {
    return heed_layer_forward(call.layer.get(), given, nullptr, &call.outputs);
  });
  expect_limit<heed_sequence_inputs>(HEED_SEQUENCE_INPUTS_INIT, "inputs->sequences", "HEED_SEQUENCE_INPUTS_INIT",
                                     [&](const heed_sequence_inputs* given) {
                                       heed_layer_inputs inputs = call.inputs;
                                       inputs.sequences = given;
                                       return heed_layer_forward(call.layer.get(), &inputs, nullptr, &call.outputs);
                                     });
  const Reports reports;
  expect_limit<heed_progress>(reports.progress, "inputs->progress", "HEED_PROGRESS_INIT",
                              [&](const heed_progress* given) {
                                heed_layer_inputs inputs = call.inputs;
                                inputs.progress = given;
                                return heed_layer_forward(call.layer.get(), &inputs, nullptr, &call.outputs);
                              });
  const AttentionCall decoder(Kind::Decoder);
  expect_limit<heed_decoder_inputs>(
      HEED_DECODER_INPUTS_INIT, "inputs->decoder", "HEED_DECODER_INPUTS_INIT", [&](const heed_decoder_inputs* given) {
        heed_layer_inputs inputs = decoder.inputs;
        inputs.decoder = given;
        return heed_layer_forward(decoder.layer.get(), &inputs, nullptr, &decoder.outputs);
      });
  const Cache memory = make_cache_of(decoder.context.get(), decoder.layer.get(), 2, 5);
  heed_cache_inputs read = HEED_CACHE_INPUTS_INIT;
  read.cache = memory.get();
  read.use = HEED_CACHE_READ;
  expect_limit<heed_cache_inputs>(read, "inputs->decoder->memory_cache", "HEED_CACHE_INPUTS_INIT",
                                  [&](const heed_cache_inputs* given) {
                                    heed_decoder_inputs of_decoder = HEED_DECODER_INPUTS_INIT;
                                    of_decoder.memory_cache = given;
                                    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
                                    inputs.queries = decoder.inputs.queries;
                                    inputs.decoder = &of_decoder;
                                    return heed_layer_forward(decoder.layer.get(), &inputs, nullptr, &decoder.outputs);
                                  });
  expect_limit<heed_layer_outputs>(call.outputs, "outputs", "HEED_LAYER_OUTPUTS_INIT",
                                   [&](const heed_layer_outputs* given) {
                                     return heed_layer_forward(call.layer.get(), &call.inputs, nullptr, given);
                                   });
  expect_limit<heed_dot_product_attention_options>(
      HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, "options", "HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT",
      [&](const heed_dot_product_attention_options* given) {
        return heed_scaled_dot_product_attention(call.context.get(), given, &call.inputs, &call.outputs);
      });
}

TEST(StructSize, OutOfRangeIsRefusedInOptionsOfModels) {
  const Context context = make_context();
  const std::string folder = golden_model("bert");
  const Pass<heed_model_options> create = [&](const heed_model_options* options) {
    heed_layer* made = nullptr;
    const heed_status status = heed_model_create(context.get(), folder.c_str(), options, &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_layer_destroy(made);
    return status;
  };
  expect_limit<heed_model_options>(HEED_MODEL_OPTIONS_INIT, "options", "HEED_MODEL_OPTIONS_INIT", create);
  expect_limit<heed_load_options>(HEED_LOAD_OPTIONS_INIT, "options->load", "HEED_LOAD_OPTIONS_INIT",
                                  [&](const heed_load_options* load) {
                                    heed_model_options options = HEED_MODEL_OPTIONS_INIT;
                                    options.load = load;
                                    return create(&options);
                                  });
  const Reports reports;
  expect_limit<heed_progress>(reports.progress, "options->load->progress", "HEED_PROGRESS_INIT",
                              [&](const heed_progress* progress) {
                                heed_load_options load = HEED_LOAD_OPTIONS_INIT;
                                load.progress = progress;
                                heed_model_options options = HEED_MODEL_OPTIONS_INIT;
                                options.load = &load;
                                return create(&options);
                              });
}

}  // namespace
}  // namespace heed::capi_test
