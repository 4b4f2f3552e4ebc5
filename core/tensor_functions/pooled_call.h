// SPDX-License-Identifier: Apache-2.0
// A call of one operation on tensors, without a layer.
#pragma once

#include <cstddef>

#include "backends/context.h"
#include "ops/op.h"

namespace heed {

// The plan of a problem, and scratch memory for it from the context's pool. The problem's addresses may change between two
// runs.
class PooledCall {
 public:
  // Throws what Context::require_fastest throws. `function` is the name of the C function, `operation` what it computes.
  PooledCall(const Context& context, const char* function, const char* operation, const Op& op)
      : context_(context), op_(op), plan_(context.plan(op)), scratch_(context, scratch_bytes(function, operation)) {}

  void run() const { context_.run(op_, plan_, scratch_.data()); }

 private:
  size_t scratch_bytes(const char* function, const char* operation) const {
    context_.require_fastest(function, operation, plan_);
    return plan_.scratch_bytes;
  }

  const Context& context_;
  const Op& op_;
  Plan plan_;
  Context::PooledScratch scratch_;
};

}  // namespace heed
