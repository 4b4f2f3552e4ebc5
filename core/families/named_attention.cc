// SPDX-License-Identifier: Apache-2.0
#include "families/named_attention.h"

#include <string>

#include "families/family_table.h"
#include "families/layout_titles.h"
#include "families/load_accept.h"
#include "families/module_path.h"

namespace heed {
namespace {

bool has_sibling(const SafetensorsFile& file, std::string_view prefix, std::string_view sibling) {
  const std::string module = std::string(prefix.substr(0, prefix.rfind('.') + 1)) + std::string(sibling) + ".";
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    if (file.name(i).starts_with(module)) return true;
  }
  return false;
}

// The model has rotary positions whose numbers no name tells.
void set_rotary(ModelAttention& attention, RotaryLayout layout) {
  attention.is_rotary = true;
  attention.layout = layout;
  attention.unknown.insert(attention.unknown.begin(), feature::kRotary);
}

// Fills in what the path of one of T5's attentions tells.
void name_attention_of_t5(const ModulePath& path, ModelAttention& attention) {
  if (path.is_cross()) {
    attention.causal = false;
    attention.relative_bias.emplace();
    return;
  }
  const Side side = path.has("SelfAttention") ? path.side() : Side::Unknown;
  if (side == Side::Unknown) {
    attention.has_relative_bias_of_a_side = path.has("SelfAttention");
    attention.unknown = {feature::kCausal, feature::kRelativeBias};
    return;
  }
  attention.causal = side == Side::Decoder;
  attention.relative_bias.emplace();
  attention.relative_bias->kind = side == Side::Decoder ? RelativeBias::OneWay : RelativeBias::BothWays;
  attention.unknown = {feature::kRelativeBias};
}

}  // namespace

ModelAttention named_attention(const SafetensorsFile& file, std::string_view prefix, std::string_view title) {
  const ModulePath path(prefix);
  ModelAttention attention;
  const auto is_of = [&](const char* whose) { attention.source = "the names of " + std::string(whose); };
  if (title == layout_title::kLlama || title == layout_title::kPhi3) {
    is_of(title == layout_title::kLlama ? "Hugging Face Llama and its kin" : layout_title::kPhi3);
    attention.unknown = {feature::kScale, feature::kSoftCap, feature::kWindow, feature::kQkNorm};
    if (!path.is_cross()) set_rotary(attention, RotaryLayout::None);
    // Encoders and vision models use the same names and may be bidirectional.
    if (path.is_cross()) {
      attention.causal = false;
    } else if (path.side() == Side::Encoder || path.is_of_vision()) {
      attention.unknown.insert(attention.unknown.begin(), feature::kCausal);
    } else {
      attention.causal = true;
    }
  } else if (title == layout_title::kViT && path.ends_with({"layer", "#", "attention"}) &&
             file.contains(std::string(prefix) + ".o_proj.weight")) {
    is_of("Hugging Face DINOv3");
    attention.add(unsupported::kAxes);
  } else if (title == layout_title::kGptNeoX) {
    attention.causal = true;
    if (path.ends_with({"h", "#", "self_attention"})) {
      is_of("Hugging Face Bloom and Falcon");
      attention.is_alibi_or_rotary = true;
      attention.unknown = {feature::kRotary, feature::kAlibi};
    } else {
      is_of(layout_title::kGptNeoX);
      set_rotary(attention, RotaryLayout::Half);
    }
  } else if (title == layout_title::kMpt) {
    is_of(layout_title::kMpt);
    attention.causal = true;
    attention.alibi = AlibiUse::Added;
    attention.unknown = {feature::kScale};
  } else if (title == layout_title::kModernBert) {
    is_of(layout_title::kModernBert);
    attention.causal = false;
    attention.unknown = {feature::kWindow};
    set_rotary(attention, RotaryLayout::Half);
  } else if (title == layout_title::kBart) {
    is_of("Hugging Face BART, OPT, GPT-Neo and others");
    if (path.ends_with({"h", "#", "attn"})) {
      is_of("Hugging Face GPT-J");
      attention.causal = true;
      set_rotary(attention, RotaryLayout::Interleaved);
    } else if (path.is_cross()) {
      attention.causal = false;
      attention.unknown = {feature::kScale};
    } else {
      attention.unknown = {feature::kCausal, feature::kScale, feature::kWindow};
    }
  } else if (title == layout_title::kT5) {
    is_of(layout_title::kT5);
    if (path.ends_with({"attn"})) {
      attention.unknown = {feature::kCausal, feature::kScale};
    } else {
      attention.scale = 1;
      name_attention_of_t5(path, attention);
    }
  } else if (title == layout_title::kDistilBert && path.has("attentions")) {
    is_of("Hugging Face XLM and FlauBERT");
    attention.unknown = {feature::kCausal};
  } else if (title == layout_title::kGpt2) {
    is_of(layout_title::kGpt2);
    attention.causal = !path.is_cross();
  } else if (title == layout_title::kBert || title == layout_title::kAlbert) {
    if (path.has("roformer")) {
      is_of("Hugging Face RoFormer");
      set_rotary(attention, RotaryLayout::Interleaved);
    } else if (title == layout_title::kBert || path.ends_with({"self"})) {
      is_of(layout_title::kBert);
      const std::string_view module = path.ends_with({"self"}) ? prefix.substr(0, prefix.rfind('.')) : prefix;
      if (path.is_cross()) {
        attention.causal = false;
      } else if (has_sibling(file, module, "crossattention")) {
        attention.causal = true;
      } else {
        attention.unknown = {feature::kCausal};
      }
    }
  }
  return attention;
}

}  // namespace heed
