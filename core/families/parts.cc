// SPDX-License-Identifier: Apache-2.0
// The parts of layers that some models of a family have and others lack: biases and gates.
#include "base/shown_text.h"
#include "families/rules.h"

namespace heed {
namespace {

// The text that says whether there is a gate, as "gated-gelu"; "": another setting says it.
std::string_view text_of_gate(const ModelSettings& settings, const FeedForwardRules& rules) {
  return rules.older_says_gate ? settings.text(rules.older_activation) : std::string_view();
}

// Which part of layers the parameter is of. Norms and what is around layers have a "bias" alone.
const Has& part_of(const Family& family, std::string_view parameter) {
  if (parameter == "W_gate.weight") return family.feed_forward.gate;
  if (parameter == "W_o.bias") return family.attention.output_bias;
  if (parameter == "bias") return family.norms.biases;
  if (!parameter.starts_with("W_") || !parameter.ends_with(".bias")) return kAlways;
  const char projection = parameter[2];
  return projection == 'q' || projection == 'k' || projection == 'v' ? family.attention.qkv_biases
                                                                     : family.feed_forward.biases;
}

}  // namespace

bool has_part(const ModelSettings& settings, const Has& has) {
  switch (has.when) {
    case Has::When::Never:
    case Has::When::InFile: return false;
    case Has::When::Always: return true;
    case Has::When::BySetting: break;
  }
  return settings.flag(has.by).value_or(has.otherwise);
}

bool has_gate(const ModelSettings& settings, const FeedForwardRules& rules) {
  const std::string_view text = text_of_gate(settings, rules);
  return text.empty() ? has_part(settings, rules.gate) : text.starts_with("gated-");
}

std::string setting_for(const ModelSettings& settings, const Family& family, std::string_view parameter) {
  const Has& has = part_of(family, parameter);
  if (has.when != Has::When::BySetting) return "";
  const std::string_view text = text_of_gate(settings, family.feed_forward);
  if (&has == &family.feed_forward.gate && !text.empty())
    return std::string("with \"") + name_of(family.feed_forward.older_activation) + "\" " + in_quotes(text);
  return std::string("with \"") + name_of(has.by) + "\" true" +
         (settings.is_left_out(has.by) ? ", which is the default" : "");
}

}  // namespace heed
