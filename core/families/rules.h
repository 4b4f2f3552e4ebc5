// SPDX-License-Identifier: Apache-2.0
// The rules that say, by a family's record and a configuration, what one attention of a model computes. Each is in a file
// of its own and true of all families: what they differ in is in their records.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "families/family.h"
#include "families/model_attention.h"
#include "families/model_settings.h"
#include "families/module_path.h"

namespace heed {

// An attention in a model.
struct AttentionPlace {
  const ModelSettings& settings;
  const ModulePath& path;
  const Family& family;
  int64_t head_size;  // the layer's

  // Of a model whose own settings describe a decoder.
  bool is_in_vision_tower() const {
    return family.is_known && family.attention.causal == CausalRule::Always && path.is_of_vision();
  }
};

// Each sets its members of the attention, and adds what is unknown or unsupported.
void read_heads(const AttentionPlace& place, ModelAttention& attention);
void read_positions(const AttentionPlace& place, ModelAttention& attention);
void read_qk_norm(const AttentionPlace& place, ModelAttention& attention);
void read_unsupported(const AttentionPlace& place, ModelAttention& attention);
void read_causal(const AttentionPlace& place, ModelAttention& attention);
void read_scale(const AttentionPlace& place, ModelAttention& attention);
void read_soft_cap(const AttentionPlace& place, ModelAttention& attention);
// After read_causal.
void read_window(const AttentionPlace& place, ModelAttention& attention);

// Whether layers of the model have windows.
bool uses_windows(const AttentionPlace& place);
// Whether this layer has a window, in a model that uses windows; empty if that depends on the layer's index and the path
// contains no index.
std::optional<bool> is_windowed(const AttentionPlace& place);

// The cap on scores or logits that the setting says; 0: none.
double soft_cap(const ModelSettings& settings, Setting name, const From& by_record);

// The row of position 0 in the table of positions; nothing if it is not known.
std::optional<int64_t> first_row(const Family& family, const ModelSettings& settings);

// Whether the family packs queries, keys and values in a module of that name.
bool packs_in(const Family& family, std::string_view module);
// The same of an attention of that path.
bool packs_in(const Family& family, std::string_view module, const ModulePath& attention);

// Whether a tensor of this name outside a model's modules adds nothing to it.
bool is_spare_tensor(const Family& family, std::string_view name);
// The same for files of any model: the version of fairseq's class.
bool is_version_of_class(std::string_view name);

}  // namespace heed
