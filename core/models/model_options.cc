// SPDX-License-Identifier: Apache-2.0
#include "models/model_options.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/configured_attention.h"
#include "families/model_block.h"
#include "families/model_family.h"
#include "families/model_numbers.h"
#include "families/module_path.h"
#include "families/rules.h"
#include "layers/kind_names.h"
#include "loading/block_layout.h"

namespace heed {
namespace {

constexpr const char* kHead = "lm_head";
constexpr const char* kHeadBias = "final_logits_bias";
// The most positions of a table that is computed, since it is not in the file: models have 512 or 1024.
constexpr int64_t kMostSinusoids = 65536;

// The rows of a parameter that a tensor of the file holds, alone or in equal parts with others.
int64_t rows_of(const StoredParameter& stored) {
  const Shape& shape = stored.entry->shape;
  const WeightForm form = stored.source->form;
  const int64_t rows = form == WeightForm::Transposed || form == WeightForm::OneTable ? shape[1] : shape[0];
  return rows / stored.source->num_parts;
}

// The module of a child below `base`; empty if the layout has none.
std::string module_in(const std::string& base, std::string_view layout, std::string_view kind, ChildRole child,
                      size_t number = 0) {
  const std::optional<std::string> module = module_of_child(layout, kind, child, number);
  return module ? joined_modules(base, *module) : "";
}

}  // namespace

ModelOptions::ModelOptions(const ModelConfig& config, const Family& family, const SafetensorsFile& file)
    : config_(config), family_(family), file_(file), settings_(config, "") {
  // A model without a head has fewer modules around it: of "model.decoder" only "decoder", or none.
  std::string_view base = family.layouts.base;
  while (!base.empty() && !has(std::string(base))) base = without_first_module(base);
  base_ = base;
}

std::string ModelOptions::prefix() const { return is_head_beside_ ? "" : base_; }

bool ModelOptions::has(const std::string& module) const {
  for (size_t i = 0; i < file_.num_tensors(); ++i) {
    const std::string_view name = file_.name(i);
    if (name.size() > module.size() && name.starts_with(module) && (module.empty() || name[module.size()] == '.'))
      return true;
  }
  return false;
}

std::string ModelOptions::first_layer(const std::string& base) const {
  const bool is_of_two = family_.kind == ModelKind::Transformer;
  const char* const layout =
      is_of_two && kind() == ModelKind::Encoder ? family_.layouts.encoder : family_.layouts.model;
  std::string stack = base;
  if (kind() == ModelKind::Transformer) stack = module_in(base, layout, kind_name::kTransformer, ChildRole::Encoder);
  return module_in(stack, layout, kind() == ModelKind::Decoder ? kind_name::kDecoder : kind_name::kEncoder,
                   ChildRole::Layers);
}

StoredParameter ModelOptions::find(const std::string& module, const char* parameter) const {
  const StoredParameter stored = find_parameter(file_, module, parameter);
  if (stored.entry != nullptr) return stored;
  // The names of single tensors are the same in all layouts.
  static constexpr WeightSource kAlone = {"weight", "weight"};
  return {file_.find(joined_modules(module, parameter)), &kAlone};
}

Shape ModelOptions::dims_of(const std::string& module, const char* parameter, const Shape& otherwise) const {
  const SafetensorsEntry* const entry = find(module, parameter).entry;
  return entry != nullptr ? entry->shape : otherwise;
}

bool ModelOptions::has_own_tables() const {
  return kind() == ModelKind::Transformer && settings_.is_cleared(family_.embedding.shared_by);
}

void ModelOptions::add_names(SafetensorsFile& file) const {
  name_tied_table(file);
  // The head is the decoder's then.
  if (has_own_tables() && file.contains(kHeadBias))
    file.add_name(joined_modules(base_, std::string("decoder.") + kHeadBias), kHeadBias);
}

void ModelOptions::name_tied_table(SafetensorsFile& file) const {
  constexpr std::string_view kHeads[] = {
      "lm_head",         "proj_out",          "cls.predictions.decoder", "lm_head.decoder",
      "vocab_projector", "generator_lm_head", "predictions.decoder",     "decoder"};
  const bool is_of_two = family_.kind == ModelKind::Transformer && kind() == ModelKind::Transformer;
  const char* const layout = kind() == family_.kind ? family_.layouts.model : family_.layouts.encoder;
  const auto module = [&](ChildRole child) {
    const char* const name = is_of_two ? kind_name::kTransformer
                                       : (kind() == ModelKind::Decoder ? kind_name::kDecoder : kind_name::kEncoder);
    return module_in(base_, layout, name, child);
  };
  const bool has_shared_table =
      family_.kind == ModelKind::Transformer && family_.embedding.input == ModelInput::Ids && !has_own_tables();
  const std::string of_decoder = joined_modules(base_, "decoder.embed_tokens");
  const std::string embedding = is_of_two && !has_shared_table ? of_decoder : module(ChildRole::Embedding);
  if (embedding.empty() || has(embedding)) return;
  std::vector<std::string> others;
  if (has_shared_table) others = {of_decoder, joined_modules(base_, "encoder.embed_tokens")};
  if (settings_.flag(Setting::TieWordEmbeddings).value_or(family_.head.is_tied))
    others.insert(others.end(), std::begin(kHeads), std::end(kHeads));
  for (const std::string& other : others) {
    const std::string stored = joined_modules(other, "weight");
    if (file.contains(stored)) return file.add_name(joined_modules(embedding, "weight"), stored);
  }
}

// ---- sizes ----------------------------------------------------------------------------------------------------------

ModelOptions::StackInFile ModelOptions::stack_in_file(const char* kind, const char* layout, std::string base,
                                                      bool has_cross_attention) const {
  StackInFile stack{kind, layout, std::move(base), 0, has_cross_attention};
  const bool is_of_two = family_.kind == ModelKind::Transformer;
  const bool is_decoder = kind == std::string_view(kind_name::kDecoder);
  std::optional<int64_t> count;
  if (is_of_two) {
    count = settings_.count({is_decoder ? Setting::DecoderLayers : Setting::EncoderLayers});
    if (!count && is_decoder) count = settings_.count({Setting::NumDecoderLayers});
  }
  if (!count)
    count = settings_.count({Setting::NumHiddenLayers, Setting::NLayer, Setting::NLayers, Setting::NumLayers});
  if (!count) {
    fail(Status::InvalidArgument,
         "%s does not say how many layers the %s has, expected a number above 0 as \"num_hidden_layers\"",
         in_quotes(config_.path()).c_str(), kind);
  }
  stack.num_layers = *count;
  // Each layer has several tensors. Making layers without would take memory for nothing.
  if (!family_.shares_layers && stack.num_layers > static_cast<int64_t>(file_.num_tensors())) {
    fail(Status::NotFound, "%s has %zu tensors, expected those of the %" PRId64 " layers that %s says",
         in_quotes(file_.path()).c_str(), file_.num_tensors(), stack.num_layers, in_quotes(config_.path()).c_str());
  }
  return stack;
}

std::string ModelOptions::module_of(const StackInFile& stack, ChildRole child, size_t number) {
  return module_in(stack.base, stack.layout, stack.kind, child, number);
}

std::string ModelOptions::module_of_layer(const StackInFile& stack, int64_t layer, ChildRole child) const {
  const char* const kind = stack.has_cross_attention ? kind_name::kDecoderLayer : kind_name::kEncoderLayer;
  const int64_t stored = family_.shares_layers ? 0 : layer;
  const std::string base = module_of(stack, ChildRole::Layers, static_cast<size_t>(stored));
  return module_in(base, family_.layouts.layers, kind, child);
}

int64_t ModelOptions::hidden_size(const StackInFile& stack) const {
  for (int64_t i = 0; i < stack.num_layers; ++i) {
    for (const ChildRole norm : {ChildRole::Norm2, ChildRole::Norm1}) {
      if (const SafetensorsEntry* const entry = find(module_of_layer(stack, i, norm), "weight").entry)
        return entry->shape[0];
    }
  }
  const std::string table = family_.kind == ModelKind::Transformer && !has_own_tables()
                                ? shared_embedding()
                                : module_of(stack, ChildRole::Embedding);
  if (const SafetensorsEntry* const entry = find(table, "weight").entry) return entry->shape[entry->shape.rank - 1];
  fail(Status::NotFound, "%s has no norm of a layer of the %s, expected %s in a model of model_type \"%s\"",
       in_quotes(file_.path()).c_str(), stack.kind,
       in_quotes(joined_modules(module_of_layer(stack, 0, ChildRole::Norm2), "weight")).c_str(),
       std::string(family_.model_types).c_str());
}

int64_t ModelOptions::feed_forward_size(const StackInFile& stack, int64_t layer) const {
  const auto size_in = [&](int64_t i) -> int64_t {
    const StoredParameter stored = find(module_of_layer(stack, i, ChildRole::FeedForward), "W_1.weight");
    return stored.entry == nullptr ? 0 : rows_of(stored);
  };
  int64_t size = size_in(layer);
  for (int64_t i = 0; i < stack.num_layers && size == 0; ++i) size = size_in(i);
  return std::max<int64_t>(size, 1);
}

// ---- layers ---------------------------------------------------------------------------------------------------------

void ModelOptions::set_layer(const StackInFile& stack, int64_t layer, TransformerLayerOptions& options) const {
  const ModelBlock block = configured_block(config_, "");
  if (!block.unsupported.empty()) {
    fail(Status::Unsupported, "%s is of a model with %s: heed makes no such models", in_quotes(config_.path()).c_str(),
         block.unsupported.c_str());
  }
  if (settings_.is_cleared(family_.norms.weights_by)) {
    fail(Status::Unsupported, "%s has \"%s\" false, for norms without weights: heed has none, expected true",
         in_quotes(config_.path()).c_str(), name_of(family_.norms.weights_by));
  }
  options.norm.kind = block.layer.norm;
  options.norm.epsilon = static_cast<float>(block.layer.epsilon);
  options.norm.no_bias = block.layer.norm == NormKind::Layer && !has_part(settings_, family_.norms.biases);
  options.norm_first = block.layer.norm_first;
  options.output_norms = block.layer.output_norms;
  options.no_first_norm = layer == 0 && family_.norms.none_before_first;
  options.residual_scale = static_cast<float>(block.layer.residual_scale);
  options.feed_forward.hidden_size = feed_forward_size(stack, layer);
  options.feed_forward.activation = block.layer.activation;
  options.feed_forward.gated = has_gate(settings_, family_.feed_forward);
  options.feed_forward.no_bias = !has_part(settings_, family_.feed_forward.biases);
}

MultiHeadAttentionOptions ModelOptions::attention_options(const StackInFile& stack, int64_t layer, ChildRole child,
                                                          bool is_decoder) {
  const std::string module = module_of_layer(stack, layer, child);
  const ModulePath path(module);
  MultiHeadAttentionOptions options;
  options.num_hiddens = hidden_size(stack);
  // The head count does not depend on the head size; any valid size will do here.
  constexpr int64_t kAnyHeadSize = 128;
  ModelAttention attention = configured_attention(config_, "", path, kAnyHeadSize);
  if (!attention.num_heads) {
    fail(Status::InvalidArgument,
         "%s does not say how many heads there are, expected a number above 0 as \"num_attention_heads\"",
         in_quotes(config_.path()).c_str());
  }
  options.num_heads = *attention.num_heads;
  options.num_kv_heads = attention.num_kv_heads.value_or(0);
  options.head_size = attention.head_size.value_or(options.num_hiddens / std::max<int64_t>(1, options.num_heads));
  attention = configured_attention(config_, "", path, options.head_size);
  if (!attention.rope_fault.empty()) fail(Status::InvalidArgument, "%s", attention.rope_fault.c_str());
  if (!attention.unsupported.empty()) {
    fail(Status::Unsupported, "%s is of a model with %s: heed makes no such models", in_quotes(config_.path()).c_str(),
         attention.unsupported.front().text);
  }
  const double usual_scale = 1 / std::sqrt(static_cast<double>(options.head_size));
  if (attention.scale && !is_close(*attention.scale, usual_scale))
    options.attention.scale = static_cast<float>(*attention.scale);
  options.attention.soft_cap = static_cast<float>(attention.soft_cap.value_or(0));
  if (attention.causal.value_or(is_decoder)) options.attention.causal = Alignment::BottomRight;
  if (attention.window && (attention.window->left >= 0 || attention.window->right >= 0)) {
    options.attention.window = Alignment::BottomRight;
    options.attention.window_left = attention.window->left;
    options.attention.window_right = attention.window->right;
  }
  if (attention.rope) {
    options.rope = attention.rope->options;
    if (!attention.rope->factors.empty()) {
      // The long list, and behind it the short one; or the short one alone.
      const std::vector<ModelRopeFactors>& lists = kept_.emplace_back(std::move(attention.rope->factors));
      options.rope->factors = lists.front().factors;
      options.rope->attention_factor = lists.front().attention_factor;
      if (lists.size() > 1) options.rope->short_factors = lists.back().factors;
    }
  }
  if (attention.qk_norm) {
    options.qk_norm_epsilon = static_cast<float>(attention.qk_norm->epsilon);
    options.qk_norm = attention.qk_norm->kind;
  }
  options.sinks = attention.sinks.value_or(false);
  if (attention.relative_bias) options.relative_bias = *attention.relative_bias;
  options.alibi = attention.alibi.value_or(AlibiUse::None);
  if (has_part(settings_, family_.attention.qkv_biases)) {
    options.biases |= kBiasQ | kBiasV;
    if (!family_.attention.no_key_bias) options.biases |= kBiasK;
  }
  if (has_part(settings_, family_.attention.output_bias)) options.biases |= kBiasO;
  return options;
}

// ---- embeddings and heads -------------------------------------------------------------------------------------------

void ModelOptions::require_row_size(const std::string& module, const Shape& table, int64_t size) const {
  if (table[1] == size) return;
  fail(Status::Unsupported,
       "\"%s.weight\" in %s has rows of %" PRId64 ", but the layers have rows of %" PRId64
       ", expected the same: models of this model_type have no projection between them",
       module.c_str(), in_quotes(file_.path()).c_str(), table[1], size);
}

EmbeddingOptions ModelOptions::embedding_options(const std::string& module, int64_t size) const {
  const Shape table = dims_of(module, "weight", {1, size});
  if (table.rank != 2) {
    fail(Status::InvalidArgument, "\"%s.weight\" in %s has " ARGUMENT("dims") " %s, expected a table of embeddings",
         module.c_str(), in_quotes(file_.path()).c_str(), to_string(table).c_str());
  }
  EmbeddingOptions options;
  options.num_embeddings = table[0];
  options.embedding_size = table[1];
  if (family_.embedding.projection == EmbeddingProjection::No) require_row_size(module, table, size);
  const From& factor = family_.embedding.factor_by;
  const auto root = static_cast<float>(std::sqrt(static_cast<double>(size)));
  switch (family_.embedding.factor) {
    case EmbeddingScale::One: break;
    case EmbeddingScale::Root: options.scale = root; break;
    case EmbeddingScale::RootIfSet:
      if (settings_.is_set(factor.name)) options.scale = root;
      break;
    case EmbeddingScale::BySetting:
      options.scale = static_cast<float>(settings_.number(factor.name).value_or(static_cast<double>(factor.otherwise)));
      break;
  }
  return options;
}

PatchEmbeddingOptions ModelOptions::patch_options(const std::string& module) const {
  const Shape weight = dims_of(module, "weight", {1, 1, 1, 1});
  if (weight.rank != 4) {
    fail(Status::InvalidArgument,
         "the patches' weight of module %s in %s has " ARGUMENT("dims") " %s, expected (E, C, height, width)",
         in_quotes(module).c_str(), in_quotes(file_.path()).c_str(), to_string(weight).c_str());
  }
  PatchEmbeddingOptions options;
  options.num_channels = weight[1];
  options.patch_height = weight[2];
  options.patch_width = weight[3];
  options.class_token = true;
  set_image_size(options);
  return options;
}

void ModelOptions::set_image_size(PatchEmbeddingOptions& options) const {
  // The default of Hugging Face's ViTConfig.
  constexpr int64_t kUsualImageSize = 224;
  if (settings_.is_left_out(Setting::ImageSize)) {
    options.image_height = options.image_width = kUsualImageSize;
    return;
  }
  // A number, or the height and the width.
  const std::optional<int64_t> both = settings_.count({Setting::ImageSize});
  if (!is_json(config_, name_of(Setting::ImageSize), Json::Size)) {
    fail(Status::InvalidArgument,
         "%s has an \"image_size\" that is no size, expected a number, or the height and the width in a list",
         in_quotes(config_.path()).c_str());
  }
  options.image_height = both ? *both : *settings_.count(Setting::ImageSize, 0);
  options.image_width = both ? *both : *settings_.count(Setting::ImageSize, 1);
}

void ModelOptions::require_image_size(const PatchEmbeddingOptions& patches, int64_t num_positions) const {
  const int64_t height = patches.patch_height;
  const int64_t width = patches.patch_width;
  if (height >= 1 && width >= 1 && patches.image_height % height == 0 && patches.image_width % width == 0 &&
      (patches.image_height / height) * (patches.image_width / width) + 1 == num_positions)
    return;
  fail(Status::InvalidArgument,
       "%s has images of %" PRId64 " x %" PRId64 "%s, which are not the %" PRId64 " patches of %" PRId64 " x %" PRId64
       " that %s has positions for: expected the size of the images of this model",
       in_quotes(config_.path()).c_str(), patches.image_height, patches.image_width,
       settings_.is_left_out(Setting::ImageSize) ? ", since it lacks \"image_size\"" : " by \"image_size\"",
       num_positions - 1, height, width, in_quotes(file_.path()).c_str());
}

AudioEmbeddingOptions ModelOptions::audio_options(const std::string& module) const {
  const Shape weight = dims_of(module, "conv_1.weight", {1, 1, 3});
  // The shapes of both weights are compared when they are loaded.
  return {.num_mels = weight.rank == 3 ? weight[1] : 0};
}

bool ModelOptions::has_class(std::span<const std::string_view> endings) const {
  for (int64_t i = 0;; ++i) {
    const std::string_view name = settings_.text(Setting::Architectures, i);
    if (name.empty()) return false;
    if (std::ranges::any_of(endings, [&](std::string_view ending) { return name.ends_with(ending); })) return true;
  }
}

bool ModelOptions::find_other_head(const SafetensorsEntry& table) const {
  for (const char* const name : {"lm_head.weight", "proj_out.weight"}) {
    const SafetensorsEntry* const head = file_.find(name);
    if (head == nullptr || file_.are_equal(*head, table)) continue;
    const char* const kind = family_.kind == ModelKind::Decoder ? kind_name::kDecoder : kind_name::kTransformer;
    if (module_of_child(family_.layouts.model, kind, ChildRole::Output) == kHead) return true;
    fail(Status::Unsupported,
         "%s has \"%s\" with other values than the embedding, which is the head of models of model_type \"%s\" here: "
         "expected the same values, or a file without it",
         in_quotes(file_.path()).c_str(), name, std::string(family_.model_types).c_str());
  }
  return false;
}

std::optional<OutputOptions> ModelOptions::output_options(int64_t size, const std::string& embedding) {
  constexpr std::string_view kWithHead[] = {"ForCausalLM", "LMHeadModel", "ForConditionalGeneration", "MTModel"};
  if (!has_class(kWithHead)) return std::nullopt;
  OutputOptions output;
  const SafetensorsEntry* const table = find(embedding, "weight").entry;
  const bool ties = settings_.flag(Setting::TieWordEmbeddings).value_or(family_.head.is_tied);
  // As in transformers 5: a head with other values than the embedding is not tied to it, although the configuration says
  // so, as that of every T5 does.
  has_other_head_ = ties && table != nullptr && find_other_head(*table);
  output.is_tied = ties && !has_other_head_;
  output.size = table != nullptr ? table->shape[0] : 1;
  if (!output.is_tied) {
    const Shape weight = dims_of(kHead, "weight", {output.size, size});
    if (weight.rank == 2) require_row_size(kHead, weight, size);
    output.size = weight[0];
  }
  output.has_bias = (family_.head.bias.when == Has::When::InFile && file_.contains(kHeadBias)) ||
                    (!output.is_tied && file_.contains(joined_modules(kHead, "bias")));
  const Setting scaled_by = family_.head.scaled_by;
  if (scaled_by != Setting::None && settings_.flag(scaled_by).value_or(ties))
    output.scale = static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
  if (const auto scaling = settings_.number(family_.head.divisor); scaling && *scaling != 0)
    output.scale = static_cast<float>(1 / *scaling);
  output.soft_cap = static_cast<float>(soft_cap(settings_, family_.head.soft_cap.name, family_.head.soft_cap));
  if (has_own_tables() && !output.is_tied) {
    fail(Status::Unsupported,
         "%s has an embedding for each side and a head tied to neither: heed makes no such models, expected "
         "\"tie_word_embeddings\" true",
         in_quotes(config_.path()).c_str());
  }
  is_head_beside_ = !has_own_tables() && (!output.is_tied || output.has_bias);
  is_head_tied_ = output.is_tied;
  return output;
}

void ModelOptions::name_positions(bool is_encoder, PositionalEncodingOptions& options) const {
  options.max_option = nullptr;
  for (const Setting setting : {Setting::MaxPositionEmbeddings, Setting::NPositions,
                                is_encoder ? Setting::MaxSourcePositions : Setting::MaxTargetPositions}) {
    if (options.max_setting == nullptr && settings_.number(setting)) options.max_setting = name_of(setting);
  }
}

template <typename LayerOptions>
void ModelOptions::set_stack(const StackInFile& stack, StackOptions<LayerOptions>& options) {
  const int64_t size = hidden_size(stack);
  options.num_layers = stack.num_layers;
  options.final_norm = options.layers.front().norm_first && !settings_.is_set(family_.norms.none_at_end_by);
  options.embedding_norm = family_.embedding.norm;
  options.no_projection_bias = family_.embedding.projection == EmbeddingProjection::WithoutBias;
  const bool is_encoder = stack.kind == std::string_view(kind_name::kEncoder);
  const bool reads_audio = family_.embedding.input == ModelInput::Audio;
  if (family_.embedding.input == ModelInput::Images) {
    options.patches = patch_options(module_of(stack, ChildRole::Patches));
  } else if (reads_audio && is_encoder) {
    options.audio = audio_options(module_of(stack, ChildRole::Audio));
  } else if (reads_audio || kind() != ModelKind::Transformer || has_own_tables()) {
    options.embedding = embedding_options(module_of(stack, ChildRole::Embedding), size);
  }
  if (family_.embedding.token_types)
    options.num_token_types = dims_of(module_of(stack, ChildRole::TokenTypes), "weight", {1, size})[0];
  // A file may have the table of sinusoids, as those of opus-mt do, and then it is read.
  const std::string positions_module = module_of(stack, ChildRole::Positions);
  const bool has_table = !positions_module.empty() && file_.contains(joined_modules(positions_module, "weight"));
  if (family_.positions.kind == PositionRule::Sinusoids && !has_table) {
    const std::optional<int64_t> most = settings_.count({Setting::MaxPositionEmbeddings});
    if (!most) {
      fail(Status::InvalidArgument, "%s lacks \"max_position_embeddings\", expected the number of positions",
           in_quotes(config_.path()).c_str());
    }
    if (*most > kMostSinusoids) {
      fail(Status::InvalidArgument,
           "%s has %" PRId64 " as \"max_position_embeddings\", expected at most %" PRId64
           ", since the table of sinusoids has a row for each",
           in_quotes(config_.path()).c_str(), *most, kMostSinusoids);
    }
    options.positions = PositionalEncodingOptions{.max_positions = *most, .kind = PositionKind::SinusoidalHalves2i};
    name_positions(is_encoder, *options.positions);
  }
  if (family_.positions.kind == PositionRule::Table ||
      (family_.positions.kind == PositionRule::Sinusoids && has_table)) {
    const std::string& module = positions_module;
    PositionalEncodingOptions positions{.kind = PositionKind::Learned};
    positions.first_row = first_row_of(module, config_).value_or(0);
    const StoredParameter table = find(module, "weight");
    positions.max_positions = table.entry != nullptr ? rows_of(table) - positions.first_row : 1;
    name_positions(is_encoder, positions);
    if (family_.embedding.projection == EmbeddingProjection::WithoutBias) positions.size = size;
    const bool has_patches = options.patches && find(module_of(stack, ChildRole::Patches), "weight").entry != nullptr;
    if (has_patches && table.entry != nullptr) require_image_size(*options.patches, positions.max_positions);
    options.positions = positions;
  }
}

void ModelOptions::add_encoder_layers(const StackInFile& stack, EncoderOptions& options) {
  num_layers_ += stack.num_layers;
  options.share_layers = family_.shares_layers;
  if (options.share_layers) require_one_shared_layer();
  for (int64_t i = 0; i < (options.share_layers ? 1 : stack.num_layers); ++i) {
    EncoderLayerOptions layer;
    layer.attention = attention_options(stack, i, ChildRole::SelfAttention, false);
    set_layer(stack, i, layer);
    options.layers.push_back(layer);
  }
}

void ModelOptions::add_decoder_layers(const StackInFile& stack, DecoderOptions& options) {
  num_layers_ += stack.num_layers;
  for (int64_t i = 0; i < stack.num_layers; ++i) {
    DecoderLayerOptions layer;
    layer.self_attention = attention_options(stack, i, ChildRole::SelfAttention, true);
    if (stack.has_cross_attention) {
      layer.cross_attention = attention_options(stack, i, ChildRole::CrossAttention, true);
      layer.cross_attention->attention.causal = Alignment::None;
    }
    set_layer(stack, i, layer);
    options.layers.push_back(layer);
  }
}

void ModelOptions::require_one_shared_layer() const {
  for (const Setting setting : {Setting::NumHiddenGroups, Setting::InnerGroupNum}) {
    if (settings_.number(setting).value_or(1) == 1) continue;
    fail(Status::Unsupported, "%s has another \"%s\" than 1: heed makes ALBERT models whose layers are all the same",
         in_quotes(config_.path()).c_str(), name_of(setting));
  }
}

// ---- models ---------------------------------------------------------------------------------------------------------

ModelKind ModelOptions::kind() const {
  constexpr std::string_view kEncoderAlone[] = {"EncoderModel"};
  return family_.layouts.encoder != nullptr && has_class(kEncoderAlone) ? ModelKind::Encoder : family_.kind;
}

EncoderOptions ModelOptions::encoder() {
  const bool is_of_two = family_.kind == ModelKind::Transformer;
  const StackInFile stack =
      stack_in_file(kind_name::kEncoder, is_of_two ? family_.layouts.encoder : family_.layouts.model, base_, false);
  EncoderOptions options;
  add_encoder_layers(stack, options);
  set_stack(stack, options);
  return options;
}

DecoderOptions ModelOptions::decoder() {
  const StackInFile stack = stack_in_file(kind_name::kDecoder, family_.layouts.model, base_, false);
  DecoderOptions options;
  add_decoder_layers(stack, options);
  set_stack(stack, options);
  options.output = output_options(hidden_size(stack), module_of(stack, ChildRole::Embedding));
  return options;
}

std::string ModelOptions::shared_embedding() const {
  std::string module = module_in(base_, family_.layouts.model, kind_name::kTransformer, ChildRole::Embedding);
  if (has(module)) return module;
  const std::string decoder = module_in(base_, family_.layouts.model, kind_name::kTransformer, ChildRole::Decoder);
  std::string of_decoder = module_in(decoder, family_.layouts.model, kind_name::kDecoder, ChildRole::Embedding);
  return has(of_decoder) ? of_decoder : module;
}

TransformerOptions ModelOptions::transformer() {
  TransformerOptions options;
  const auto base_of = [&](ChildRole child) {
    return joined_modules(base_, *module_of_child(family_.layouts.model, kind_name::kTransformer, child));
  };
  const StackInFile encoder =
      stack_in_file(kind_name::kEncoder, family_.layouts.model, base_of(ChildRole::Encoder), false);
  add_encoder_layers(encoder, options.encoder);
  set_stack(encoder, options.encoder);
  const StackInFile decoder =
      stack_in_file(kind_name::kDecoder, family_.layouts.model, base_of(ChildRole::Decoder), true);
  add_decoder_layers(decoder, options.decoder);
  set_stack(decoder, options.decoder);
  const int64_t size = hidden_size(decoder);
  if (options.encoder.audio || has_own_tables()) {
    options.decoder.output = output_options(size, module_of(decoder, ChildRole::Embedding));
    return options;
  }
  const std::string embedding = shared_embedding();
  options.embedding = embedding_options(embedding, size);
  options.output = output_options(size, embedding);
  return options;
}

}  // namespace heed
