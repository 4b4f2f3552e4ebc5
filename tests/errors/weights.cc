// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// The parameters of `layer` and another tensor, all below the prefix. `changed` is one of them or is added; without
// dims it is left out.
std::vector<NamedDims> projections(const std::string& prefix, const NamedDims& changed = {}) {
  std::vector<NamedDims> all;
  bool is_new = !changed.name.empty();
  const std::vector<NamedDims> usual = {{"W_q.weight", {8, 6}},
                                        {"W_k.weight", {8, 7}},
                                        {"W_v.weight", {8, 9}},
                                        {"W_o.weight", {8, 8}},
                                        {"unrelated", {3}}};
  for (const NamedDims& one : usual) {
    const bool is_changed = one.name == changed.name;
    is_new = is_new && !is_changed;
    if (!is_changed || !changed.dims.empty()) all.push_back(is_changed ? changed : one);
  }
  if (is_new) all.push_back(changed);
  for (NamedDims& one : all) one.name = prefix + one.name;
  return all;
}

// A layer that has parameters keeps them.
Cases of_projections() {
  return {
      ALSO_AS(NOT_FOUND, "...\"W_o.weight\"...",
              heed_layer_load(layer, file_of(projections("", {"W_o.weight", {}})), NULL)),
      ALSO_AS(NOT_FOUND, "...\"decoder.W_q.weight\"...",
              heed_layer_load(layer, file_of(projections("encoder.")), "decoder")),
      ALSO_AS(NOT_FOUND, "...\"encoder...W_q.weight\"...",
              heed_layer_load(layer, file_of(projections("encoder.")), "encoder..")),
      ALSO_AS(NOT_FOUND, "...\"W_q.weight\"...", heed_layer_load(layer, file_of(projections("encoder.")), NULL)),
      ALSO("...\"W_q.bias\"...options...", heed_layer_load(layer, file_of(projections("", {"W_q.bias", {8}})), NULL)),
      ALSO("...\"encoder.W_o.bias\"...options...",
           heed_layer_load(layer, file_of(projections("encoder.", {"W_o.bias", {8}})), "encoder")),
      ALSO("...\"w_v.weight\"...options...",
           heed_layer_load(layer, file_of(projections("", {"w_v.weight", {8}})), NULL)),
      ALSO("...W_v.weight...(9, 8)...(8, 9)...",
           heed_layer_load(layer, file_of(projections("", {"W_v.weight", {9, 8}})), NULL)),
      ALSO("...encoder.W_v.weight...(72)...(8, 9)...",
           heed_layer_load(layer, file_of(projections("encoder.", {"W_v.weight", {72}})), "encoder")),
      ALSO("...W_o.weight...I32...",
           heed_layer_load(layer, file_of(projections("", {"W_o.weight", {8, 8}, "I32"})), NULL)),
      ALSO_AS(UNSUPPORTED, "...W_o.weight...U32...",
              heed_layer_load(layer, file_of(projections("", {"W_o.weight", {8, 8}, "U32"})), NULL)),
      ALSO_AS(CORRUPT_FILE, "...W_o.weight...",
              heed_layer_load(layer, file("{'W_o.weight':{'dtype':'F32','shape':[8,9],'data_offsets':[0,256]}}", 256),
                              NULL),
              layer = layer_with(options)),
      // One tensor cannot have the shapes of all three.
      ALSO("\"in_proj_weight\" in \"model.safetensors\" has dims (24, 6), expected (24, 7) for W_k.weight...",
           heed_layer_load(layer, file_of({{"in_proj_weight", {24, 6}}, {"out_proj.weight", {8, 8}}}), NULL)),
  };
}

// A layer without parameters has none after a file with other shapes than the layout's.
Cases of_wrong_shapes() {
  return {
    ALSO("\"a.in_proj_weight\" in \"model.safetensors\" has dims (30, 8), expected (24, any) for W_q.weight...",
         heed_layer_load(layer, file_of({{"a.in_proj_weight", {30, 8}}, {"a.out_proj.weight", {8, 8}}}), "a"),
         layer = layer_with(options)),
        ALSO("\"a.in_proj_bias\" in \"model.safetensors\" has dims (8), expected (24) for W_q.bias...",
             heed_layer_load(layer,
                             file_of({{"a.in_proj_weight", {24, 8}},
                                      {"a.in_proj_bias", {8}},
                                      {"a.out_proj.weight", {8, 8}},
                                      {"a.out_proj.bias", {8}}}),
                             "a"),
             options.biases = HEED_BIAS_ALL;
             layer = layer_with(options)),
        ALSO("\"a.out_proj.weight\" in \"model.safetensors\" has dims (8, 6), expected (8, 8) for W_o.weight...",
             heed_layer_load(layer, file_of({{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 6}}}), "a"),
             layer = layer_with(options)),
        // GPT-2's weights are (in, out).
        ALSO("\"a.c_attn.weight\" in \"model.safetensors\" has dims (24, 8), expected (any, 24) for W_q.weight...",
             heed_layer_load(layer, file_of({{"a.c_attn.weight", {24, 8}}, {"a.c_proj.weight", {8, 8}}}), "a"),
             options.causal = HEED_CAUSAL_TOP_LEFT;
             layer = layer_with(options)),
        ALSO(
            "\"a.in_proj_weight\" in \"model.safetensors\" is I32, expected F32, F16, BF16 or F64 for W_q.weight...",
            heed_layer_load(layer, file_of({{"a.in_proj_weight", {24, 8}, "I32"}, {"a.out_proj.weight", {8, 8}}}), "a"),
            layer = layer_with(options)),
        ALSO_AS(
            UNSUPPORTED, "\"model.safetensors\": tensor \"a.in_proj_weight\" has dtype U16...",
            heed_layer_load(layer, file_of({{"a.in_proj_weight", {24, 8}, "U16"}, {"a.out_proj.weight", {8, 8}}}), "a"),
            layer = layer_with(options)),
        ALSO(
            "\"a.in_proj_weight\" in \"model.safetensors\" holds equal parts for W_q.weight and W_k.weight, but this "
            "layer's have 8 and 4 rows: expected options with as many key and value heads as query heads, of one "
            "size...",
            heed_layer_load(layer, file_of({{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 8}}}), "a"),
            options.num_kv_heads = 1;
            layer = layer_with(options)),
        ALSO(
            "\"a.in_proj_weight\" in \"model.safetensors\" holds equal parts for W_q.weight and W_v.weight, but this "
            "layer's have 8 and 6 rows: expected options with as many key and value heads as query heads, of one "
            "size...",
            heed_layer_load(layer, file_of({{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 8}}}), "a"),
            options.value_head_size = 3;
            layer = layer_with(options)),
  };
}

// The total number of features of a Keras file is right; only the axes show that the heads are different.
std::vector<NamedDims> keras(int64_t heads, int64_t kv_heads, int64_t size) {
  return {{"a/query/kernel", {8, heads, size}},
          {"a/key/kernel", {8, kv_heads, size}},
          {"a/value/kernel", {8, kv_heads, size}},
          {"a/attention_output/kernel", {heads, size, 8}}};
}

Cases of_other_heads() {
  return {
    ALSO("\"a/query/kernel\" in \"model.safetensors\" has dims (8, 4, 2), expected (any, 2, 4) for W_q.weight...",
         heed_layer_load(layer, file_of(keras(4, 4, 2)), "a"), layer = layer_with(options)),
        ALSO("\"a/key/kernel\" in \"model.safetensors\" has dims (8, 4, 2), expected (any, 2, 2) for W_k.weight...",
             heed_layer_load(layer, file_of(keras(4, 4, 2)), "a"), options.num_heads = 4;
             options.num_kv_heads = 2; layer = layer_with(options)),
  };
}

// PyTorch's projections of a layer without biases, and more.
std::vector<NamedDims> pytorch(std::vector<NamedDims> more = {}) {
  more.insert(more.begin(), {{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 8}}});
  return more;
}

Cases of_other_names() {
  return {
    ALSO(
        "\"model.safetensors\" has \"a.in_proj_bias\" for W_q.bias, a parameter that this layer's options lack: "
        "expected HEED_BIAS_Q in options->biases...",
        heed_layer_load(layer, file_of(pytorch({{"a.in_proj_bias", {24}}, {"a.out_proj.bias", {8}}})), "a"),
        layer = layer_with(options)),
        ALSO(
            "\"model.safetensors\" has \"a.in_proj_bias\" for W_k.bias, a parameter that this layer's options lack: "
            "expected HEED_BIAS_K in options->biases...",
            heed_layer_load(layer, file_of(pytorch({{"a.in_proj_bias", {24}}, {"a.out_proj.bias", {8}}})), "a"),
            options.biases = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O;
            layer = layer_with(options)),
        ALSO_AS(
            NOT_FOUND,
            "\"model.safetensors\" has no tensor \"a.in_proj_bias\" for W_q.bias, which HEED_BIAS_Q in "
            "options->biases asks for; it has 4 of the 8 parameters by the names of PyTorch nn.MultiheadAttention...",
            heed_layer_load(layer, file_of(pytorch()), "a"), options.biases = HEED_BIAS_ALL;
            layer = layer_with(options)),
        ALSO(
            "\"model.safetensors\" has \"a.bias_k\", a parameter that this layer's options lack: expected "
            "options->add_bias_kv...",
            heed_layer_load(layer, file_of(pytorch({{"a.bias_k", {1, 1, 8}}, {"a.bias_v", {1, 1, 8}}})), "a"),
            layer = layer_with(options)),
        ALSO_AS(UNSUPPORTED,
                "\"model.safetensors\" has \"a.logit_scale\", which changes what PyTorch nn.MultiheadAttention "
                "computes...",
                heed_layer_load(layer, file_of(pytorch({{"a.logit_scale", {1}}})), "a"), layer = layer_with(options)),
        ALSO("\"model.safetensors\" has this layer's parameters twice under the prefix \"a\"...",
             heed_layer_load(layer,
                             file_of(pytorch({{"a.W_q.weight", {8, 8}},
                                              {"a.W_k.weight", {8, 8}},
                                              {"a.W_v.weight", {8, 8}},
                                              {"a.W_o.weight", {8, 8}}})),
                             "a"),
             layer = layer_with(options)),
        ALSO_AS(NOT_FOUND, "...found the names of PyTorch nn.MultiheadAttention under the prefix \"a\"...",
                heed_layer_load(layer, file_of(pytorch()), "b"), layer = layer_with(options)),
  };
}

}  // namespace

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
          PROVOKE(heed_layer_load(layer, model("{'model_type':'roberta-prelayernorm'}"), NULL)),
          PROVOKE(heed_layer_load(layer, model("{'model_type':'canine'}"), NULL)),
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
          PROVOKE(heed_layer_load(layer, model("{'model_type':'llama','rope_theta':'500000'}"), NULL)),
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
          of_projections(),
          of_wrong_shapes(),
          of_other_heads(),
          of_other_names(),
      }};
}

}  // namespace heed::errors_test
