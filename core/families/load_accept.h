// SPDX-License-Identifier: Apache-2.0
// Parses LoadOptions::accept: what a caller accepts in a file although the layer does not compute it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "families/model_config.h"
#include "tensor/safetensors.h"

namespace heed {

// The names in `accept`. Each stands for something that a model's attention may compute and the layer's options lack or
// contradict. docs/weights.md explains them.
namespace feature {
inline constexpr const char* kAlibi = "alibi";
inline constexpr const char* kAttention = "attention";  // another kind of attention
inline constexpr const char* kBlock = "block";          // norms and activations
inline constexpr const char* kCausal = "causal";
inline constexpr const char* kClipQkv = "clip_qkv";
inline constexpr const char* kConfig = "config";  // a config.json that cannot be read
inline constexpr const char* kConv1d = "conv1d";
inline constexpr const char* kFirstRow = "first_row";
inline constexpr const char* kHeadSize = "head_size";
inline constexpr const char* kModelType = "model_type";  // of a family that heed does not know
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

// The feature that a tensor with this name belongs to; NULL if unknown.
const char* feature_of_tensor(std::string_view name);

class LoadAccept {
 public:
  // `list`: names separated by commas; spaces around a name are ignored. The text must outlive this object. `is_offered`:
  // whether the called function has the option accept, so that error sentences may recommend it.
  explicit LoadAccept(std::string_view list, bool is_offered = true);

  bool has(std::string_view name) const;
  // Whether a tensor is accepted by its feature, its full name, its name below the prefix, or the end of one, which is more than
  // "weight" or "bias". `name_below`: the end of `name`, without the prefix.
  bool has_tensor(std::string_view name, std::string_view name_below) const;

  // The end of a sentence of what may be accepted: `; with accept "rotary" it is loaded all the same`, or nothing if the
  // caller cannot.
  std::string offer(std::string_view names, const char* then = "it is loaded all the same") const;
  // Which of these names of a tensor every layer around it accepts.
  static std::string_view name_to_offer(std::string_view name, std::string_view name_below);
  // The list of what is no setting of the configuration, with names of tensors as they are without the prefix of the file.
  std::string for_file(const ModelConfig& config, std::string_view prefix) const;
  bool is_offered() const { return is_offered_; }

  // Throws InvalidArgument for a name that is neither a feature nor the full name of a tensor in the file, nor its name
  // below a module, nor a setting of the configuration, which may be null.
  void check(const SafetensorsFile& file, const ModelConfig* config) const;

 private:
  bool is_offered_;
  std::vector<std::string_view> names_;
};

}  // namespace heed
