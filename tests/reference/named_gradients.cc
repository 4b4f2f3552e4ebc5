// SPDX-License-Identifier: Apache-2.0
#include "reference/named_gradients.h"

#include <optional>

#include "reference/attention.h"

namespace heed::reference {

void add_projection(const std::string& name, const Projection& projection, const ProjectionGradients& gradients,
                    const AfterStep& after_step, NamedRows& result) {
  result[name + ".weight"] = {after_step(gradients.weight), projection.input_size};
  if (!projection.bias.empty()) result[name + ".bias"] = {after_step(gradients.bias), projection.output_size};
}

void add_norm(const std::string& name, const NormGradients& gradients, int64_t size, const AfterStep& after_step,
              NamedRows& result) {
  result[name + ".weight"] = {after_step(gradients.weight), size};
  if (!gradients.bias.values.empty()) result[name + ".bias"] = {after_step(gradients.bias), size};
}

void add_below(const std::string& prefix, const NamedRows& gradients, NamedRows& result) {
  for (const auto& [name, rows] : gradients) result[prefix + name] = rows;
}

std::vector<double> added(const std::vector<double>& a, const std::vector<double>& b, const AfterStep& after_step) {
  return after_step(plus(as_read(a, std::nullopt), as_read(b, std::nullopt)));
}

}  // namespace heed::reference
