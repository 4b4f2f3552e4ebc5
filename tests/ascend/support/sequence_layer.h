// SPDX-License-Identifier: Apache-2.0
// Multi-head attention with inputs that ATB does not take, on the NPU and on the CPU in F32, with the same numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "ascend/support/simulated.h"

namespace heed::ascend_test {

struct SequenceCase {
  bool has_positions = false;
  bool has_query_lens = false;
  bool is_packed = false;
  bool has_rope = false;
  bool has_sinks = false;
  int32_t relative_bias = HEED_RELATIVE_BIAS_NONE;
  int32_t scoring = HEED_SCORING_DOT_PRODUCT;
};

class SequenceLayer {
 public:
  // Roundings to F16 of inputs between -1 and 1, of projections and of the output, of a few units of 2^-11 each.
  static constexpr double kTolerance = 0.02;

  SequenceLayer(heed_context* context, const SequenceCase& call, heed_dtype dtype = HEED_F16);

  heed_status forward() const { return heed_layer_forward(layer_.get(), &inputs_, nullptr, &outputs_); }
  nlohmann::json explained() const;
  std::vector<float> read() const { return capi_test::read_floats(context_, output_.get()); }
  // The largest difference from the results of the same layer on the CPU.
  double difference_from_cpu() const;
  // Whether the rows beyond the lengths of queries are 0, and others are not.
  bool padding_is_zero() const;

 private:
  void set_parameters();

  heed_context* context_;
  SequenceCase case_;
  heed_dtype dtype_;
  Layer layer_;
  Tensor queries_;
  Tensor positions_;
  Tensor query_lens_;
  Tensor query_offsets_;
  Tensor output_;
  heed_sequence_inputs sequences_ = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
};

}  // namespace heed::ascend_test
