// SPDX-License-Identifier: Apache-2.0
// How frameworks name the modules of layers that are made of layers, in the files they write. To support another
// framework, add its modules to the table in block_layout.cc, and the names of their tensors to weight_layout.cc.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/safetensors.h"

namespace heed {

// The module of a child. '*' at the end of both names stands for the same number.
struct ChildModule {
  // Null: a module that layers of other models have, so that its tensors are left over.
  const char* child;
  // Below the module of the layer; "": that module itself, whose tensors the child shares with others.
  const char* module;
};

struct BlockLayout {
  const char* title;
  // The kind of the layer; null: any whose children the layout has.
  const char* kind;
  std::span<const ChildModule> modules;
  // Between the modules of a name.
  char separator = '.';
};

// Where a file has a layer's children.
struct ChildPrefixes {
  // The layouts that fit equally well, the chosen one first. None for a kind without layouts; then prefixes are the
  // children's names.
  std::vector<const BlockLayout*> layouts;
  std::vector<std::string> prefixes;  // of the children, in their order
};

// Recognizes the layout of a layer of this kind by its modules: the one whose modules the file has for most children; of
// several the first, which is heed's own. `children`: the names of the children that have parameters.
ChildPrefixes find_child_prefixes(const SafetensorsFile& file, std::string_view prefix, std::string_view kind,
                                  std::span<const char* const> children);

// The name of a module below a prefix; either may be empty.
std::string joined_modules(std::string_view prefix, std::string_view module, char separator = '.');

// The module of a child in the first layout of that title that has it for layers of this kind; nothing if none has.
std::optional<std::string> module_of_child(std::string_view title, std::string_view kind, std::string_view child);

// Full names of the file's tensors in the modules of the layouts that are in none of `known`, which is sorted: also in the
// modules of children that the layer lacks, as another layer of a stack or a final norm, unless may_be_left(child).
std::vector<std::string> left_over(const SafetensorsFile& file, std::string_view prefix,
                                   std::span<const BlockLayout* const> layouts, std::span<const std::string> known,
                                   const std::function<bool(const char*)>& may_be_left);

}  // namespace heed
