// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic weights() {
  return {
      "Weights in files",
      "`names({...})` is a .safetensors file with empty tensors of these names; `model(...)` is one with this "
      "config.json beside it, and with heed's four projections unless it has other tensors. `model_of_phi3()` has the "
      "factors "
      "`'long_factor':[4,4],'short_factor':[1,1]` and `'original_max_position_embeddings':8`.",
      {
          PROVOKE(heed_layer_load(layer, names({}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"x"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"x"}), "encoder")),
          PROVOKE(heed_layer_load(layer, names({"encoder.x"}), "encoder")),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}), "encoder")),
          PROVOKE(heed_layer_load(
              layer, names({"a.in_proj_weight", "a.out_proj.weight", "b.in_proj_weight", "b.out_proj.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_Q),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_K),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_V),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.biases = HEED_BIAS_O),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.scoring = HEED_SCORING_ADDITIVE),
          PROVOKE(heed_layer_load(layer_with(options), names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL),
                  options.no_output_projection = 1),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_q.bias", "W_k.weight", "W_v.weight", "W_o.weight"}),
                                  NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "w_v.weight"}),
                                  NULL)),
          PROVOKE(heed_layer_load(
              layer,
              names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "in_proj_weight", "out_proj.weight"}),
              NULL)),
          PROVOKE(heed_layer_load(layer, names({"in_proj_weight", "out_proj.weight", "logit_scale"}), NULL)),
          PROVOKE(heed_layer_load(new_layer, names({"fc.weight", "fc.bias"}), "fc"), linear_options.no_bias = 1;
                  heed_linear_create(context, &linear_options, &new_layer)),
          PROVOKE(heed_layer_load(new_layer, names({"norm.weight", "norm.bias"}), "norm"), norm.kind = HEED_NORM_RMS;
                  heed_layer_norm_create(context, &norm, &new_layer)),
          PROVOKE(heed_layer_load(layer_with(options), names({"in_proj_weight", "out_proj.weight"}), NULL),
                  options.num_kv_heads = 1),
          PROVOKE(heed_layer_load(layer,
                                  file("{'W_q.weight':{'dtype':'F32','shape':[8,5],'data_offsets':[0,160]},"
                                       "'W_k.weight':{'dtype':'F32','shape':[8,7],'data_offsets':[160,384]},"
                                       "'W_v.weight':{'dtype':'F32','shape':[8,9],'data_offsets':[384,672]},"
                                       "'W_o.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[672,928]}}",
                                       928),
                                  NULL)),
          PROVOKE(load_accepting("rotation")),
          PROVOKE(heed_layer_load(layer,
                                  names({"self_attn.q_proj.weight", "self_attn.k_proj.weight",
                                         "self_attn.v_proj.weight", "self_attn.o_proj.weight"}),
                                  "self_attn")),
          PROVOKE(heed_layer_load(layer,
                                  names({"h.0.attn.q_proj.weight", "h.0.attn.k_proj.weight", "h.0.attn.v_proj.weight",
                                         "h.0.attn.out_proj.weight"}),
                                  "h.0.attn")),
          PROVOKE(heed_layer_load(layer,
                                  names({"layer.0.attention.q_proj.weight", "layer.0.attention.k_proj.weight",
                                         "layer.0.attention.v_proj.weight", "layer.0.attention.o_proj.weight"}),
                                  "layer.0.attention")),
          PROVOKE(
              heed_layer_load(layer,
                              names({"roformer.attention.self.query.weight", "roformer.attention.self.key.weight",
                                     "roformer.attention.self.value.weight", "roformer.attention.output.dense.weight"}),
                              "roformer.attention")),
          PROVOKE(heed_layer_load(
              layer,
              names({"block.1.layer.0.SelfAttention.q.weight", "block.1.layer.0.SelfAttention.k.weight",
                     "block.1.layer.0.SelfAttention.v.weight", "block.1.layer.0.SelfAttention.o.weight"}),
              "block.1.layer.0.SelfAttention")),
          PROVOKE(heed_layer_load(
              layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "gate.weight", "q_norm.weight"}),
              NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'bloom'}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'gpt_oss'}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'longformer'}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'olmo','use_qk_norm':true,'clip_qkv':8}"), NULL)),
          PROVOKE(heed_layer_load(layer_with(options),
                                  model("{'model_type':'bert','num_attention_heads':4,'num_key_value_heads':1}"),
                                  NULL)),
          PROVOKE(heed_layer_load(layer_with(options), model("{'model_type':'opt'}"), NULL)),
          PROVOKE(heed_layer_load(layer_with(options), model("{'model_type':'bert'}"), NULL), options.scale = 1;
                  options.window = HEED_WINDOW_TOP_LEFT; options.window_left = 3; options.window_right = -1),
          PROVOKE(heed_layer_load(layer_with(options),
                                  file("{'c_attn.weight':{'dtype':'F32','shape':[8,24],'data_offsets':[0,768]},"
                                       "'c_proj.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[768,1024]}}",
                                       1024),
                                  NULL)),
          PROVOKE(heed_layer_load(new_layer,
                                  file("{'attn.c_proj.weight':{'dtype':'F32','shape':[5,5],'data_offsets':[0,100]},"
                                       "'attn.c_proj.bias':{'dtype':'F32','shape':[5],'data_offsets':[100,120]}}",
                                       120),
                                  "attn.c_proj"),
                  heed_linear_create(context, &linear_options, &new_layer)),
          PROVOKE(heed_layer_load(layer, names({"query_key_value.weight", "dense.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"W_pack.weight", "o_proj.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer, names({"kv_a_proj_with_mqa.weight", "o_proj.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer,
                                  model("{'model_type':'longformer'}",
                                        "{'Wqkv.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'Wo.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]}}",
                                        0),
                                  NULL)),
          PROVOKE(heed_layer_load(
              layer, names({"h.0.self_attention.query_key_value.weight", "h.0.self_attention.dense.weight"}),
              "h.0.self_attention")),
          PROVOKE(heed_layer_load(
              layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "relative_bias.weight"}), NULL)),
          PROVOKE(heed_layer_load(
              layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "q_norm.weight"}), NULL)),
          PROVOKE(heed_layer_load(layer_with(options),
                                  model("{'model_type':'cohere','use_qk_norm':true}",
                                        "{'W_q.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'W_k.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'W_v.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'W_o.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'q_norm.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]},"
                                        "'k_norm.weight':{'dtype':'F32','shape':[0],'data_offsets':[0,0]}}",
                                        0),
                                  NULL),
                  options.qk_norm_epsilon = 2e-5F),
          PROVOKE(heed_layer_load(layer,
                                  names({"layers.0.self_attn.qkv_proj.weight", "layers.0.self_attn.o_proj.weight"}),
                                  "layers.0.self_attn")),
          PROVOKE(heed_layer_load(
              layer, names({"layers.0.attention.query_key_value.weight", "layers.0.attention.dense.weight"}),
              "layers.0.attention")),
          PROVOKE(heed_layer_load(layer, names({"blocks.0.attn.Wqkv.weight", "blocks.0.attn.out_proj.weight"}),
                                  "blocks.0.attn")),
          PROVOKE(
              heed_layer_load(layer, names({"layers.0.attn.Wqkv.weight", "layers.0.attn.Wo.weight"}), "layers.0.attn")),
          PROVOKE(
              heed_layer_load(layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "sinks"}), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'llama','rope_theta':500000.0}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'llama','rope_scaling':{'type':'dynamic','factor':2}}"),
                                  NULL)),
          PROVOKE(
              heed_layer_load(layer, model("{'model_type':'qwen2_vl','rope_scaling':{'mrope_section':[1]}}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'pixtral'}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'longt5'}"), NULL)),
          PROVOKE(heed_layer_load(layer_with(options),
                                  model("{'model_type':'llama','rope_theta':500000.0,'rope_scaling':{'type':'llama3',"
                                        "'factor':8,'original_max_position_embeddings':8192}}"),
                                  NULL),
                  heed_rope_options wrong = HEED_ROPE_OPTIONS_INIT;
                  wrong.layout = HEED_ROPE_INTERLEAVED; options.rope = &wrong; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options),
                                  model("{'model_type':'cohere','rope_scaling':{'type':'linear','factor':8}}"), NULL),
                  heed_rope_options wrong = HEED_ROPE_OPTIONS_INIT;
                  wrong.layout = HEED_ROPE_HALF; wrong.scaling = HEED_ROPE_SCALING_LINEAR; wrong.factor = 4;
                  options.rope = &wrong; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options), model_of_phi3(), NULL),
                  heed_rope_options wrong = HEED_ROPE_OPTIONS_INIT;
                  const float factors[] = {1, 2}; wrong.layout = HEED_ROPE_HALF;
                  wrong.scaling = HEED_ROPE_SCALING_FACTORS; wrong.num_factors = 2; wrong.factors = factors;
                  wrong.attention_factor = 1; options.rope = &wrong; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options), model_of_phi3(), NULL),
                  heed_rope_options wrong = HEED_ROPE_OPTIONS_INIT;
                  const float factors[] = {4, 4}; const float short_factors[] = {1, 2}; wrong.layout = HEED_ROPE_HALF;
                  wrong.scaling = HEED_ROPE_SCALING_FACTORS; wrong.num_factors = 2; wrong.factors = factors;
                  wrong.short_factors = short_factors; wrong.original_length = 8; wrong.attention_factor = 1;
                  options.rope = &wrong; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options), model_of_phi3(), NULL),
                  heed_rope_options wrong = HEED_ROPE_OPTIONS_INIT;
                  const float factors[] = {4, 4}; const float short_factors[] = {1, 1}; wrong.layout = HEED_ROPE_HALF;
                  wrong.scaling = HEED_ROPE_SCALING_FACTORS; wrong.num_factors = 2; wrong.factors = factors;
                  wrong.short_factors = short_factors; wrong.original_length = 16; wrong.factor = 8;
                  options.rope = &wrong; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options), model("{'model_type':'opt'}"), NULL),
                  heed_rope_options unwanted = HEED_ROPE_OPTIONS_INIT;
                  unwanted.layout = HEED_ROPE_HALF; options.rope = &unwanted; options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options),
                                  names({"h.0.attn.q_proj.weight", "h.0.attn.k_proj.weight", "h.0.attn.v_proj.weight",
                                         "h.0.attn.out_proj.weight", "h.0.attn.rotary_emb.inv_freq"}),
                                  "h.0.attn"),
                  options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_load(layer_with(options),
                                  model("{'model_type':'t5'}",
                                        "{'encoder.q.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[0,256]},"
                                        "'encoder.k.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[256,512]},"
                                        "'encoder.v.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[512,768]},"
                                        "'encoder.o.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[768,1024]}}",
                                        1024),
                                  "encoder"),
                  options.scale = 1),
          PROVOKE(heed_layer_load(new_layer,
                                  model("{'model_type':'opt'}",
                                        "{'weight':{'dtype':'F32','shape':[8,8],'data_offsets':[0,256]}}", 256),
                                  NULL),
                  heed_positional_encoding_options table = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
                  table.kind = HEED_POSITIONS_LEARNED; table.max_positions = table.size = 8;
                  heed_positional_encoding_create(context, &table, &new_layer)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'llama','rope_scaling':{'type':'new'}}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'llama','rope_scaling':{'type':'linear'}}"), NULL)),
          PROVOKE(heed_layer_load(layer, names({"q_proj.weight", "k_proj.weight", "v_proj.weight"}), NULL)),
          PROVOKE(heed_layer_load(
              layer,
              names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "W_q.bias", "W_k.bias", "W_v.bias"}),
              NULL)),
          PROVOKE(heed_layer_load(
              layer, names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "W_v.bias", "W_o.bias"}), NULL)),
          PROVOKE(heed_layer_load(layer,
                                  names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "W_q.bias", "W_k.bias",
                                         "W_v.bias", "W_o.bias"}),
                                  NULL)),
          PROVOKE(heed_layer_load(layer_with(options),
                                  names({"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "W_q.bias"}), NULL),
                  options.biases = HEED_BIAS_ALL),
          PROVOKE(heed_layer_load(layer, model("{"), NULL)),
          PROVOKE(heed_layer_load(layer, model("[]"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'bert','model_type':'bert'}"), NULL)),
          // NOLINTNEXTLINE(bugprone-string-constructor): more than is read
          PROVOKE(heed_layer_load(layer, model(std::string(16000001, ' ')), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'a':[" + many_zeros(65536) + "]}"), NULL)),
          PROVOKE(heed_layer_load(
                      layer_with(options),
                      file("{'encoder_attn.q_proj.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[0,256]},"
                           "'encoder_attn.k_proj.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[256,512]},"
                           "'encoder_attn.v_proj.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[512,768]},"
                           "'encoder_attn.out_proj.weight':{'dtype':'F32','shape':[8,8],'data_offsets':[768,1024]}}",
                           1024),
                      "encoder_attn"),
                  options.causal = HEED_CAUSAL_TOP_LEFT),
          PROVOKE(heed_layer_save_memory(layer, memory, 95, &num_bytes)),
      }};
}

}  // namespace heed::errors_test
