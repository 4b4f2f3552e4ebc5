// SPDX-License-Identifier: Apache-2.0
// Calls of a layer with one thing wrong, and which functions have to say so.
#pragma once

#include <functional>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {

// The functions that look at what is wrong. The others must accept the call.
enum class Reach {
  Inputs,      // all: initialize, create_outputs, workspace_size, explain, forward
  Parameters,  // all but initialize: wrong for the parameters that the layer has
  Call,        // workspace_size, explain, forward: wrong in the outputs, or not initialized
  Lengths,     // explain, forward: wrong in what the lengths hold
  Memory,      // forward: wrong in where the tensors lie
};

struct WrongCall {
  const char* what;
  std::function<void(AttentionCall& call)> change;
  Refusal expected;
};

// Changes a call that works and asks every function. Tensors that forward refuses to write must be as they were.
void expect_refused(Kind kind, Reach reach, const std::vector<WrongCall>& calls);

}  // namespace heed::capi_test
