// SPDX-License-Identifier: Apache-2.0
#include "families/families.h"

#include <algorithm>

#include "families/attention_families.h"
#include "families/decoder_families.h"
#include "families/each_setting.h"
#include "families/encoder_families.h"
#include "families/transformer_families.h"

namespace heed {
namespace {

constexpr Family kModelFamilies[] = {
    records::kAlbert,     records::kBart,       records::kBert,    records::kCamembert, records::kClipText,
    records::kDistilBert, records::kElectra,    records::kGemma,   records::kGemma2,    records::kGemma3Text,
    records::kGpt2,       records::kGranite,    records::kLlama,   records::kMarian,    records::kMBart,
    records::kMistral,    records::kModernBert, records::kMT5,     records::kOpt,       records::kPhi3,
    records::kQwen2,      records::kQwen3,      records::kRoberta, records::kT5,        records::kViT,
    records::kWhisper,    records::kXlmRoberta,
};

constexpr Family kAttentionFamilies[] = {
    records::kOtherBerts,    records::kOtherRobertas, records::kDeit,        records::kClipVision,
    records::kOtherEncoders, records::kTextsOfTwo,    records::kPlbart,      records::kOtherTransformers,
    records::kOtherDecoders, records::kOtherGpt2s,    records::kGpt1,        records::kGptBigCode,
    records::kGptNeo,        records::kUmT5,          records::kOtherT5s,    records::kLongT5,
    records::kMpnet,         records::kRelative,      records::kExaone4,     records::kGptNeoX,
    records::kGptOss,        records::kMinistral,     records::kMixtral,     records::kOlmo3,
    records::kPersimmon,     records::kPhi,           records::kQwen2Moe,    records::kQwen3Moe,
    records::kSmolLm3,       records::kStableLm,      records::kVaultGemma,  records::kOtherHalves,
    records::kCohere,        records::kCohere2,       records::kGlm,         records::kOthersInTurn,
    records::kRoFormer,      records::kQwen25Vl,      records::kOtherRotary, records::kRotaryEncoders,
    records::kAxes,          records::kFalcon,        records::kBloom,       records::kMpt,
    records::kGemma3n,       records::kLongformer,    records::kOthers,
};

constexpr Family kUnknown = {.attention = {.causal = CausalRule::IfSaid, .scale = ScaleRule::IfSaid},
                             .is_known = false};

static_assert(std::ranges::is_sorted(kModelFamilies, {}, &Family::model_types));
static_assert(std::ranges::all_of(kModelFamilies, [](const Family& family) {
  return family.kind != ModelKind::None && knows_blocks(family) && family.sizes.layers != Setting::None &&
         family.sizes.heads != Setting::None;
}));

}  // namespace

std::span<const Family> model_families() { return kModelFamilies; }
std::span<const Family> attention_families() { return kAttentionFamilies; }

bool is_of(const Family& family, std::string_view model_type) {
  std::string_view names = family.model_types;
  while (!names.empty()) {
    const size_t end = std::min(names.find(' '), names.size());
    if (names.substr(0, end) == model_type) return true;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
  return false;
}

const Family& family_of(std::string_view model_type) {
  for (const std::span<const Family> families : {model_families(), attention_families()}) {
    for (const Family& family : families) {
      if (is_of(family, model_type)) return family;
    }
  }
  return kUnknown;
}

const Family* model_family_of(std::string_view model_type) {
  const Family& family = family_of(model_type);
  return family.kind == ModelKind::None ? nullptr : &family;
}

bool has_setting(const Family& family, Setting setting) {
  bool has = false;
  for_each_setting(family, [&](Setting one) { has = has || one == setting; });
  return has;
}

}  // namespace heed
