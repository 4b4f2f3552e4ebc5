// SPDX-License-Identifier: Apache-2.0
#include "loading/block_layout.h"

#include <algorithm>
#include <optional>

#include "loading/weight_finder.h"
#include "loading/weight_layout.h"

namespace heed {
namespace {

// heed's own names: those of the children.
constexpr ChildModule kOwnEncoderLayer[] = {
    {"self_attention", "self_attention"}, {"feed_forward", "feed_forward"},  {"norm_1", "norm_1"}, {"norm_2", "norm_2"},
    {"output_norm_1", "output_norm_1"},   {"output_norm_2", "output_norm_2"}};
constexpr ChildModule kOwnDecoderLayer[] = {{"self_attention", "self_attention"},
                                            {"cross_attention", "cross_attention"},
                                            {"feed_forward", "feed_forward"},
                                            {"norm_1", "norm_1"},
                                            {"norm_2", "norm_2"},
                                            {"norm_3", "norm_3"},
                                            {"output_norm_1", "output_norm_1"},
                                            {"output_norm_2", "output_norm_2"},
                                            {"output_norm_3", "output_norm_3"}};
// Layers and norm also in PyTorch.
constexpr ChildModule kStack[] = {{"embedding", "embedding"},
                                  {"patches", "patches"},
                                  {"audio", "audio"},
                                  {"token_type_embedding", "token_type_embedding"},
                                  {"positions", "positions"},
                                  {"embedding_norm", "embedding_norm"},
                                  {"embedding_projection", "embedding_projection"},
                                  {"layers.*", "layers.*"},
                                  {"norm", "norm"},
                                  {"output_projection", "output_projection"},
                                  {"output", "output"}};
constexpr ChildModule kOwnTransformer[] = {
    {"embedding", "embedding"}, {"encoder", "encoder"}, {"decoder", "decoder"}, {"output", "output"}};

constexpr ChildModule kPyTorchEncoderLayer[] = {
    {"self_attention", "self_attn"}, {"feed_forward", ""}, {"norm_1", "norm1"}, {"norm_2", "norm2"}};
constexpr ChildModule kPyTorchDecoderLayer[] = {{"self_attention", "self_attn"},
                                                {"cross_attention", "multihead_attn"},
                                                {"feed_forward", ""},
                                                {"norm_1", "norm1"},
                                                {"norm_2", "norm2"},
                                                {"norm_3", "norm3"}};

constexpr ChildModule kBertLayer[] = {{"self_attention", "attention"},
                                      {"feed_forward", ""},
                                      {"norm_1", "attention.output.LayerNorm"},
                                      {"norm_2", "output.LayerNorm"}};
constexpr ChildModule kViTLayer[] = {{"self_attention", "attention"},
                                     {"feed_forward", ""},
                                     {"norm_1", "layernorm_before"},
                                     {"norm_2", "layernorm_after"}};
constexpr ChildModule kDistilBertLayer[] = {{"self_attention", "attention"},
                                            {"feed_forward", ""},
                                            {"norm_1", "sa_layer_norm"},
                                            {"norm_2", "output_layer_norm"}};
constexpr ChildModule kAlbertLayer[] = {{"self_attention", "attention"},
                                        {"feed_forward", ""},
                                        {"norm_1", "attention.LayerNorm"},
                                        {"norm_2", "full_layer_layer_norm"}};
// Also MBart, Marian and Whisper; without cross attention encoders of these, and OPT.
constexpr ChildModule kBartLayer[] = {{"self_attention", "self_attn"},
                                      {"feed_forward", ""},
                                      {"norm_1", "self_attn_layer_norm"},
                                      {"norm_2", "final_layer_norm"}};
constexpr ChildModule kBartDecoderLayer[] = {
    {"self_attention", "self_attn"},    {"cross_attention", "encoder_attn"},   {"feed_forward", ""},
    {"norm_1", "self_attn_layer_norm"}, {"norm_2", "encoder_attn_layer_norm"}, {"norm_3", "final_layer_norm"}};
constexpr ChildModule kClipLayer[] = {
    {"self_attention", "self_attn"}, {"feed_forward", "mlp"}, {"norm_1", "layer_norm1"}, {"norm_2", "layer_norm2"}};
constexpr ChildModule kT5Layer[] = {{"self_attention", "layer.0.SelfAttention"},
                                    {"feed_forward", "layer.1.DenseReluDense"},
                                    {"norm_1", "layer.0.layer_norm"},
                                    {"norm_2", "layer.1.layer_norm"}};
constexpr ChildModule kT5DecoderLayer[] = {{"self_attention", "layer.0.SelfAttention"},
                                           {"cross_attention", "layer.1.EncDecAttention"},
                                           {"feed_forward", "layer.2.DenseReluDense"},
                                           {"norm_1", "layer.0.layer_norm"},
                                           {"norm_2", "layer.1.layer_norm"},
                                           {"norm_3", "layer.2.layer_norm"}};
constexpr ChildModule kGpt2Layer[] = {
    {"self_attention", "attn"}, {"feed_forward", "mlp"}, {"norm_1", "ln_1"}, {"norm_2", "ln_2"}};
// Also Mistral, Qwen, Gemma, Phi-3 and Granite.
constexpr ChildModule kLlamaLayer[] = {{"self_attention", "self_attn"},        {"feed_forward", "mlp"},
                                       {"norm_1", "input_layernorm"},          {"norm_2", "post_attention_layernorm"},
                                       {nullptr, "pre_feedforward_layernorm"}, {nullptr, "post_feedforward_layernorm"}};
// Gemma 2 and 3.
constexpr ChildModule kGemma2Layer[] = {{"self_attention", "self_attn"},
                                        {"feed_forward", "mlp"},
                                        {"norm_1", "input_layernorm"},
                                        {"norm_2", "pre_feedforward_layernorm"},
                                        {"output_norm_1", "post_attention_layernorm"},
                                        {"output_norm_2", "post_feedforward_layernorm"}};
constexpr ChildModule kModernBertLayer[] = {
    {"self_attention", "attn"}, {"feed_forward", "mlp"}, {"norm_1", "attn_norm"}, {"norm_2", "mlp_norm"}};

// keras-hub's TransformerEncoder and TransformerDecoder, and the layers of its backbones.
constexpr ChildModule kKerasEncoderLayer[] = {{"self_attention", "self_attention_layer"},
                                              {"feed_forward", ""},
                                              {"norm_1", "self_attention_layer_norm"},
                                              {"norm_2", "feedforward_layer_norm"}};
constexpr ChildModule kKerasDecoderLayer[] = {{"self_attention", "self_attention_layer"},
                                              {"cross_attention", "cross_attention_layer"},
                                              {"feed_forward", ""},
                                              {"norm_1", "self_attention_layer_norm"},
                                              {"norm_2", "cross_attention_layer_norm"},
                                              {"norm_3", "feedforward_layer_norm"}};
constexpr ChildModule kKerasStack[] = {{"layers.*", "transformer_layer_*"}};

constexpr ChildModule kBertStack[] = {{"layers.*", "layer.*"}};
// Whisper's convolutions are in the module of the encoder.
constexpr ChildModule kBartStack[] = {{"embedding", "embed_tokens"},    {"audio", ""},
                                      {"positions", "embed_positions"}, {"embedding_norm", "layernorm_embedding"},
                                      {"layers.*", "layers.*"},         {"norm", "layer_norm"}};
constexpr ChildModule kOptStack[] = {
    {"embedding", "embed_tokens"},        {"positions", "embed_positions"}, {"embedding_projection", "project_in"},
    {"output_projection", "project_out"}, {"layers.*", "layers.*"},         {"norm", "final_layer_norm"}};
constexpr ChildModule kT5Stack[] = {
    {"embedding", "embed_tokens"}, {"layers.*", "block.*"}, {"norm", "final_layer_norm"}};
constexpr ChildModule kGpt2Stack[] = {
    {"embedding", "wte"}, {"positions", "wpe"}, {"layers.*", "h.*"}, {"norm", "ln_f"}};
constexpr ChildModule kLlamaStack[] = {{"embedding", "embed_tokens"}, {"layers.*", "layers.*"}, {"norm", "norm"}};

// Whole models: stacks with embeddings around them, and models with a head, whose weight lies beside the model.
constexpr ChildModule kBertModel[] = {
    {"embedding", "embeddings.word_embeddings"},     {"token_type_embedding", "embeddings.token_type_embeddings"},
    {"positions", "embeddings.position_embeddings"}, {"embedding_norm", "embeddings.LayerNorm"},
    {"embedding_projection", "embeddings_project"},  {"layers.*", "encoder.layer.*"}};
constexpr ChildModule kDistilBertModel[] = {{"embedding", "embeddings.word_embeddings"},
                                            {"positions", "embeddings.position_embeddings"},
                                            {"embedding_norm", "embeddings.LayerNorm"},
                                            {"layers.*", "transformer.layer.*"}};
constexpr ChildModule kAlbertModel[] = {{"embedding", "embeddings.word_embeddings"},
                                        {"token_type_embedding", "embeddings.token_type_embeddings"},
                                        {"positions", "embeddings.position_embeddings"},
                                        {"embedding_norm", "embeddings.LayerNorm"},
                                        {"embedding_projection", "encoder.embedding_hidden_mapping_in"},
                                        {"layers.*", "encoder.albert_layer_groups.0.albert_layers.*"}};
constexpr ChildModule kClipModel[] = {{"embedding", "embeddings.token_embedding"},
                                      {"positions", "embeddings.position_embedding"},
                                      {"layers.*", "encoder.layers.*"},
                                      {"norm", "final_layer_norm"}};
constexpr ChildModule kViTModel[] = {{"patches", "embeddings"},
                                     {"positions", "embeddings.position_embeddings"},
                                     {"layers.*", "encoder.layer.*"},
                                     {"norm", "layernorm"}};
constexpr ChildModule kModernBertModel[] = {{"embedding", "embeddings.tok_embeddings"},
                                            {"embedding_norm", "embeddings.norm"},
                                            {"layers.*", "layers.*"},
                                            {"norm", "final_norm"}};
constexpr ChildModule kT5EncoderModel[] = {{"embedding", "shared"},
                                           {nullptr, "encoder.embed_tokens"},
                                           {"layers.*", "encoder.block.*"},
                                           {"norm", "encoder.final_layer_norm"}};
constexpr ChildModule kGpt2WithHead[] = {{"embedding", "transformer.wte"},
                                         {"positions", "transformer.wpe"},
                                         {"layers.*", "transformer.h.*"},
                                         {"norm", "transformer.ln_f"},
                                         {"output", "lm_head"}};
constexpr ChildModule kOptWithHead[] = {{"embedding", "model.decoder.embed_tokens"},
                                        {"positions", "model.decoder.embed_positions"},
                                        {"embedding_projection", "model.decoder.project_in"},
                                        {"output_projection", "model.decoder.project_out"},
                                        {"layers.*", "model.decoder.layers.*"},
                                        {"norm", "model.decoder.final_layer_norm"},
                                        {"output", "lm_head"}};
constexpr ChildModule kLlamaWithHead[] = {
    {"embedding", "model.embed_tokens"}, {"layers.*", "model.layers.*"}, {"norm", "model.norm"}, {"output", "lm_head"}};
constexpr ChildModule kSharedEmbedding[] = {{"embedding", "shared"}, {"encoder", "encoder"}, {"decoder", "decoder"}};
constexpr ChildModule kT5WithHead[] = {
    {"embedding", "shared"}, {"encoder", "encoder"}, {"decoder", "decoder"}, {"output", "lm_head"}};
// Files that have the embedding of both sides only under the decoder's name.
constexpr ChildModule kT5WithoutShared[] = {
    {"embedding", "decoder.embed_tokens"}, {"encoder", "encoder"}, {"decoder", "decoder"}, {"output", "lm_head"}};
constexpr ChildModule kBartWithoutShared[] = {{"embedding", "model.decoder.embed_tokens"},
                                              {"encoder", "model.encoder"},
                                              {"decoder", "model.decoder"},
                                              {"output", ""}};
// The weight of the head is the embedding's; its bias is "final_logits_bias".
constexpr ChildModule kBartWithHead[] = {
    {"embedding", "model.shared"}, {"encoder", "model.encoder"}, {"decoder", "model.decoder"}, {"output", ""}};

// Of several layouts of one title, module_of_child takes the first: of decoder layers the one with cross attention, of models
// the one without a head.
constexpr BlockLayout kBlockLayouts[] = {
    {kOwnTitle, "encoder_layer", kOwnEncoderLayer},
    {kOwnTitle, "decoder_layer", kOwnDecoderLayer},
    {kOwnTitle, "encoder", kStack},
    {kOwnTitle, "decoder", kStack},
    {kOwnTitle, "transformer", kOwnTransformer},
    {layout_title::kPyTorchTransformer, "encoder_layer", kPyTorchEncoderLayer},
    {layout_title::kPyTorchTransformer, "decoder_layer", kPyTorchDecoderLayer},
    {layout_title::kBert, nullptr, kBertLayer},
    {layout_title::kViT, nullptr, kViTLayer},
    {layout_title::kDistilBert, nullptr, kDistilBertLayer},
    {layout_title::kAlbert, nullptr, kAlbertLayer},
    {layout_title::kBart, "decoder_layer", kBartDecoderLayer},
    {layout_title::kBart, nullptr, kBartLayer},
    {layout_title::kClip, nullptr, kClipLayer},
    {layout_title::kT5, "decoder_layer", kT5DecoderLayer},
    {layout_title::kT5, nullptr, kT5Layer},
    {layout_title::kGpt2, nullptr, kGpt2Layer},
    {layout_title::kLlama, nullptr, kLlamaLayer},
    {layout_title::kGemma2, nullptr, kGemma2Layer},
    {layout_title::kModernBert, nullptr, kModernBertLayer},
    {layout_title::kT5, "transformer", kT5WithHead},
    {layout_title::kBart, "transformer", kSharedEmbedding},
    {layout_title::kBert, "encoder", kBertModel},
    {layout_title::kDistilBert, "encoder", kDistilBertModel},
    {layout_title::kAlbert, "encoder", kAlbertModel},
    {layout_title::kClip, "encoder", kClipModel},
    {layout_title::kViT, "encoder", kViTModel},
    {layout_title::kModernBert, "encoder", kModernBertModel},
    {layout_title::kT5EncoderModel, "encoder", kT5EncoderModel},
    {layout_title::kBert, nullptr, kBertStack},
    {layout_title::kBart, nullptr, kBartStack},
    {layout_title::kOpt, nullptr, kOptStack},
    {layout_title::kT5, nullptr, kT5Stack},
    {layout_title::kGpt2, nullptr, kGpt2Stack},
    {layout_title::kKerasTransformer, nullptr, kKerasEncoderLayer, '/'},
    {layout_title::kKerasTransformer, nullptr, kKerasEncoderLayer},
    {layout_title::kKerasTransformer, "decoder_layer", kKerasDecoderLayer, '/'},
    {layout_title::kKerasTransformer, "decoder_layer", kKerasDecoderLayer},
    {layout_title::kKerasTransformer, "encoder", kKerasStack, '/'},
    {layout_title::kKerasTransformer, "encoder", kKerasStack},
    {layout_title::kLlama, nullptr, kLlamaStack},
    {layout_title::kGpt2, "decoder", kGpt2WithHead},
    {layout_title::kOpt, "decoder", kOptWithHead},
    {layout_title::kLlama, "decoder", kLlamaWithHead},
    {layout_title::kBart, "transformer", kBartWithHead},
    {layout_title::kT5, "transformer", kT5WithoutShared},
    {layout_title::kBart, "transformer", kBartWithoutShared},
};

// "layers.0" of the pattern "layers.*" gives "0"; nothing if it does not match. A pattern without '*' matches itself, with
// "".
std::optional<std::string_view> number_in(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern ? std::optional(std::string_view()) : std::nullopt;
  pattern.remove_suffix(1);
  return name.starts_with(pattern) ? std::optional(name.substr(pattern.size())) : std::nullopt;
}

// The module of a child in a layout; nothing if the layout lacks it.
std::optional<std::string> module_of(const BlockLayout& layout, std::string_view child) {
  for (const auto& [pattern, module] : layout.modules) {
    if (pattern == nullptr) continue;
    const std::optional<std::string_view> number = number_in(child, pattern);
    if (!number) continue;
    std::string name = module;
    if (name.ends_with('*')) name.replace(name.size() - 1, 1, *number);
    return name;
  }
  return std::nullopt;
}

// Whether the file's tensor is in the module.
bool is_below(std::string_view name, std::string_view module, char separator) {
  return name.size() > module.size() && name.starts_with(module) && name[module.size()] == separator;
}

bool has_tensor_below(const SafetensorsFile& file, const std::string& module, char separator) {
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    if (is_below(file.name(i), module, separator)) return true;
  }
  return false;
}

// The number of children whose modules the file has, without those that share a module.
size_t num_found(const SafetensorsFile& file, std::string_view prefix, const BlockLayout& layout,
                 std::span<const char* const> children) {
  size_t count = 0;
  for (const char* child : children) {
    const std::optional<std::string> module = module_of(layout, child);
    if (module && !module->empty() &&
        has_tensor_below(file, joined_modules(prefix, *module, layout.separator), layout.separator))
      ++count;
  }
  return count;
}

}  // namespace

std::string joined_modules(std::string_view prefix, std::string_view module, char separator) {
  std::string whole(prefix);
  if (!prefix.empty() && !module.empty()) whole += separator;
  return whole + std::string(module);
}

std::optional<std::string> module_of_child(std::string_view title, std::string_view kind, std::string_view child) {
  for (const BlockLayout& layout : kBlockLayouts) {
    if (title != layout.title || (layout.kind != nullptr && kind != layout.kind)) continue;
    if (std::optional<std::string> module = module_of(layout, child)) return module;
  }
  return std::nullopt;
}

ChildPrefixes find_child_prefixes(const SafetensorsFile& file, std::string_view prefix, std::string_view kind,
                                  std::span<const char* const> children) {
  ChildPrefixes result;
  size_t most = 0;
  for (const BlockLayout& layout : kBlockLayouts) {
    if (layout.kind != nullptr && kind != layout.kind) continue;
    const bool has_all = std::all_of(children.begin(), children.end(),
                                     [&](const char* child) { return module_of(layout, child).has_value(); });
    const size_t count = has_all ? num_found(file, prefix, layout, children) : 0;
    if (!has_all || count < most) continue;
    if (count > most) result.layouts.clear();
    most = count;
    result.layouts.push_back(&layout);
  }
  const BlockLayout* const chosen = result.layouts.empty() ? nullptr : result.layouts.front();
  for (const char* child : children) {
    result.prefixes.push_back(chosen == nullptr
                                  ? joined_modules(prefix, child)
                                  : joined_modules(prefix, *module_of(*chosen, child), chosen->separator));
  }
  return result;
}

std::vector<std::string> left_over(const SafetensorsFile& file, std::string_view prefix,
                                   std::span<const BlockLayout* const> layouts, std::span<const std::string> known,
                                   const std::function<bool(const char*)>& may_be_left) {
  struct Module {
    std::string name;
    char separator;
  };
  std::vector<Module> modules;
  for (const BlockLayout* layout : layouts) {
    for (const ChildModule& child : layout->modules) {
      if (child.child != nullptr && may_be_left(child.child)) continue;
      const std::string_view module = child.module;
      std::string whole = joined_modules(prefix, module.substr(0, module.find(".*")), layout->separator);
      // Without a prefix the whole file is the layer's own module, and may have other things in it.
      if (!whole.empty()) modules.push_back({std::move(whole), layout->separator});
    }
  }
  std::vector<std::string> others;
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string name(file.name(i));
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    const bool is_in_module = std::any_of(modules.begin(), modules.end(), [&](const Module& module) {
      return is_below(name, module.name, module.separator);
    });
    if (is_in_module) others.push_back(name);
  }
  return others;
}

}  // namespace heed
