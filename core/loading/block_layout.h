// SPDX-License-Identifier: Apache-2.0
// How frameworks name the modules of layers that are made of layers, in the files they write. To support another
// framework, add its modules to the table in block_layout.cc, and the names of their tensors to weight_layout.cc.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "layers/child_role.h"
#include "tensor/safetensors.h"

namespace heed {

// The module of a child.
struct ChildModule {
  // Other: a module that layers of other models have, so that its tensors are left over.
  ChildRole child;
  // Below the module of the layer; '*' stands for the number of a layer. "": the module of the layer itself, whose tensors the
  // child shares with others.
  const char* module;
};

struct BlockLayout {
  const char* name;
  // The kind of the layer, one of kind_names.h; null: any whose children the layout has.
  const char* kind;
  std::span<const ChildModule> modules;
  // Between the modules of a name.
  char separator = '.';
};

// A child whose parameters a file has.
struct ChildInFile {
  const char* name;
  ChildRole role;
  // Of a layer of a stack.
  size_t number;
};

// Where a file has a layer's children.
struct ChildPrefixes {
  // The layouts that fit equally well, the chosen one first. None for a kind without layouts; then prefixes are the
  // children's names.
  std::vector<const BlockLayout*> layouts;
  std::vector<std::string> prefixes;  // of the children, in their order
};

// Recognizes the layout of a layer of this kind by its modules: the one whose modules the file has for most children; of
// several the one of that name, or the first, which is heed's own. `children`: those that have parameters.
ChildPrefixes find_child_prefixes(const SafetensorsFile& file, std::string_view prefix, std::string_view kind,
                                  std::span<const ChildInFile> children, std::string_view layout_name = {});

// The name of a module below a prefix; either may be empty.
std::string joined_modules(std::string_view prefix, std::string_view module, char separator = '.');

// The module of a child in the first layout of that name that has it for layers of this kind; nothing if none has.
// `number`: of a layer of a stack.
std::optional<std::string> module_of_child(std::string_view layout_name, std::string_view kind, ChildRole child,
                                           size_t number = 0);

// Full names of the file's tensors in the modules of the layouts that are in none of `known`, which is sorted: also in the
// modules of children that the layer lacks, as another layer of a stack or a final norm, unless may_be_left(child).
std::vector<std::string> left_over(const SafetensorsFile& file, std::string_view prefix,
                                   std::span<const BlockLayout* const> layouts, std::span<const std::string> known,
                                   const std::function<bool(ChildRole)>& may_be_left);

}  // namespace heed
