// SPDX-License-Identifier: Apache-2.0
// The bounds on Ascend for golden values. The bounds in the files are for an engine that computes in f32; widened to 16
// bits they would accept clearly wrong results. So the f64 reference computes a bound for each element, as it does for
// the tests of rule 15.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <vector>

#include "capi/support/objects.h"
#include "reference/attention.h"

namespace heed::golden {

struct Outputs {
  capi_test::Tensor output, weights, log_sum_exp;
};

// F64 tensors on the CPU: the reference's results of a call, and the largest errors of the device's. Null in runs on
// the CPU, where the bounds are those of the file.
struct Derived {
  Outputs values;
  Outputs errors;
};

// For a call of a layer with these options.
Derived derive(const heed_layer* layer, const heed_dot_product_attention_options& options,
               const heed_layer_inputs& inputs);
Derived derive(const heed_layer* layer, const heed_multi_head_attention_options& options,
               const heed_layer_inputs& inputs);
Derived derive(const heed_layer* layer, const heed_additive_attention_options& options,
               const heed_layer_inputs& inputs);

// The same, also in runs on the CPU.
Derived derive_anywhere(const heed_layer* layer, const heed_multi_head_attention_options& options,
                        const heed_layer_inputs& inputs);

// The reference's results as tensors, in the shapes of `results`.
Derived as_tensors(const reference::AttentionResult& result, const Outputs& results);

// The elements in row-major order, whatever the dtype and the device are.
std::vector<double> numbers_of(const heed_tensor* tensor);

// The number of elements of a result in this dtype whose difference exceeds its error, or that are NaN.
size_t num_beyond(heed_dtype dtype, const std::vector<double>& is, const std::vector<double>& should,
                  const std::vector<double>& errors);

// Checks that every element has a bound, and that a result of zeros would exceed the bounds.
void expect_that_zeros_are_refused(heed_dtype dtype, const std::vector<double>& should,
                                   const std::vector<double>& errors);

}  // namespace heed::golden
