// SPDX-License-Identifier: Apache-2.0
// A file of tests/golden/data, and results held against it: each element within its bound, all together as near as is
// to be expected. float32_error.py derives both figures. On Ascend the bounds are those of derived_bound.h.
#pragma once

#include <heed/heed.h>

#include <cstddef>
#include <string>

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
  // Of a difference to its bound.
  double largest_ratio = 0;
  // Elements beyond their bound, NaN among them.
  size_t num_beyond = 0;
  double root_mean_square = 0;
  // What an engine's root mean square is expected to stay below.
  double deviation = 0;
};

class GoldenFile {
 public:
  GoldenFile(heed_context* context, const std::string& name);

  heed_context* context() const { return context_; }
  const std::string& path() const { return path_; }
  // Where the scores of so many keys all err as far as they may, the mean of their values may be off by more than it is:
  // the bounds let an output of zeros through. Weights and log_sum_exp tell such a device from a right one.
  bool output_is_vague_on_ascend() const { return name_ == "many_keys"; }

  Tensor load(const char* tensor) const;
  // NULL when the file has no such tensor.
  Tensor load_if_present(const char* tensor) const;

  // A result, of F32, F16, BF16 or F64, against the file's tensor of that name; against these bounds where errors are
  // given.
  Comparison compare(const heed_tensor* result, const std::string& name, const heed_tensor* errors = nullptr) const;

  // The same as expectations, and a printed line. The deviation is asked of F32 only: in narrower results their own
  // rounding is all that is to be seen. On Ascend it is asked of all results, multiplied by what its roundings are
  // coarser; the reference, with its tensors of derived_bound.h, has to give the file's numbers; and its bounds have to
  // refuse a result of zeros, unless that is a vague output.
  void expect(const heed_tensor* result, const std::string& name, const heed_tensor* derived_values,
              const heed_tensor* derived_errors) const;

  // Output, weights and log_sum_exp.
  void expect(const Outputs& outputs, const Derived& derived) const;

 private:
  heed_context* context_;
  std::string name_;
  std::string path_;
};

// What tensors the file has of queries, keys, values, valid_lens, mask and bias.
struct Inputs {
  explicit Inputs(const GoldenFile& file);

  Tensor queries, keys, values, valid_lens, mask, bias;
  heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
};

// All three outputs, in the dtypes of heed_layer_create_outputs.
Outputs forward(const heed_layer* layer, const heed_layer_inputs& inputs);

}  // namespace heed::golden
