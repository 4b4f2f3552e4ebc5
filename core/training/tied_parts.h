// SPDX-License-Identifier: Apache-2.0
// The layers and tensors that an optimizer belongs to since its steps, and the names that their parameters have in it.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/host_allocator.h"
#include "training/step_part.h"

namespace heed {

class TiedParts {  // NOLINT(bugprone-exception-escape)
 public:
  explicit TiedParts(const HostAllocator& allocator) : parts_(allocator), names_(allocator) {}

  bool is_empty() const { return parts_.empty(); }
  // What they are in messages: "layer" or "parts".
  const char* kind() const;
  // The full names of all parameters: the prefix of the part, and the name in its layer. In one part they are adjacent and in
  // order.
  std::span<const HostString> names() const { return names_; }

  // The index of the part's first name; nothing if it is not tied. `likely`: the number that it probably has among the parts.
  // Throws InvalidArgument if another layer or tensor is tied by this prefix or name, or this one by another, also where the
  // tied one is gone.
  std::optional<size_t> find(const StepPart& part, size_t likely) const;
  // Ties a part that is not tied.
  void add(const StepPart& part);
  void clear() noexcept;

  // Calls visit(prefix) for each prefix of a group that the parameter with names()[index] belongs to: the beginnings of its name
  // before dots, the name, the part's prefix, and that without "." or "_" at its end.
  template <typename Visit>
  void for_each_prefix(size_t index, const Visit& visit) const {
    const std::string_view name = names_[index];
    visit(std::string_view());
    for (size_t dot = name.find('.'); dot != std::string_view::npos; dot = name.find('.', dot + 1))
      visit(name.substr(0, dot));
    visit(name);
    const std::string_view prefix = prefix_of(index);
    visit(prefix);
    if (prefix.ends_with('.') || prefix.ends_with('_')) visit(prefix.substr(0, prefix.size() - 1));
  }

 private:
  struct Part {  // NOLINT(bugprone-exception-escape)
    HostString prefix;
    bool is_layer;
    // The layer, or the storage of the tensor with its first element.
    const void* object;
    const void* data;
    std::weak_ptr<const void> owner;
    size_t first_name;
  };

  // A layer has its prefix, a tensor its full name.
  bool has_key_of(const Part& tied, const StepPart& part) const;
  std::string_view prefix_of(size_t index) const;
  [[noreturn]] void fail_of(const Part& tied, const StepPart& part) const;

  HostVector<Part> parts_;
  HostVector<HostString> names_;
};

}  // namespace heed
