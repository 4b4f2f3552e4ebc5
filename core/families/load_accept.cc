// SPDX-License-Identifier: Apache-2.0
#include "families/load_accept.h"

#include <algorithm>

#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

constexpr const char* kFeatures[] = {
    feature::kAlibi,    feature::kAttention,  feature::kBlock,    feature::kCausal,       feature::kClipQkv,
    feature::kConfig,   feature::kConv1d,     feature::kFirstRow, feature::kHeadSize,     feature::kModelType,
    feature::kNumHeads, feature::kNumKvHeads, feature::kQkNorm,   feature::kRelativeBias, feature::kRotary,
    feature::kScale,    feature::kSinks,      feature::kSoftCap,  feature::kWindow,
};

// A tensor whose name contains `piece` belongs to the feature `name`.
constexpr struct {
  const char* piece;
  const char* name;
} kPieces[] = {
    {"inv_freq", feature::kRotary},
    {"rotary", feature::kRotary},
    {"rope", feature::kRotary},
    {"sinks", feature::kSinks},
    {"relative_position", feature::kRelativeBias},
    {"relative_attention", feature::kRelativeBias},
    {"position_bias", feature::kRelativeBias},
    {"relative_bias", feature::kRelativeBias},
    {"distance_embedding", feature::kRelativeBias},
    {"rel_pos", feature::kRelativeBias},
    {"rel_attn", feature::kRelativeBias},
    {"emb_rel", feature::kRelativeBias},
    {"q_norm", feature::kQkNorm},
    {"k_norm", feature::kQkNorm},
    {"q_layernorm", feature::kQkNorm},
    {"k_layernorm", feature::kQkNorm},
    {"q_layer_norm", feature::kQkNorm},
    {"k_layer_norm", feature::kQkNorm},
    {"query_layernorm", feature::kQkNorm},
    {"key_layernorm", feature::kQkNorm},
};

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

bool has_module(std::string_view end) { return end.find_first_of("./") != std::string_view::npos; }

// Whether a tensor's name ends with that of something in a module.
bool is_end_of(std::string_view end, std::string_view name) {
  constexpr std::string_view kSeparators = "./_";
  return name.size() > end.size() && name.ends_with(end) &&
         kSeparators.find(name[name.size() - end.size() - 1]) != std::string_view::npos;
}

// "weight" alone would accept every tensor.
bool is_of_many(std::string_view end) { return end == "weight" || end == "bias"; }

// Whether the name ends with these parts of a path.
bool ends_in(std::string_view name, std::string_view end) {
  return is_end_of(end, name) && (has_module(end) || name[name.size() - end.size() - 1] != '_');
}

}  // namespace

const char* feature_of_tensor(std::string_view name) {
  for (const auto& row : kPieces) {
    if (name.find(row.piece) != std::string_view::npos) return row.name;
  }
  return nullptr;
}

LoadAccept::LoadAccept(std::string_view list, bool is_offered) : is_offered_(is_offered) {
  while (!list.empty()) {
    const size_t comma = std::min(list.find(','), list.size());
    const std::string_view name = trimmed(list.substr(0, comma));
    if (!name.empty()) names_.push_back(name);
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
}

bool LoadAccept::has(std::string_view name) const {
  return std::find(names_.begin(), names_.end(), name) != names_.end();
}

bool LoadAccept::has_tensor(std::string_view name, std::string_view name_below) const {
  const char* feature = feature_of_tensor(name_below);
  return (feature != nullptr && has(feature)) || has(name_below) || has(name) ||
         std::ranges::any_of(names_, [&](std::string_view end) { return !is_of_many(end) && ends_in(name, end); });
}

std::string LoadAccept::for_file(const ModelConfig& config, std::string_view prefix) const {
  std::string names;
  for (std::string_view name : names_) {
    if (config.has(name)) continue;
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
    names += (names.empty() ? "" : ",") + std::string(name);
  }
  return names;
}

std::string_view LoadAccept::name_to_offer(std::string_view name, std::string_view name_below) {
  return is_of_many(name_below) ? name : name_below;
}

std::string LoadAccept::offer(std::string_view names, const char* then) const {
  return is_offered_ ? "; with accept \"" + std::string(names) + "\" " + then : "";
}

void LoadAccept::check(const SafetensorsFile& file, const ModelConfig* config) const {
  const auto is_end_of_a_name = [&](std::string_view end) {
    for (size_t i = 0; i < file.num_tensors(); ++i) {
      if (is_end_of(end, file.name(i))) return true;
    }
    return false;
  };
  for (const std::string_view name : names_) {
    if (std::find(std::begin(kFeatures), std::end(kFeatures), name) != std::end(kFeatures) || file.contains(name) ||
        is_end_of_a_name(name) || (config != nullptr && config->has(name)))
      continue;
    std::string features;
    for (const char* known : kFeatures) features += (features.empty() ? "" : ", ") + std::string(known);
    fail(Status::InvalidArgument, "accept has \"%s\", expected a name in \"%s\" or one of \"%s\"", shown(name).c_str(),
         shown(file.path()).c_str(), features.c_str());
  }
}

}  // namespace heed
