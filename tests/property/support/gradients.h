// SPDX-License-Identifier: Apache-2.0
// The gradients of one call of a layer, through the C API and by the f64 reference.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "reference/moved_steps.h"
#include "support/call.h"
#include "support/handles.h"

namespace heed::property {

using Saved = std::unique_ptr<heed_saved, Destroyer<heed_saved_destroy>>;

// By the names of heed_layer_gradients' members, "queries" and so on, and of the parameters.
using NamedResults = std::map<std::string, Result>;

struct GradientRequest {
  Array of_output;  // the gradient by the output
  Layout of_output_layout = Layout::RowMajor;
  std::set<std::string> inputs;       // whose gradients are wanted
  bool parameters = true;             // whether theirs are
  Layout layout = Layout::RowMajor;   // of the gradients of inputs
  bool saved = false;                 // whether the backward reads what a forward has saved
  bool with_workspace = false;        // of exactly the stated size
  std::map<std::string, Array> sums;  // what the gradients are added to; empty: they are replaced
};

// The members of heed_layer_gradients that a call has inputs for, with the inputs' dims.
std::map<std::string, Dims> differentiable_inputs(const Call& call);

// A gradient by the call's output: some rows are all 0, and rows that are padding hold NaN.
Array random_output_gradient(const Call& call, Random& random);

// Checks that inputs, the gradient by the output and the memory between elements of gradients are unchanged. Throws CallFailed.
NamedResults backward(const Runner& runner, const Call& call, const GradientRequest& request);
// The same of any layer. `outputs`: those of the forward, which is called if the request says saved.
NamedResults backward(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs,
                      const heed_layer_outputs& outputs, const std::map<std::string, Dims>& input_dims,
                      const GradientRequest& request);

// Of the size for a call with these inputs.
Saved make_saved(heed_context* context, const heed_layer* layer, const heed_layer_inputs& inputs);

// The results of a forward that saves what a backward reads.
Results forward_that_saves(const Runner& runner, const Call& call);

// The gradients of all inputs and parameters, with their bounds.
reference::NamedBounds solve_gradients(const Call& call, const Array& of_output);

// Whether every gradient lies within the reference's bounds.
testing::AssertionResult agree(const NamedResults& gradients, const reference::NamedBounds& expected,
                               AccuracyStatistics* statistics = nullptr);

// Whether both have the same names and bits. +0 and -0 are the same.
testing::AssertionResult same_bits(const NamedResults& a, const NamedResults& b);

// The call as training computes: with inputs and parameters of F32, without a cache, with the output alone.
Call training_form(Call call);

}  // namespace heed::property
