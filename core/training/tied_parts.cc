// SPDX-License-Identifier: Apache-2.0
#include "training/tied_parts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/shown_text.h"
#include "tensor/storage.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

const void* object_of(const StepPart& part) {
  if (part.layer != nullptr) return part.layer;
  return part.gradients->value().storage().get();
}

const void* data_of(const StepPart& part) { return part.layer != nullptr ? nullptr : part.gradients->value().data(); }

std::weak_ptr<const void> owner_of(const StepPart& part) {
  if (part.layer != nullptr) return part.gradients->layer();
  return part.gradients->value().storage();
}

}  // namespace

const char* TiedParts::kind() const { return parts_.size() == 1 && parts_[0].is_layer ? WORD("layer") : "parts"; }

bool TiedParts::has_key_of(const Part& tied, const StepPart& part) const {
  if (tied.is_layer != (part.layer != nullptr)) return false;
  if (tied.is_layer) return tied.prefix == part.prefix;
  const std::string_view name = names_[tied.first_name];
  const std::string_view own = part.parameter_name(0);
  return name.size() == part.prefix.size() + own.size() && name.starts_with(part.prefix) && name.ends_with(own);
}

void TiedParts::fail_of(const Part& tied, const StepPart& part) const {
  const bool is_other = has_key_of(tied, part);
  if (!tied.is_layer) {
    const std::string name = shown(names_[tied.first_name]);
    if (is_other) {
      fail(Status::InvalidArgument,
           "%s is of another " WORD("tensor") " than \"%s\" in earlier steps, expected the same memory for a name",
           part.gradients_name().c_str(), name.c_str());
    }
    fail(Status::InvalidArgument,
         "%s is of the " WORD("tensor") " that was \"%s\" in earlier steps, expected the same name",
         part.gradients_name().c_str(), name.c_str());
  }
  if (!is_other) {
    fail(Status::InvalidArgument,
         "%s has the prefix \"%s\", but \"%s\" in earlier steps, expected the same of a " WORD("layer"),
         part.layer_name().c_str(), shown(part.prefix).c_str(), shown(tied.prefix).c_str());
  }
  if (part.prefix.empty()) {
    fail(Status::InvalidArgument,
         "optimizer is that of another " WORD("layer") " by its earlier steps, expected an optimizer for each");
  }
  fail(
      Status::InvalidArgument,
      "%s is another " WORD("layer") " than that of the prefix \"%s\" in earlier steps, expected the same for a prefix",
      part.layer_name().c_str(), shown(part.prefix).c_str());
}

std::optional<size_t> TiedParts::find(const StepPart& part, size_t likely) const {
  const void* const object = object_of(part);
  const void* const data = data_of(part);
  const auto has_object = [&](const Part& tied) {
    return tied.object == object && tied.data == data && !tied.owner.expired();
  };
  if (likely < parts_.size() && has_key_of(parts_[likely], part) && has_object(parts_[likely]))
    return parts_[likely].first_name;
  for (const Part& tied : parts_) {
    const bool is_object = has_object(tied);
    if (is_object == has_key_of(tied, part)) {
      if (is_object) return tied.first_name;
      continue;
    }
    fail_of(tied, part);
  }
  return std::nullopt;
}

void TiedParts::add(const StepPart& part) {
  const HostAllocator allocator = names_.get_allocator().allocator();
  parts_.push_back({HostString(part.prefix, allocator), part.layer != nullptr, object_of(part), data_of(part),
                    owner_of(part), names_.size()});
  names_.reserve(names_.size() + part.num_parameters());
  for (size_t i = 0; i < part.num_parameters(); ++i) {
    HostString name(part.prefix, allocator);
    name += part.parameter_name(i);
    names_.push_back(std::move(name));
  }
}

void TiedParts::clear() noexcept {
  parts_.clear();
  names_.clear();
}

std::string_view TiedParts::prefix_of(size_t index) const {
  const auto after = std::ranges::upper_bound(parts_, index, {}, &Part::first_name);
  return (after - 1)->prefix;
}

}  // namespace heed
