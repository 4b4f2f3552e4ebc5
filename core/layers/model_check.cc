// SPDX-License-Identifier: Apache-2.0
#include "layers/model_check.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

// Options are floats, and callers round their scale in different ways.
constexpr double kScaleTolerance = 1e-5;
// Longer lists end with the number of the remaining findings.
constexpr size_t kMaxListed = 4;

std::string number_text(double value) { return DecimalText(value, 9).c_str(); }

const char* causal_text(Alignment causal) {
  switch (causal) {
    case Alignment::None: break;
    case Alignment::TopLeft: return "HEED_CAUSAL_TOP_LEFT";
    case Alignment::BottomRight: return "HEED_CAUSAL_BOTTOM_RIGHT";
  }
  return "HEED_CAUSAL_NONE";
}

double scale_of(const LayerAttention& layer) {
  if (layer.options.scale != 0) return double{layer.options.scale};
  return 1 / std::sqrt(static_cast<double>(layer.head_size));
}

bool is_close(double a, double b) { return std::abs(a - b) <= kScaleTolerance * std::abs(b); }

ModelWindow window_of(const LayerAttention& layer) {
  if (layer.options.window == Alignment::None) return {};
  return {std::max<int64_t>(layer.options.window_left, -1), std::max<int64_t>(layer.options.window_right, -1)};
}

// For example "options->window_left 3 and options->window_right unlimited"; `verb` goes before the first number.
std::string sides_text(const ModelWindow& window, const char* verb) {
  const auto side = [](int64_t size) { return size < 0 ? std::string("unlimited") : std::to_string(size); };
  return std::string("options->window_left ") + verb + side(window.left) + " and options->window_right " +
         side(window.right);
}

bool is_unlimited(const ModelWindow& window) { return window.left < 0 && window.right < 0; }

// For example "rotary positions (by model_type "llama" in config.json)".
std::string text_of(const UnsupportedFeature& unsupported, const ModelAttention& model) {
  return std::string(unsupported.text) + " (by " + model.source + ")";
}

// The names that would let the file load, each once: `; with accept "rotary" it is loaded all the same`.
template <typename Findings>
std::string accept_text(const Findings& findings) {
  std::string names;
  std::set<std::string> seen;
  for (const auto& finding : findings) {
    if (seen.insert(finding.accept).second) names += (names.empty() ? "" : ", ") + shown(finding.accept);
  }
  return "; with accept \"" + names + "\" it is loaded all the same";
}

}  // namespace

ModelCheck::ModelCheck(const SafetensorsFile& file, std::string_view prefix, const LayerAttention& layer,
                       const std::vector<ModelAttention>& attentions, const LoadAccept& accept)
    : file_(file), prefix_(prefix), layer_(layer), attentions_(attentions), accept_(accept) {}

void ModelCheck::require_supported(const std::vector<UnsupportedTensor>& tensors) const {
  std::vector<Finding> findings;
  std::set<std::string> features;
  std::string_view title;
  for (const auto& [name, its_title] : tensors) {
    const std::string below = name.starts_with(prefix_) && name.size() > prefix_.size() && !prefix_.empty()
                                  ? name.substr(prefix_.size() + 1)
                                  : name;
    if (accept_.has_tensor(name, below)) continue;
    const char* feature = feature_of_tensor(below);
    findings.push_back({in_quotes(name), feature == nullptr ? below : feature});
    if (feature != nullptr) features.insert(feature);
    if (title.empty()) title = its_title;
  }
  const size_t num_tensors = findings.size();
  for (const ModelAttention& model : attentions_) {
    for (const UnsupportedFeature& unsupported : model.unsupported) {
      if (accept_.has(unsupported.feature) || !features.insert(unsupported.feature).second) continue;
      findings.push_back({text_of(unsupported, model), unsupported.feature});
    }
  }
  if (findings.empty()) return;

  std::string text = in_quotes(file_.path());
  if (num_tensors > 0) {
    text += " has " + findings.front().text + ", which changes what " +
            std::string(title == kOwnTitle ? "this layer" : title) + " computes, and heed has no option for it";
  } else {
    text += " has attention with " + findings.front().text + ", and heed has no option for it";
  }
  const std::string ending = accept_text(findings);
  const auto add_with_room = [&](const std::string& more) {
    if (text.size() + more.size() + ending.size() < kErrorCapacity) text += more;
  };
  for (size_t i = 1; i < std::min(findings.size(), kMaxListed); ++i)
    add_with_room((i == 1 ? ", nor for " : ", ") + findings[i].text);
  if (findings.size() > kMaxListed) add_with_room(" and " + std::to_string(findings.size() - kMaxListed) + " more");
  if (text.size() + ending.size() < kErrorCapacity) text += ending;
  // Different options remain an error after accepting, so list them too.
  std::string source;
  const char* separator = "; besides, ";
  for (const Finding& difference : differences(source)) {
    if (text.size() + std::string_view(separator).size() + difference.text.size() >= kErrorCapacity) break;
    text += separator + difference.text;
    separator = "; ";
  }
  fail(Status::Unsupported, "%s", text.c_str());
}

std::vector<ModelCheck::Finding> ModelCheck::differences_of(const ModelAttention& model) const {
  std::vector<Finding> found;
  const auto add = [&](const char* feature, const std::string& expected) {
    if (!accept_.has(feature)) found.push_back({option_text(feature) + ", expected " + expected, feature});
  };
  const auto compare = [&](const char* feature, const std::optional<int64_t>& expected, int64_t is) {
    if (expected && *expected != is) add(feature, std::to_string(*expected));
  };
  compare(feature::kNumHeads, model.num_heads, layer_.num_heads);
  compare(feature::kNumKvHeads, model.num_kv_heads, layer_.num_kv_heads);
  compare(feature::kHeadSize, model.head_size, layer_.head_size);
  const bool is_causal = layer_.options.causal != Alignment::None;
  if (model.causal && *model.causal != is_causal)
    add(feature::kCausal, *model.causal ? "HEED_CAUSAL_TOP_LEFT or HEED_CAUSAL_BOTTOM_RIGHT" : "HEED_CAUSAL_NONE");
  if (model.scale && !is_close(scale_of(layer_), *model.scale)) add(feature::kScale, number_text(*model.scale));
  if (model.soft_cap && !is_close(double{layer_.options.soft_cap}, *model.soft_cap))
    add(feature::kSoftCap, number_text(*model.soft_cap));
  if (model.window) {
    const ModelWindow window = window_of(layer_);
    // With a causal mask the right side of the window has no effect.
    if (window.left != model.window->left || (!is_causal && window.right != model.window->right))
      add(feature::kWindow, is_unlimited(*model.window) ? "HEED_WINDOW_NONE" : sides_text(*model.window, ""));
  }
  return found;
}

std::vector<ModelCheck::Finding> ModelCheck::differences(std::string& source) const {
  std::vector<Finding> all;
  std::vector<Finding> of_alternatives;
  std::string source_of_alternatives;
  bool fits_one = false;
  bool has_alternatives = false;
  for (const ModelAttention& model : attentions_) {
    std::vector<Finding> found = differences_of(model);
    if (model.is_one_of_several) {
      has_alternatives = true;
      fits_one = fits_one || found.empty();
      if (!of_alternatives.empty()) continue;
      of_alternatives = std::move(found);
      source_of_alternatives = model.source;
    } else if (!found.empty()) {
      if (source.empty()) source = model.source;
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  if (has_alternatives && !fits_one) {
    if (all.empty()) source = source_of_alternatives;
    all.insert(all.end(), of_alternatives.begin(), of_alternatives.end());
  }
  return all;
}

std::string ModelCheck::option_text(std::string_view feature) const {
  if (feature == feature::kNumHeads) return "options->num_heads is " + std::to_string(layer_.num_heads);
  if (feature == feature::kNumKvHeads) return "options->num_kv_heads is " + std::to_string(layer_.num_kv_heads);
  if (feature == feature::kHeadSize) return "options->head_size is " + std::to_string(layer_.head_size);
  if (feature == feature::kCausal) return std::string("options->causal is ") + causal_text(layer_.options.causal);
  if (feature == feature::kScale) return "options->scale is " + number_text(scale_of(layer_));
  if (feature == feature::kSoftCap) return "options->soft_cap is " + number_text(double{layer_.options.soft_cap});
  const ModelWindow window = window_of(layer_);
  return is_unlimited(window) ? "options->window is HEED_WINDOW_NONE" : sides_text(window, "is ");
}

void ModelCheck::require_options() const {
  std::string source;
  const std::vector<Finding> all = differences(source);
  if (all.empty()) return;
  std::string text =
      in_quotes(file_.path()) + " is of a model with other options by " + source + ": " + all.front().text;
  const std::string ending = accept_text(all);
  for (size_t i = 1; i < all.size(); ++i) {
    const std::string more = "; " + all[i].text;
    if (text.size() + more.size() + ending.size() < kErrorCapacity) text += more;
  }
  if (text.size() + ending.size() < kErrorCapacity) text += ending;
  fail(Status::InvalidArgument, "%s", text.c_str());
}

void ModelCheck::warn(const Logger& logger, const char* function) const {
  const auto is_decided = [&](std::string_view feature) {
    return std::any_of(attentions_.begin(), attentions_.end(), [&](const ModelAttention& model) {
      if (model.is_one_of_several) return false;
      if (feature == feature::kCausal) return model.causal.has_value();
      if (feature == feature::kScale) return model.scale.has_value();
      if (feature == feature::kSoftCap) return model.soft_cap.has_value();
      return model.window.has_value();
    });
  };
  std::string features;
  std::string options;
  std::set<std::string_view> seen;
  const ModelAttention* first = nullptr;
  for (const ModelAttention& model : attentions_) {
    for (const char* feature : model.unknown) {
      if (accept_.has(feature) || is_decided(feature) || !seen.insert(feature).second) continue;
      if (first == nullptr) first = &model;
      features += (features.empty() ? "" : ", ") + std::string(feature);
      options += (options.empty() ? "" : ", ") + option_text(feature);
    }
  }
  if (first == nullptr) return;
  log(logger, LogLevel::Warning, "%s: %s does not say its model's %s, by %s: %s", function,
      in_quotes(file_.path()).c_str(), features.c_str(), first->source.c_str(), options.c_str());
}

void require_linear_form(const SafetensorsFile& file, const SafetensorsEntry& weight, const SafetensorsEntry* bias,
                         const LoadAccept& accept) {
  if (accept.has(feature::kConv1d) || weight.shape.rank != 2) return;
  // The bias is as long as `out`, which tells the two forms apart unless the weight is square.
  const bool is_square = weight.shape[0] == weight.shape[1];
  if (!is_square && bias != nullptr && bias->shape.rank == 1 && bias->shape[0] == weight.shape[0]) return;
  fail(Status::Unsupported,
       "%s in %s is Conv1D's by its name, whose weights are (in, out): expected (out, in), so transpose it first; with "
       "accept \"%s\" it is read as (out, in)",
       in_quotes(weight.name).c_str(), in_quotes(file.path()).c_str(), feature::kConv1d);
}

std::string unsupported_note(const std::vector<ModelAttention>& attentions) {
  std::string features;
  std::set<std::string_view> seen;
  for (const ModelAttention& model : attentions) {
    for (const UnsupportedFeature& unsupported : model.unsupported) {
      if (seen.insert(unsupported.feature).second)
        features += (features.empty() ? "" : ", ") + text_of(unsupported, model);
    }
  }
  return features.empty() ? features : "; nor has heed an option for " + features;
}

}  // namespace heed
