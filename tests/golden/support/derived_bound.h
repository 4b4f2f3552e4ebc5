// SPDX-License-Identifier: Apache-2.0
// The bound on Ascend, for golden values. A file's own figures are those of an engine that computes in f32; widened to
// 16 bits they would let through results that are plainly wrong. So the f64 reference derives for each element how far
// the device may be off, as it does for the tests of rule 15.
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

// Of F64, on the CPU: the reference's answer to a call, and how far the device's may be from it. Tensors are null in
// runs on the CPU, where the files' own figures are the bound.
struct Derived {
  Outputs values;
  Outputs errors;
};

// For a call of a layer that has been made with these options.
Derived derive(const heed_layer* layer, const heed_dot_product_attention_options& options,
               const heed_layer_inputs& inputs);
Derived derive(const heed_layer* layer, const heed_multi_head_attention_options& options,
               const heed_layer_inputs& inputs);
Derived derive(const heed_layer* layer, const heed_additive_attention_options& options,
               const heed_layer_inputs& inputs);

// The same for any device.
Derived derive_anywhere(const heed_layer* layer, const heed_multi_head_attention_options& options,
                        const heed_layer_inputs& inputs);

// The reference's answer as tensors of the shapes that the results have.
Derived as_tensors(const reference::AttentionResult& result, const Outputs& results);

// The elements in row-major order, whatever their dtype and device.
std::vector<double> numbers_of(const heed_tensor* tensor);

// How many elements of a result in that dtype are farther off than the errors allow, NaN among them.
size_t num_beyond(heed_dtype dtype, const std::vector<double>& is, const std::vector<double>& should,
                  const std::vector<double>& errors);

// Every element has to have a bound, and a result of nothing but zeros must not be within them.
void expect_that_zeros_are_refused(heed_dtype dtype, const std::vector<double>& should,
                                   const std::vector<double>& errors);

}  // namespace heed::golden
