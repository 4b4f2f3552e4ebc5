// SPDX-License-Identifier: Apache-2.0
// The modules in the prefix of a layer's tensors, such as "model.layers.3.self_attn".
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Modules of cross attention, whose keys and values come from another sequence.
inline constexpr const char* kCrossNames[] = {"encoder_attn", "crossattention",  "EncDecAttention",
                                              "cross_attn",   "cross_attention", "encoder_attention"};

// The stack of a Transformer that a module is in, as far as the path says.
enum class StackKind { Unknown, Encoder, Decoder };

// "decoder" for "model.decoder", nothing for "model".
inline std::string_view without_first_module(std::string_view module) {
  const size_t dot = module.find('.');
  return dot == std::string_view::npos ? "" : module.substr(dot + 1);
}

// The modules in the prefix of an attention.
class ModulePath {
 public:
  explicit ModulePath(std::string_view prefix) {
    while (!prefix.empty()) {
      const size_t end = std::min(prefix.find_first_of("./"), prefix.size());
      parts_.push_back(prefix.substr(0, end));
      prefix.remove_prefix(std::min(end + 1, prefix.size()));
    }
  }

  const std::vector<std::string_view>& parts() const { return parts_; }
  bool has(std::string_view part) const { return std::find(parts_.begin(), parts_.end(), part) != parts_.end(); }

  // Whether the path ends in these modules; "#" matches a number.
  bool ends_with(std::initializer_list<std::string_view> ending) const {
    return ends_with(std::span<const std::string_view>(ending.begin(), ending.size()));
  }
  bool ends_with(std::span<const std::string_view> ending) const {
    if (ending.size() > parts_.size()) return false;
    return std::equal(ending.begin(), ending.end(), parts_.end() - static_cast<std::ptrdiff_t>(ending.size()),
                      [](std::string_view wanted, std::string_view part) {
                        return wanted == "#" ? is_number(part) : wanted == part;
                      });
  }

  bool is_cross() const {
    return std::any_of(std::begin(kCrossNames), std::end(kCrossNames), [&](const char* name) { return has(name); });
  }

  // Whether the path is in a vision model, which may have the same model_type as the whole model.
  bool is_of_vision() const {
    return std::any_of(parts_.begin(), parts_.end(), [](std::string_view part) {
      return part.starts_with("vision") || part.starts_with("visual") || part.starts_with("image");
    });
  }

  // The innermost "decoder" or "encoder", since one model may contain the decoder of another.
  StackKind stack_kind() const {
    for (size_t i = parts_.size(); i-- > 0;) {
      if (parts_[i] == "decoder") return StackKind::Decoder;
      if (parts_[i] == "encoder") return StackKind::Encoder;
    }
    return StackKind::Unknown;
  }

  // The index of the layer: the first number in the path.
  std::optional<int64_t> layer() const {
    for (const std::string_view part : parts_) {
      if (is_number(part)) return std::stoll(std::string(part));
    }
    return std::nullopt;
  }

 private:
  static bool is_number(std::string_view part) {
    constexpr size_t kMostDigits = 9;
    return !part.empty() && part.size() <= kMostDigits &&
           std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
  }

  std::vector<std::string_view> parts_;
};

}  // namespace heed
