// SPDX-License-Identifier: Apache-2.0
// NULL for every handle, every required pointer and every string.
#include <gtest/gtest.h>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

Refusal is_null(const char* name) { return {HEED_ERROR_INVALID_ARGUMENT, {std::string(name) + " is NULL"}}; }

TEST(NullArguments, OfContextsAreRefused) {
  const Context context = make_context();
  expect_refused({
      {"create: context", [](OutParameters&) { return heed_context_create(nullptr, nullptr); }, is_null("context")},
      {"synchronize: context", [](OutParameters&) { return heed_context_synchronize(nullptr); }, is_null("context")},
      {"trim: context", [](OutParameters&) { return heed_context_trim(nullptr); }, is_null("context")},
      {"describe: context",
       [](OutParameters& out) {
         return heed_context_describe(nullptr, out.text.data(), out.text.size(), &out.num_bytes);
       },
       is_null("context")},
      {"describe: text and num_bytes",
       [&](OutParameters&) { return heed_context_describe(context.get(), nullptr, 0, nullptr); },
       {HEED_ERROR_INVALID_ARGUMENT, {"text", "num_bytes", "NULL"}}},
  });
}

TEST(NullArguments, OfMakingTensorsAreRefused) {
  const Context context = make_context();
  const int64_t dims[] = {2, 3};
  float data[6] = {};
  expect_refused({
      {"create: context",
       [&](OutParameters& out) { return heed_tensor_create(nullptr, HEED_F32, 2, dims, &out.tensor); },
       is_null("context")},
      {"create: dims",
       [&](OutParameters& out) { return heed_tensor_create(context.get(), HEED_F32, 2, nullptr, &out.tensor); },
       is_null("dims")},
      {"create: tensor", [&](OutParameters&) { return heed_tensor_create(context.get(), HEED_F32, 2, dims, nullptr); },
       is_null("tensor")},
      {"create_from: context",
       [&](OutParameters& out) { return heed_tensor_create_from(nullptr, HEED_F32, 2, dims, data, &out.tensor); },
       is_null("context")},
      {"create_from: dims",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), HEED_F32, 2, nullptr, data, &out.tensor);
       },
       is_null("dims")},
      {"create_from: data",
       [&](OutParameters& out) {
         return heed_tensor_create_from(context.get(), HEED_F32, 2, dims, nullptr, &out.tensor);
       },
       is_null("data")},
      {"create_from: tensor",
       [&](OutParameters&) { return heed_tensor_create_from(context.get(), HEED_F32, 2, dims, data, nullptr); },
       is_null("tensor")},
      {"wrap: context",
       [&](OutParameters& out) {
         return heed_tensor_wrap(nullptr, HEED_F32, 2, dims, nullptr, data, nullptr, nullptr, &out.tensor);
       },
       is_null("context")},
      {"wrap: dims",
       [&](OutParameters& out) {
         return heed_tensor_wrap(context.get(), HEED_F32, 2, nullptr, nullptr, data, nullptr, nullptr, &out.tensor);
       },
       is_null("dims")},
      {"wrap: tensor",
       [&](OutParameters&) {
         return heed_tensor_wrap(context.get(), HEED_F32, 2, dims, nullptr, data, nullptr, nullptr, nullptr);
       },
       is_null("tensor")},
      {"load: context",
       [](OutParameters& out) { return heed_tensor_load_safetensors(nullptr, "file", "name", &out.tensor); },
       is_null("context")},
      {"load: path",
       [&](OutParameters& out) { return heed_tensor_load_safetensors(context.get(), nullptr, "name", &out.tensor); },
       is_null("path")},
      {"load: name",
       [&](OutParameters& out) { return heed_tensor_load_safetensors(context.get(), "file", nullptr, &out.tensor); },
       is_null("name")},
      {"load: tensor",
       [&](OutParameters&) { return heed_tensor_load_safetensors(context.get(), "file", "name", nullptr); },
       is_null("tensor")},
      {"from_dlpack: context",
       [](OutParameters& out) {
         char never_followed = 0;
         return heed_tensor_from_dlpack(nullptr, reinterpret_cast<DLManagedTensor*>(&never_followed), &out.tensor);
       },
       is_null("context")},
      {"from_dlpack: managed",
       [&](OutParameters& out) { return heed_tensor_from_dlpack(context.get(), nullptr, &out.tensor); },
       is_null("managed")},
      {"from_dlpack: tensor",
       [&](OutParameters&) {
         char never_followed = 0;
         return heed_tensor_from_dlpack(context.get(), reinterpret_cast<DLManagedTensor*>(&never_followed), nullptr);
       },
       is_null("tensor")},
      {"load_npy: context", [](OutParameters& out) { return heed_tensor_load_npy(nullptr, "file", &out.tensor); },
       is_null("context")},
      {"load_npy: path", [&](OutParameters& out) { return heed_tensor_load_npy(context.get(), nullptr, &out.tensor); },
       is_null("path")},
      {"load_npy: tensor", [&](OutParameters&) { return heed_tensor_load_npy(context.get(), "file", nullptr); },
       is_null("tensor")},
  });
}

TEST(NullArguments, OfUsingTensorsAreRefused) {
  const Context context = make_context();
  const Tensor tensor = make_tensor(context.get(), {2, 3});
  heed_tensor* const good = tensor.get();
  const int64_t dims[] = {3, 2};
  const int32_t axes[] = {1, 0};
  float data[6] = {};
  expect_refused({
      {"write: tensor", [&](OutParameters&) { return heed_tensor_write(nullptr, data, sizeof data); },
       is_null("tensor")},
      {"write: source", [&](OutParameters&) { return heed_tensor_write(good, nullptr, sizeof data); },
       is_null("source")},
      {"read: tensor", [&](OutParameters&) { return heed_tensor_read(nullptr, data, sizeof data); }, is_null("tensor")},
      {"read: destination", [&](OutParameters&) { return heed_tensor_read(good, nullptr, sizeof data); },
       is_null("destination")},
      {"fill: tensor", [](OutParameters&) { return heed_tensor_fill(nullptr, 1.0); }, is_null("tensor")},
      {"fill_arange: tensor", [](OutParameters&) { return heed_tensor_fill_arange(nullptr, 0.0, 1.0); },
       is_null("tensor")},
      {"fill_uniform: tensor", [](OutParameters&) { return heed_tensor_fill_uniform(nullptr, 0.0, 1.0, 1); },
       is_null("tensor")},
      {"fill_normal: tensor", [](OutParameters&) { return heed_tensor_fill_normal(nullptr, 0.0, 1.0, 1); },
       is_null("tensor")},
      {"copy: destination", [&](OutParameters&) { return heed_tensor_copy(nullptr, good); }, is_null("destination")},
      {"copy: source", [&](OutParameters&) { return heed_tensor_copy(good, nullptr); }, is_null("source")},
      {"view: tensor", [&](OutParameters& out) { return heed_tensor_view(nullptr, 2, dims, nullptr, 0, &out.tensor); },
       is_null("tensor")},
      {"view: dims", [&](OutParameters& out) { return heed_tensor_view(good, 2, nullptr, nullptr, 0, &out.tensor); },
       is_null("dims")},
      {"view: view", [&](OutParameters&) { return heed_tensor_view(good, 2, dims, nullptr, 0, nullptr); },
       is_null("view")},
      {"reshape: tensor", [&](OutParameters& out) { return heed_tensor_reshape(nullptr, 2, dims, &out.tensor); },
       is_null("tensor")},
      {"reshape: dims", [&](OutParameters& out) { return heed_tensor_reshape(good, 2, nullptr, &out.tensor); },
       is_null("dims")},
      {"reshape: view", [&](OutParameters&) { return heed_tensor_reshape(good, 2, dims, nullptr); }, is_null("view")},
      {"transpose: tensor", [&](OutParameters& out) { return heed_tensor_transpose(nullptr, axes, &out.tensor); },
       is_null("tensor")},
      {"transpose: view", [&](OutParameters&) { return heed_tensor_transpose(good, axes, nullptr); }, is_null("view")},
      {"slice: tensor", [](OutParameters& out) { return heed_tensor_slice(nullptr, 0, 0, 1, &out.tensor); },
       is_null("tensor")},
      {"slice: view", [&](OutParameters&) { return heed_tensor_slice(good, 0, 0, 1, nullptr); }, is_null("view")},
      {"to_dlpack: tensor",
       [](OutParameters&) {
         DLManagedTensor* managed = nullptr;
         const heed_status status = heed_tensor_to_dlpack(nullptr, &managed);
         EXPECT_EQ(managed, nullptr);
         return status;
       },
       is_null("tensor")},
      {"to_dlpack: managed", [&](OutParameters&) { return heed_tensor_to_dlpack(good, nullptr); }, is_null("managed")},
      {"to_text: tensor",
       [](OutParameters& out) {
         return heed_tensor_to_text(nullptr, out.text.data(), out.text.size(), &out.num_bytes);
       },
       is_null("tensor")},
      {"to_text: text and num_bytes",
       [&](OutParameters&) { return heed_tensor_to_text(good, nullptr, 0, nullptr); },
       {HEED_ERROR_INVALID_ARGUMENT, {"text", "num_bytes", "NULL"}}},
      {"save_npy: tensor", [](OutParameters&) { return heed_tensor_save_npy(nullptr, "file"); }, is_null("tensor")},
      {"save_npy: path", [&](OutParameters&) { return heed_tensor_save_npy(good, nullptr); }, is_null("path")},
  });
}

TEST(NullArguments, OfOperationsAreRefused) {
  const Context context = make_context();
  const Tensor tensor = make_tensor(context.get(), {1, 2, 2});
  const Tensor result = make_tensor(context.get(), {1, 2, 2});
  const Tensor log_sum_exp = make_tensor(context.get(), {1, 2});
  const heed_tensor* const good = tensor.get();
  const heed_tensor* const rows = log_sum_exp.get();
  expect_refused({
      {"matmul: a", [&](OutParameters&) { return heed_matmul(nullptr, good, result.get()); }, is_null("a")},
      {"matmul: b", [&](OutParameters&) { return heed_matmul(good, nullptr, result.get()); }, is_null("b")},
      {"matmul: product", [&](OutParameters&) { return heed_matmul(good, good, nullptr); }, is_null("product")},
      {"softmax: tensor", [&](OutParameters&) { return heed_softmax(nullptr, 0, result.get()); }, is_null("tensor")},
      {"softmax: result", [&](OutParameters&) { return heed_softmax(good, 0, nullptr); }, is_null("result")},
      {"activation: tensor", [&](OutParameters&) { return heed_activation(nullptr, 0, result.get()); },
       is_null("tensor")},
      {"activation: result", [&](OutParameters&) { return heed_activation(good, 0, nullptr); }, is_null("result")},
      {"masked_softmax: scores", [&](OutParameters&) { return heed_masked_softmax(nullptr, nullptr, result.get()); },
       is_null("scores")},
      {"masked_softmax: result", [&](OutParameters&) { return heed_masked_softmax(good, nullptr, nullptr); },
       is_null("result")},
      {"attention_merge: outputs",
       [&](OutParameters&) { return heed_attention_merge(nullptr, &rows, 1, nullptr, result.get(), nullptr); },
       is_null("outputs")},
      {"attention_merge: log_sum_exps",
       [&](OutParameters&) { return heed_attention_merge(&good, nullptr, 1, nullptr, result.get(), nullptr); },
       is_null("log_sum_exps")},
      {"attention_merge: outputs[1]",
       [&](OutParameters&) {
         const heed_tensor* const outputs[] = {good, nullptr};
         const heed_tensor* const log_sum_exps[] = {rows, rows};
         return heed_attention_merge(outputs, log_sum_exps, 2, nullptr, result.get(), nullptr);
       },
       is_null("outputs[1]")},
      {"attention_merge: log_sum_exps[0]",
       [&](OutParameters&) {
         const heed_tensor* const missing = nullptr;
         return heed_attention_merge(&good, &missing, 1, nullptr, result.get(), nullptr);
       },
       is_null("log_sum_exps[0]")},
  });
}

template <typename Options>
std::vector<RefusedCall> null_arguments_of(const char* what,
                                           heed_status (*create)(heed_context*, const Options*, heed_layer**),
                                           heed_context* context, const Options& options) {
  return {
      {what, [=, &options](OutParameters& out) { return create(nullptr, &options, &out.layer); }, is_null("context")},
      {what, [=, &options](OutParameters&) { return create(context, &options, nullptr); }, is_null("layer")}};
}

TEST(NullArguments, OfBlocksAreRefused) {
  const Context owner = make_context();
  heed_context* const context = owner.get();
  const BlockOptions blocks;
  const heed_embedding_options embedding = ten_rows();
  expect_refused(null_arguments_of("norm", heed_layer_norm_create, context, blocks.norm));
  expect_refused(null_arguments_of("feed-forward", heed_feed_forward_create, context, blocks.feed_forward));
  expect_refused(null_arguments_of("embedding", heed_embedding_create, context, embedding));
  expect_refused(null_arguments_of("patches", heed_patch_embedding_create, context, six_pixels()));
  expect_refused(null_arguments_of("audio", heed_audio_embedding_create, context, four_mels()));
  expect_refused(null_arguments_of("encoder layer", heed_encoder_layer_create, context, blocks.encoder_layer));
  expect_refused(null_arguments_of("decoder layer", heed_decoder_layer_create, context, blocks.decoder_layer));
  expect_refused(null_arguments_of("encoder", heed_encoder_create, context, blocks.encoder));
  expect_refused(null_arguments_of("decoder", heed_decoder_create, context, blocks.decoder));
  const Layer layer = make_encoder(context, blocks.encoder);
  const auto after = [](auto returned, decltype(returned) failed) {
    EXPECT_EQ(returned, failed);
    return heed_last_status();
  };
  expect_refused({
      {"feed-forward: options, whose defaults name no size",
       [&](OutParameters& out) { return heed_feed_forward_create(context, nullptr, &out.layer); },
       invalid({"hidden_size is 0"})},
      {"embedding: options, whose defaults name no size",
       [&](OutParameters& out) { return heed_embedding_create(context, nullptr, &out.layer); },
       invalid({"num_embeddings is 0"})},
      {"encoder layer: options, whose defaults have no attention",
       [&](OutParameters& out) { return heed_encoder_layer_create(context, nullptr, &out.layer); },
       is_null("options->attention")},
      {"decoder layer: options, whose defaults have no attention",
       [&](OutParameters& out) { return heed_decoder_layer_create(context, nullptr, &out.layer); },
       is_null("options->self_attention")},
      {"encoder: options, whose defaults have no layer",
       [&](OutParameters& out) { return heed_encoder_create(context, nullptr, &out.layer); },
       is_null("options->layer")},
      {"decoder: options, whose defaults have no layer",
       [&](OutParameters& out) { return heed_decoder_create(context, nullptr, &out.layer); },
       is_null("options->layer")},
      {"child: layer", [](OutParameters& out) { return heed_layer_child(nullptr, "norm", &out.layer); },
       is_null("layer")},
      {"child: name", [&](OutParameters& out) { return heed_layer_child(layer.get(), nullptr, &out.layer); },
       is_null("name")},
      {"child: child", [&](OutParameters&) { return heed_layer_child(layer.get(), "norm", nullptr); },
       is_null("child")},
      {"kind", [&](OutParameters&) { return after(heed_layer_kind(nullptr), nullptr); }, is_null("layer")},
      {"options: layer",
       [](OutParameters& out) { return heed_layer_options(nullptr, out.text.data(), out.text.size(), &out.num_bytes); },
       is_null("layer")},
      {"options: text and num_bytes",
       [&](OutParameters&) { return heed_layer_options(layer.get(), nullptr, 0, nullptr); },
       {HEED_ERROR_INVALID_ARGUMENT, {"text", "num_bytes", "NULL"}}},
      {"child_count", [&](OutParameters&) { return after(heed_layer_child_count(nullptr), int64_t{-1}); },
       is_null("layer")},
      {"child_name", [&](OutParameters&) { return after(heed_layer_child_name(nullptr, 0), nullptr); },
       is_null("layer")},
  });
}

TEST(NullArguments, OfLayersAreRefused) {
  const AttentionCall call(Kind::MultiHead);
  heed_context* const context = call.context.get();
  heed_layer* const layer = call.layer.get();
  const heed_multi_head_attention_options options = two_heads();
  const heed_tensor* value = call.inputs.queries;
  expect_refused({
      {"dot product: context",
       [](OutParameters& out) { return heed_dot_product_attention_create(nullptr, nullptr, &out.layer); },
       is_null("context")},
      {"dot product: layer",
       [&](OutParameters&) { return heed_dot_product_attention_create(context, nullptr, nullptr); }, is_null("layer")},
      {"additive: context",
       [](OutParameters& out) {
         const heed_additive_attention_options additive = five_hiddens();
         return heed_additive_attention_create(nullptr, &additive, &out.layer);
       },
       is_null("context")},
      {"additive: layer",
       [&](OutParameters&) {
         const heed_additive_attention_options additive = five_hiddens();
         return heed_additive_attention_create(context, &additive, nullptr);
       },
       is_null("layer")},
      {"additive: options, whose defaults name no size",
       [&](OutParameters& out) { return heed_additive_attention_create(context, nullptr, &out.layer); },
       {HEED_ERROR_INVALID_ARGUMENT, {"num_hiddens", "0"}}},
      {"general: context",
       [](OutParameters& out) {
         const heed_general_attention_options general = six_in_queries();
         return heed_general_attention_create(nullptr, &general, &out.layer);
       },
       is_null("context")},
      {"general: layer",
       [&](OutParameters&) {
         const heed_general_attention_options general = six_in_queries();
         return heed_general_attention_create(context, &general, nullptr);
       },
       is_null("layer")},
      {"general: options, whose defaults name no size",
       [&](OutParameters& out) { return heed_general_attention_create(context, nullptr, &out.layer); },
       {HEED_ERROR_INVALID_ARGUMENT, {"query_size", "0"}}},
      {"linear: context",
       [](OutParameters& out) {
         const heed_linear_options linear = five_outputs();
         return heed_linear_create(nullptr, &linear, &out.layer);
       },
       is_null("context")},
      {"linear: layer",
       [&](OutParameters&) {
         const heed_linear_options linear = five_outputs();
         return heed_linear_create(context, &linear, nullptr);
       },
       is_null("layer")},
      {"linear: options, whose defaults name no size",
       [&](OutParameters& out) { return heed_linear_create(context, nullptr, &out.layer); },
       {HEED_ERROR_INVALID_ARGUMENT, {"output_size", "0"}}},
      {"dropout: context", [](OutParameters& out) { return heed_dropout_create(nullptr, nullptr, &out.layer); },
       is_null("context")},
      {"dropout: layer", [&](OutParameters&) { return heed_dropout_create(context, nullptr, nullptr); },
       is_null("layer")},
      {"multi-head: context",
       [&](OutParameters& out) { return heed_multi_head_attention_create(nullptr, &options, &out.layer); },
       is_null("context")},
      {"multi-head: layer",
       [&](OutParameters&) { return heed_multi_head_attention_create(context, &options, nullptr); }, is_null("layer")},
      {"multi-head: options, whose defaults name no heads",
       [&](OutParameters& out) { return heed_multi_head_attention_create(context, nullptr, &out.layer); },
       {HEED_ERROR_INVALID_ARGUMENT, {"num_heads", "0"}}},
      {"initialize: layer", [&](OutParameters&) { return heed_layer_initialize(nullptr, &call.inputs, 1); },
       is_null("layer")},
      {"initialize: inputs", [&](OutParameters&) { return heed_layer_initialize(layer, nullptr, 1); },
       is_null("inputs")},
      {"parameter: layer", [](OutParameters& out) { return heed_layer_parameter(nullptr, "W_q.weight", &out.tensor); },
       is_null("layer")},
      {"parameter: name", [&](OutParameters& out) { return heed_layer_parameter(layer, nullptr, &out.tensor); },
       is_null("name")},
      {"parameter: snapshot", [&](OutParameters&) { return heed_layer_parameter(layer, "W_q.weight", nullptr); },
       is_null("snapshot")},
      {"parameter's shape: layer",
       [](OutParameters& out) { return heed_layer_parameter_shape(nullptr, "W_q.weight", &out.tensor); },
       is_null("layer")},
      {"parameter's shape: name",
       [&](OutParameters& out) { return heed_layer_parameter_shape(layer, nullptr, &out.tensor); }, is_null("name")},
      {"parameter's shape: shape",
       [&](OutParameters&) { return heed_layer_parameter_shape(layer, "W_q.weight", nullptr); }, is_null("shape")},
      {"set: layer", [&](OutParameters&) { return heed_layer_set_parameter(nullptr, "W_q.weight", value); },
       is_null("layer")},
      {"set: name", [&](OutParameters&) { return heed_layer_set_parameter(layer, nullptr, value); }, is_null("name")},
      {"set: value", [&](OutParameters&) { return heed_layer_set_parameter(layer, "W_q.weight", nullptr); },
       is_null("value")},
      {"load: layer", [](OutParameters&) { return heed_layer_load(nullptr, "file", nullptr); }, is_null("layer")},
      {"load: path", [&](OutParameters&) { return heed_layer_load(layer, nullptr, nullptr); }, is_null("path")},
      {"load from memory: layer", [](OutParameters&) { return heed_layer_load_memory(nullptr, "data", 4, nullptr); },
       is_null("layer")},
      {"load from memory: data", [&](OutParameters&) { return heed_layer_load_memory(layer, nullptr, 0, nullptr); },
       is_null("data")},
      {"save: layer", [](OutParameters&) { return heed_layer_save(nullptr, "file"); }, is_null("layer")},
      {"save: path", [&](OutParameters&) { return heed_layer_save(layer, nullptr); }, is_null("path")},
      {"save to memory: layer",
       [](OutParameters& out) { return heed_layer_save_memory(nullptr, nullptr, 0, &out.num_bytes); },
       is_null("layer")},
      {"save to memory: num_bytes, when only the size is asked for",
       [&](OutParameters&) { return heed_layer_save_memory(layer, nullptr, 0, nullptr); }, is_null("num_bytes")},
  });
}

TEST(NullArguments, OfCallsAreRefused) {
  const AttentionCall call(Kind::MultiHead);
  heed_layer* const layer = call.layer.get();
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  heed_layer_inputs empty = HEED_LAYER_INPUTS_INIT;
  expect_refused({
      {"create_outputs: layer",
       [&](OutParameters&) { return heed_layer_create_outputs(nullptr, &call.inputs, HEED_WANT_OUTPUT, &made); },
       is_null("layer")},
      {"create_outputs: inputs",
       [&](OutParameters&) { return heed_layer_create_outputs(layer, nullptr, HEED_WANT_OUTPUT, &made); },
       is_null("inputs")},
      {"create_outputs: outputs",
       [&](OutParameters&) { return heed_layer_create_outputs(layer, &call.inputs, HEED_WANT_OUTPUT, nullptr); },
       is_null("outputs")},
      {"create_outputs: queries",
       [&](OutParameters&) { return heed_layer_create_outputs(layer, &empty, HEED_WANT_OUTPUT, &made); },
       is_null("inputs->queries")},
      {"workspace_size: layer",
       [&](OutParameters& out) {
         return heed_layer_workspace_size(nullptr, &call.inputs, &call.outputs, &out.num_bytes);
       },
       is_null("layer")},
      {"workspace_size: inputs",
       [&](OutParameters& out) { return heed_layer_workspace_size(layer, nullptr, &call.outputs, &out.num_bytes); },
       is_null("inputs")},
      {"workspace_size: num_bytes",
       [&](OutParameters&) { return heed_layer_workspace_size(layer, &call.inputs, &call.outputs, nullptr); },
       is_null("num_bytes")},
      {"forward: layer",
       [&](OutParameters&) { return heed_layer_forward(nullptr, &call.inputs, nullptr, &call.outputs); },
       is_null("layer")},
      {"forward: inputs", [&](OutParameters&) { return heed_layer_forward(layer, nullptr, nullptr, &call.outputs); },
       is_null("inputs")},
      {"forward: outputs", [&](OutParameters&) { return heed_layer_forward(layer, &call.inputs, nullptr, nullptr); },
       is_null("outputs")},
      {"forward: queries", [&](OutParameters&) { return heed_layer_forward(layer, &empty, nullptr, &call.outputs); },
       is_null("inputs->queries")},
      {"one call: context",
       [&](OutParameters&) { return heed_scaled_dot_product_attention(nullptr, nullptr, &call.inputs, &call.outputs); },
       is_null("context")},
      {"one call: inputs",
       [&](OutParameters&) {
         return heed_scaled_dot_product_attention(call.context.get(), nullptr, nullptr, &call.outputs);
       },
       is_null("inputs")},
      {"one call: outputs",
       [&](OutParameters&) {
         return heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, nullptr);
       },
       is_null("outputs")},
      {"one call: queries",
       [&](OutParameters&) {
         return heed_scaled_dot_product_attention(call.context.get(), nullptr, &empty, &call.outputs);
       },
       is_null("inputs->queries")},
      {"explain: layer",
       [&](OutParameters& out) {
         return heed_layer_explain(nullptr, &call.inputs, &call.outputs, out.text.data(), out.text.size(),
                                   &out.num_bytes);
       },
       is_null("layer")},
      {"explain: inputs",
       [&](OutParameters& out) {
         return heed_layer_explain(layer, nullptr, &call.outputs, out.text.data(), out.text.size(), &out.num_bytes);
       },
       is_null("inputs")},
      {"explain: text and num_bytes",
       [&](OutParameters&) { return heed_layer_explain(layer, &call.inputs, &call.outputs, nullptr, 0, nullptr); },
       {HEED_ERROR_INVALID_ARGUMENT, {"text", "num_bytes", "NULL"}}},
  });
  EXPECT_EQ(made.output, nullptr);
}

TEST(NullArguments, OfWeightsAreRefused) {
  const Context context = make_context();
  const AttentionCall call(Kind::MultiHead);
  const char bytes[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  heed_weights* weights = nullptr;
  check(heed_weights_open_memory(context.get(), bytes, sizeof bytes, &weights));
  heed_weights* none = nullptr;
  expect_refused({
      {"open: context", [&](OutParameters&) { return heed_weights_open(nullptr, "file", &none); }, is_null("context")},
      {"open: path", [&](OutParameters&) { return heed_weights_open(context.get(), nullptr, &none); }, is_null("path")},
      {"open: weights", [&](OutParameters&) { return heed_weights_open(context.get(), "file", nullptr); },
       is_null("weights")},
      {"open_memory: context",
       [&](OutParameters&) { return heed_weights_open_memory(nullptr, bytes, sizeof bytes, &none); },
       is_null("context")},
      {"open_memory: data", [&](OutParameters&) { return heed_weights_open_memory(context.get(), nullptr, 10, &none); },
       is_null("data")},
      {"open_memory: weights",
       [&](OutParameters&) { return heed_weights_open_memory(context.get(), bytes, sizeof bytes, nullptr); },
       is_null("weights")},
      {"load_weights: layer", [&](OutParameters&) { return heed_layer_load_weights(nullptr, weights, "", nullptr); },
       is_null("layer")},
      {"load_weights: weights",
       [&](OutParameters&) { return heed_layer_load_weights(call.layer.get(), nullptr, "", nullptr); },
       is_null("weights")},
  });
  EXPECT_EQ(none, nullptr);
  heed_weights_destroy(weights);
}

TEST(NullArguments, OfWorkspacesAreRefused) {
  const Context context = make_context();
  char memory[64];
  expect_refused({
      {"create: context", [](OutParameters& out) { return heed_workspace_create(nullptr, 64, &out.workspace); },
       is_null("context")},
      {"create: workspace", [&](OutParameters&) { return heed_workspace_create(context.get(), 64, nullptr); },
       is_null("workspace")},
      {"wrap: context", [&](OutParameters& out) { return heed_workspace_wrap(nullptr, memory, 64, &out.workspace); },
       is_null("context")},
      {"wrap: memory",
       [&](OutParameters& out) { return heed_workspace_wrap(context.get(), nullptr, 64, &out.workspace); },
       {HEED_ERROR_INVALID_ARGUMENT, {"memory is NULL", "64"}}},
      {"wrap: workspace", [&](OutParameters&) { return heed_workspace_wrap(context.get(), memory, 64, nullptr); },
       is_null("workspace")},
  });
}

TEST(NullArguments, OfGettersGiveTheBadValue) {
  const auto after = [](auto got, auto bad) {
    EXPECT_EQ(got, bad);
    return heed_last_status();
  };
  expect_refused({
      {"tensor_dtype", [&](OutParameters&) { return after(heed_tensor_dtype(nullptr), HEED_DTYPE_INVALID); },
       is_null("tensor")},
      {"tensor_rank", [&](OutParameters&) { return after(heed_tensor_rank(nullptr), -1); }, is_null("tensor")},
      {"tensor_dim", [&](OutParameters&) { return after(heed_tensor_dim(nullptr, 0), -1); }, is_null("tensor")},
      {"tensor_stride", [&](OutParameters&) { return after(heed_tensor_stride(nullptr, 0), -1); }, is_null("tensor")},
      {"tensor_num_elements", [&](OutParameters&) { return after(heed_tensor_num_elements(nullptr), -1); },
       is_null("tensor")},
      {"tensor_num_bytes", [&](OutParameters&) { return after(heed_tensor_num_bytes(nullptr), 0u); },
       is_null("tensor")},
      {"tensor_data", [&](OutParameters&) { return after(heed_tensor_data(nullptr), nullptr); }, is_null("tensor")},
      {"layer_is_initialized", [&](OutParameters&) { return after(heed_layer_is_initialized(nullptr), -1); },
       is_null("layer")},
      {"layer_parameter_count", [&](OutParameters&) { return after(heed_layer_parameter_count(nullptr), -1); },
       is_null("layer")},
      {"layer_parameter_name", [&](OutParameters&) { return after(heed_layer_parameter_name(nullptr, 0), nullptr); },
       is_null("layer")},
      {"weights_count", [&](OutParameters&) { return after(heed_weights_count(nullptr), -1); }, is_null("weights")},
      {"weights_name", [&](OutParameters&) { return after(heed_weights_name(nullptr, 0), nullptr); },
       is_null("weights")},
      {"weights_dtype", [&](OutParameters&) { return after(heed_weights_dtype(nullptr, 0), HEED_DTYPE_INVALID); },
       is_null("weights")},
      {"weights_dtype_name", [&](OutParameters&) { return after(heed_weights_dtype_name(nullptr, 0), nullptr); },
       is_null("weights")},
      {"weights_rank", [&](OutParameters&) { return after(heed_weights_rank(nullptr, 0), -1); }, is_null("weights")},
      {"weights_dim", [&](OutParameters&) { return after(heed_weights_dim(nullptr, 0, 0), -1); }, is_null("weights")},
      {"workspace_num_bytes", [&](OutParameters&) { return after(heed_workspace_num_bytes(nullptr), 0u); },
       is_null("workspace")},
  });
}

TEST(NullArguments, OfDestroyAreFine) {
  forget_last_error();
  const std::string before = heed_last_error();
  heed_context_destroy(nullptr);
  heed_tensor_destroy(nullptr);
  heed_layer_destroy(nullptr);
  heed_weights_destroy(nullptr);
  heed_workspace_destroy(nullptr);
  EXPECT_EQ(heed_last_error(), before);
}

}  // namespace
}  // namespace heed::capi_test
