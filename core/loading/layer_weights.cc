// SPDX-License-Identifier: Apache-2.0
#include "loading/layer_weights.h"

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"
#include "families/load_accept.h"
#include "families/model_config.h"
#include "families/model_family.h"
#include "loading/file_context.h"
#include "loading/layer_children.h"
#include "loading/model_check.h"
#include "loading/unknown_tensors.h"

namespace heed {
namespace {

// Parameters that share a tensor in equal parts must have equal sizes.
void check_parts(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                 const std::string& shown_path) {
  for (size_t i = 0; i < found.size(); ++i) {
    const auto first =
        std::find_if(found.begin(), found.end(), [&](const FoundWeight& other) { return other.name == found[i].name; });
    const Parameter& one = parameters[static_cast<size_t>(first - found.begin())];
    const int64_t rows_of_one = one.expected_shape(keeps_form)[0];
    const int64_t rows = parameters[i].expected_shape(keeps_form)[0];
    if (rows == rows_of_one || found[i].source.packing != Packing::Equal) continue;
    fail(Status::InvalidArgument,
         "\"%s\" in \"%s\" holds equal parts for %s and %s, but this " WORD(
             "layer") "'s have %" PRId64 " and %" PRId64
                      " rows: expected options with as many key and value heads as query heads, of one size",
         shown(found[i].name).c_str(), shown_path.c_str(), one.name(), parameters[i].name(), rows_of_one, rows);
  }
}

// Norms that multiply by 1 + weight.
void set_norms_plus_one(FoundWeights& found, std::span<const Parameter> parameters,
                        const std::vector<ModelAttention>& models) {
  const bool adds_one = std::any_of(models.begin(), models.end(), [](const ModelAttention& model) {
    return model.qk_norm.has_value() && model.qk_norm->adds_one;
  });
  // heed's own files have the parameters themselves.
  if (!adds_one || found.layout_name == kOwnLayout) return;
  for (size_t i = 0; i < found.weights.size(); ++i)
    found.weights[i].adds_one = parameters[i].possible().feature == ParameterFeature::QkNorm;
}

// A tensor of rotary frequencies, as old files have, says what the options of rotary positions say.
void move_rotary_tensors(std::vector<UnsupportedTensor>& changing, bool is_rotary,
                         std::vector<LackingWeight>& lacking) {
  std::erase_if(changing, [&](const UnsupportedTensor& tensor) {
    if (!tensor.name.ends_with("inv_freq")) return false;
    if (!is_rotary) lacking.push_back({tensor.name, feature::kRotary});
    return true;
  });
}

// Fails if the tensor with queries, keys and values may be packed in another way than its layout says.
void require_known_packing(const SafetensorsFile& file, std::string_view prefix, const FoundWeights& found,
                           const std::optional<ModelConfig>& config, const std::string& besides) {
  for (const FoundWeight& weight : found.weights) {
    if (weight.source.packing == Packing::Equal) continue;
    std::string_view module = weight.source.name;
    module = module.substr(0, module.find('.'));
    if (is_packing_known(prefix, module, config)) continue;
    fail(Status::Unsupported,
         "%s has %s, and how it packs queries, keys and values is not known of its model: expected the projections "
         "apart, as \"W_q.weight\", \"W_k.weight\" and \"W_v.weight\"%s",
         in_quotes(file.path()).c_str(), in_quotes(weight.name).c_str(), besides.c_str());
  }
}

// Fails if the attention is of a family that no record knows: then neither names nor settings say what it computes.
void require_known_family(const SafetensorsFile& file, std::string_view prefix,
                          const std::optional<ModelConfig>& config, const LoadAccept& accept) {
  const std::string model_type = unknown_model_type(prefix, config);
  if (model_type.empty() || accept.has(feature::kModelType)) return;
  fail(Status::Unsupported,
       "%s is of model_type %s by config.json, a family that heed does not know: expected one of docs/weights.md; with "
       "accept \"%s\" only its settings are compared",
       in_quotes(file.path()).c_str(), in_quotes(model_type).c_str(), feature::kModelType);
}

// Throws if a found tensor's shape or dtype does not fit its parameter. `patch`: LayerDescription::patch.
void check_found(const SafetensorsFile& file, const Layer& layer, const FoundWeights& found, const Shape& patch) {
  const std::span<const Parameter> parameters = layer.parameters();
  const std::string shown_path = shown(file.path());
  const bool keeps_form = layer.is_initialized();
  check_parts(found.weights, parameters, keeps_form, shown_path);
  for (size_t i = 0; i < found.weights.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const FoundWeight& weight = found.weights[i];
    const SafetensorsEntry& entry = *file.find(weight.name);
    const std::string shown_name = "\"" + shown(entry.name) + "\" in \"" + shown_path + "\"";
    const Shape expected = stored_shape(weight.source, parameter.expected_shape(keeps_form), parameter.num_heads(),
                                        packed_rows(found.weights, parameters, keeps_form, weight.name), patch);
    parameter.check(entry.shape, entry.dtype, expected, shown_name.c_str());
  }
}

// For a layer with parameters of its own.
FoundWeights find_own(const Layer& layer, const LayerDescription& description, const SafetensorsFile& file,
                      std::string_view given_prefix, const LoadOptions& options, const AroundLayer& around) {
  const std::string_view prefix = without_separator(file, given_prefix);
  const LoadAccept accept(options.accept, options.offers_accept);
  const SharedConfig shared_config(file, accept, options);
  const std::optional<ModelConfig>& config = shared_config.get();

  const LayerAttention& attention = description.attention;
  std::vector<ModelAttention> models;
  if (attention.is_multi_head) models = configured_attentions(prefix, config, attention.head_size);
  const std::string note = unsupported_note(models);
  FoundWeights found = find_weights(file, prefix, layer.parameters(), layer.possible_parameters(),
                                    {.bias_option = around.bias_option, .biases = description.biases, .besides = note});
  require_known_packing(file, prefix, found, config, note);
  if (attention.is_multi_head) models = model_attentions(file, prefix, found.layout_name, config, attention.head_size);
  if (attention.is_multi_head) require_known_family(file, prefix, config, accept);
  set_norms_plus_one(found, layer.parameters(), models);
  std::vector<UnsupportedTensor> changing = found.changing;
  if (description.reads_whole_module) {
    OtherTensors unlisted = other_tensors(file, prefix, found);
    std::ranges::move(unlisted.unknown, std::back_inserter(changing));
    // Otherwise a layer that has this one as a child would report them as tensors that nothing reads.
    std::ranges::move(unlisted.unread, std::back_inserter(found.known));
    std::ranges::sort(found.known);
  }
  if (attention.is_multi_head) move_rotary_tensors(changing, attention.rope.has_value(), found.lacking);
  const ModelCheck check(file, prefix, attention, models, found.lacking, accept);
  check.require_supported(changing);
  if (description.first_row) require_first_row(file, *description.first_row, first_row_of(prefix, config), accept);
  if (description.is_linear && is_named_conv1d(prefix) && !has_linear_modules(prefix, config)) {
    const SafetensorsEntry* bias = found.weights.size() > 1 ? file.find(found.weights[1].name) : nullptr;
    require_linear_form(file, *file.find(found.weights[0].name), bias, accept);
  }
  // Before the shapes: other options explain other shapes.
  check.require_options();
  check_found(file, layer, found, description.patch);
  check.warn(layer.context()->logger(), options.function);
  found.is_norm = description.is_norm;
  return found;
}

}  // namespace

PackedRows packed_rows(std::span<const FoundWeight> found, std::span<const Parameter> parameters, bool keeps_form,
                       const std::string& name) {
  PackedRows rows;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].name != name || found[i].source.num_parts == 1) continue;
    rows.parts[found[i].source.part] = parameters[i].expected_shape(keeps_form)[0];
    if (found[i].source.part == 1) rows.num_kv_heads = parameters[i].num_heads();
  }
  return rows;
}

FoundWeights find_weights_of(const Layer& layer, const SafetensorsFile& file, std::string_view prefix,
                             const LoadOptions& options, const AroundLayer& around) {
  if (layer.parameters().empty()) return {kOwnLayout, {}};
  const LayerDescription description = layer.describe();
  if (layer.num_own_parameters() == 0) return find_in_children(layer, description, file, prefix, options, around);
  return find_own(layer, description, file, prefix, options, around);
}

}  // namespace heed
