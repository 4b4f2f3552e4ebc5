// SPDX-License-Identifier: Apache-2.0
// Whole models from their folders.
#include "errors/provocation.h"

namespace heed::errors_test {

Topic model_folders() {
  return {
      "Folders of whole models",
      "`folder(config, tensors)` is a folder with a config.json with this text, in which ' stands for \", and a "
      "model.safetensors with these tensors, unless there are none. `use_model(family)` makes `layer` a model with 32 "
      "positions, and `inputs` those of a call of it.",
      {
          PROVOKE(heed_layer_create_from_folder(context, "nowhere", &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, "google/flan-t5-base", &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, "./nowhere", &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, ".", &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, (folder("{}", {}) + std::string("/config.json")).c_str(),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':7}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'resnet'}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'bert'}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'bert','my_new_option':3}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'llama','quantization_config':{'bits':4}}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'llama','rms_norm_eps':NaN}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':1}",
                     {{"model.language_model.layers.0.input_layernorm.weight", {8}}, {"visual.weight", {8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'llama','sliding_window':4}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'bert'}", {{"a", {1}}}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'albert','num_hidden_layers':2,'num_hidden_groups':2}", {{"a", {1}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'bert','num_hidden_layers':2}", {{"a", {1}}}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'bert','num_hidden_layers':1}", {{"a", {1}}}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':1,'num_attention_heads':2}",
                     {{"layers.0.post_attention_layernorm.weight", {8}}, {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':1,'num_attention_heads':2,'attention_bias':true}",
                     {{"embed_tokens.weight", {10, 8}},
                      {"layers.0.self_attn.q_proj.weight", {8, 8}},
                      {"layers.0.self_attn.k_proj.weight", {8, 8}},
                      {"layers.0.self_attn.v_proj.weight", {8, 8}},
                      {"layers.0.self_attn.o_proj.weight", {8, 8}},
                      {"layers.0.post_attention_layernorm.weight", {8}},
                      {"layers.0.input_layernorm.weight", {8}},
                      {"layers.0.mlp.gate_proj.weight", {10, 8}},
                      {"layers.0.mlp.up_proj.weight", {10, 8}},
                      {"layers.0.mlp.down_proj.weight", {8, 10}},
                      {"norm.weight", {8}}}),
              &new_layer)),
          PROVOKE(
              heed_layer_create_from_folder(context,
                                            folder("{'model_type':'opt','num_hidden_layers':1,'num_attention_heads':2,"
                                                   "'layer_norm_elementwise_affine':false}",
                                                   {{"decoder.layers.0.final_layer_norm.weight", {8}}}),
                                            &new_layer)),
          PROVOKE(
              heed_layer_create_from_folder(context,
                                            folder("{'model_type':'opt','num_hidden_layers':1,'num_attention_heads':2}",
                                                   {{"decoder.embed_tokens.weight", {10, 8}},
                                                    {"decoder.embed_positions.weight", {10, 8}},
                                                    {"decoder.layers.0.self_attn.q_proj.weight", {8, 8}},
                                                    {"decoder.layers.0.final_layer_norm.weight", {8}}}),
                                            &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':2}",
                     {{"layers.0.post_attention_layernorm.weight", {8}}, {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':2,'num_attention_heads':2,'hidden_act':'tanh'}",
                     {{"layers.0.post_attention_layernorm.weight", {8}}, {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(
              heed_layer_create_from_folder(context,
                                            folder("{'model_type':'bert','num_hidden_layers':2,'num_attention_heads':2,"
                                                   "'position_embedding_type':'relative_key'}",
                                                   {{"encoder.layer.0.output.LayerNorm.weight", {8}},
                                                    {"embeddings.word_embeddings.weight", {10, 8}},
                                                    {"embeddings.token_type_embeddings.weight", {2, 8}},
                                                    {"embeddings.position_embeddings.weight", {16, 8}}}),
                                            &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'bert','num_hidden_layers':1,'num_attention_heads':2}",
                     {{"encoder.layer.0.output.LayerNorm.weight", {8}},
                      {"encoder.layer.0.intermediate.dense.weight", {10, 8}},
                      {"embeddings.word_embeddings.weight", {8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'bert','num_hidden_layers':1,'num_attention_heads':2}",
                     {{"encoder.layer.0.output.LayerNorm.weight", {8}},
                      {"encoder.layer.0.intermediate.dense.weight", {10, 8}},
                      {"embeddings.word_embeddings.weight", {10, 6}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':2,'num_attention_heads':2,'rms_norm_eps':-1}",
                     {{"layers.0.post_attention_layernorm.weight", {8}},
                      {"layers.0.mlp.up_proj.weight", {10, 8}},
                      {"layers.1.mlp.up_proj.weight", {10, 8}},
                      {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'llama','rope_theta':'500000'}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'llama','rope_theta':1e-50}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'mistral','sliding_window':2147483648}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'roberta','pad_token_id':-1}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'gpt2','n_head':4,'num_attention_heads':2}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'llama','rope_parameters':{'partial_rotary_factor':0.5}}", {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','rope_parameters':{'rope_type':'llama3','factor':4,'low_freq_factor':4,"
                     "'high_freq_factor':1,'original_max_position_embeddings':8}}",
                     {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':1,'num_attention_heads':2,'head_dim':4,"
                     "'rope_parameters':{'rope_type':'longrope','factor':4,'long_factor':[1,1,1],'short_factor':[1,1],"
                     "'original_max_position_embeddings':8}}",
                     {{"layers.0.post_attention_layernorm.weight", {8}}, {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'llama','num_hidden_layers':1,'num_attention_heads':2,'head_dim':5}",
                     {{"layers.0.post_attention_layernorm.weight", {8}}, {"embed_tokens.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'mistral','sliding_window':3.5}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'qwen2','is_causal':null}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'bart','scale_embedding':1}", {}),
                                                &new_layer)),
          PROVOKE(
              heed_layer_create_from_folder(context, folder("{'model_type':'llama','hidden_act':3}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'llama','rope_parameters':[{'rope_theta':700}]}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'bert','layer_norm_eps':{}}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'gemma2','layer_types':'full_attention'}", {}), &new_layer)),
          PROVOKE(heed_layer_create_from_folder(context, folder("{'model_type':'roberta','pad_token_id':0.5}", {}),
                                                &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'phi3','rope_scaling':{'type':'longrope','long_factor':1}}", {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'llama','rope_scaling':{'type':'linear'}}", {}), &new_layer)),
          PROVOKE(
              heed_layer_create_from_folder(context,
                                            folder("{'model_type':'llama','rope_scaling':{'type':'linear','factor':2},"
                                                   "'rope_parameters':{'rope_type':'default'}}",
                                                   {}),
                                            &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'llama','rope_parameters':{'full_attention':{'rope_theta':700}}}", {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'gemma2','num_hidden_layers':2,'layer_types':['full_attention']}", {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'gemma2','num_hidden_layers':1,'layer_types':['linear_attention']}", {}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context, folder("{'model_type':'bert','position_embedding_type':'rotary'}", {}), &new_layer)),
          PROVOKE(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &new_outputs), use_model("gpt2");
                  inputs.queries = tensor_of(HEED_I32, {2, 33})),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'marian','encoder_layers':1,'encoder_attention_heads':2}",
                     {{"encoder.layers.0.final_layer_norm.weight", {8}}, {"encoder.layers.0.fc1.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'marian','encoder_layers':1,'encoder_attention_heads':2,"
                     "'max_position_embeddings':1000000}",
                     {{"encoder.layers.0.final_layer_norm.weight", {8}}, {"encoder.layers.0.fc1.weight", {10, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'marian','architectures':['MarianMTModel'],'num_hidden_layers':1,"
                     "'encoder_attention_heads':2,'decoder_attention_heads':2,'max_position_embeddings':16}",
                     {{"encoder.layers.0.final_layer_norm.weight", {8}},
                      {"encoder.layers.0.fc1.weight", {10, 8}},
                      {"decoder.layers.0.final_layer_norm.weight", {8}},
                      {"decoder.layers.0.fc1.weight", {10, 8}},
                      {"decoder.layers.0.encoder_attn_layer_norm.weight", {8}},
                      {"shared.weight", {10, 8}},
                      {"lm_head.weight", {12, 8}}}),
              &new_layer)),
          PROVOKE(heed_layer_create_from_folder(
              context,
              folder("{'model_type':'marian','architectures':['MarianMTModel'],'num_hidden_layers':1,"
                     "'encoder_attention_heads':2,'decoder_attention_heads':2,'max_position_embeddings':16,"
                     "'share_encoder_decoder_embeddings':false,'tie_word_embeddings':false}",
                     {{"encoder.layers.0.final_layer_norm.weight", {8}},
                      {"encoder.layers.0.fc1.weight", {10, 8}},
                      {"decoder.layers.0.final_layer_norm.weight", {8}},
                      {"decoder.layers.0.fc1.weight", {10, 8}},
                      {"decoder.layers.0.encoder_attn_layer_norm.weight", {8}},
                      {"encoder.embed_tokens.weight", {10, 8}},
                      {"decoder.embed_tokens.weight", {12, 8}},
                      {"lm_head.weight", {12, 8}}}),
              &new_layer)),
      }};
}

}  // namespace heed::errors_test
