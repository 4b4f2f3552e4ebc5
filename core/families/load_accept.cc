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

}  // namespace

const char* feature_of_tensor(std::string_view name) {
  for (const auto& row : kPieces) {
    if (name.find(row.piece) != std::string_view::npos) return row.name;
  }
  return nullptr;
}

LoadAccept::LoadAccept(std::string_view list) {
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
  return (feature != nullptr && has(feature)) || has(name_below) || has(name);
}

void LoadAccept::check(const SafetensorsFile& file, std::string_view prefix) const {
  for (const std::string_view name : names_) {
    if (std::find(std::begin(kFeatures), std::end(kFeatures), name) != std::end(kFeatures) || file.contains(name))
      continue;
    bool is_below = false;
    for (const char separator : {'.', '/', '_'})
      is_below = is_below || file.contains(std::string(prefix) + separator + std::string(name));
    if (is_below) continue;
    std::string features;
    for (const char* known : kFeatures) features += (features.empty() ? "" : ", ") + std::string(known);
    fail(Status::InvalidArgument, "accept has \"%s\", expected a name in \"%s\" or one of \"%s\"", shown(name).c_str(),
         shown(file.path()).c_str(), features.c_str());
  }
}

}  // namespace heed
