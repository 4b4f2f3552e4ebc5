// SPDX-License-Identifier: Apache-2.0
// Which layers of a model have a window, and its size.
#include "families/load_accept.h"
#include "families/rules.h"

namespace heed {
namespace {

std::optional<int64_t> count_of(float number) {
  return number == 0 ? std::nullopt : std::optional(static_cast<int64_t>(number));
}

// The size of the window of layers that have one. Null says that there is none.
std::optional<int64_t> window_size(const AttentionPlace& place) {
  const Windows& windows = place.family.windows;
  const Setting name = windows.size.name == Setting::None ? Setting::SlidingWindow : windows.size.name;
  const std::optional<int64_t> by_default = count_of(windows.size.otherwise);
  if (windows.pattern != WindowPattern::Listed) {
    if (place.settings.is_left_out(name) && by_default) return by_default;
    return place.settings.count({name});
  }
  const std::optional<int64_t> stated = place.settings.count({name});
  return stated ? stated : by_default;
}

// attention_layers lists the kind of each layer; attention_types lists the kinds that repeat.
std::optional<bool> is_listed_as_local(const AttentionPlace& place) {
  const std::optional<int64_t> layer = place.path.layer();
  if (!layer) return std::nullopt;
  std::string_view kind = place.settings.text(Setting::AttentionLayers, *layer);
  if (kind.empty()) {
    const std::string kinds = std::string(name_of(Setting::AttentionTypes)) + ".0.0.";
    const auto kind_at = [&](int64_t i) { return place.settings.text_at(kinds + std::to_string(i)); };
    int64_t num_kinds = 0;
    while (!kind_at(num_kinds).empty()) ++num_kinds;
    if (num_kinds == 0) return std::nullopt;
    kind = kind_at(*layer % num_kinds);
  }
  return kind == "local";
}

// The number of layers in a pattern: by the settings, which mean the same in all families, or the record's if it has that
// pattern.
std::optional<int64_t> layers_in(const AttentionPlace& place, WindowPattern pattern,
                                 std::initializer_list<Setting> names) {
  const std::optional<int64_t> stated = place.settings.count(names);
  const Windows& windows = place.family.windows;
  return stated || windows.pattern != pattern ? stated : count_of(windows.every.otherwise);
}

std::optional<double> border_layer(const AttentionPlace& place) {
  const Windows& windows = place.family.windows;
  std::optional<double> border;
  if (!windows.ignores_max_window_layers) border = place.settings.number(Setting::MaxWindowLayers);
  const bool has_default =
      windows.pattern == WindowPattern::FromLayer || windows.pattern == WindowPattern::EveryOtherBefore;
  return border || !has_default ? border : std::optional(static_cast<double>(windows.every.otherwise));
}

// The window counts the query's own token. In some models half of it is on each side.
int64_t keys_on_a_side(const AttentionPlace& place, int64_t size) {
  const HalfWindow half = place.family.windows.half;
  const bool is_halved = half == HalfWindow::Always ||
                         (half == HalfWindow::BothWays && place.settings.is_set(Setting::UseBidirectionalAttention));
  return is_halved ? size / 2 : size - 1;
}

}  // namespace

bool uses_windows(const AttentionPlace& place) {
  if (!window_size(place)) return false;
  const WindowUse use = place.family.windows.use;
  return use == WindowUse::Always ||
         place.settings.flag(Setting::UseSlidingWindow).value_or(use == WindowUse::UnlessUnset);
}

std::optional<bool> is_windowed(const AttentionPlace& place) {
  const WindowPattern pattern = place.family.windows.pattern;
  if (pattern == WindowPattern::Listed) return is_listed_as_local(place);
  const ModelSettings& settings = place.settings;
  const std::optional<int64_t> layer = place.path.layer();
  const bool has_types = !settings.text(Setting::LayerTypes, 0).empty();
  if (has_types && layer) return settings.text(Setting::LayerTypes, *layer) == "sliding_attention";
  const std::optional<int64_t> first_of =
      layers_in(place, WindowPattern::FirstIsFull, {Setting::GlobalAttnEveryNLayers});
  const std::optional<int64_t> last_of =
      layers_in(place, WindowPattern::LastIsFull, {Setting::SlidingWindowPattern, Setting::SlidingWindowPatternNow});
  // EXAONE 4 may have a text in place of the number, such as "LLLG".
  const bool is_text = !settings.text(Setting::SlidingWindowPattern).empty();
  const std::optional<double> border = border_layer(place);
  if (!has_types && !first_of && !last_of && !is_text && !border) return true;
  if (!layer || is_text) return std::nullopt;
  if (first_of) return *layer % *first_of != 0;
  if (last_of) return (*layer + 1) % *last_of != 0;
  const auto index = static_cast<double>(*layer);
  if (pattern == WindowPattern::EveryOtherBefore) return *layer % 2 == 0 && index < *border;
  return index >= *border;
}

void read_window(const AttentionPlace& place, ModelAttention& attention) {
  if (place.family.is_known) attention.window = ModelWindow();
  if (place.path.is_cross() || place.is_in_vision_tower()) return;
  const std::optional<bool> windowed = uses_windows(place) ? is_windowed(place) : false;
  if (!windowed) {
    attention.window.reset();
    attention.unknown.push_back(feature::kWindow);
  } else if (*windowed) {
    // In transformers such a model's window is one key wider on each side. No golden values show it yet.
    const bool is_usually_causal = !place.family.is_known || place.family.attention.causal == CausalRule::Always;
    if (is_usually_causal && place.settings.is_cleared(Setting::IsCausal)) attention.add(unsupported::kAttention);
    const int64_t side = keys_on_a_side(place, *window_size(place));
    attention.window = ModelWindow{side, attention.causal.value_or(true) ? -1 : side};
  }
}

}  // namespace heed
