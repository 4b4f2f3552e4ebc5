// SPDX-License-Identifier: Apache-2.0
#include "families/named_attention.h"

#include <string>

#include "families/layout_names.h"
#include "families/load_accept.h"
#include "families/module_path.h"
#include "families/unsupported.h"

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
  const StackKind stack = path.has("SelfAttention") ? path.stack_kind() : StackKind::Unknown;
  if (stack == StackKind::Unknown) {
    attention.has_relative_bias_of_a_side = path.has("SelfAttention");
    attention.unknown = {feature::kCausal, feature::kRelativeBias};
    return;
  }
  attention.causal = stack == StackKind::Decoder;
  attention.relative_bias.emplace();
  attention.relative_bias->kind = stack == StackKind::Decoder ? RelativeBias::OneWay : RelativeBias::BothWays;
  attention.unknown = {feature::kRelativeBias};
}

}  // namespace

ModelAttention named_attention(const SafetensorsFile& file, std::string_view prefix, std::string_view layout_name) {
  const ModulePath path(prefix);
  ModelAttention attention;
  const auto is_of = [&](const char* whose) { attention.source = "the names of " + std::string(whose); };
  if (layout_name == layout_name::kLlama || layout_name == layout_name::kPhi3) {
    is_of(layout_name == layout_name::kLlama ? "Hugging Face Llama and its kin" : layout_name::kPhi3);
    attention.unknown = {feature::kScale, feature::kSoftCap, feature::kWindow, feature::kQkNorm};
    if (!path.is_cross()) set_rotary(attention, RotaryLayout::None);
    // Encoders and vision models use the same names and may be bidirectional.
    if (path.is_cross()) {
      attention.causal = false;
    } else if (path.stack_kind() == StackKind::Encoder || path.is_of_vision()) {
      attention.unknown.insert(attention.unknown.begin(), feature::kCausal);
    } else {
      attention.causal = true;
    }
  } else if (layout_name == layout_name::kViT && path.ends_with({"layer", "#", "attention"}) &&
             file.contains(std::string(prefix) + ".o_proj.weight")) {
    is_of("Hugging Face DINOv3");
    attention.add(unsupported::kAxes);
  } else if ((layout_name == layout_name::kViT && path.ends_with({"layers", "#", "attention"})) ||
             (layout_name == layout_name::kTimm && path.ends_with({"blocks", "#", "attn"}))) {
    // Vision models with rotary positions or windows have these names, too.
    is_of(layout_name == layout_name::kTimm ? "timm's ViT, Qwen-VL, EVA and others"
                                            : "Hugging Face ViT, Pixtral and others");
    attention.unknown = {feature::kRotary, feature::kWindow};
  } else if (layout_name == layout_name::kGptNeoX) {
    attention.causal = true;
    if (path.ends_with({"h", "#", "self_attention"})) {
      is_of("Hugging Face Bloom and Falcon");
      attention.is_alibi_or_rotary = true;
      attention.unknown = {feature::kRotary, feature::kAlibi};
    } else {
      is_of(layout_name::kGptNeoX);
      set_rotary(attention, RotaryLayout::Half);
    }
  } else if (layout_name == layout_name::kMpt) {
    is_of(layout_name::kMpt);
    attention.causal = true;
    attention.alibi = AlibiUse::Added;
    attention.unknown = {feature::kScale};
  } else if (layout_name == layout_name::kModernBert) {
    is_of(layout_name::kModernBert);
    attention.causal = false;
    attention.unknown = {feature::kWindow};
    set_rotary(attention, RotaryLayout::Half);
  } else if (layout_name == layout_name::kBart) {
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
  } else if (layout_name == layout_name::kT5) {
    is_of(layout_name::kT5);
    if (path.ends_with({"attn"})) {
      attention.unknown = {feature::kCausal, feature::kScale};
    } else {
      attention.scale = 1;
      name_attention_of_t5(path, attention);
    }
  } else if (layout_name == layout_name::kDistilBert && path.has("attentions")) {
    is_of("Hugging Face XLM and FlauBERT");
    attention.unknown = {feature::kCausal};
  } else if (layout_name == layout_name::kGpt2) {
    is_of(layout_name::kGpt2);
    attention.causal = !path.is_cross();
  } else if (layout_name == layout_name::kBert || layout_name == layout_name::kAlbert) {
    if (path.has("roformer")) {
      is_of("Hugging Face RoFormer");
      set_rotary(attention, RotaryLayout::Interleaved);
    } else if (layout_name == layout_name::kBert || path.ends_with({"self"})) {
      is_of(layout_name::kBert);
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
