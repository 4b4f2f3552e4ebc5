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

// Passes a struct of any size to every function that reads it, wherever it reads it. There is one for each struct of heed.h
// that has a macro: the compiler refuses StructVersions below for another one.
template <typename Struct>
void expect_versions() = delete;

// The status of a function that makes an object, whose handle is destroyed again.
template <typename Handle, typename Make>
heed_status make_once(const Make& make, void (*destroy)(Handle*)) {
  Handle* made = nullptr;
  const heed_status status = make(&made);
  EXPECT_EQ(made != nullptr, status == HEED_OK);
  destroy(made);
  return status;
}

template <typename Options>
using Create = heed_status (*)(heed_context*, const Options*, heed_layer**);

// The options of a layer.
template <typename Options>
void expect_options(const Options& valid, Create<Options> create) {
  const Context context = make_context();
  expect_any_version<Options>(valid, "options", [&](const Options* options) {
    return make_once<heed_layer>([&](heed_layer** made) { return create(context.get(), options, made); },
                                 heed_layer_destroy);
  });
}

// The options of a part of a layer, which the member `part` of its options refers to.
template <typename Part, typename Options>
void expect_part(const Part& valid, const char* argument, const Part* Options::*part, const Options& around,
                 Create<Options> create) {
  const Context context = make_context();
  expect_any_version<Part>(valid, argument, [&](const Part* given) {
    Options options = around;
    options.*part = given;
    return make_once<heed_layer>([&](heed_layer** made) { return create(context.get(), &options, made); },
                                 heed_layer_destroy);
  });
}

// A part of a context.
template <typename Part>
void expect_part_of_context(const Part& valid, const char* argument, const Part* heed_context_options::*part) {
  expect_any_version<Part>(valid, argument, [&](const Part* given) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.*part = given;
    return make_once<heed_context>([&](heed_context** made) { return heed_context_create(&options, made); },
                                   heed_context_destroy);
  });
}

// A call of a layer whose inputs are changed first.
template <typename Change>
heed_status forward_with(const AttentionCall& call, const Change& change) {
  heed_layer_inputs inputs = call.inputs;
  change(inputs);
  return heed_layer_forward(call.layer.get(), &inputs, nullptr, &call.outputs);
}

// ---- the host -------------------------------------------------------------------------------------------------------

template <>
void expect_versions<heed_context_options>() {
  expect_any_version<heed_context_options>(
      HEED_CONTEXT_OPTIONS_INIT, "options", [](const heed_context_options* options) {
        return make_once<heed_context>([&](heed_context** made) { return heed_context_create(options, made); },
                                       heed_context_destroy);
      });
}

template <>
void expect_versions<heed_allocator>() {
  CountingAllocator counting;
  expect_part_of_context(counting.as_struct(), "options->allocator", &heed_context_options::allocator);
}

template <>
void expect_versions<heed_executor>() {
  heed_executor executor = HEED_EXECUTOR_INIT;
  executor.parallel_for = [](void*, int64_t, void (*)(void*, int64_t), void*) {};
  executor.num_threads = 2;
  expect_part_of_context(executor, "options->executor", &heed_context_options::executor);
}

template <>
void expect_versions<heed_logger>() {
  heed_logger silent = HEED_LOGGER_INIT;
  silent.write = [](void*, int32_t, const char*) {};
  expect_part_of_context(silent, "options->logger", &heed_context_options::logger);
}

// ---- options of layers ----------------------------------------------------------------------------------------------

template <>
void expect_versions<heed_dot_product_attention_options>() {
  const heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  expect_options(options, heed_dot_product_attention_create);
  const AttentionCall call(Kind::DotProductRank4);
  expect_any_version<heed_dot_product_attention_options>(
      options, "options", [&](const heed_dot_product_attention_options* given) {
        return heed_scaled_dot_product_attention(call.context.get(), given, &call.inputs, &call.outputs);
      });
}

template <>
void expect_versions<heed_additive_attention_options>() {
  expect_options(five_hiddens(), heed_additive_attention_create);
}

template <>
void expect_versions<heed_general_attention_options>() {
  expect_options(six_in_queries(), heed_general_attention_create);
}

template <>
void expect_versions<heed_multi_head_attention_options>() {
  expect_options(two_heads(), heed_multi_head_attention_create);
  const BlockOptions blocks;
  expect_part(blocks.attention, "options->attention", &heed_encoder_layer_options::attention, blocks.encoder_layer,
              heed_encoder_layer_create);
}

template <>
void expect_versions<heed_rope_options>() {
  expect_part(whole_heads(), "options->rope", &heed_multi_head_attention_options::rope, two_heads(),
              heed_multi_head_attention_create);
}

template <>
void expect_versions<heed_positional_encoding_options>() {
  heed_positional_encoding_options positions = ten_positions();
  expect_options(positions, heed_positional_encoding_create);
  positions.size = 0;
  expect_part(positions, "options->positions", &heed_decoder_options::positions, BlockOptions().decoder,
              heed_decoder_create);
}

template <>
void expect_versions<heed_linear_options>() {
  expect_options(five_outputs(), heed_linear_create);
}

template <>
void expect_versions<heed_dropout_options>() {
  expect_options(one_half(), heed_dropout_create);
}

template <>
void expect_versions<heed_layer_norm_options>() {
  const BlockOptions blocks;
  expect_options(blocks.norm, heed_layer_norm_create);
  expect_part(blocks.norm, "options->norm", &heed_encoder_layer_options::norm, blocks.encoder_layer,
              heed_encoder_layer_create);
}

template <>
void expect_versions<heed_feed_forward_options>() {
  const BlockOptions blocks;
  expect_options(blocks.feed_forward, heed_feed_forward_create);
  expect_part(blocks.feed_forward, "options->feed_forward", &heed_encoder_layer_options::feed_forward,
              blocks.encoder_layer, heed_encoder_layer_create);
}

template <>
void expect_versions<heed_embedding_options>() {
  const BlockOptions blocks;
  expect_options(ten_rows(), heed_embedding_create);
  expect_part(ten_rows(), "options->embedding", &heed_decoder_options::embedding, blocks.decoder, heed_decoder_create);
  heed_embedding_options ids = ten_rows();
  ids.embedding_size = 0;
  expect_part(ids, "options->embedding", &heed_transformer_options::embedding, blocks.transformer,
              heed_transformer_create);
}

template <>
void expect_versions<heed_patch_embedding_options>() {
  expect_options(six_pixels(), heed_patch_embedding_create);
}

template <>
void expect_versions<heed_audio_embedding_options>() {
  expect_options(four_mels(), heed_audio_embedding_create);
}

template <>
void expect_versions<heed_encoder_layer_options>() {
  expect_options(BlockOptions().encoder_layer, heed_encoder_layer_create);
}

// One of several layers, too.
template <>
void expect_versions<heed_decoder_layer_options>() {
  const BlockOptions blocks;
  expect_options(blocks.decoder_layer, heed_decoder_layer_create);
  const Context context = make_context();
  expect_any_version<heed_decoder_layer_options>(
      blocks.decoder_layer, "options->layers[1]", [&](const heed_decoder_layer_options* given) {
        heed_decoder_options options = blocks.decoder;
        const heed_decoder_layer_options* layers[] = {&blocks.decoder_layer, given};
        options.layer = nullptr;
        options.layers = layers;
        return make_once<heed_layer>(
            [&](heed_layer** made) { return heed_decoder_create(context.get(), &options, made); }, heed_layer_destroy);
      });
}

template <>
void expect_versions<heed_encoder_options>() {
  const BlockOptions blocks;
  expect_options(blocks.encoder, heed_encoder_create);
  expect_part(blocks.encoder, "options->encoder", &heed_transformer_options::encoder, blocks.transformer,
              heed_transformer_create);
}

template <>
void expect_versions<heed_decoder_options>() {
  const BlockOptions blocks;
  expect_options(blocks.decoder, heed_decoder_create);
  expect_part(blocks.decoder, "options->decoder", &heed_transformer_options::decoder, blocks.transformer,
              heed_transformer_create);
}

template <>
void expect_versions<heed_transformer_options>() {
  expect_options(BlockOptions().transformer, heed_transformer_create);
}

template <>
void expect_versions<heed_output_options>() {
  const BlockOptions blocks;
  expect_part(blocks.output, "options->output", &heed_decoder_options::output, blocks.decoder, heed_decoder_create);
  expect_part(blocks.output, "options->output", &heed_transformer_options::output, blocks.transformer,
              heed_transformer_create);
}

// ---- calls ----------------------------------------------------------------------------------------------------------

// Every function that reads the inputs of a multi-head attention.
std::vector<Pass<heed_layer_inputs>> readers_of_inputs(const AttentionCall& call) {
  heed_layer* const layer = call.layer.get();
  return {
      [=](const heed_layer_inputs* inputs) { return heed_layer_initialize(layer, inputs, 1); },
      [=](const heed_layer_inputs* inputs) {
        heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
        const heed_status status = heed_layer_create_outputs(layer, inputs, HEED_WANT_OUTPUT, &made);
        heed_tensor_destroy(made.output);
        return status;
      },
      [=, &call](const heed_layer_inputs* inputs) {
        size_t num_bytes = 0;
        return heed_layer_workspace_size(layer, inputs, &call.outputs, &num_bytes);
      },
      [=, &call](const heed_layer_inputs* inputs) { return heed_layer_forward(layer, inputs, nullptr, &call.outputs); },
      [=, &call](const heed_layer_inputs* inputs) {
        size_t num_bytes = 0;
        return heed_layer_explain(layer, inputs, &call.outputs, nullptr, 0, &num_bytes);
      },
  };
}

template <>
void expect_versions<heed_layer_inputs>() {
  const AttentionCall call(Kind::MultiHead);
  for (const auto& function : readers_of_inputs(call))
    expect_any_version<heed_layer_inputs>(call.inputs, "inputs", function);
}

template <>
void expect_versions<heed_sequence_inputs>() {
  const AttentionCall call(Kind::MultiHead);
  for (const auto& function : readers_of_inputs(call)) {
    expect_any_version<heed_sequence_inputs>(HEED_SEQUENCE_INPUTS_INIT, "inputs->sequences",
                                             [&](const heed_sequence_inputs* sequences) {
                                               heed_layer_inputs inputs = call.inputs;
                                               inputs.sequences = sequences;
                                               return function(&inputs);
                                             });
  }
}

template <>
void expect_versions<heed_decoder_inputs>() {
  const AttentionCall call(Kind::Decoder);
  expect_any_version<heed_decoder_inputs>(
      HEED_DECODER_INPUTS_INIT, "inputs->decoder", [&](const heed_decoder_inputs* decoder) {
        return forward_with(call, [&](heed_layer_inputs& inputs) { inputs.decoder = decoder; });
      });
}

template <>
void expect_versions<heed_layer_outputs>() {
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
  for (const auto& function : functions) expect_any_version<heed_layer_outputs>(call.outputs, "outputs", function);
  expect_growth<heed_layer_outputs>(HEED_LAYER_OUTPUTS_INIT, "outputs", [&](const heed_layer_outputs* given) {
    // The struct is written as well as read, so all of it must be there.
    auto* outputs = const_cast<heed_layer_outputs*>(given);
    const heed_status status = heed_layer_create_outputs(layer, &call.inputs, HEED_WANT_WEIGHTS, outputs);
    EXPECT_EQ(outputs->weights != nullptr, status == HEED_OK);
    heed_tensor_destroy(outputs->weights);
    outputs->weights = nullptr;
    return status;
  });
}

template <>
void expect_versions<heed_layer_gradients>() {
  const AttentionCall call(Kind::MultiHead);
  heed_layer* const layer = call.layer.get();
  const Tensor of_output = make_tensor(call.context.get(), dims_of(call.outputs.output));
  heed_layer_gradients gradients = HEED_LAYER_GRADIENTS_INIT;
  gradients.output = of_output.get();
  const std::vector<Pass<heed_layer_gradients>> functions = {
      [&](const heed_layer_gradients* wanted) {
        size_t num_bytes = 0;
        return heed_layer_backward_workspace_size(layer, &call.inputs, nullptr, wanted, &num_bytes);
      },
      [&](const heed_layer_gradients* wanted) {
        return heed_layer_backward(layer, &call.inputs, nullptr, nullptr, wanted);
      },
      [&](const heed_layer_gradients* wanted) {
        size_t num_bytes = 0;
        return heed_layer_explain_backward(layer, &call.inputs, nullptr, wanted, nullptr, 0, &num_bytes);
      },
  };
  for (const auto& function : functions) expect_any_version<heed_layer_gradients>(gradients, "gradients", function);
}

template <>
void expect_versions<heed_layer_tap>() {
  const AttentionCall call(Kind::Encoder);
  const char* const child = "layers.0.self_attention";
  const auto create = [&](const heed_layer_tap* given) {
    // It is written as well as read.
    auto* tap = const_cast<heed_layer_tap*>(given);
    return heed_layer_create_tap(call.layer.get(), &call.inputs, child, HEED_WANT_WEIGHTS, tap);
  };
  expect_growth<heed_layer_tap>(HEED_LAYER_TAP_INIT, "tap", [&](const heed_layer_tap* given) {
    const heed_status status = create(given);
    auto* tap = const_cast<heed_layer_tap*>(given);
    EXPECT_EQ(tap->weights != nullptr, status == HEED_OK);
    heed_tensor_destroy(tap->weights);
    tap->weights = nullptr;
    tap->child = nullptr;
    return status;
  });
  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  check(create(&tap));
  const Tensor weights(tap.weights);
  expect_any_version<heed_layer_tap>(tap, "outputs->taps[0]", [&](const heed_layer_tap* given) {
    heed_layer_outputs outputs = call.outputs;
    outputs.taps = &given;
    outputs.num_taps = 1;
    return heed_layer_forward(call.layer.get(), &call.inputs, nullptr, &outputs);
  });
}

// ---- caches ---------------------------------------------------------------------------------------------------------

template <>
void expect_versions<heed_cache_options>() {
  const AttentionCall call(Kind::MultiHead);
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  expect_growth<heed_cache_options>(options, "options", [&](const heed_cache_options* given) {
    // The struct is written as well as read.
    return heed_layer_cache_options(call.layer.get(), const_cast<heed_cache_options*>(given));
  });
  check(heed_layer_cache_options(call.layer.get(), &options));
  options.max_sequences = 1;
  options.capacity = 4;
  expect_any_version<heed_cache_options>(options, "options", [&](const heed_cache_options* given) {
    return make_once<heed_cache>([&](heed_cache** made) { return heed_cache_create(call.context.get(), given, made); },
                                 heed_cache_destroy);
  });
  expect_any_version<heed_cache_options>(options, "options", [](const heed_cache_options* given) {
    size_t num_bytes = 0;
    return heed_cache_size(given, &num_bytes);
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

// Of the queries' layer, and of the encoder's output.
template <>
void expect_versions<heed_cache_inputs>() {
  const AttentionCall call(Kind::MultiHead);
  const Cache cache = make_cache_of(call.context.get(), call.layer.get(), 2, 5);
  heed_cache_inputs read = HEED_CACHE_INPUTS_INIT;
  read.cache = cache.get();
  read.use = HEED_CACHE_READ;
  expect_any_version<heed_cache_inputs>(read, "inputs->cache", [&](const heed_cache_inputs* given) {
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = call.inputs.queries;
    inputs.cache = given;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = call.outputs.output;
    return heed_layer_forward(call.layer.get(), &inputs, nullptr, &outputs);
  });
  const MemoryCacheCall of_memory;
  expect_any_version<heed_cache_inputs>(of_memory.given, "inputs->decoder->memory_cache",
                                        [&](const heed_cache_inputs* given) { return of_memory.forward_with(given); });
}

// ---- models ---------------------------------------------------------------------------------------------------------

heed_status create_model(heed_context* context, const heed_model_options* options) {
  const std::string folder = golden_model("bert");
  return make_once<heed_layer>(
      [&](heed_layer** made) { return heed_model_create(context, folder.c_str(), options, made); }, heed_layer_destroy);
}

template <>
void expect_versions<heed_model_options>() {
  const Context context = make_context();
  expect_any_version<heed_model_options>(HEED_MODEL_OPTIONS_INIT, "options", [&](const heed_model_options* options) {
    return create_model(context.get(), options);
  });
}

template <>
void expect_versions<heed_load_options>() {
  const Context context = make_context();
  expect_any_version<heed_load_options>(HEED_LOAD_OPTIONS_INIT, "options->load", [&](const heed_load_options* load) {
    heed_model_options options = HEED_MODEL_OPTIONS_INIT;
    options.load = load;
    return create_model(context.get(), &options);
  });
}

// ---- training -------------------------------------------------------------------------------------------------------

template <>
void expect_versions<heed_sgd_options>() {
  const Context context = make_context();
  expect_any_version<heed_sgd_options>(HEED_SGD_OPTIONS_INIT, "options", [&](const heed_sgd_options* options) {
    return make_once<heed_optimizer>(
        [&](heed_optimizer** made) { return heed_sgd_create(context.get(), options, made); }, heed_optimizer_destroy);
  });
}

template <>
void expect_versions<heed_adamw_options>() {
  const Context context = make_context();
  expect_any_version<heed_adamw_options>(HEED_ADAMW_OPTIONS_INIT, "options", [&](const heed_adamw_options* options) {
    return make_once<heed_optimizer>(
        [&](heed_optimizer** made) { return heed_adamw_create(context.get(), options, made); }, heed_optimizer_destroy);
  });
}

template <>
void expect_versions<heed_parameter_group>() {
  const Context context = make_context();
  const Optimizer optimizer = make_sgd(context.get());
  expect_any_version<heed_parameter_group>(HEED_PARAMETER_GROUP_INIT, "group", [&](const heed_parameter_group* group) {
    return heed_optimizer_set_group(optimizer.get(), "bias", group);
  });
}

template <>
void expect_versions<heed_step_part>() {
  const Context context = make_context();
  const Tensor value = make_tensor(context.get(), {3});
  const Gradients gradients = make_gradients_of(value.get(), "value");
  const Optimizer optimizer = make_sgd(context.get());
  heed_step_part given = HEED_STEP_PART_INIT;
  given.gradients = gradients.get();
  expect_any_version<heed_step_part>(given, "parts[0]", [&](const heed_step_part* part) {
    return heed_optimizer_step_parts(optimizer.get(), &part, 1);
  });
}

template <>
void expect_versions<heed_cross_entropy_options>() {
  const Context context = make_context();
  const Tensor logits = make_tensor(context.get(), {2, 3});
  const Tensor labels = make_tensor(context.get(), {2}, HEED_I32);
  expect_any_version<heed_cross_entropy_options>(
      HEED_CROSS_ENTROPY_OPTIONS_INIT, "options", [&](const heed_cross_entropy_options* options) {
        double total = 0;
        return heed_cross_entropy(logits.get(), labels.get(), nullptr, options, nullptr, &total, nullptr);
      });
}

template <>
void expect_versions<heed_squared_error_options>() {
  const Context context = make_context();
  const Tensor tensor = make_tensor(context.get(), {2, 3});
  expect_any_version<heed_squared_error_options>(
      HEED_SQUARED_ERROR_OPTIONS_INIT, "options", [&](const heed_squared_error_options* options) {
        double total = 0;
        return heed_squared_error(tensor.get(), tensor.get(), options, nullptr, &total, nullptr);
      });
}

template <>
void expect_versions<heed_progress>() {
  const Reports reports;
  const AttentionCall call(Kind::DotProductRank4);
  expect_any_version<heed_progress>(reports.progress, "inputs->progress", [&](const heed_progress* given) {
    return forward_with(call, [&](heed_layer_inputs& inputs) { inputs.progress = given; });
  });
  const Context context = make_context();
  expect_any_version<heed_progress>(reports.progress, "options->load->progress", [&](const heed_progress* progress) {
    heed_load_options load = HEED_LOAD_OPTIONS_INIT;
    load.progress = progress;
    heed_model_options options = HEED_MODEL_OPTIONS_INIT;
    options.load = &load;
    return create_model(context.get(), &options);
  });
}

TEST(StructVersions, OfEveryStruct) {
#define EVERY_STRUCT(name, macro) expect_versions<name>();
#include "generated/every_struct.inc"
#undef EVERY_STRUCT
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

// Options of losses and optimizers, in which 0 is a number like others.
template <typename Struct>
constexpr bool is_as_written() {
  return std::is_same_v<Struct, heed_cross_entropy_options> || std::is_same_v<Struct, heed_squared_error_options> ||
         std::is_same_v<Struct, heed_sgd_options> || std::is_same_v<Struct, heed_adamw_options> ||
         std::is_same_v<Struct, heed_parameter_group>;
}

// Every other default is 0 but one: -1 is no id, and 0 is one.
template <typename Struct>
bool is_zero_behind_size(Struct given) {
  if constexpr (is_as_written<Struct>()) return given.struct_size == sizeof given;
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
