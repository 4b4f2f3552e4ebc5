// SPDX-License-Identifier: Apache-2.0
// Zeros are copied from a block that is uploaded once: setting memory to 0 takes no host memory and does not wait.
#include "ascend/support/simulated.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;

class Zeros : public Simulated {
 protected:
  // aclrtMemsetAsync fails, so a call that used it would fail.
  void SetUp() override { ascend_sim_set_faults("memset=1"); }
};

// Sizes near the block's 256 KiB, and multiples of it.
constexpr int64_t kBlock = int64_t{256} << 10;
const std::vector<int64_t> kSizes = {1, 63, 64, 65, kBlock - 1, kBlock, kBlock + 1, 3 * kBlock + 5, 8 * kBlock};

struct Copies {
  uint64_t uploads = ascend_sim_count("memcpy_h2d");
  uint64_t on_device = ascend_sim_count("memcpy_d2d");
};

TEST_F(Zeros, OfAnySizeAreCopiesOfOneUpload) {
  const Context context = make_npu_context();
  const Copies before;
  for (const int64_t size : kSizes) {
    const Tensor tensor = make_tensor(context.get(), {size}, HEED_U8);
    EXPECT_EQ(capi_test::read_elements<uint8_t>(tensor.get()), std::vector<uint8_t>(static_cast<size_t>(size), 0));
    // So that the block, which the next tensor may get, does not hold zeros.
    property::check(heed_tensor_fill(tensor.get(), 7));
  }
  EXPECT_EQ(ascend_sim_count("memset"), 0u);
  EXPECT_LE(Copies().uploads, before.uploads + 1 + 2 * kSizes.size());
}

// 16 MiB are 64 blocks.
TEST_F(Zeros, AreDoubledOnTheDevice) {
  const Context context = make_npu_context();
  make_tensor(context.get(), {1}, HEED_U8).reset();
  const Copies before;
  make_tensor(context.get(), {64 * kBlock}, HEED_U8).reset();
  const Copies after;
  EXPECT_EQ(after.uploads, before.uploads);
  EXPECT_EQ(after.on_device, before.on_device + 7);
}

struct Call {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  int64_t num_queries = 3;
  int64_t num_keys = 5;
  int64_t head_size = 16;
  std::vector<int64_t> lens = {};
};

// Calls that need zeros: to pad heads, for one or all batch elements without a visible key, to pad keys, and for a call
// with no key.
std::vector<Call> calls() {
  std::vector<Call> all(6);
  all[0].head_size = 24;
  all[1].lens = {3, 0};
  all[2].lens = {0, 0};
  all[3].num_queries = 9;
  all[3].num_keys = 7;
  all[3].options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  all[4].num_keys = 0;
  // The zeros for the keys' padding, 2 * 4500 * 15 * 2 bytes, are larger than the block.
  all[5].num_queries = 1;
  all[5].num_keys = 4500;
  all[5].head_size = 17;
  return all;
}

// The call's result, and the copies and synchronisations of the second of two equal calls.
std::vector<float> result_of(heed_context* context, const Call& call, Copies* taken, uint64_t* num_synchronized) {
  const Layer layer = capi_test::make_dot_product(context, call.options);
  const Tensor queries = capi_test::make_random(context, {2, call.num_queries, call.head_size}, 1, HEED_F16);
  const Tensor keys = capi_test::make_random(context, {2, call.num_keys, call.head_size}, 2, HEED_F16);
  const Tensor output = make_tensor(context, {2, call.num_queries, call.head_size}, HEED_F16);
  Tensor lens;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  if (!call.lens.empty()) {
    lens = capi_test::make_tensor_of<int64_t>(context, {2}, call.lens);
    inputs.valid_lens = lens.get();
  }
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  property::check(heed_tensor_fill(output.get(), 7));
  const Copies before;
  const uint64_t synchronized = ascend_sim_count("synchronize");
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  const Copies after;
  *taken = {after.uploads - before.uploads, after.on_device - before.on_device};
  *num_synchronized = ascend_sim_count("synchronize") - synchronized;
  return capi_test::read_floats(context, output.get());
}

TEST_F(Zeros, InCallsUseNoMemset) {
  const Context context = make_npu_context();
  const Context cpu = capi_test::make_context();
  for (const Call& call : calls()) {
    SCOPED_TRACE(std::to_string(call.num_queries) + " queries, " + std::to_string(call.num_keys) + " keys, head size " +
                 std::to_string(call.head_size));
    Copies taken;
    uint64_t num_synchronized = 0;
    const std::vector<float> actual = result_of(context.get(), call, &taken, &num_synchronized);
    Copies ignored;
    uint64_t ignored_too = 0;
    EXPECT_LT(difference(actual, result_of(cpu.get(), call, &ignored, &ignored_too)), 4e-3);
    // Lengths are read, which waits.
    EXPECT_EQ(num_synchronized, call.lens.empty() ? 0u : 1u);
  }
  EXPECT_EQ(ascend_sim_count("memset"), 0u);
}

// A view may begin at an address that is not a multiple of 64. A copy on the device from or to such an address would
// wait.
TEST_F(Zeros, AtAnyAddressDoNotWait) {
  const Context context = make_npu_context();
  const Layer layer = capi_test::make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  const Tensor queries = capi_test::make_random(context.get(), {1, 2, 16}, 1, HEED_F16);
  const Tensor keys = make_tensor(context.get(), {1, 0, 16}, HEED_F16);
  const Tensor all = make_tensor(context.get(), {6, 16}, HEED_F16);
  property::check(heed_tensor_fill(all.get(), 7));
  // The view begins 32 bytes into the tensor.
  const Tensor output = capi_test::make_view(all.get(), {1, 2, 16}, {32, 16, 1}, 16);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  const uint64_t before = ascend_sim_count("synchronize");
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  EXPECT_EQ(ascend_sim_count("synchronize"), before);
  std::vector<float> expected(size_t{6} * 16, 7.0f);
  std::fill_n(expected.begin() + 16, 32, 0.0f);
  EXPECT_EQ(capi_test::read_floats(context.get(), all.get()), expected);
}

TEST_F(Zeros, AreRightAfterTrimAndOnAReopenedDevice) {
  std::vector<float> expected;
  for (const bool is_lost : {false, true}) {
    const Context context = make_npu_context();
    Copies ignored;
    uint64_t ignored_too = 0;
    const auto padded = [&] { return result_of(context.get(), calls()[0], &ignored, &ignored_too); };
    if (expected.empty()) expected = padded();
    EXPECT_EQ(padded(), expected);
    property::check(heed_context_trim(context.get()));
    EXPECT_EQ(padded(), expected);
    if (!is_lost) continue;
    ascend_sim_set_faults("kernel=1:507015,memset=1");
    EXPECT_THROW(padded(), property::CallFailed);
  }
  ascend_sim_set_faults("memset=1");
  const Context context = make_npu_context();
  Copies ignored;
  uint64_t ignored_too = 0;
  EXPECT_EQ(result_of(context.get(), calls()[0], &ignored, &ignored_too), expected);
}

}  // namespace
}  // namespace heed::ascend_test
