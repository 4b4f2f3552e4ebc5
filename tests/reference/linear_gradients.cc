// SPDX-License-Identifier: Apache-2.0
#include "reference/linear_gradients.h"

#include <cmath>
#include <cstddef>

#include "reference/bounded_sum.h"
#include "reference/error_bound.h"

namespace heed::reference {

ProjectionGradients projection_gradients(const Projection& projection, const std::vector<double>& input,
                                         const std::vector<double>& of_output) {
  const int64_t inputs = projection.input_size;
  const int64_t outputs = projection.output_size;
  const int64_t rows = outputs == 0 ? 0 : static_cast<int64_t>(of_output.size()) / outputs;
  BoundedSums of_input(static_cast<int64_t>(input.size()));
  BoundedSums of_weight(outputs * inputs);
  BoundedSums of_bias(static_cast<int64_t>(projection.bias.size()));
  for (int64_t row = 0; row < rows; ++row) {
    const double* const x = input.data() + row * inputs;
    const double* const of_row = of_output.data() + row * outputs;
    if (is_zero_row(of_row, outputs)) continue;
    for (int64_t n = 0; n < outputs; ++n) {
      for (int64_t e = 0; e < inputs; ++e) {
        of_input.add(row * inputs + e, of_row[n] * projection.weight[static_cast<size_t>(n * inputs + e)]);
        of_weight.add(n * inputs + e, of_row[n] * x[e]);
      }
      if (!projection.bias.empty()) of_bias.add(n, of_row[n]);
    }
  }
  return {of_input.finish(), of_weight.finish(), of_bias.finish()};
}

Bounded embedding_gradient(const std::vector<int64_t>& ids, int64_t num_rows, int64_t size, double scale,
                           int64_t padding_index, const std::vector<double>& of_output) {
  BoundedSums table(num_rows * size);
  for (size_t i = 0; i < ids.size(); ++i) {
    const double* const of_row = of_output.data() + static_cast<int64_t>(i) * size;
    if (ids[i] == padding_index || is_zero_row(of_row, size)) continue;
    for (int64_t d = 0; d < size; ++d) table.add(ids[i] * size + d, scale * of_row[d]);
  }
  return table.finish();
}

Bounded plus(const Bounded& a, const Bounded& b) {
  Bounded sum(a.values.size());
  for (size_t i = 0; i < sum.values.size(); ++i) {
    sum.values[i] = a.values[i] + b.values[i];
    const double inherited = a.errors[i] + b.errors[i];
    sum.errors[i] =
        std::isfinite(sum.values[i]) ? inherited + kUnitRoundoff * (std::fabs(sum.values[i]) + inherited) : kInfinity;
  }
  return sum;
}

}  // namespace heed::reference
