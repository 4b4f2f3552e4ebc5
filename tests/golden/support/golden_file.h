// SPDX-License-Identifier: Apache-2.0
// A file of tests/golden/data, and the comparison of results with it: each element within its bound, and all elements
// of a result together within the expected deviation. float32_error.py derives both. On Ascend the bounds are those of
// derived_bound.h.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "property/support/device.h"

namespace heed::golden {

using capi_test::check;
using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;
using property::Fallback;
using property::make_context;
using property::on_ascend;
using property::on_device;

struct Comparison {
  double largest_difference = 0;
  // The largest difference divided by its bound.
  double largest_ratio = 0;
  // The number of elements that exceed their bound or are NaN.
  size_t num_beyond = 0;
  double root_mean_square = 0;
  // The limit of the root mean square difference.
  double deviation = 0;
};

class GoldenFile {
 public:
  GoldenFile(heed_context* context, const std::string& name);

  heed_context* context() const { return context_; }
  const std::string& path() const { return path_; }
  // With so many keys the bounds on Ascend allow an output of zeros, since the errors of all scores together may exceed
  // the mean of the values. The bounds of weights and log_sum_exp still detect a wrong device.
  bool output_is_vague_on_ascend() const { return name_ == "many_keys"; }

  Tensor load(const char* tensor) const;
  // NULL if the file has no such tensor.
  Tensor load_if_present(const char* tensor) const;

  // Compares a result of F32, F16, BF16 or F64 with the file's tensor of that name. The bounds are the file's, or
  // `errors` if given.
  Comparison compare(const heed_tensor* result, const std::string& name, const heed_tensor* errors = nullptr) const;

  // The same as test expectations, with a printed line. The deviation is checked for F32 only, since in narrower
  // results the final rounding is much larger. On Ascend it is checked for all results, multiplied by the coarseness of
  // the device's roundings. There the reference must also agree with the file (derived_values, from derived_bound.h),
  // and its bounds must reject a result of zeros, unless the output is a vague one.
  void expect(const heed_tensor* result, const std::string& name, const heed_tensor* derived_values,
              const heed_tensor* derived_errors) const;

  // The same for output, weights and log_sum_exp.
  void expect(const Outputs& outputs, const Derived& derived) const;

 private:
  heed_context* context_;
  std::string name_;
  std::string path_;
};

// The tensors of the file that are inputs of a layer; null if it lacks them.
struct Inputs {
  // "queries", "keys", "values", "valid_lens" and so on.
  explicit Inputs(const GoldenFile& file);
  // Of a case of a file data/torch_*.safetensors: "CASE.input.query", "CASE.input.key" and so on.
  Inputs(const GoldenFile& file, const std::string& torch_case);

  Tensor queries, keys, values, valid_lens, mask, bias, alibi_slopes, sinks;
  heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;

 private:
  void give();
};

double largest_finite(const std::vector<double>& numbers);

// Expects each number of the result to be equal to the expected one, -inf too, or nearer than `tolerance` times the
// largest finite expected number.
void expect_near(const heed_tensor* result, const heed_tensor* expected, double tolerance);

// All three outputs, in the dtypes that heed_layer_create_outputs chooses.
Outputs forward(const heed_layer* layer, const heed_layer_inputs& inputs);

}  // namespace heed::golden
