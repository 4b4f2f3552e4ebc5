// SPDX-License-Identifier: Apache-2.0
// The settings in a record. Each struct of family.h is taken apart into all its members, so that a new member does not
// compile until it is listed here.
#pragma once

#include "families/family.h"

namespace heed {

template <typename F>
constexpr void for_each_setting(Setting setting, const F& f) {
  if (setting != Setting::None) f(setting);
}

template <typename F>
constexpr void for_each_setting(const From& from, const F& f) {
  const auto& [name, older, otherwise] = from;
  for_each_setting(name, f);
  for_each_setting(older, f);
}

template <typename F>
constexpr void for_each_setting(const Has& has, const F& f) {
  const auto& [when, by] = has;
  for_each_setting(by, f);
}

// The members that name settings, one after another.
template <typename F, typename... Members>
constexpr void for_settings_of(const F& f, const Members&... members) {
  (for_each_setting(members, f), ...);
}

template <typename F>
constexpr void for_each_setting(const SizeSettings& sizes, const F& f) {
  const auto& [layers, heads, decoder_layers, decoder_heads, kv_heads, head_size, other_layers] = sizes;
  for_settings_of(f, layers, heads, decoder_layers, decoder_heads, kv_heads, head_size, other_layers);
}

template <typename F>
constexpr void for_each_setting(const Norms& norms, const F& f) {
  const auto& [epsilon, kind, place, place_by, biases, weights_by, none_at_end_by, adds_one, also_behind_parts,
               none_before_first] = norms;
  for_settings_of(f, epsilon.name, place_by, biases, weights_by, none_at_end_by);
}

template <typename F>
constexpr void for_each_setting(const FeedForwardRules& feed_forward, const F& f) {
  const auto& [activation, older_activation, gate, biases, older_says_gate, has_experts, usual] = feed_forward;
  for_settings_of(f, activation, older_activation, gate, biases);
}

template <typename F>
constexpr void for_each_setting(const AttentionRules& attention, const F& f) {
  const auto& [scale_by, soft_cap, both_ways, qkv_biases, output_bias, no_key_bias, causal, scale, qk_norm, key_heads,
               sinks, tower_has_windows] = attention;
  for_settings_of(f, scale_by, soft_cap, both_ways, qkv_biases, output_bias, Setting::IsCausal);
  if (causal == CausalRule::IfDecoder) for_settings_of(f, Setting::IsDecoder);
  if (scale == ScaleRule::Gpt2) for_settings_of(f, Setting::ScaleAttnWeights, Setting::ScaleAttnByInverseLayerIdx);
}

template <typename F>
constexpr void for_each_setting(const Positions& positions, const F& f) {
  const auto& [base, window_base, part, buckets, distance, layout, kind, first_row, only_with_window,
               yarn_is_longrope] = positions;
  for_settings_of(f, base, window_base, part, buckets, distance);
  for_settings_of(f, Setting::PositionEmbeddingType);
  if (first_row == FirstRow::AfterPadding) for_settings_of(f, Setting::PadTokenId);
  if (is_rotary(positions)) for_settings_of(f, Setting::RopeParameters, Setting::RopeScaling);
}

template <typename F>
constexpr void for_each_setting(const Windows& windows, const F& f) {
  const auto& [size, every, list, pattern, use, half, ignores_max_window_layers] = windows;
  for_settings_of(f, size, every, list);
  if (size.name != Setting::None && use != WindowUse::Always) for_settings_of(f, Setting::UseSlidingWindow);
}

template <typename F>
constexpr void for_each_setting(const EmbeddingRules& embedding, const F& f) {
  const auto& [factor_by, shared_by, factor, projection, input, token_types, norm] = embedding;
  for_settings_of(f, factor_by, shared_by);
  if (input == ModelInput::Images) for_settings_of(f, Setting::ImageSize);
}

template <typename F>
constexpr void for_each_setting(const Head& head, const F& f) {
  const auto& [soft_cap, divisor, scaled_by, tied_by, is_tied, bias] = head;
  for_settings_of(f, soft_cap, divisor, scaled_by, tied_by, bias);
}

// Calls f(setting) for each setting in the record; for some twice.
template <typename F>
constexpr void for_each_setting(const Family& family, const F& f) {
  const auto& [model_types, unsupported, packed_in, layouts, norms, attention, positions, windows, embedding, head,
               feed_forward, sizes, residual_factor, spare, kind, is_known, has_conv1d, shares_layers] = family;
  for_settings_of(f, norms, attention, positions, windows, embedding, head, feed_forward, sizes, residual_factor,
                  spare);
  if (shares_layers) for_settings_of(f, Setting::NumHiddenGroups, Setting::InnerGroupNum);
}

}  // namespace heed
