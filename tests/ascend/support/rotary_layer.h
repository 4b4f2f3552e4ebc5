// SPDX-License-Identifier: Apache-2.0
// Multi-head attention with rotary positions, norms or ALiBi on the NPU, and its results by the reference in f64, with the
// bound of docs/semantics.md ("The error bound on Ascend").
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ascend/support/simulated.h"
#include "reference/multi_head_attention.h"

namespace heed::ascend_test {

struct RotaryCase {
  heed_dtype dtype = HEED_F16;
  int32_t layout = HEED_ROPE_HALF;  // 0: no rotary positions
  int64_t rotary_size = 0;          // 0: from the offset to the end of the head
  int64_t rotary_offset = 0;
  float base = 10000;
  float attention_factor = 1;  // on cosines and sines
  float last_factor = 1;       // by which the frequency of the last pair is divided
  int64_t batch = 2;
  int64_t num_heads = 2;
  int64_t num_kv_heads = 2;
  int64_t num_queries = 5;
  int64_t num_keys = 6;
  int64_t head_size = 32;
  int32_t causal = HEED_CAUSAL_NONE;
  float epsilon = 0;
  bool has_layer_norm = false;
  int32_t alibi = HEED_ALIBI_NONE;  // with a power of two of heads
  bool is_self = false;             // keys are the queries
  bool has_output_projection = true;
};

std::string text_of(const RotaryCase& call);

class RotaryLayer {
 public:
  RotaryLayer(heed_context* context, const RotaryCase& call);

  heed_status forward() const { return heed_layer_forward(layer_.get(), &inputs_, nullptr, &outputs_); }
  nlohmann::json explained() const;
  testing::AssertionResult agrees_with_reference() const;
  std::vector<float> read() const { return capi_test::read_floats(context_, output_.get()); }

  // Multiplies the rows of W_q of a head.
  void scale_query_head(int64_t head, float factor);
  // Whether all results of this and later heads are finite. Without output projection.
  bool is_finite_in_heads_from(int64_t head) const;

 private:
  void set(const char* name, uint64_t seed);
  std::vector<double> parameter(const char* name) const;
  reference::Projection projection(const std::string& name) const;
  reference::Bounded transformed(const reference::Bounded& heads, int64_t rows, int64_t num_heads,
                                 int64_t first_position, const char* norm) const;
  reference::AttentionResult expected() const;

  heed_context* context_;
  RotaryCase case_;
  Layer layer_;
  Tensor queries_;
  Tensor keys_;
  Tensor output_;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
};

// A tensor of any float dtype with these elements.
Tensor make_tensor_of_floats(heed_context* context, const Dims& dims, const std::vector<float>& elements,
                             heed_dtype dtype);

}  // namespace heed::ascend_test
