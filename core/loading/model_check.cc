// SPDX-License-Identifier: Apache-2.0
#include "loading/model_check.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdint>
#include <set>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "families/model_numbers.h"
#include "families/model_rope.h"

namespace heed {
namespace {

constexpr const char* kEitherSide =
    ", expected " CONSTANT("HEED_RELATIVE_BIAS_BOTH_WAYS") " or " CONSTANT("HEED_RELATIVE_BIAS_ONE_WAY");
// Longer lists end with the number of the remaining findings.
constexpr size_t kMaxListed = 4;

const char* causal_text(Alignment causal) {
  switch (causal) {
    case Alignment::None: break;
    case Alignment::TopLeft: return CONSTANT("HEED_CAUSAL_TOP_LEFT");
    case Alignment::BottomRight: return CONSTANT("HEED_CAUSAL_BOTTOM_RIGHT");
  }
  return CONSTANT("HEED_CAUSAL_NONE");
}

double scale_of(const LayerAttention& layer) {
  if (layer.options.scale != 0) return double{layer.options.scale};
  return 1 / std::sqrt(static_cast<double>(layer.head_size));
}

ModelWindow window_of(const LayerAttention& layer) {
  if (layer.options.window == Alignment::None) return {};
  return {std::max<int64_t>(layer.options.window_left, -1), std::max<int64_t>(layer.options.window_right, -1)};
}

// For example "options->window_left 3 and options->window_right unlimited"; `verb` goes before the first number.
std::string sides_text(const ModelWindow& window, const char* verb) {
  const auto side = [](int64_t size) { return size < 0 ? std::string("unlimited") : std::to_string(size); };
  return std::string(OPTION("window_left") " ") + verb + side(window.left) + " and " OPTION("window_right") " " +
         side(window.right);
}

const char* alibi_text(AlibiUse alibi) {
  switch (alibi) {
    case AlibiUse::None: break;
    case AlibiUse::Added: return CONSTANT("HEED_ALIBI_ADDED");
    case AlibiUse::Scaled: return CONSTANT("HEED_ALIBI_SCALED");
  }
  return CONSTANT("HEED_ALIBI_NONE");
}

const char* relative_bias_text(RelativeBias kind) {
  switch (kind) {
    case RelativeBias::None: break;
    case RelativeBias::BothWays: return CONSTANT("HEED_RELATIVE_BIAS_BOTH_WAYS");
    case RelativeBias::OneWay: return CONSTANT("HEED_RELATIVE_BIAS_ONE_WAY");
  }
  return CONSTANT("HEED_RELATIVE_BIAS_NONE");
}

const char* norm_text(QkNorm norm) {
  return norm == QkNorm::Layer ? CONSTANT("HEED_QK_NORM_LAYER") : CONSTANT("HEED_QK_NORM_RMS");
}

bool is_unlimited(const ModelWindow& window) { return window.left < 0 && window.right < 0; }

// For example "rotary positions (by model_type "llama" in config.json)".
std::string text_of(const UnsupportedFeature& unsupported, const ModelAttention& model) {
  return std::string(unsupported.text) + " (by " + model.source + ")";
}

// The names that would let the file load, each once: `; with accept "rotary" it is loaded all the same`.
template <typename Findings>
std::string accept_text(const LoadAccept& accept, const Findings& findings) {
  std::string names;
  std::set<std::string> seen;
  for (const auto& finding : findings) {
    if (seen.insert(finding.accept).second) names += (names.empty() ? "" : ", ") + shown(finding.accept);
  }
  return accept.offer(names);
}

}  // namespace

ModelCheck::ModelCheck(const SafetensorsFile& file, std::string_view prefix, const LayerAttention& layer,
                       const std::vector<ModelAttention>& attentions, const std::vector<LackingWeight>& lacking,
                       const LoadAccept& accept)
    : file_(file), prefix_(prefix), layer_(layer), attentions_(attentions), lacking_(lacking), accept_(accept) {}

std::string_view ModelCheck::below(std::string_view name) const {
  const bool is_below = name.starts_with(prefix_) && name.size() > prefix_.size() && !prefix_.empty();
  return is_below ? name.substr(prefix_.size() + 1) : name;
}

bool ModelCheck::lacks(std::string_view feature) const {
  return std::any_of(lacking_.begin(), lacking_.end(),
                     [&](const LackingWeight& weight) { return feature == weight.feature; });
}

// The options that the file's tensors need, each once.
std::vector<ModelCheck::Finding> ModelCheck::lacking_options() const {
  std::vector<Finding> found;
  std::set<std::string_view> seen;
  for (const auto& [name, feature] : lacking_) {
    if (accept_.has_tensor(name, below(name)) || accept_.has(feature) || !seen.insert(feature).second) continue;
    std::vector<Finding> by_model;
    for (const ModelAttention& model : attentions_) {
      if (!by_model.empty()) break;
      if (feature == feature::kQkNorm && model.qk_norm) add_norm(*model.qk_norm, by_model);
      if (feature == feature::kRelativeBias && model.relative_bias) add_relative_bias(*model.relative_bias, by_model);
      if (feature == feature::kRotary) add_rotary(model, by_model);
    }
    std::string text = option_text(feature) + ", expected ";
    if (!by_model.empty()) {
      text = by_model.front().brief.empty() ? by_model.front().text : by_model.front().brief;
    } else if (feature == feature::kQkNorm) {
      text += "the norm's epsilon";
    } else if (feature == feature::kSinks) {
      text += FLAG("sinks", "1");
    } else if (feature == feature::kRotary) {
      text += "rotary positions";
    } else {
      text = option_text(feature) + kEitherSide;
    }
    found.push_back({text + ", for " + in_quotes(name), std::string(feature)});
  }
  return found;
}

void ModelCheck::require_supported(const std::vector<UnsupportedTensor>& tensors) const {
  std::vector<Finding> findings;
  std::set<std::string_view> features;
  std::string_view layout_name;
  for (const auto& [name, its_layout] : tensors) {
    const std::string name_below(below(name));
    if (accept_.has_tensor(name, name_below)) continue;
    const char* feature = feature_of_tensor(name_below);
    findings.push_back({in_quotes(file_.name_in_file(name)),
                        std::string(feature == nullptr ? LoadAccept::name_to_offer(name, name_below) : feature)});
    if (feature != nullptr) features.insert(feature);
    if (layout_name.empty()) layout_name = its_layout;
  }
  const size_t num_tensors = findings.size();
  for (const ModelAttention& model : attentions_) {
    for (const UnsupportedFeature& unsupported : model.unsupported) {
      if (accept_.has(unsupported.feature) || !features.insert(unsupported.feature).second) continue;
      findings.push_back({text_of(unsupported, model), std::string(unsupported.feature)});
    }
  }
  if (findings.empty()) return;

  std::string text = in_quotes(file_.path());
  if (num_tensors > 0) {
    text += " has " + findings.front().text + ", which changes what " +
            std::string(layout_name == kOwnLayout ? "this " WORD("layer") : layout_name) +
            " computes, and heed has no option for it";
  } else {
    text += " has attention with " + findings.front().text + ", and heed has no option for it";
  }
  const std::string ending = accept_text(accept_, findings);
  const auto add_with_room = [&](const std::string& more) {
    if (size_in_c(text) + size_in_c(more) + size_in_c(ending) < kErrorCapacity) text += more;
  };
  for (size_t i = 1; i < std::min(findings.size(), kMaxListed); ++i)
    add_with_room((i == 1 ? ", nor for " : ", ") + findings[i].text);
  if (findings.size() > kMaxListed) add_with_room(" and " + std::to_string(findings.size() - kMaxListed) + " more");
  if (size_in_c(text) + size_in_c(ending) < kErrorCapacity) text += ending;
  // Different options remain an error after accepting, so list them too.
  std::string source;
  const char* separator = "; besides, ";
  for (const Finding& difference : differences(source)) {
    if (size_in_c(text) + std::string_view(separator).size() + size_in_c(difference.text) >= kErrorCapacity) break;
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
    add(feature::kCausal, *model.causal ? CONSTANT("HEED_CAUSAL_TOP_LEFT") " or " CONSTANT("HEED_CAUSAL_BOTTOM_RIGHT")
                                        : CONSTANT("HEED_CAUSAL_NONE"));
  if (model.scale && !is_close(scale_of(layer_), *model.scale)) add(feature::kScale, number_text(*model.scale));
  if (model.soft_cap && !is_close(double{layer_.options.soft_cap}, *model.soft_cap))
    add(feature::kSoftCap, number_text(*model.soft_cap));
  if (model.window) {
    const ModelWindow window = window_of(layer_);
    // With a causal mask the right side of the window has no effect.
    if (window.left != model.window->left || (!is_causal && window.right != model.window->right))
      add(feature::kWindow, is_unlimited(*model.window) ? CONSTANT("HEED_WINDOW_NONE") : sides_text(*model.window, ""));
  }
  add_positions(model, found);
  return found;
}

bool ModelCheck::uses(std::string_view feature) const {
  if (feature == feature::kRotary) return layer_.rope.has_value();
  if (feature == feature::kAlibi) return layer_.alibi != AlibiUse::None;
  if (feature == feature::kRelativeBias) return layer_.relative_bias.kind != RelativeBias::None;
  if (feature == feature::kQkNorm) return layer_.qk_norm_epsilon > 0;
  return true;
}

void ModelCheck::add_positions(const ModelAttention& model, std::vector<Finding>& found) const {
  // Options that the file's own tensors need are in lacking_options.
  const auto is_compared = [&](const char* feature) { return !accept_.has(feature) && !lacks(feature); };
  if (model.is_rotary && is_compared(feature::kRotary)) add_rotary(model, found);
  if (model.alibi && *model.alibi != layer_.alibi && is_compared(feature::kAlibi))
    found.push_back({option_text(feature::kAlibi) + ", expected " + alibi_text(*model.alibi), feature::kAlibi});
  if (model.relative_bias && is_compared(feature::kRelativeBias)) add_relative_bias(*model.relative_bias, found);
  if (model.qk_norm && layer_.qk_norm_epsilon > 0 && is_compared(feature::kQkNorm)) add_norm(*model.qk_norm, found);
  if (model.sinks && *model.sinks != layer_.sinks && is_compared(feature::kSinks))
    found.push_back(
        {option_text(feature::kSinks) + ", expected " + (*model.sinks ? FLAG("sinks", "1") : FLAG("sinks", "0")),
         feature::kSinks});
  if (model.has_relative_bias_of_a_side && !uses(feature::kRelativeBias) && is_compared(feature::kRelativeBias))
    found.push_back({option_text(feature::kRelativeBias) + kEitherSide, feature::kRelativeBias});
  if (model.is_alibi_or_rotary && !uses(feature::kAlibi) && !uses(feature::kRotary) && is_compared(feature::kAlibi) &&
      is_compared(feature::kRotary)) {
    found.push_back({OPTION("alibi") " is " CONSTANT("HEED_ALIBI_NONE") " and " OPTION("rope") " is " WORD(
                         "NULL") ", expected one of them, which the model's config.json tells",
                     feature::kRotary});
  }
}

void ModelCheck::add_rotary(const ModelAttention& model, std::vector<Finding>& found) const {
  if (!model.is_rotary) return;
  const auto add = [&](std::string text) { found.push_back({std::move(text), feature::kRotary}); };
  if (!*model.is_rotary) {
    if (layer_.rope) add(OPTION("rope") " is set, expected " WORD("NULL"));
  } else if (!layer_.rope) {
    const std::string brief = OPTION("rope") " is " WORD("NULL") ", expected rotary positions";
    const std::string text =
        model.rope ? OPTION("rope") " is " WORD("NULL") ", expected " + members_text(*model.rope) : brief;
    found.push_back({text, feature::kRotary, brief});
  } else if (model.rope) {
    for (std::string& text : heed::differences(*layer_.rope, *model.rope)) add(std::move(text));
  } else if (model.layout != RotaryLayout::None && layer_.rope->layout != model.layout) {
    const bool is_half = model.layout == RotaryLayout::Half;
    add(std::string(OPTION("rope->layout") " is ") +
        (is_half ? CONSTANT("HEED_ROPE_INTERLEAVED") : CONSTANT("HEED_ROPE_HALF")) + ", expected " +
        (is_half ? CONSTANT("HEED_ROPE_HALF") : CONSTANT("HEED_ROPE_INTERLEAVED")));
  }
}

void ModelCheck::add_relative_bias(const RelativeBiasOptions& expected, std::vector<Finding>& found) const {
  const RelativeBiasOptions& is = layer_.relative_bias;
  const auto add = [&](std::string text) { found.push_back({std::move(text), feature::kRelativeBias}); };
  if (is.kind != expected.kind) {
    std::string text = option_text(feature::kRelativeBias) + ", expected " + relative_bias_text(expected.kind);
    if (expected.num_buckets != 0)
      text += ", " OPTION("relative_bias_buckets") " " + std::to_string(expected.num_buckets);
    if (expected.max_distance != 0)
      text += ", " OPTION("relative_bias_max_distance") " " + std::to_string(expected.max_distance);
    return add(std::move(text));
  }
  const auto compare = [&](const char* member, int64_t number, int64_t wanted) {
    if (wanted == 0 || number == wanted) return;
    add(marked(Role::Option, member) + " is " + std::to_string(number) + ", expected " + std::to_string(wanted));
  };
  compare("relative_bias_buckets", is.num_buckets, expected.num_buckets);
  compare("relative_bias_max_distance", is.max_distance, expected.max_distance);
}

void ModelCheck::add_norm(const ModelQkNorm& expected, std::vector<Finding>& found) const {
  const auto epsilon = static_cast<double>(layer_.qk_norm_epsilon);
  if (!is_close(epsilon, expected.epsilon)) {
    found.push_back(
        {option_text(feature::kQkNorm) + ", expected " + DecimalText(expected.epsilon).c_str(), feature::kQkNorm});
  }
  if (layer_.qk_norm != expected.kind) {
    found.push_back(
        {std::string(OPTION("qk_norm") " is ") + norm_text(layer_.qk_norm) + ", expected " + norm_text(expected.kind),
         feature::kQkNorm});
  }
}

std::vector<ModelCheck::Finding> ModelCheck::differences(std::string& source) const {
  std::vector<Finding> all = lacking_options();
  if (!all.empty()) source = attentions_.empty() ? "its tensors" : attentions_.front().source;
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
  if (feature == feature::kNumHeads) return OPTION("num_heads") " is " + std::to_string(layer_.num_heads);
  if (feature == feature::kNumKvHeads) return OPTION("num_kv_heads") " is " + std::to_string(layer_.num_kv_heads);
  if (feature == feature::kHeadSize) return OPTION("head_size") " is " + std::to_string(layer_.head_size);
  if (feature == feature::kCausal) return std::string(OPTION("causal") " is ") + causal_text(layer_.options.causal);
  if (feature == feature::kScale) return OPTION("scale") " is " + number_text(scale_of(layer_));
  if (feature == feature::kSoftCap) return OPTION("soft_cap") " is " + number_text(double{layer_.options.soft_cap});
  if (feature == feature::kRotary)
    return layer_.rope ? members_text(*layer_.rope) : std::string(OPTION("rope") " is " WORD("NULL"));
  if (feature == feature::kAlibi) return std::string(OPTION("alibi") " is ") + alibi_text(layer_.alibi);
  if (feature == feature::kSinks)
    return std::string(OPTION("sinks") " is ") + (layer_.sinks ? FLAG("sinks", "1") : FLAG("sinks", "0"));
  if (feature == feature::kQkNorm)
    return std::string(OPTION("qk_norm_epsilon") " is ") +
           DecimalText(static_cast<double>(layer_.qk_norm_epsilon)).c_str();
  if (feature == feature::kRelativeBias)
    return std::string(OPTION("relative_bias") " is ") + relative_bias_text(layer_.relative_bias.kind);
  const ModelWindow window = window_of(layer_);
  return is_unlimited(window) ? OPTION("window") " is " CONSTANT("HEED_WINDOW_NONE") : sides_text(window, "is ");
}

void ModelCheck::require_options() const {
  std::string source;
  const std::vector<Finding> all = differences(source);
  if (all.empty()) return;
  std::string text = in_quotes(file_.path()) + " is of a model with other options by " + source + ": ";
  const std::string ending = accept_text(accept_, all);
  const auto fits = [&](const std::string& more) {
    return size_in_c(text) + size_in_c(more) + size_in_c(ending) < kErrorCapacity;
  };
  const char* separator = "";
  for (const Finding& finding : all) {
    const bool is_first = &finding == &all.front();
    const bool is_long = !fits(separator + finding.text) && !finding.brief.empty();
    const std::string more = separator + (is_long ? finding.brief : finding.text);
    if (is_first || fits(more)) text += more;
    separator = "; ";
  }
  if (fits("")) text += ending;
  fail(Status::InvalidArgument, "%s", text.c_str());
}

void ModelCheck::warn(const Logger& logger, const char* function) const {
  const auto is_decided = [&](std::string_view feature) {
    return std::any_of(attentions_.begin(), attentions_.end(), [&](const ModelAttention& model) {
      if (model.is_one_of_several) return false;
      if (feature == feature::kCausal) return model.causal.has_value();
      if (feature == feature::kScale) return model.scale.has_value();
      if (feature == feature::kSoftCap) return model.soft_cap.has_value();
      if (feature == feature::kRotary)
        return model.rope.has_value() && model.rope->options.layout != RotaryLayout::None;
      if (feature == feature::kAlibi) return model.alibi.has_value();
      if (feature == feature::kQkNorm) return model.qk_norm.has_value();
      if (feature == feature::kRelativeBias)
        return model.relative_bias.has_value() && model.relative_bias->max_distance != 0;
      return model.window.has_value();
    });
  };
  std::string features;
  std::string options;
  std::set<std::string_view> seen;
  const ModelAttention* first = nullptr;
  for (const ModelAttention& model : attentions_) {
    for (const char* feature : model.unknown) {
      // Whether there are rotary positions may be what is not known.
      const bool may_be_rotary =
          feature == std::string_view(feature::kRotary) && !model.is_rotary && !model.is_alibi_or_rotary;
      const bool is_of_layer = uses(feature) || may_be_rotary;
      if (accept_.has(feature) || is_decided(feature) || !is_of_layer || !seen.insert(feature).second) continue;
      if (first == nullptr) first = &model;
      features += (features.empty() ? "" : ", ") + std::string(feature);
      options += (options.empty() ? "" : ", ") + option_text(feature);
    }
  }
  if (first == nullptr) return;
  log(logger, LogLevel::Warning, FUNCTION("%s") ": %s does not say its model's %s, by %s: %s", function,
      in_quotes(file_.path()).c_str(), features.c_str(), first->source.c_str(), options.c_str());
}

void require_first_row(const SafetensorsFile& file, int64_t layer_first_row, std::optional<int64_t> expected,
                       const LoadAccept& accept) {
  if (!expected || *expected == layer_first_row || accept.has(feature::kFirstRow)) return;
  fail(Status::InvalidArgument,
       "%s is of a model with other options by config.json: " OPTION("first_row") " is %" PRId64 ", expected %" PRId64
                                                                                  "%s",
       in_quotes(file.path()).c_str(), layer_first_row, *expected, accept.offer(feature::kFirstRow).c_str());
}

void require_linear_form(const SafetensorsFile& file, const SafetensorsEntry& weight, const SafetensorsEntry* bias,
                         const LoadAccept& accept) {
  if (accept.has(feature::kConv1d) || weight.shape.rank != 2) return;
  // The bias is as long as `out`, which tells the two forms apart unless the weight is square.
  const bool is_square = weight.shape[0] == weight.shape[1];
  if (!is_square && bias != nullptr && bias->shape.rank == 1 && bias->shape[0] == weight.shape[0]) return;
  fail(Status::Unsupported,
       "%s in %s is Conv1D's by its name, whose weights are (in, out): expected (out, in), so transpose it first%s",
       in_quotes(weight.name).c_str(), in_quotes(file.path()).c_str(),
       accept.offer(feature::kConv1d, "it is read as (out, in)").c_str());
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
