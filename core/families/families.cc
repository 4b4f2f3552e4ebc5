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

constexpr Family kUnknown = {.attention = {.causal = CausalRule::IfSaid, .scale = ScaleRule::IfSaid},
                             .is_known = false};

constexpr bool are_of_whole_models(std::span<const Family> families) {
  return std::ranges::is_sorted(families, {}, &Family::model_types) &&
         std::ranges::all_of(families, [](const Family& family) {
           return family.kind != ModelKind::None && knows_blocks(family) && family.sizes.layers != Setting::None &&
                  family.sizes.heads != Setting::None;
         });
}
static_assert(are_of_whole_models(records::kEncoders));
static_assert(are_of_whole_models(records::kDecoders));
static_assert(are_of_whole_models(records::kTransformers));

}  // namespace

std::array<std::span<const Family>, 4> all_families() {
  return {records::kEncoders, records::kDecoders, records::kTransformers, records::kAttentions};
}

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
  for (const std::span<const Family> families : all_families()) {
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
