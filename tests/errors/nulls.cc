// SPDX-License-Identifier: Apache-2.0
// NULL for every handle, every required pointer and every string. check_every_function.py requires a case for each pointer of
// heed.h that every_function.txt does not except.
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

#define IS_NULL(its_name, ...) ALSO(its_name " is NULL...", __VA_ARGS__)
#define NOT_MADE(create, its_options) \
  IS_NULL("context", create(NULL, &(its_options), &new_layer)), IS_NULL("layer", create(context, &(its_options), NULL))

Cases of_contexts_and_workspaces() {
  return {
      IS_NULL("context", heed_context_create(NULL, NULL)),
      IS_NULL("context", heed_context_synchronize(NULL)),
      IS_NULL("context", heed_context_trim(NULL)),
      IS_NULL("context", heed_context_describe(NULL, text, sizeof text, &num_bytes)),
      ALSO("text and num_bytes are both NULL...", heed_context_describe(context, NULL, 0, NULL)),
      IS_NULL("context", heed_workspace_create(NULL, 64, &new_workspace)),
      IS_NULL("workspace", heed_workspace_create(context, 64, NULL)),
      IS_NULL("context", heed_workspace_wrap(NULL, memory, 64, &new_workspace)),
      IS_NULL("workspace", heed_workspace_wrap(context, memory, 64, NULL)),
  };
}

Cases of_tensors() {
  return {
      IS_NULL("context", heed_tensor_create(NULL, HEED_F32, 2, dims, &new_tensor)),
      IS_NULL("dims", heed_tensor_create(context, HEED_F32, 2, NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_create(context, HEED_F32, 2, dims, NULL)),
      IS_NULL("context", heed_tensor_create_from(NULL, HEED_F32, 2, dims, memory, &new_tensor)),
      IS_NULL("dims", heed_tensor_create_from(context, HEED_F32, 2, NULL, memory, &new_tensor)),
      IS_NULL("data", heed_tensor_create_from(context, HEED_F32, 2, dims, NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_create_from(context, HEED_F32, 2, dims, memory, NULL)),
      IS_NULL("context", heed_tensor_wrap(NULL, HEED_F32, 2, dims, NULL, memory, NULL, NULL, &new_tensor)),
      IS_NULL("dims", heed_tensor_wrap(context, HEED_F32, 2, NULL, NULL, memory, NULL, NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_wrap(context, HEED_F32, 2, dims, NULL, memory, NULL, NULL, NULL)),
      IS_NULL("context", heed_tensor_load_safetensors(NULL, "file", "name", &new_tensor)),
      IS_NULL("path", heed_tensor_load_safetensors(context, NULL, "name", &new_tensor)),
      IS_NULL("name", heed_tensor_load_safetensors(context, "file", NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_load_safetensors(context, "file", "name", NULL)),
      IS_NULL("context", heed_tensor_from_dlpack(NULL, &managed, &new_tensor)),
      IS_NULL("managed", heed_tensor_from_dlpack(context, NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_from_dlpack(context, &managed, NULL)),
      IS_NULL("context", heed_tensor_load_npy(NULL, "file", &new_tensor)),
      IS_NULL("path", heed_tensor_load_npy(context, NULL, &new_tensor)),
      IS_NULL("tensor", heed_tensor_load_npy(context, "file", NULL)),
      IS_NULL("tensor", heed_tensor_write(NULL, memory, 96)),
      IS_NULL("source", heed_tensor_write(tensor, NULL, 96)),
      IS_NULL("tensor", heed_tensor_read(NULL, memory, 96)),
      IS_NULL("destination", heed_tensor_read(tensor, NULL, 96)),
      IS_NULL("tensor", heed_tensor_fill_arange(NULL, 0.0, 1.0)),
      IS_NULL("tensor", heed_tensor_fill_alibi_slopes(NULL)),
      IS_NULL("tensor", heed_tensor_fill_uniform(NULL, 0.0, 1.0, 1)),
      IS_NULL("tensor", heed_tensor_fill_normal(NULL, 0.0, 1.0, 1)),
      IS_NULL("destination", heed_tensor_copy(NULL, tensor)),
      IS_NULL("source", heed_tensor_copy(tensor, NULL)),
      IS_NULL("tensor", heed_tensor_view(NULL, 2, dims, NULL, 0, &new_tensor)),
      IS_NULL("dims", heed_tensor_view(tensor, 2, NULL, NULL, 0, &new_tensor)),
      IS_NULL("view", heed_tensor_view(tensor, 2, dims, NULL, 0, NULL)),
      IS_NULL("tensor", heed_tensor_reshape(NULL, 2, dims, &new_tensor)),
      IS_NULL("dims", heed_tensor_reshape(tensor, 2, NULL, &new_tensor)),
      IS_NULL("view", heed_tensor_reshape(tensor, 2, dims, NULL)),
      IS_NULL("tensor", heed_tensor_transpose(NULL, axes, &new_tensor)),
      IS_NULL("view", heed_tensor_transpose(tensor, axes, NULL)),
      IS_NULL("tensor", heed_tensor_slice(NULL, 0, 0, 1, &new_tensor)),
      IS_NULL("view", heed_tensor_slice(tensor, 0, 0, 1, NULL)),
      IS_NULL("tensor", heed_tensor_to_dlpack(NULL, &exported)),
      IS_NULL("managed", heed_tensor_to_dlpack(tensor, NULL)),
      IS_NULL("tensor", heed_tensor_to_text(NULL, text, sizeof text, &num_bytes)),
      ALSO("text and num_bytes are both NULL...", heed_tensor_to_text(tensor, NULL, 0, NULL)),
      IS_NULL("tensor", heed_tensor_save_npy(NULL, "file")),
      IS_NULL("path", heed_tensor_save_npy(tensor, NULL)),
      IS_NULL("a", heed_matmul(NULL, tensor, merged)),
      IS_NULL("b", heed_matmul(tensor, NULL, merged)),
      IS_NULL("product", heed_matmul(tensor, tensor, NULL)),
      IS_NULL("tensor", heed_softmax(NULL, 0, merged)),
      IS_NULL("result", heed_softmax(tensor, 0, NULL)),
      IS_NULL("tensor", heed_activation(NULL, 0, merged)),
      IS_NULL("result", heed_activation(tensor, 0, NULL)),
      IS_NULL("scores", heed_masked_softmax(NULL, NULL, merged)),
      IS_NULL("result", heed_masked_softmax(tensor, NULL, NULL)),
      IS_NULL("outputs", heed_attention_merge(NULL, part_log_sum_exps, 1, NULL, merged, NULL)),
      IS_NULL("log_sum_exps", heed_attention_merge(part_outputs, NULL, 1, NULL, merged, NULL)),
      IS_NULL("outputs[1]", heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, NULL),
              part_outputs[1] = NULL),
      IS_NULL("log_sum_exps[0]", heed_attention_merge(part_outputs, part_log_sum_exps, 1, NULL, merged, NULL),
              part_log_sum_exps[0] = NULL),
  };
}

Cases of_making_layers() {
  return {
      NOT_MADE(heed_layer_norm_create, norm),
      NOT_MADE(heed_feed_forward_create, feed_forward),
      NOT_MADE(heed_embedding_create, embedding),
      NOT_MADE(heed_patch_embedding_create, patches),
      NOT_MADE(heed_audio_embedding_create, audio),
      NOT_MADE(heed_encoder_layer_create, encoder_layer),
      NOT_MADE(heed_decoder_layer_create, decoder_layer),
      NOT_MADE(heed_encoder_create, encoder),
      NOT_MADE(heed_decoder_create, decoder),
      NOT_MADE(heed_transformer_create, transformer),
      NOT_MADE(heed_positional_encoding_create, encoding),
      IS_NULL("context", heed_dot_product_attention_create(NULL, NULL, &new_layer)),
      IS_NULL("layer", heed_dot_product_attention_create(context, NULL, NULL)),
      NOT_MADE(heed_additive_attention_create, additive),
      NOT_MADE(heed_general_attention_create, general),
      NOT_MADE(heed_linear_create, linear_options),
      NOT_MADE(heed_dropout_create, dropout_options),
      NOT_MADE(heed_multi_head_attention_create, options),
      ALSO("options->num_heads is 0...", heed_multi_head_attention_create(context, NULL, &new_layer)),
      ALSO("options->hidden_size is 0...", heed_feed_forward_create(context, NULL, &new_layer)),
      ALSO("options->num_embeddings is 0...", heed_embedding_create(context, NULL, &new_layer)),
      IS_NULL("options->attention", heed_encoder_layer_create(context, NULL, &new_layer)),
      IS_NULL("options->self_attention", heed_decoder_layer_create(context, NULL, &new_layer)),
      IS_NULL("options->layer", heed_encoder_create(context, NULL, &new_layer)),
      IS_NULL("options->layer", heed_decoder_create(context, NULL, &new_layer)),
  };
}

Cases of_layers() {
  return {
      IS_NULL("layer", heed_layer_initialize(NULL, &inputs, 1)),
      IS_NULL("inputs", heed_layer_initialize(layer, NULL, 1)),
      IS_NULL("layer", heed_layer_parameter(NULL, "W_q.weight", &new_tensor)),
      IS_NULL("name", heed_layer_parameter(layer, NULL, &new_tensor)),
      IS_NULL("snapshot", heed_layer_parameter(layer, "W_q.weight", NULL)),
      IS_NULL("layer", heed_layer_parameter_shape(NULL, "W_q.weight", &new_tensor)),
      IS_NULL("name", heed_layer_parameter_shape(layer, NULL, &new_tensor)),
      IS_NULL("shape", heed_layer_parameter_shape(layer, "W_q.weight", NULL)),
      IS_NULL("layer", heed_layer_set_parameter(NULL, "W_q.weight", tensor)),
      IS_NULL("name", heed_layer_set_parameter(layer, NULL, tensor)),
      IS_NULL("value", heed_layer_set_parameter(layer, "W_q.weight", NULL)),
      IS_NULL("layer", heed_layer_load(NULL, "file", NULL)),
      IS_NULL("path", heed_layer_load(layer, NULL, NULL)),
      IS_NULL("layer", heed_layer_load_memory(NULL, "data", 4, NULL)),
      IS_NULL("data", heed_layer_load_memory(layer, NULL, 0, NULL)),
      IS_NULL("layer", heed_layer_save(NULL, "file")),
      IS_NULL("path", heed_layer_save(layer, NULL)),
      IS_NULL("layer", heed_layer_save_memory(NULL, NULL, 0, &num_bytes)),
      IS_NULL("num_bytes", heed_layer_save_memory(layer, NULL, 0, NULL)),
      IS_NULL("layer", heed_layer_child(NULL, "norm", &new_layer)),
      IS_NULL("name", heed_layer_child(layer, NULL, &new_layer)),
      IS_NULL("child", heed_layer_child(layer, "norm", NULL)),
      IS_NULL("layer", heed_layer_create_outputs(NULL, &inputs, HEED_WANT_OUTPUT, &new_outputs)),
      IS_NULL("inputs", heed_layer_create_outputs(layer, NULL, HEED_WANT_OUTPUT, &new_outputs)),
      IS_NULL("outputs", heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, NULL)),
      IS_NULL("layer", heed_layer_create_tap(NULL, &inputs, "layers.0.self_attention", HEED_WANT_WEIGHTS, &tap)),
      IS_NULL("inputs", heed_layer_create_tap(layer, NULL, "layers.0.self_attention", HEED_WANT_WEIGHTS, &tap),
              use_encoder()),
      IS_NULL("child", heed_layer_create_tap(layer, &inputs, NULL, HEED_WANT_WEIGHTS, &tap)),
      IS_NULL("tap", heed_layer_create_tap(layer, &inputs, "layers.0.self_attention", HEED_WANT_WEIGHTS, NULL)),
      IS_NULL("layer", heed_layer_workspace_size(NULL, &inputs, &outputs, &num_bytes)),
      IS_NULL("inputs", heed_layer_workspace_size(layer, NULL, &outputs, &num_bytes)),
      IS_NULL("num_bytes", heed_layer_workspace_size(layer, &inputs, &outputs, NULL)),
      IS_NULL("layer", heed_layer_forward(NULL, &inputs, NULL, &outputs)),
      IS_NULL("inputs", heed_layer_forward(layer, NULL, NULL, &outputs)),
      IS_NULL("outputs", heed_layer_forward(layer, &inputs, NULL, NULL)),
      IS_NULL("layer", heed_layer_fill_cache(NULL, &inputs, NULL)),
      IS_NULL("inputs", heed_layer_fill_cache(layer, NULL, NULL)),
      IS_NULL("context", heed_scaled_dot_product_attention(NULL, NULL, &inputs, &outputs)),
      IS_NULL("inputs", heed_scaled_dot_product_attention(context, NULL, NULL, &outputs)),
      IS_NULL("outputs", heed_scaled_dot_product_attention(context, NULL, &inputs, NULL)),
      IS_NULL("inputs->queries", heed_scaled_dot_product_attention(context, NULL, &inputs, &outputs),
              inputs.queries = NULL),
      IS_NULL("layer", heed_layer_explain(NULL, &inputs, &outputs, text, sizeof text, &num_bytes)),
      IS_NULL("inputs", heed_layer_explain(layer, NULL, &outputs, text, sizeof text, &num_bytes)),
      ALSO("text and num_bytes are both NULL...", heed_layer_explain(layer, &inputs, &outputs, NULL, 0, NULL)),
      IS_NULL("context", heed_weights_open(NULL, "file", &new_weights)),
      IS_NULL("path", heed_weights_open(context, NULL, &new_weights)),
      IS_NULL("weights", heed_weights_open(context, "file", NULL)),
      IS_NULL("context", heed_weights_open_memory(NULL, memory, 10, &new_weights)),
      IS_NULL("data", heed_weights_open_memory(context, NULL, 10, &new_weights)),
      IS_NULL("weights", heed_weights_open_memory(context, memory, 10, NULL)),
      IS_NULL("layer", heed_layer_load_weights(NULL, new_weights, "", NULL)),
      IS_NULL("weights", heed_layer_load_weights(layer, NULL, "", NULL)),
  };
}

Cases of_models() {
  return {
      IS_NULL("context", heed_model_create(NULL, "folder", NULL, &new_layer)),
      IS_NULL("folder", heed_model_create(context, NULL, NULL, &new_layer)),
      IS_NULL("layer", heed_model_create(context, "folder", NULL, NULL)),
      IS_NULL("context", heed_layer_create_from_folder(NULL, "folder", &new_layer)),
      IS_NULL("folder", heed_layer_create_from_folder(context, NULL, &new_layer)),
      IS_NULL("layer", heed_layer_create_from_folder(context, "folder", NULL)),
  };
}

Cases of_caches() {
  return {
      IS_NULL("options", heed_cache_size(NULL, &num_bytes)),
      IS_NULL("num_bytes", heed_cache_size(&cache_options, NULL)),
      IS_NULL("layer", heed_layer_cache_options(NULL, &cache_options)),
      IS_NULL("options", heed_layer_cache_options(layer, NULL)),
      IS_NULL("context", heed_cache_create(NULL, &cache_options, &new_cache)),
      IS_NULL("cache", heed_cache_create(context, &cache_options, NULL)),
      IS_NULL("cache", heed_cache_length(NULL, 0)),
      IS_NULL("cache", heed_cache_first(NULL, 0)),
      IS_NULL("cache", heed_cache_num_rows(NULL, 0, 0)),
      IS_NULL("cache", heed_cache_free_pages(NULL)),
      IS_NULL("cache", heed_cache_reserve(NULL, 0, 1)),
      IS_NULL("cache", heed_cache_rewind(NULL, 0, 0)),
      IS_NULL("cache", heed_cache_fork(NULL, 0, 0, 1)),
      IS_NULL("cache", heed_cache_reorder(NULL, list, 1)),
      IS_NULL("sources", heed_cache_reorder(cache, NULL, 1), use_cache()),
      IS_NULL("cache", heed_cache_accept(NULL, 0, 0, list, 1)),
      IS_NULL("kept", heed_cache_accept(cache, 0, 0, NULL, 1), use_cache()),
      IS_NULL("cache", heed_cache_discard(NULL, 0, 0, 0, 0)),
      IS_NULL("cache", heed_cache_read(NULL, 0, 0, tensor, NULL)),
      IS_NULL("cache", heed_cache_save(NULL, 0, "file")),
      IS_NULL("path", heed_cache_save(cache, 0, NULL), use_cache()),
      IS_NULL("cache", heed_cache_load(NULL, 0, "file")),
      IS_NULL("path", heed_cache_load(cache, 0, NULL), use_cache()),
      IS_NULL("cache", heed_cache_save_memory(NULL, 0, NULL, 0, &num_bytes)),
      IS_NULL("num_bytes", heed_cache_save_memory(cache, 0, NULL, 0, NULL), use_cache()),
      IS_NULL("cache", heed_cache_load_memory(NULL, 0, memory, 10)),
      IS_NULL("data", heed_cache_load_memory(cache, 0, NULL, 10), use_cache()),
  };
}

Cases of_getters() {
  return {
      IS_NULL("layer", heed_layer_child_count(NULL)),
      IS_NULL("layer", heed_layer_kind(NULL)),
      IS_NULL("layer", heed_layer_options(NULL, text, sizeof text, &num_bytes)),
      ALSO("text and num_bytes are both NULL...", heed_layer_options(layer, NULL, 0, NULL)),
      IS_NULL("layer", heed_layer_child_name(NULL, 0)),
      IS_NULL("tensor", heed_tensor_dtype(NULL)),
      IS_NULL("tensor", heed_tensor_rank(NULL)),
      IS_NULL("tensor", heed_tensor_dim(NULL, 0)),
      IS_NULL("tensor", heed_tensor_stride(NULL, 0)),
      IS_NULL("tensor", heed_tensor_num_elements(NULL)),
      IS_NULL("tensor", heed_tensor_num_bytes(NULL)),
      IS_NULL("tensor", heed_tensor_data(NULL)),
      IS_NULL("layer", heed_layer_is_initialized(NULL)),
      IS_NULL("layer", heed_layer_parameter_count(NULL)),
      IS_NULL("layer", heed_layer_parameter_name(NULL, 0)),
      IS_NULL("weights", heed_weights_count(NULL)),
      IS_NULL("weights", heed_weights_name(NULL, 0)),
      IS_NULL("weights", heed_weights_dtype(NULL, 0)),
      IS_NULL("weights", heed_weights_dtype_name(NULL, 0)),
      IS_NULL("weights", heed_weights_rank(NULL, 0)),
      IS_NULL("weights", heed_weights_dim(NULL, 0, 0)),
      IS_NULL("workspace", heed_workspace_num_bytes(NULL)),
  };
}

}  // namespace

Cases nulls() {
  return {of_contexts_and_workspaces(),
          of_tensors(),
          of_making_layers(),
          of_layers(),
          of_models(),
          of_caches(),
          of_getters()};
}

}  // namespace heed::errors_test
