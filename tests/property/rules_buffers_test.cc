// SPDX-License-Identifier: Apache-2.0
// Keys in a buffer of fixed capacity, of which each batch element has filled a part: lengths say how much, and positions
// where the queries are. So attention is stated with the nonpad_kv_seqlen or the past of ONNX's Attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "support/numbers.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// Query i of batch element b has the position lengths[b] - Q + i, as ONNX says it. Where that is below 0, the query sees no
// key: its length is 0.
void set_buffer(Call& call, const std::vector<int64_t>& lengths) {
  const auto batch = static_cast<int64_t>(lengths.size());
  const int64_t num_queries = sizes_of(call).num_queries;
  Array positions = filled({batch, num_queries}, 0.0);
  Array lens = filled({batch, num_queries}, 0.0);
  for_each_index(positions.dims, [&](const Dims& index, size_t i) {
    const int64_t length = lengths[static_cast<size_t>(index[0])];
    const int64_t position = length - num_queries + index[1];
    positions.values[i] = static_cast<double>(std::max<int64_t>(position, 0));
    lens.values[i] = position < 0 ? 0.0 : static_cast<double>(length);
  });
  call.positions = make_input(positions, HEED_I32);
  const bool is_longer = *std::min_element(lengths.begin(), lengths.end()) >= num_queries;
  if (is_longer) {
    Array of_elements = filled({batch}, 0.0);
    std::copy(lengths.begin(), lengths.end(), of_elements.values.begin());
    lens = of_elements;
  }
  call.valid_lens = make_input(lens, HEED_I64);
}

// Writes `value` to the rows of keys or values that no batch element has filled.
void fill_unused(Input& input, const std::vector<int64_t>& lengths, double value) {
  const size_t key_axis = input.contents.dims.size() - 2;
  for_each_index(input.contents.dims, [&](const Dims& index, size_t i) {
    if (index[key_axis] >= lengths[static_cast<size_t>(index[0])]) input.contents.values[i] = value;
  });
}

// One batch element with the part of the buffer that it has filled.
Call element_of(const Call& call, int64_t b, int64_t length) {
  Call one = call;
  one.positions.reset();
  one.valid_lens.reset();
  one.queries.contents = slice(call.queries.contents, 0, b, 1);
  for (std::optional<Input> Call::*const member : {&Call::keys, &Call::values}) {
    Array& rows = (one.*member)->contents;
    rows = slice(slice((call.*member)->contents, 0, b, 1), rows.dims.size() - 2, 0, length);
  }
  return one;
}

TEST(Rule06, KeysInABufferOfFixedCapacity) {
  Random random(606);
  for (const int64_t num_queries : {1, 2, 4, 40}) {
    for (const int64_t capacity : {8, 70, 300}) {
      for (const int64_t short_length : {capacity - 3, num_queries + 3, num_queries - 1}) {
        const std::vector<int64_t> lengths = {capacity, std::clamp<int64_t>(short_length, 0, capacity)};
        for (Call call : call_of_each_kind(random, HEED_F32, num_queries, capacity)) {
          call.options.causal = HEED_CAUSAL_TOP_LEFT;
          call.options.window = HEED_WINDOW_TOP_LEFT;
          call.options.window_left = 5;
          set_buffer(call, lengths);
          fill_unused(*call.keys, lengths, kNaN);
          fill_unused(*call.values, lengths, kNaN);
          want_everything(call);
          const Results results = run(call);
          EXPECT_TRUE(agree(results, solve(call))) << num_queries << " of " << capacity;
          EXPECT_TRUE(sees_exactly(results, sizes_of(call),
                                   [&](int64_t b, int64_t, int64_t q, int64_t k) {
                                     const int64_t position = lengths[static_cast<size_t>(b)] - num_queries + q;
                                     return k <= position && k >= position - 5;
                                   }))
              << num_queries << " of " << capacity;
        }
      }
    }
  }
}

// The result is that of the filled part alone, in which positions follow from the sizes.
TEST(Rule10, UnusedCapacityChangesNothing) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(1016);
  for (const int64_t num_queries : {1, 4, 40}) {
    const std::vector<int64_t> lengths = {300, 131};
    for (Call call : call_of_each_kind(random, HEED_F32, num_queries, 300)) {
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      Call in_buffer = call;
      set_buffer(in_buffer, lengths);
      fill_unused(*in_buffer.keys, lengths, kNaN);
      fill_unused(*in_buffer.values, lengths, kNaN);
      const Result together = *run(in_buffer).output;
      for (int64_t b = 0; b < 2; ++b) {
        const Result alone = *run(element_of(call, b, lengths[static_cast<size_t>(b)])).output;
        EXPECT_EQ(slice(together.contents, 0, b, 1).values, alone.contents.values) << num_queries << ", element " << b;
      }
    }
  }
}

// ---- the cases of ONNX's Attention ----------------------------------------------------------------------------------

// The sizes and attributes of a case of the standard's own tests; the numbers are others.
struct OnnxCase {
  const char* name;
  int64_t batch, num_heads, num_kv_heads, num_queries, num_keys, head_size;
  // nonpad_kv_seqlen, of each batch element; or else the past, after which all keys are filled.
  std::vector<int64_t> lengths;
  int64_t past = 0;
  bool is_causal = true;
  int64_t window_size = 0;  // local_window_size, the query's own key included; 0: none
  Dims mask_dims = {};      // of numbers that are added, with -inf for one key
  heed_dtype dtype = HEED_F32;
};

const OnnxCase kOnnxCases[] = {
    {"gqa_causal_nonpad_decode", 2, 4, 2, 1, 8, 8, {8, 5}},
    {"gqa_causal_nonpad_decode_fp16", 2, 4, 2, 1, 8, 8, {8, 5}, 0, true, 0, {}, HEED_F16},
    {"causal_nonpad_continued_prefill", 2, 2, 2, 3, 8, 8, {8, 6}},
    {"causal_nonpad_batch_prefill", 2, 2, 2, 4, 8, 8, {4, 6}},
    {"causal_nonpad_attn_mask_composition", 2, 2, 2, 2, 4, 8, {4, 3}, 0, true, 0, {2, 1, 2, 4}},
    {"causal_nonpad_negative_offset_structural_empty", 1, 2, 2, 4, 6, 8, {2}},
    {"local_window_ext_cache_rank2_mask", 2, 3, 3, 4, 8, 8, {6, 7}, 0, true, 3, {4, 8}},
    {"local_window_ext_cache_rank3_head_mask", 2, 3, 3, 4, 8, 8, {6, 7}, 0, true, 3, {1, 3, 4, 8}},
    {"local_window_ext_cache_rank4_batch_mask", 2, 3, 3, 4, 8, 8, {6, 7}, 0, true, 3, {2, 1, 4, 8}},
    {"local_window_ext_cache_float16_mask", 2, 3, 3, 4, 8, 8, {6, 7}, 0, true, 3, {4, 8}, HEED_F16},
    {"with_past_and_present_qk_matmul_bias_3d_mask_causal", 2, 3, 3, 4, 18, 8, {}, 12, true, 0, {1, 3, 4, 18}},
    {"with_past_and_present_qk_matmul_bias_4d_mask_causal", 2, 3, 3, 4, 18, 8, {}, 12, true, 0, {2, 3, 4, 18}},
    {"local_window_with_past", 2, 3, 3, 4, 10, 8, {}, 8, false, 3},
};

// The position of query q among the keys, by the standard.
int64_t onnx_position(const OnnxCase& one, int64_t b, int64_t q) {
  return one.lengths.empty() ? one.past + q : one.lengths[static_cast<size_t>(b)] - one.num_queries + q;
}

bool onnx_sees(const OnnxCase& one, int64_t b, int64_t q, int64_t k) {
  if (!one.lengths.empty() && k >= one.lengths[static_cast<size_t>(b)]) return false;
  const int64_t position = onnx_position(one, b, q);
  if ((one.is_causal || one.window_size != 0) && k > position) return false;
  return one.window_size == 0 || k > position - one.window_size;
}

// The standard's formula in f64. `bias` has the shape (B, H, Q, K).
Array onnx_output(const OnnxCase& one, const Call& call, const Array& bias) {
  const auto number = [&](const Input& input, int64_t b, int64_t h, int64_t row, int64_t d) {
    const Dims& dims = input.contents.dims;
    return input.contents.values[static_cast<size_t>(((b * dims[1] + h) * dims[2] + row) * dims[3] + d)];
  };
  Array output = filled({one.batch, one.num_heads, one.num_queries, one.head_size}, 0.0);
  for_each_index({one.batch, one.num_heads, one.num_queries}, [&](const Dims& index, size_t row) {
    const int64_t key_head = index[1] / (one.num_heads / one.num_kv_heads);
    std::vector<double> sums(static_cast<size_t>(one.head_size), 0.0);
    double total = 0.0;
    for (int64_t k = 0; k < one.num_keys; ++k) {
      if (!onnx_sees(one, index[0], index[2], k)) continue;
      double score = 0.0;
      for (int64_t d = 0; d < one.head_size; ++d)
        score += number(call.queries, index[0], index[1], index[2], d) * number(*call.keys, index[0], key_head, k, d);
      score = score / std::sqrt(static_cast<double>(one.head_size)) +
              bias.values[row * static_cast<size_t>(one.num_keys) + static_cast<size_t>(k)];
      const double weight = std::exp(score);
      total += weight;
      for (int64_t d = 0; d < one.head_size; ++d)
        sums[static_cast<size_t>(d)] += weight * number(*call.values, index[0], key_head, k, d);
    }
    for (size_t d = 0; d < sums.size(); ++d)
      output.values[row * sums.size() + d] = total == 0.0 ? 0.0 : sums[d] / total;
  });
  return output;
}

TEST(Rule06, CasesOfOnnxAttention) {
  Random random(607);
  for (const OnnxCase& one : kOnnxCases) {
    SCOPED_TRACE(one.name);
    Call call = dot_product_call(
        {one.batch, one.num_heads, one.num_kv_heads, one.num_queries, one.num_keys, one.head_size, one.head_size},
        random, one.dtype);
    if (one.dtype == HEED_F16) {
      for (Input* input : {&call.queries, &*call.keys, &*call.values}) {
        for (double& number : input->contents.values) number = reference::round_to(reference::Format::F16, number);
      }
    }
    Array bias = filled({one.batch, one.num_heads, one.num_queries, one.num_keys}, 0.0);
    if (!one.mask_dims.empty()) {
      Array mask = random_array(one.mask_dims, random);
      for_each_index(mask.dims, [&](const Dims& index, size_t i) {
        if (index.back() == 1) mask.values[i] = -kInfinity;
      });
      call.bias = make_input(mask);
      bias = broadcast(mask, bias.dims);
    }
    call.options.causal = one.is_causal ? HEED_CAUSAL_TOP_LEFT : HEED_CAUSAL_NONE;
    if (one.window_size != 0) {
      call.options.window = HEED_WINDOW_TOP_LEFT;
      call.options.window_left = one.window_size - 1;
      call.options.window_right = 0;
    }
    if (one.lengths.empty()) {
      Array positions = filled({one.batch, one.num_queries}, 0.0);
      for_each_index(positions.dims, [&](const Dims& index, size_t i) {
        positions.values[i] = static_cast<double>(onnx_position(one, index[0], index[1]));
      });
      call.positions = make_input(positions, HEED_I64);
    } else {
      set_buffer(call, one.lengths);
    }
    const Results results = run(call);
    EXPECT_TRUE(agree(results, solve(call)));
    const Array expected = onnx_output(one, call, bias);
    ASSERT_EQ(results.output->contents.dims, expected.dims);
    // Outputs of about 1 are rounded to the dtype.
    const double tolerance = one.dtype == HEED_F16 ? 2e-3 : 2e-6;
    for (size_t i = 0; i < expected.values.size(); ++i)
      EXPECT_NEAR(results.output->contents.values[i], expected.values[i], tolerance) << i;
  }
}

}  // namespace
}  // namespace heed::property
