// SPDX-License-Identifier: Apache-2.0
// Which inputs a kind of layer reads, and why it refuses the others.
#pragma once

#include <span>

#include "base/error.h"
#include "layers/input_set.h"
#include "layers/inputs.h"

namespace heed {

// Why inputs that a layer does not read are refused.
struct Refusal {
  InputSet inputs;
  // The error is "<name> is set, but <words>". In the words "%s %s" stands for the kind with its article, as in "a linear",
  // and a single "%s" for the kind.
  const char* words;
  Status status = Status::InvalidArgument;
};

struct InputRules {
  InputSet reads;
  // Of the inputs that are not read: the first one that has the input says why. Static.
  std::span<const Refusal> refusals;
};

// Whether each input is read or has a refusal. Kinds assert it, so that a new input does not compile until each of them
// says which.
constexpr bool covers_all_inputs(const InputRules& rules) {
  InputSet covered = rules.reads;
  for (const Refusal& refusal : rules.refusals) covered = covered.with(refusal.inputs);
  return covered == kAllInputs;
}

// Throws the refusal of the first given input that the rules do not read. `kind`: that of the layer.
void refuse_unread(const GivenInputs& inputs, const InputRules& rules, const char* kind);

}  // namespace heed
