// SPDX-License-Identifier: Apache-2.0
// Calls that tests start from: random contents, F32, no optional input, only the output requested.
#pragma once

#include "support/call.h"

namespace heed::property {

// Numbers between -amplitude and amplitude.
Array random_array(const Dims& dims, Random& random, double amplitude = 1.0);

// Rank 3 if there is one head, otherwise rank 4. Numbers between -2 and 2, so that the weights differ clearly.
Call dot_product_call(const reference::AttentionSizes& sizes, Random& random, heed_dtype dtype = HEED_F32);

// Cross-attention: every size of queries, keys and values differs, with all biases.
struct MultiHeadSample {
  int64_t batch = 2;
  int64_t num_queries = 3;
  int64_t num_keys = 5;
  int64_t query_size = 6;
  int64_t key_size = 7;
  int64_t value_size = 9;
  heed_dtype dtype = HEED_F32;
  heed_dtype parameter_dtype = HEED_F32;
};
Call multi_head_call(const heed_multi_head_attention_options& options, const MultiHeadSample& sample, Random& random);

// num_hiddens 8 in 2 heads, all biases.
heed_multi_head_attention_options two_heads();

// The additive layer with num_hiddens hidden elements; all sizes of queries, keys and values differ.
Call additive_call(int64_t num_hiddens, const MultiHeadSample& sample, Random& random);

// The layer of the general score with queries of sample.query_size elements.
Call general_call(const MultiHeadSample& sample, Random& random);

// Multi-head attention with everything that depends on positions but rotary ones, which are the call's.
heed_multi_head_attention_options with_positions();
// Such a call with rotary positions.
Call positions_call(const heed_multi_head_attention_options& options, const MultiHeadSample& sample, Random& random);

// One call of each kind: rank 3, rank 4 with grouped heads, multi-head with grouped heads and either scoring, additive,
// general.
std::vector<Call> call_of_each_kind(Random& random, heed_dtype dtype = HEED_F32, int64_t num_queries = 3,
                                    int64_t num_keys = 5);

void want_everything(Call& call);

// Requests all three results, in F32 whatever the dtype of the inputs is, so that they are not rounded to it.
void want_everything_in_f32(Call& call);

// One number from the results of a call that requested everything, by its indices b, h, q, k.
double weight_at(const Results& results, const reference::AttentionSizes& sizes, int64_t b, int64_t h, int64_t q,
                 int64_t k);
double log_sum_exp_at(const Results& results, const reference::AttentionSizes& sizes, int64_t b, int64_t h, int64_t q);

// Whether exactly the visible keys have weights that are not 0.
template <typename IsVisible>
testing::AssertionResult sees_exactly(const Results& results, const reference::AttentionSizes& sizes,
                                      IsVisible is_visible) {
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.num_heads; ++h) {
      for (int64_t q = 0; q < sizes.num_queries; ++q) {
        for (int64_t k = 0; k < sizes.num_keys; ++k) {
          const double weight = weight_at(results, sizes, b, h, q, k);
          if ((weight != 0.0) == is_visible(b, h, q, k)) continue;
          return testing::AssertionFailure()
                 << "item " << b << ", head " << h << ", query " << q << " gives key " << k << " the weight " << weight;
        }
      }
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace heed::property
