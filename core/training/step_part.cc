// SPDX-License-Identifier: Apache-2.0
#include "training/step_part.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/shown_text.h"

namespace heed {
namespace {

std::string numbered(const char* format, int64_t number) {
  char text[64];
  std::snprintf(text, sizeof text, format, number);
  return text;
}

// Objects by their addresses, each with the number of its part.
using Objects = std::vector<std::pair<const void*, size_t>>;

// The numbers of the first two parts that have the same object.
std::optional<std::pair<size_t, size_t>> find_twice(Objects& objects) {
  std::ranges::sort(objects, [](const auto& a, const auto& b) {
    return a.first != b.first ? std::less<>()(a.first, b.first) : a.second < b.second;
  });
  const auto is_same = [](const auto& a, const auto& b) { return a.first == b.first; };
  const auto found = std::ranges::adjacent_find(objects, is_same);
  if (found == objects.end()) return std::nullopt;
  return std::pair(found->second, (found + 1)->second);
}

void require_fits(const StepPart& part) {
  const Gradients& gradients = *part.gradients;
  if (part.layer != nullptr) return gradients.require_fits(*part.layer, part.gradients_name().c_str());
  if (gradients.is_of_tensor()) return;
  fail(Status::InvalidArgument,
       "%s is " WORD("NULL") ", but %s is that of " WORD("a layer") ", expected that " WORD("layer"),
       part.layer_name().c_str(), part.gradients_name().c_str());
}

void require_context(const StepPart& part, const std::shared_ptr<Context>& context) {
  if (part.gradients->context() == context) return;
  fail(Status::InvalidArgument, "%s is on %s in another " WORD("context") " than the optimizer, expected the same",
       part.layer == nullptr ? part.gradients_name().c_str() : part.layer_name().c_str(),
       part.gradients->context()->device_name());
}

// Throws if a set, a layer or a parameter is there twice. Parts with a child of another's layer have a parameter of it.
void require_once(std::span<const StepPart> parts) {
  Objects sets, layers, parameters;
  for (size_t i = 0; i < parts.size(); ++i) {
    const StepPart& part = parts[i];
    sets.emplace_back(part.gradients, i);
    if (part.layer == nullptr) continue;
    layers.emplace_back(part.layer, i);
    for (size_t k = 0; k < part.gradients->count(); ++k)
      parameters.emplace_back(part.layer->parameters()[part.gradients->parameter_index(k)].identity(), i);
  }
  if (const auto twice = find_twice(sets)) {
    fail(Status::InvalidArgument, "%s and %s are the same set, expected each set once",
         parts[twice->first].gradients_name().c_str(), parts[twice->second].gradients_name().c_str());
  }
  if (const auto twice = find_twice(layers)) {
    fail(Status::InvalidArgument, "%s and %s are the same " WORD("layer") ", expected each " WORD("layer") " once",
         parts[twice->first].layer_name().c_str(), parts[twice->second].layer_name().c_str());
  }
  if (const auto twice = find_twice(parameters)) {
    fail(Status::InvalidArgument,
         "%s and %s share a parameter that is trained, expected each parameter once: a " WORD(
             "layer") " has those of its children",
         parts[twice->first].layer_name().c_str(), parts[twice->second].layer_name().c_str());
  }
}

// Throws if tensors of two parts share memory. They are dense, so that one with another's memory is beside it by its address.
void require_separate(std::span<const StepPart> parts) {
  std::vector<const StepPart*> tensors;
  for (const StepPart& part : parts) {
    if (part.layer == nullptr && part.gradients->value().num_elements() > 0) tensors.push_back(&part);
  }
  std::ranges::sort(tensors, std::less<>(), [](const StepPart* part) { return part->gradients->value().data(); });
  for (size_t i = 1; i < tensors.size(); ++i) {
    const Tensor& earlier = tensors[i - 1]->gradients->value();
    if (!std::less<>()(tensors[i]->gradients->value().data(), earlier.data() + earlier.num_bytes())) continue;
    const auto [first, second] = std::minmax(tensors[i - 1], tensors[i], std::less<>());
    fail(Status::InvalidArgument, "%s and %s are of " WORD("tensors") " that share memory, expected separate memory",
         first->gradients_name().c_str(), second->gradients_name().c_str());
  }
}

}  // namespace

std::string StepPart::name() const {
  return number < 0 ? "the " WORD("layer") : "parts[" + std::to_string(number) + "]";
}

std::string StepPart::layer_name() const {
  return number < 0 ? name() : numbered(ARGUMENT("parts[%" PRId64 "]->layer"), number);
}

std::string StepPart::gradients_name() const {
  return number < 0 ? ARGUMENT("gradients") : numbered(ARGUMENT("parts[%" PRId64 "]->gradients"), number);
}

void require_parts(std::span<const StepPart> parts, const std::shared_ptr<Context>& context) {
  for (const StepPart& part : parts) {
    require_fits(part);
    require_context(part, context);
  }
  if (parts.size() == 1) return;
  require_once(parts);
  require_separate(parts);
}

}  // namespace heed
