// SPDX-License-Identifier: Apache-2.0
#include "loading/weight_layout.h"

#include <array>

#include "base/checked.h"
#include "layers/parameter.h"

namespace heed {
namespace {

struct ProjectionNames {
  const char* weight;
  const char* bias;
};

// The usual layout: a linear module, (out, in) and (out), for each projection.
constexpr std::array<WeightSource, 8> linear_modules(ProjectionNames queries, ProjectionNames keys,
                                                     ProjectionNames values, ProjectionNames output) {
  return {{{"W_q.weight", queries.weight},
           {"W_q.bias", queries.bias},
           {"W_k.weight", keys.weight},
           {"W_k.bias", keys.bias},
           {"W_v.weight", values.weight},
           {"W_v.bias", values.bias},
           {"W_o.weight", output.weight},
           {"W_o.bias", output.bias}}};
}

// Queries, keys and values in one module. `form`: that of the weights; biases are always linear.
constexpr std::array<WeightSource, 8> packed_modules(WeightForm form, ProjectionNames packed, ProjectionNames output,
                                                     Packing packing = Packing::Equal) {
  return {{{"W_q.weight", packed.weight, form, 0, 3, packing},
           {"W_q.bias", packed.bias, WeightForm::Linear, 0, 3, packing},
           {"W_k.weight", packed.weight, form, 1, 3, packing},
           {"W_k.bias", packed.bias, WeightForm::Linear, 1, 3, packing},
           {"W_v.weight", packed.weight, form, 2, 3, packing},
           {"W_v.bias", packed.bias, WeightForm::Linear, 2, 3, packing},
           {"W_o.weight", output.weight, form},
           {"W_o.bias", output.bias}}};
}

// The sources with more after them.
template <size_t n, size_t more>
constexpr std::array<WeightSource, n + more> with(const std::array<WeightSource, n>& sources,
                                                  const std::array<WeightSource, more>& added) {
  std::array<WeightSource, n + more> all{};
  for (size_t i = 0; i < n; ++i) all[i] = sources[i];
  for (size_t i = 0; i < more; ++i) all[n + i] = added[i];
  return all;
}

constexpr auto kPyTorch = with<8, 2>(
    packed_modules(WeightForm::Linear, {"in_proj_weight", "in_proj_bias"}, {"out_proj.weight", "out_proj.bias"}),
    {{{"bias_k", "bias_k", WeightForm::OneRow}, {"bias_v", "bias_v", WeightForm::OneRow}}});

// nn.MultiheadAttention whose kdim or vdim differs from embed_dim: separate weights, one packed bias.
constexpr WeightSource kPyTorchApart[] = {
    {"W_q.weight", "q_proj_weight"},          {"W_q.bias", "in_proj_bias", WeightForm::Linear, 0, 3},
    {"W_k.weight", "k_proj_weight"},          {"W_k.bias", "in_proj_bias", WeightForm::Linear, 1, 3},
    {"W_v.weight", "v_proj_weight"},          {"W_v.bias", "in_proj_bias", WeightForm::Linear, 2, 3},
    {"W_o.weight", "out_proj.weight"},        {"W_o.bias", "out_proj.bias"},
    {"bias_k", "bias_k", WeightForm::OneRow}, {"bias_v", "bias_v", WeightForm::OneRow},
};

constexpr auto kBert =
    linear_modules({"self.query.weight", "self.query.bias"}, {"self.key.weight", "self.key.bias"},
                   {"self.value.weight", "self.value.bias"}, {"output.dense.weight", "output.dense.bias"});

constexpr auto kViT =
    linear_modules({"attention.query.weight", "attention.query.bias"}, {"attention.key.weight", "attention.key.bias"},
                   {"attention.value.weight", "attention.value.bias"}, {"output.dense.weight", "output.dense.bias"});

// ALBERT's attention. Its queries, keys and values also have the names of BERT's below "self" and of ViT's below
// "attention".
constexpr auto kAlbert = linear_modules({"query.weight", "query.bias"}, {"key.weight", "key.bias"},
                                        {"value.weight", "value.bias"}, {"dense.weight", "dense.bias"});

// BART, Whisper, CLIP and many others.
constexpr auto kBart = linear_modules({"q_proj.weight", "q_proj.bias"}, {"k_proj.weight", "k_proj.bias"},
                                      {"v_proj.weight", "v_proj.bias"}, {"out_proj.weight", "out_proj.bias"});

// ViT in the memory of transformers 5, in a module "attention".
constexpr auto kViTInMemory = linear_modules({"q_proj.weight", "q_proj.bias"}, {"k_proj.weight", "k_proj.bias"},
                                             {"v_proj.weight", "v_proj.bias"}, {"o_proj.weight", "o_proj.bias"});

// Llama, Mistral, Qwen and many others, in a module "self_attn". Norms: Qwen3, Gemma 3, Cohere. Sinks: gpt-oss.
constexpr auto kLlama = with(
    kViTInMemory, std::array<WeightSource, 3>{
                      {{"q_norm.weight", "q_norm.weight"}, {"k_norm.weight", "k_norm.weight"}, {"sinks", "sinks"}}});

// The first layer's table serves all layers. In UMT5 each layer has its own.
constexpr auto kT5 = with(
    linear_modules({"q.weight", "q.bias"}, {"k.weight", "k.bias"}, {"v.weight", "v.bias"}, {"o.weight", "o.bias"}),
    std::array<WeightSource, 1>{
        {{.parameter = "relative_bias.weight", .name = "relative_attention_bias.weight", .is_in_first_layer = true}}});

constexpr auto kDistilBert = linear_modules({"q_lin.weight", "q_lin.bias"}, {"k_lin.weight", "k_lin.bias"},
                                            {"v_lin.weight", "v_lin.bias"}, {"out_lin.weight", "out_lin.bias"});

// GPT-2's Conv1D modules are linear modules with weights (in, out).
constexpr auto kGpt2 =
    packed_modules(WeightForm::Transposed, {"c_attn.weight", "c_attn.bias"}, {"c_proj.weight", "c_proj.bias"});

// Also Bloom and Falcon. Where each query head has its own key head, this is (head, [q k v], head size); with one key
// head it is all query heads, k, v.
constexpr auto kGptNeoX = packed_modules(WeightForm::Linear, {"query_key_value.weight", "query_key_value.bias"},
                                         {"dense.weight", "dense.bias"}, Packing::ByKeyHead);

constexpr auto kPhi3 = packed_modules(WeightForm::Linear, {"qkv_proj.weight", "qkv_proj.bias"},
                                      {"o_proj.weight", "o_proj.bias"}, Packing::InTurn);

constexpr auto kMpt = packed_modules(WeightForm::Linear, {"Wqkv.weight", "Wqkv.bias"},
                                     {"out_proj.weight", "out_proj.bias"}, Packing::InTurn);

constexpr auto kModernBert =
    packed_modules(WeightForm::Linear, {"Wqkv.weight", "Wqkv.bias"}, {"Wo.weight", "Wo.bias"}, Packing::InTurn);

constexpr auto kTimm = packed_modules(WeightForm::Linear, {"qkv.weight", "qkv.bias"}, {"proj.weight", "proj.bias"});

constexpr WeightSource kKeras[] = {
    {"W_q.weight", "query.kernel", WeightForm::HeadsOut},
    {"W_q.bias", "query.bias", WeightForm::HeadsOut},
    {"W_k.weight", "key.kernel", WeightForm::HeadsOut},
    {"W_k.bias", "key.bias", WeightForm::HeadsOut},
    {"W_v.weight", "value.kernel", WeightForm::HeadsOut},
    {"W_v.bias", "value.bias", WeightForm::HeadsOut},
    {"W_o.weight", "attention_output.kernel", WeightForm::HeadsIn},
    {"W_o.bias", "attention_output.bias"},
};

// DJL numbers the children of a block in the order in which they were added.
constexpr auto kDjl = linear_modules(
    {"02queryProjection.weight", "02queryProjection.bias"}, {"01keyProjection.weight", "01keyProjection.bias"},
    {"03valueProjection.weight", "03valueProjection.bias"}, {"04resultProjection.weight", "04resultProjection.bias"});

constexpr auto kD2lJava = linear_modules({"01W_q.weight", "01W_q.bias"}, {"02W_k.weight", "02W_k.bias"},
                                         {"03W_v.weight", "03W_v.bias"}, {"04W_o.weight", "04W_o.bias"});

// d2l's additive attention. Its names equal heed's own, but its files may hold the tensors in kAdditiveExtras.
constexpr WeightSource kD2lAdditive[] = {
    {"W_q.weight", "W_q.weight"},
    {"W_k.weight", "W_k.weight"},
    {"w_v.weight", "w_v.weight"},
};

constexpr WeightSource kD2lJavaAdditive[] = {
    {"W_q.weight", "02W_q.weight"},
    {"W_k.weight", "01W_k.weight"},
    {"w_v.weight", "03W_v.weight"},
};

// A linear layer. PyTorch's names equal heed's own.
constexpr WeightSource kKerasDense[] = {
    {"weight", "kernel", WeightForm::Transposed},
    {"bias", "bias"},
};

constexpr WeightSource kDjlLinear[] = {
    {"weight", "weight"},
    {"bias", "bias"},
};

// The feed-forward network of nn.TransformerEncoderLayer and nn.TransformerDecoderLayer, in the layer's own module.
constexpr WeightSource kPyTorchFeedForward[] = {
    {"W_1.weight", "linear1.weight"},
    {"W_1.bias", "linear1.bias"},
    {"W_2.weight", "linear2.weight"},
    {"W_2.bias", "linear2.bias"},
};

// The feed-forward networks of Hugging Face's models. Those of BERT, BART, DistilBERT and ALBERT are in the module of the
// layer, the others in one of their own.
constexpr std::array<WeightSource, 4> feed_forward_modules(ProjectionNames first, ProjectionNames second,
                                                           WeightForm form = WeightForm::Linear) {
  return {{{"W_1.weight", first.weight, form},
           {"W_1.bias", first.bias},
           {"W_2.weight", second.weight, form},
           {"W_2.bias", second.bias}}};
}
constexpr auto kBertFeedForward = feed_forward_modules({"intermediate.dense.weight", "intermediate.dense.bias"},
                                                       {"output.dense.weight", "output.dense.bias"});
constexpr auto kBartFeedForward = feed_forward_modules({"fc1.weight", "fc1.bias"}, {"fc2.weight", "fc2.bias"});
constexpr auto kDistilBertFeedForward =
    feed_forward_modules({"ffn.lin1.weight", "ffn.lin1.bias"}, {"ffn.lin2.weight", "ffn.lin2.bias"});
constexpr auto kAlbertFeedForward =
    feed_forward_modules({"ffn.weight", "ffn.bias"}, {"ffn_output.weight", "ffn_output.bias"});
constexpr auto kGpt2FeedForward =
    feed_forward_modules({"c_fc.weight", "c_fc.bias"}, {"c_proj.weight", "c_proj.bias"}, WeightForm::Transposed);
constexpr auto kT5FeedForward = feed_forward_modules({"wi.weight", "wi.bias"}, {"wo.weight", "wo.bias"});
// T5 1.1 and its relatives.
constexpr WeightSource kGatedT5FeedForward[] = {
    {"W_1.weight", "wi_1.weight"}, {"W_gate.weight", "wi_0.weight"}, {"W_2.weight", "wo.weight"}};
constexpr WeightSource kLlamaFeedForward[] = {{"W_1.weight", "up_proj.weight"},      {"W_1.bias", "up_proj.bias"},
                                              {"W_gate.weight", "gate_proj.weight"}, {"W_gate.bias", "gate_proj.bias"},
                                              {"W_2.weight", "down_proj.weight"},    {"W_2.bias", "down_proj.bias"}};
// The first half passes the activation.
constexpr WeightSource kPhi3FeedForward[] = {{"W_gate.weight", "gate_up_proj.weight", WeightForm::Linear, 0, 2},
                                             {"W_1.weight", "gate_up_proj.weight", WeightForm::Linear, 1, 2},
                                             {"W_2.weight", "down_proj.weight"}};
constexpr WeightSource kModernBertFeedForward[] = {{"W_gate.weight", "Wi.weight", WeightForm::Linear, 0, 2},
                                                   {"W_gate.bias", "Wi.bias", WeightForm::Linear, 0, 2},
                                                   {"W_1.weight", "Wi.weight", WeightForm::Linear, 1, 2},
                                                   {"W_1.bias", "Wi.bias", WeightForm::Linear, 1, 2},
                                                   {"W_2.weight", "Wo.weight"},
                                                   {"W_2.bias", "Wo.bias"}};

// The feed-forward network of keras-hub's TransformerEncoder and TransformerDecoder, in the layer's own module.
constexpr auto kKerasFeedForward =
    feed_forward_modules({"feedforward_intermediate_dense.kernel", "feedforward_intermediate_dense.bias"},
                         {"feedforward_output_dense.kernel", "feedforward_output_dense.bias"}, WeightForm::Transposed);

// A norm of Keras, and of files that were converted from TensorFlow.
constexpr WeightSource kGammaBeta[] = {
    {"weight", "gamma"},
    {"bias", "beta"},
};

// The bias of logits of BART and Marian, whose weight is the embedding's table.
constexpr WeightSource kBartHead[] = {{"bias", "final_logits_bias", WeightForm::Row}};

// ViT's patches, in its module "embeddings", and its table of positions, which is no module but a tensor.
constexpr WeightSource kViTPatches[] = {{"weight", "patch_embeddings.projection.weight", WeightForm::Patches},
                                        {"bias", "patch_embeddings.projection.bias"},
                                        {"class_token", "cls_token", WeightForm::OneRow}};
// Whisper's convolutions, in the module of its encoder.
constexpr WeightSource kWhisperConvolutions[] = {{"conv_1.weight", "conv1.weight", WeightForm::Kernel},
                                                 {"conv_1.bias", "conv1.bias"},
                                                 {"conv_2.weight", "conv2.weight", WeightForm::Kernel},
                                                 {"conv_2.bias", "conv2.bias"}};
constexpr WeightSource kViTPositions[] = {{"weight", "", WeightForm::OneTable}};

// Keras's variable paths, with '/' or '.'. Keras 2 appends the number of an output, ":0".
constexpr NameStyle kKerasStyles[] = {{'/', ""}, {'/', ":0"}, {'.', ""}, {'.', ":0"}};
constexpr NameStyle kDjlStyles[] = {{'_', ""}};

// open_clip's factors of scores and heads.
constexpr const char* kPyTorchExtras[] = {"logit_scale", "head_scale"};

// Attention modules with these projection names may also have: PyTorch's additional key and value (fairseq); separate
// biases (EVA); norms of queries and keys (Phi; Idefics; Hunyuan; StableLM, one for each head); norms before the output
// (BitNet; Kosmos-2); gated relative positions (WavLM).
constexpr const char* kProjExtras[] = {
    "bias_k",
    "bias_v",
    "q_bias",
    "v_bias",
    "q_layernorm.weight",
    "q_layer_norm.weight",
    "query_layernorm.weight",
    "q_layernorm.norms.0.weight",
    "attn_sub_norm.weight",
    "inner_attn_ln.weight",
    "gru_rel_pos_const",
    "rel_attn_embed.weight",
};

// Models related to BERT may have relative positions (BERT itself; Swin; BEiT), cosine scores (Swin 2), other
// projections for some queries (Longformer), convolutions that shorten the keys (SegFormer; PVT) or convolutions that
// add to the output (Nystromformer).
constexpr const char* kSelfExtras[] = {
    "distance_embedding.weight",
    "relative_position_bias_table",
    "relative_position_bias.relative_position_bias_table",
    "logit_scale",
    "query_global.weight",
    "sr.weight",
    "sequence_reduction.weight",
    "conv.weight",
};

// Separate query projection of cross attention.
constexpr const char* kGpt2Extras[] = {"q_attn.weight"};

// Norms of queries and keys and before the output; relative positions (Swin; SAM in Hugging Face's form); biases
// separate from "qkv" (BEiT, EVA); factors of cosine scores (Swin 2; XCiT).
constexpr const char* kTimmExtras[] = {
    "q_norm.weight",
    "k_norm.weight",
    "norm.weight",
    "relative_position_bias_table",
    "rel_pos.relative_position_bias_table",
    "rel_pos_h",
    "q_bias",
    "v_bias",
    "logit_scale",
    "temperature",
};

// Biases; and W_v.weight: a module that has it is multi-head attention, not additive attention.
constexpr const char* kAdditiveExtras[] = {"W_q.bias", "W_k.bias", "w_v.bias", "W_v.weight"};
constexpr const char* kJavaAdditiveBiases[] = {"02W_q.bias", "01W_k.bias", "03W_v.bias"};

constexpr WeightLayout kLayouts[] = {
    {"PyTorch nn.MultiheadAttention", kPyTorch, kPyTorchExtras},
    {"PyTorch nn.MultiheadAttention with kdim or vdim", kPyTorchApart, kPyTorchExtras},
    {layout_name::kBert, kBert, kSelfExtras},
    {layout_name::kViT, kViT, kSelfExtras},
    {layout_name::kAlbert, kAlbert, kSelfExtras},
    {layout_name::kBart, kBart, kProjExtras},
    {layout_name::kViT, kViTInMemory, kProjExtras, kDotted, "attention"},
    {layout_name::kLlama, kLlama, kProjExtras},
    {layout_name::kT5, kT5, {}},
    {layout_name::kDistilBert, kDistilBert, {}},
    {layout_name::kGpt2, kGpt2, kGpt2Extras},
    {layout_name::kGptNeoX, kGptNeoX, {}},
    {layout_name::kPhi3, kPhi3, kProjExtras},
    {layout_name::kMpt, kMpt, {}},
    {layout_name::kModernBert, kModernBert, {}},
    {layout_name::kTimm, kTimm, kTimmExtras},
    {"Keras MultiHeadAttention", kKeras, {}, kKerasStyles},
    {"DJL ScaledDotProductAttentionBlock", kDjl, {}, kDjlStyles},
    {"d2l-java MultiHeadAttention", kD2lJava, {}, kDjlStyles},
    {"d2l AdditiveAttention", kD2lAdditive, kAdditiveExtras},
    {"d2l-java AdditiveAttention", kD2lJavaAdditive, kJavaAdditiveBiases, kDjlStyles},
    {"Keras Dense", kKerasDense, {}, kKerasStyles},
    {"DJL Linear", kDjlLinear, {}, kDjlStyles},
    {layout_name::kPyTorchTransformer, kPyTorchFeedForward, {}},
    {layout_name::kBert, kBertFeedForward, {}},
    {layout_name::kViT, kBertFeedForward, {}},
    {layout_name::kBart, kBartFeedForward, {}},
    {layout_name::kDistilBert, kDistilBertFeedForward, {}},
    {layout_name::kAlbert, kAlbertFeedForward, {}},
    {layout_name::kGpt2, kGpt2FeedForward, {}},
    {layout_name::kT5, kT5FeedForward, {}},
    {layout_name::kT5, kGatedT5FeedForward, {}},
    {layout_name::kLlama, kLlamaFeedForward, {}},
    {layout_name::kPhi3, kPhi3FeedForward, {}},
    {layout_name::kModernBert, kModernBertFeedForward, {}},
    {layout_name::kKerasTransformer, kKerasFeedForward, {}, kKerasStyles},
    {"Keras LayerNormalization", kGammaBeta, {}, kKerasStyles},
    {layout_name::kBart, kBartHead, {}},
    {layout_name::kViT, kViTPatches, {}},
    {layout_name::kViT, kViTPositions, {}},
    {layout_name::kBart, kWhisperConvolutions, {}},
};

}  // namespace

std::span<const WeightLayout> foreign_layouts() { return kLayouts; }

PartRows rows_of_part(const WeightSource& source, const PackedRows& rows) {
  const int64_t count = source.packing == Packing::ByKeyHead ? rows.num_kv_heads : 1;
  PartRows part;
  part.num_blocks = count;
  for (int32_t i = 0; i < source.num_parts; ++i) {
    const int64_t block = rows.parts[i] / count;
    if (i < source.part) part.first += block;
    if (i == source.part) part.block = block;
    part.step += block;
  }
  return part;
}

Shape stored_shape(const WeightSource& source, const Shape& parameter, int64_t num_heads, const PackedRows& rows,
                   const Shape& patch) {
  const bool is_bias = parameter.rank == 1;
  int64_t out = 0;
  // On overflow INT64_MAX, which matches no tensor.
  if (source.num_parts == 1 || source.packing == Packing::Equal) {
    if (!checked_multiply(parameter[0], source.num_parts, out)) out = INT64_MAX;
  } else {
    for (const int64_t part : rows.parts) {
      if (!checked_add(out, part, out)) out = INT64_MAX;
    }
  }
  const int64_t in = is_bias ? 1 : parameter[1];
  switch (source.form) {
    case WeightForm::Linear: break;
    case WeightForm::Transposed: return {in, out};
    case WeightForm::HeadsOut:
      return is_bias ? Shape{num_heads, out / num_heads} : Shape{in, num_heads, out / num_heads};
    case WeightForm::HeadsIn: return {num_heads, in == kOpenDim ? kOpenDim : in / num_heads, out};
    case WeightForm::OneRow: return {1, 1, out};
    case WeightForm::Row: return {1, out};
    case WeightForm::OneTable: return {1, out, in};
    // The parameters of other layers have no patches, and so no such form.
    case WeightForm::Patches: return patch.rank == 3 ? Shape{out, patch[0], patch[1], patch[2]} : Shape{out, in, 0, 0};
    case WeightForm::Kernel: return {out, in / 3, 3};
  }
  return is_bias ? Shape{out} : Shape{out, in};
}

Tensor view_as_parameters(const WeightSource& source, const Tensor& stored) {
  switch (source.form) {
    case WeightForm::Linear: break;
    case WeightForm::Transposed: return stored.transpose(nullptr);
    case WeightForm::HeadsOut:
      if (stored.rank() == 2) return stored.reshape({stored.num_elements()});
      return stored.reshape({stored.dim(0), stored.dim(1) * stored.dim(2)}).transpose(nullptr);
    case WeightForm::HeadsIn: return stored.reshape({stored.dim(0) * stored.dim(1), stored.dim(2)}).transpose(nullptr);
    case WeightForm::OneRow: return stored.reshape({stored.dim(2)});
    case WeightForm::Row: return stored.reshape({stored.dim(1)});
    case WeightForm::OneTable: return stored.reshape({stored.dim(1), stored.dim(2)});
    case WeightForm::Patches: return stored.reshape({stored.dim(0), stored.dim(1) * stored.dim(2) * stored.dim(3)});
    case WeightForm::Kernel: {
      constexpr int32_t kAxes[] = {0, 2, 1};
      return stored.transpose(kAxes);
    }
  }
  return stored;
}

}  // namespace heed
