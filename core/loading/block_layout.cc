// SPDX-License-Identifier: Apache-2.0
#include "loading/block_layout.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

#include "layers/kind_names.h"
#include "loading/weight_finder.h"
#include "loading/weight_layout.h"

namespace heed {
namespace {

// heed's own names: those of the children.
template <size_t n>
constexpr std::array<ChildModule, n> with_own_names(const ChildRole (&roles)[n]) {
  std::array<ChildModule, n> modules{};
  for (size_t i = 0; i < n; ++i) modules[i] = {roles[i], name_of(roles[i])};
  return modules;
}
constexpr auto kOwnEncoderLayer = with_own_names({ChildRole::SelfAttention, ChildRole::FeedForward, ChildRole::Norm1,
                                                  ChildRole::Norm2, ChildRole::OutputNorm1, ChildRole::OutputNorm2});
constexpr auto kOwnDecoderLayer = with_own_names(
    {ChildRole::SelfAttention, ChildRole::CrossAttention, ChildRole::FeedForward, ChildRole::Norm1, ChildRole::Norm2,
     ChildRole::Norm3, ChildRole::OutputNorm1, ChildRole::OutputNorm2, ChildRole::OutputNorm3});
// Layers and norm also in PyTorch.
constexpr auto kStack =
    with_own_names({ChildRole::Embedding, ChildRole::Patches, ChildRole::Audio, ChildRole::TokenTypes,
                    ChildRole::Positions, ChildRole::EmbeddingNorm, ChildRole::EmbeddingProjection, ChildRole::Layers,
                    ChildRole::Norm, ChildRole::OutputProjection, ChildRole::Output});
constexpr auto kOwnTransformer =
    with_own_names({ChildRole::Embedding, ChildRole::Encoder, ChildRole::Decoder, ChildRole::Output});

constexpr ChildModule kPyTorchEncoderLayer[] = {{ChildRole::SelfAttention, "self_attn"},
                                                {ChildRole::FeedForward, ""},
                                                {ChildRole::Norm1, "norm1"},
                                                {ChildRole::Norm2, "norm2"}};
constexpr ChildModule kPyTorchDecoderLayer[] = {{ChildRole::SelfAttention, "self_attn"},
                                                {ChildRole::CrossAttention, "multihead_attn"},
                                                {ChildRole::FeedForward, ""},
                                                {ChildRole::Norm1, "norm1"},
                                                {ChildRole::Norm2, "norm2"},
                                                {ChildRole::Norm3, "norm3"}};

constexpr ChildModule kBertLayer[] = {{ChildRole::SelfAttention, "attention"},
                                      {ChildRole::FeedForward, ""},
                                      {ChildRole::Norm1, "attention.output.LayerNorm"},
                                      {ChildRole::Norm2, "output.LayerNorm"}};
constexpr ChildModule kViTLayer[] = {{ChildRole::SelfAttention, "attention"},
                                     {ChildRole::FeedForward, ""},
                                     {ChildRole::Norm1, "layernorm_before"},
                                     {ChildRole::Norm2, "layernorm_after"}};
constexpr ChildModule kDistilBertLayer[] = {{ChildRole::SelfAttention, "attention"},
                                            {ChildRole::FeedForward, ""},
                                            {ChildRole::Norm1, "sa_layer_norm"},
                                            {ChildRole::Norm2, "output_layer_norm"}};
constexpr ChildModule kAlbertLayer[] = {{ChildRole::SelfAttention, "attention"},
                                        {ChildRole::FeedForward, ""},
                                        {ChildRole::Norm1, "attention.LayerNorm"},
                                        {ChildRole::Norm2, "full_layer_layer_norm"}};
// Also MBart, Marian and Whisper; without cross attention encoders of these, and OPT.
constexpr ChildModule kBartLayer[] = {{ChildRole::SelfAttention, "self_attn"},
                                      {ChildRole::FeedForward, ""},
                                      {ChildRole::Norm1, "self_attn_layer_norm"},
                                      {ChildRole::Norm2, "final_layer_norm"}};
constexpr ChildModule kBartDecoderLayer[] = {{ChildRole::SelfAttention, "self_attn"},
                                             {ChildRole::CrossAttention, "encoder_attn"},
                                             {ChildRole::FeedForward, ""},
                                             {ChildRole::Norm1, "self_attn_layer_norm"},
                                             {ChildRole::Norm2, "encoder_attn_layer_norm"},
                                             {ChildRole::Norm3, "final_layer_norm"}};
constexpr ChildModule kClipLayer[] = {{ChildRole::SelfAttention, "self_attn"},
                                      {ChildRole::FeedForward, "mlp"},
                                      {ChildRole::Norm1, "layer_norm1"},
                                      {ChildRole::Norm2, "layer_norm2"}};
constexpr ChildModule kT5Layer[] = {{ChildRole::SelfAttention, "layer.0.SelfAttention"},
                                    {ChildRole::FeedForward, "layer.1.DenseReluDense"},
                                    {ChildRole::Norm1, "layer.0.layer_norm"},
                                    {ChildRole::Norm2, "layer.1.layer_norm"}};
constexpr ChildModule kT5DecoderLayer[] = {{ChildRole::SelfAttention, "layer.0.SelfAttention"},
                                           {ChildRole::CrossAttention, "layer.1.EncDecAttention"},
                                           {ChildRole::FeedForward, "layer.2.DenseReluDense"},
                                           {ChildRole::Norm1, "layer.0.layer_norm"},
                                           {ChildRole::Norm2, "layer.1.layer_norm"},
                                           {ChildRole::Norm3, "layer.2.layer_norm"}};
constexpr ChildModule kGpt2Layer[] = {{ChildRole::SelfAttention, "attn"},
                                      {ChildRole::FeedForward, "mlp"},
                                      {ChildRole::Norm1, "ln_1"},
                                      {ChildRole::Norm2, "ln_2"}};
// Also Mistral, Qwen, Gemma, Phi-3 and Granite.
constexpr ChildModule kLlamaLayer[] = {
    {ChildRole::SelfAttention, "self_attn"},         {ChildRole::FeedForward, "mlp"},
    {ChildRole::Norm1, "input_layernorm"},           {ChildRole::Norm2, "post_attention_layernorm"},
    {ChildRole::Other, "pre_feedforward_layernorm"}, {ChildRole::Other, "post_feedforward_layernorm"}};
// Gemma 2 and 3.
constexpr ChildModule kGemma2Layer[] = {{ChildRole::SelfAttention, "self_attn"},
                                        {ChildRole::FeedForward, "mlp"},
                                        {ChildRole::Norm1, "input_layernorm"},
                                        {ChildRole::Norm2, "pre_feedforward_layernorm"},
                                        {ChildRole::OutputNorm1, "post_attention_layernorm"},
                                        {ChildRole::OutputNorm2, "post_feedforward_layernorm"}};
constexpr ChildModule kModernBertLayer[] = {{ChildRole::SelfAttention, "attn"},
                                            {ChildRole::FeedForward, "mlp"},
                                            {ChildRole::Norm1, "attn_norm"},
                                            {ChildRole::Norm2, "mlp_norm"}};

// keras-hub's TransformerEncoder and TransformerDecoder, and the layers of its backbones.
constexpr ChildModule kKerasEncoderLayer[] = {{ChildRole::SelfAttention, "self_attention_layer"},
                                              {ChildRole::FeedForward, ""},
                                              {ChildRole::Norm1, "self_attention_layer_norm"},
                                              {ChildRole::Norm2, "feedforward_layer_norm"}};
constexpr ChildModule kKerasDecoderLayer[] = {{ChildRole::SelfAttention, "self_attention_layer"},
                                              {ChildRole::CrossAttention, "cross_attention_layer"},
                                              {ChildRole::FeedForward, ""},
                                              {ChildRole::Norm1, "self_attention_layer_norm"},
                                              {ChildRole::Norm2, "cross_attention_layer_norm"},
                                              {ChildRole::Norm3, "feedforward_layer_norm"}};
constexpr ChildModule kKerasStack[] = {{ChildRole::Layers, "transformer_layer_*"}};

constexpr ChildModule kBertStack[] = {{ChildRole::Layers, "layer.*"}};
// Whisper's convolutions are in the module of the encoder.
constexpr ChildModule kBartStack[] = {{ChildRole::Embedding, "embed_tokens"},
                                      {ChildRole::Audio, ""},
                                      {ChildRole::Positions, "embed_positions"},
                                      {ChildRole::EmbeddingNorm, "layernorm_embedding"},
                                      {ChildRole::Layers, "layers.*"},
                                      {ChildRole::Norm, "layer_norm"},
                                      {ChildRole::Output, ""}};
constexpr ChildModule kOptStack[] = {{ChildRole::Embedding, "embed_tokens"},
                                     {ChildRole::Positions, "embed_positions"},
                                     {ChildRole::EmbeddingProjection, "project_in"},
                                     {ChildRole::OutputProjection, "project_out"},
                                     {ChildRole::Layers, "layers.*"},
                                     {ChildRole::Norm, "final_layer_norm"}};
constexpr ChildModule kT5Stack[] = {
    {ChildRole::Embedding, "embed_tokens"}, {ChildRole::Layers, "block.*"}, {ChildRole::Norm, "final_layer_norm"}};
constexpr ChildModule kGpt2Stack[] = {{ChildRole::Embedding, "wte"},
                                      {ChildRole::Positions, "wpe"},
                                      {ChildRole::Layers, "h.*"},
                                      {ChildRole::Norm, "ln_f"}};
constexpr ChildModule kLlamaStack[] = {
    {ChildRole::Embedding, "embed_tokens"}, {ChildRole::Layers, "layers.*"}, {ChildRole::Norm, "norm"}};

// Whole models: stacks with embeddings around them, and models with a head, whose weight lies beside the model.
constexpr ChildModule kBertModel[] = {{ChildRole::Embedding, "embeddings.word_embeddings"},
                                      {ChildRole::TokenTypes, "embeddings.token_type_embeddings"},
                                      {ChildRole::Positions, "embeddings.position_embeddings"},
                                      {ChildRole::EmbeddingNorm, "embeddings.LayerNorm"},
                                      {ChildRole::EmbeddingProjection, "embeddings_project"},
                                      {ChildRole::Layers, "encoder.layer.*"}};
constexpr ChildModule kDistilBertModel[] = {{ChildRole::Embedding, "embeddings.word_embeddings"},
                                            {ChildRole::Positions, "embeddings.position_embeddings"},
                                            {ChildRole::EmbeddingNorm, "embeddings.LayerNorm"},
                                            {ChildRole::Layers, "transformer.layer.*"}};
constexpr ChildModule kAlbertModel[] = {{ChildRole::Embedding, "embeddings.word_embeddings"},
                                        {ChildRole::TokenTypes, "embeddings.token_type_embeddings"},
                                        {ChildRole::Positions, "embeddings.position_embeddings"},
                                        {ChildRole::EmbeddingNorm, "embeddings.LayerNorm"},
                                        {ChildRole::EmbeddingProjection, "encoder.embedding_hidden_mapping_in"},
                                        {ChildRole::Layers, "encoder.albert_layer_groups.0.albert_layers.*"}};
constexpr ChildModule kClipModel[] = {{ChildRole::Embedding, "embeddings.token_embedding"},
                                      {ChildRole::Positions, "embeddings.position_embedding"},
                                      {ChildRole::Layers, "encoder.layers.*"},
                                      {ChildRole::Norm, "final_layer_norm"}};
constexpr ChildModule kViTModel[] = {{ChildRole::Patches, "embeddings"},
                                     {ChildRole::Positions, "embeddings.position_embeddings"},
                                     {ChildRole::Layers, "encoder.layer.*"},
                                     {ChildRole::Norm, "layernorm"}};
constexpr ChildModule kModernBertModel[] = {{ChildRole::Embedding, "embeddings.tok_embeddings"},
                                            {ChildRole::EmbeddingNorm, "embeddings.norm"},
                                            {ChildRole::Layers, "layers.*"},
                                            {ChildRole::Norm, "final_norm"}};
constexpr ChildModule kT5EncoderModel[] = {{ChildRole::Embedding, "shared"},
                                           {ChildRole::Other, "encoder.embed_tokens"},
                                           {ChildRole::Layers, "encoder.block.*"},
                                           {ChildRole::Norm, "encoder.final_layer_norm"}};
constexpr ChildModule kGpt2WithHead[] = {{ChildRole::Embedding, "transformer.wte"},
                                         {ChildRole::Positions, "transformer.wpe"},
                                         {ChildRole::Layers, "transformer.h.*"},
                                         {ChildRole::Norm, "transformer.ln_f"},
                                         {ChildRole::Output, "lm_head"}};
constexpr ChildModule kOptWithHead[] = {{ChildRole::Embedding, "model.decoder.embed_tokens"},
                                        {ChildRole::Positions, "model.decoder.embed_positions"},
                                        {ChildRole::EmbeddingProjection, "model.decoder.project_in"},
                                        {ChildRole::OutputProjection, "model.decoder.project_out"},
                                        {ChildRole::Layers, "model.decoder.layers.*"},
                                        {ChildRole::Norm, "model.decoder.final_layer_norm"},
                                        {ChildRole::Output, "lm_head"}};
constexpr ChildModule kLlamaWithHead[] = {{ChildRole::Embedding, "model.embed_tokens"},
                                          {ChildRole::Layers, "model.layers.*"},
                                          {ChildRole::Norm, "model.norm"},
                                          {ChildRole::Output, "lm_head"}};
constexpr ChildModule kSharedEmbedding[] = {
    {ChildRole::Embedding, "shared"}, {ChildRole::Encoder, "encoder"}, {ChildRole::Decoder, "decoder"}};
constexpr ChildModule kT5WithHead[] = {{ChildRole::Embedding, "shared"},
                                       {ChildRole::Encoder, "encoder"},
                                       {ChildRole::Decoder, "decoder"},
                                       {ChildRole::Output, "lm_head"}};
// Files that have the embedding of both sides only under the decoder's name.
constexpr ChildModule kT5WithoutShared[] = {{ChildRole::Embedding, "decoder.embed_tokens"},
                                            {ChildRole::Encoder, "encoder"},
                                            {ChildRole::Decoder, "decoder"},
                                            {ChildRole::Output, "lm_head"}};
constexpr ChildModule kBartWithoutShared[] = {{ChildRole::Embedding, "model.decoder.embed_tokens"},
                                              {ChildRole::Encoder, "model.encoder"},
                                              {ChildRole::Decoder, "model.decoder"},
                                              {ChildRole::Output, ""}};
// The weight of the head is the embedding's; its bias is "final_logits_bias".
constexpr ChildModule kBartWithHead[] = {{ChildRole::Embedding, "model.shared"},
                                         {ChildRole::Encoder, "model.encoder"},
                                         {ChildRole::Decoder, "model.decoder"},
                                         {ChildRole::Output, ""}};

// Of several layouts of one name, module_of_child takes the first: of decoder layers the one with cross attention, of models
// the one without a head.
constexpr BlockLayout kBlockLayouts[] = {
    {kOwnLayout, kind_name::kEncoderLayer, kOwnEncoderLayer},
    {kOwnLayout, kind_name::kDecoderLayer, kOwnDecoderLayer},
    {kOwnLayout, kind_name::kEncoder, kStack},
    {kOwnLayout, kind_name::kDecoder, kStack},
    {kOwnLayout, kind_name::kTransformer, kOwnTransformer},
    {layout_name::kPyTorchTransformer, kind_name::kEncoderLayer, kPyTorchEncoderLayer},
    {layout_name::kPyTorchTransformer, kind_name::kDecoderLayer, kPyTorchDecoderLayer},
    {layout_name::kBert, nullptr, kBertLayer},
    {layout_name::kViT, nullptr, kViTLayer},
    {layout_name::kDistilBert, nullptr, kDistilBertLayer},
    {layout_name::kAlbert, nullptr, kAlbertLayer},
    {layout_name::kBart, kind_name::kDecoderLayer, kBartDecoderLayer},
    {layout_name::kBart, nullptr, kBartLayer},
    {layout_name::kClip, nullptr, kClipLayer},
    {layout_name::kT5, kind_name::kDecoderLayer, kT5DecoderLayer},
    {layout_name::kT5, nullptr, kT5Layer},
    {layout_name::kGpt2, nullptr, kGpt2Layer},
    {layout_name::kLlama, nullptr, kLlamaLayer},
    {layout_name::kGemma2, nullptr, kGemma2Layer},
    {layout_name::kModernBert, nullptr, kModernBertLayer},
    {layout_name::kT5, kind_name::kTransformer, kT5WithHead},
    {layout_name::kBart, kind_name::kTransformer, kSharedEmbedding},
    {layout_name::kBert, kind_name::kEncoder, kBertModel},
    {layout_name::kDistilBert, kind_name::kEncoder, kDistilBertModel},
    {layout_name::kAlbert, kind_name::kEncoder, kAlbertModel},
    {layout_name::kClip, kind_name::kEncoder, kClipModel},
    {layout_name::kViT, kind_name::kEncoder, kViTModel},
    {layout_name::kModernBert, kind_name::kEncoder, kModernBertModel},
    {layout_name::kT5EncoderModel, kind_name::kEncoder, kT5EncoderModel},
    {layout_name::kBert, nullptr, kBertStack},
    {layout_name::kBart, nullptr, kBartStack},
    {layout_name::kOpt, nullptr, kOptStack},
    {layout_name::kT5, nullptr, kT5Stack},
    {layout_name::kGpt2, nullptr, kGpt2Stack},
    {layout_name::kKerasTransformer, nullptr, kKerasEncoderLayer, '/'},
    {layout_name::kKerasTransformer, nullptr, kKerasEncoderLayer},
    {layout_name::kKerasTransformer, kind_name::kDecoderLayer, kKerasDecoderLayer, '/'},
    {layout_name::kKerasTransformer, kind_name::kDecoderLayer, kKerasDecoderLayer},
    {layout_name::kKerasTransformer, kind_name::kEncoder, kKerasStack, '/'},
    {layout_name::kKerasTransformer, kind_name::kEncoder, kKerasStack},
    {layout_name::kLlama, nullptr, kLlamaStack},
    {layout_name::kGpt2, kind_name::kDecoder, kGpt2WithHead},
    {layout_name::kOpt, kind_name::kDecoder, kOptWithHead},
    {layout_name::kLlama, kind_name::kDecoder, kLlamaWithHead},
    {layout_name::kBart, kind_name::kTransformer, kBartWithHead},
    {layout_name::kT5, kind_name::kTransformer, kT5WithoutShared},
    {layout_name::kBart, kind_name::kTransformer, kBartWithoutShared},
};

// The module of a child in a layout; nothing if the layout lacks it.
std::optional<std::string> module_of(const BlockLayout& layout, ChildRole child, size_t number) {
  if (child == ChildRole::Other) return std::nullopt;
  for (const ChildModule& row : layout.modules) {
    if (row.child == child) return numbered(row.module, number);
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
                 std::span<const ChildInFile> children) {
  size_t count = 0;
  for (const ChildInFile& child : children) {
    const std::optional<std::string> module = module_of(layout, child.role, child.number);
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

std::optional<std::string> module_of_child(std::string_view layout_name, std::string_view kind, ChildRole child,
                                           size_t number) {
  for (const BlockLayout& layout : kBlockLayouts) {
    if (layout_name != layout.name || (layout.kind != nullptr && kind != layout.kind)) continue;
    if (std::optional<std::string> module = module_of(layout, child, number)) return module;
  }
  return std::nullopt;
}

ChildPrefixes find_child_prefixes(const SafetensorsFile& file, std::string_view prefix, std::string_view kind,
                                  std::span<const ChildInFile> children, std::string_view layout_name) {
  ChildPrefixes result;
  size_t most = 0;
  for (const BlockLayout& layout : kBlockLayouts) {
    if (layout.kind != nullptr && kind != layout.kind) continue;
    const bool has_all = std::all_of(children.begin(), children.end(), [&](const ChildInFile& child) {
      return module_of(layout, child.role, child.number).has_value();
    });
    const size_t count = has_all ? num_found(file, prefix, layout, children) : 0;
    if (!has_all || count < most) continue;
    if (count > most) result.layouts.clear();
    most = count;
    result.layouts.push_back(&layout);
  }
  const BlockLayout* const first = result.layouts.empty() ? nullptr : result.layouts.front();
  const auto named = std::ranges::find(result.layouts, layout_name, &BlockLayout::name);
  const BlockLayout* const chosen = named == result.layouts.end() ? first : *named;
  for (const auto& [name, role, number] : children) {
    result.prefixes.push_back(chosen == nullptr
                                  ? joined_modules(prefix, name)
                                  : joined_modules(prefix, *module_of(*chosen, role, number), chosen->separator));
  }
  return result;
}

std::vector<std::string> left_over(const SafetensorsFile& file, std::string_view prefix,
                                   std::span<const BlockLayout* const> layouts, std::span<const std::string> known,
                                   const std::function<bool(ChildRole)>& may_be_left) {
  struct Module {
    std::string name;
    char separator;
  };
  std::vector<Module> modules;
  for (const BlockLayout* layout : layouts) {
    for (const ChildModule& child : layout->modules) {
      if (child.child != ChildRole::Other && may_be_left(child.child)) continue;
      const std::string_view module = child.module;
      std::string whole = joined_modules(prefix, module.substr(0, module.find(".*")), layout->separator);
      // Without a prefix the whole file is the layer's own module, and may have other things in it.
      if (!whole.empty()) modules.push_back({std::move(whole), layout->separator});
    }
  }
  std::vector<std::string> unread;
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string name(file.name(i));
    if (std::binary_search(known.begin(), known.end(), name)) continue;
    const bool is_in_module = std::any_of(modules.begin(), modules.end(), [&](const Module& module) {
      return is_below(name, module.name, module.separator);
    });
    if (is_in_module) unread.push_back(name);
  }
  return unread;
}

}  // namespace heed
