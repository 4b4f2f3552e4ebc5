// SPDX-License-Identifier: Apache-2.0
// Calls of a layer with one fault, and the functions that must report it.
#pragma once

#include <functional>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {

// The functions that check the faulty part. The others must accept the call.
enum class Reach {
  Inputs,      // all: initialize, create_outputs, workspace_size, explain, forward
  Parameters,  // all but initialize: does not fit the layer's parameters
  Call,        // workspace_size, explain, forward: wrong outputs, or the layer is not initialized
  Lengths,     // explain, forward: wrong contents of the lengths
  Memory,      // forward: wrong addresses of the tensors
};

struct WrongCall {
  const char* what;
  std::function<void(AttentionCall& call)> change;
  Refusal expected;
};

// Makes a valid call faulty, and calls every function. Tensors that forward refuses to write must not change.
void expect_refused(Kind kind, Reach reach, const std::vector<WrongCall>& calls);

}  // namespace heed::capi_test
