// SPDX-License-Identifier: Apache-2.0
// What the copies of a call take of the device, as docs/ascend.md has it in "Masks and memory".
#include <algorithm>

#include "ascend/support/simulated.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;

class Memory : public Simulated {};

constexpr int64_t kNumItems = 3;

// Attention of one head.
struct Case {
  int64_t num_queries;
  int64_t num_keys;
  int64_t head_size;
  int64_t value_head_size;
  int32_t causal;
  int64_t padded_size;  // D' of the page
};

// What the call takes of the device.
double attend(heed_context* context, const Case& of) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = of.causal;
  const Layer layer = capi_test::make_dot_product(context, options);
  const auto tensor = [&](int64_t rows, int64_t size) {
    return make_tensor(context, {kNumItems, rows, size}, HEED_F16);
  };
  const Tensor queries = tensor(of.num_queries, of.head_size);
  const Tensor keys = tensor(of.num_keys, of.head_size);
  const Tensor values = tensor(of.num_keys, of.value_head_size);
  const Tensor output = tensor(of.num_queries, of.value_head_size);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  inputs.values = values.get();
  outputs.output = output.get();
  const uint64_t before = ascend_sim_count("bytes_allocated");
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  property::check(heed_context_synchronize(context));
  return static_cast<double>(ascend_sim_count("bytes_allocated") - before);
}

// By copies, on a device that has nothing but the workspace of a call of that size.
double bytes_taken(const Case& of) {
  const Context context = make_npu_context();
  attend(context.get(), {1, 1, of.padded_size, of.padded_size, HEED_CAUSAL_NONE, 0});
  return attend(context.get(), of);
}

double bytes_told(const Case& of) {
  const auto q = static_cast<double>(kNumItems * of.num_queries);
  const auto k = static_cast<double>(kNumItems * of.num_keys);
  const auto d = static_cast<double>(of.head_size);
  const auto value_d = static_cast<double>(of.value_head_size);
  const auto padded = static_cast<double>(of.padded_size);
  const double appended = (q + k) * (padded - d) + k * (padded - value_d);
  const double widened = (of.head_size < of.padded_size ? (q + k) * padded : 0) +
                         (of.value_head_size < of.padded_size ? k * padded : 0) + appended;
  const double result = of.value_head_size < of.padded_size ? q * (padded + value_d) : 0;
  const double masked = of.causal == HEED_CAUSAL_NONE ? 0 : 2 * k * padded + 128 * 128;
  return 2 * (widened + result + masked);
}

TEST_F(Memory, CopiesTakeNoMoreThanThePageTells) {
  for (const Case& of : {
           Case{100, 70, 64, 64, HEED_CAUSAL_NONE, 64},
           Case{100, 70, 40, 40, HEED_CAUSAL_NONE, 48},
           Case{100, 300, 100, 33, HEED_CAUSAL_NONE, 112},
           Case{300, 100, 33, 100, HEED_CAUSAL_NONE, 112},
           Case{300, 300, 64, 64, HEED_CAUSAL_TOP_LEFT, 64},
           Case{300, 300, 128, 128, HEED_CAUSAL_TOP_LEFT, 128},
           Case{300, 300, 129, 129, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 160, 100, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 193, 193, HEED_CAUSAL_TOP_LEFT, 208},
           Case{300, 300, 160, 160, HEED_CAUSAL_NONE, 160},
       }) {
    const double taken = bytes_taken(of);
    const double told = bytes_told(of);
    // Blocks are larger by up to a quarter, and a few hold lengths and the like.
    EXPECT_LE(taken, 1.25 * told + 20'000) << of.head_size << " " << of.value_head_size << " " << of.num_keys;
    // Blocks that are used twice are all that is not told.
    EXPECT_GE(taken, 0.6 * told) << of.head_size << " " << of.value_head_size << " " << of.num_keys;
  }
}

}  // namespace
}  // namespace heed::ascend_test
