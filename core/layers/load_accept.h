// SPDX-License-Identifier: Apache-2.0
// What a caller accepts of a file although the layer does not compute it: LoadOptions::accept, taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tensor/safetensors.h"

namespace heed {

// What a model's attention may compute beyond a layer's options, or otherwise than they say, by the names that `accept`
// takes. docs/weights.md explains each.
namespace feature {
inline constexpr const char* kAlibi = "alibi";
inline constexpr const char* kAttention = "attention";  // attention of another kind altogether
inline constexpr const char* kCausal = "causal";
inline constexpr const char* kClipQkv = "clip_qkv";
inline constexpr const char* kConfig = "config";  // a config.json that cannot be read
inline constexpr const char* kConv1d = "conv1d";
inline constexpr const char* kHeadSize = "head_size";
inline constexpr const char* kNumHeads = "num_heads";
inline constexpr const char* kNumKvHeads = "num_kv_heads";
inline constexpr const char* kQkNorm = "qk_norm";
inline constexpr const char* kRelativeBias = "relative_bias";
inline constexpr const char* kRotary = "rotary";
inline constexpr const char* kScale = "scale";
inline constexpr const char* kSinks = "sinks";
inline constexpr const char* kSoftCap = "soft_cap";
inline constexpr const char* kWindow = "window";
}  // namespace feature

// The feature that a tensor of this name belongs to; NULL for none that is known.
const char* feature_of_tensor(std::string_view name);

class LoadAccept {
 public:
  // `list`: names separated by commas; spaces around them do not count. It must outlive this.
  explicit LoadAccept(std::string_view list);

  bool has(std::string_view name) const;
  // By its feature, its whole name or its name below the prefix, which ends where `name_below` begins in it.
  bool has_tensor(std::string_view name, std::string_view name_below) const;

  // Throws InvalidArgument for a name that is neither a feature nor a tensor of the file, whole or below the prefix.
  void check(const SafetensorsFile& file, std::string_view prefix) const;

 private:
  std::vector<std::string_view> names_;
};

}  // namespace heed
