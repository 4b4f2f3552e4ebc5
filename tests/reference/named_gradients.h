// SPDX-License-Identifier: Apache-2.0
// Gradients of layers by the names of their inputs and parameters in heed.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/linear_gradients.h"
#include "reference/moved_steps.h"
#include "reference/norm_gradients.h"

namespace heed::reference {

// "NAME.weight" and, if there is one, "NAME.bias".
void add_projection(const std::string& name, const Projection& projection, const ProjectionGradients& gradients,
                    const AfterStep& after_step, NamedRows& result);
void add_norm(const std::string& name, const NormGradients& gradients, int64_t size, const AfterStep& after_step,
              NamedRows& result);

// All but `inputs`, with `prefix` before their names.
void add_below(const std::string& prefix, const NamedRows& gradients, NamedRows& result);

// a + b, in one more step.
std::vector<double> added(const std::vector<double>& a, const std::vector<double>& b, const AfterStep& after_step);

}  // namespace heed::reference
