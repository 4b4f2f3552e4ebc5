// SPDX-License-Identifier: Apache-2.0
// What the device does after a call has returned, and which calls wait: order, memory, threads, and a host that uses
// AscendCL itself.
#include <acl/acl.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "ascend/support/rotary_layer.h"
#include "ascend/support/simulated.h"
#include "capi/support/refusal.h"

namespace heed::ascend_test {
namespace {

class Order : public Simulated {};

// Releases the held device after 20 ms, on a thread of its own.
class ReleaseLater {
 public:
  ReleaseLater()
      : thread_([this] {
          std::this_thread::sleep_for(std::chrono::milliseconds(20));
          is_released_ = true;
          ascend_sim_hold_workers(0);
        }) {}
  ReleaseLater(const ReleaseLater&) = delete;
  ReleaseLater& operator=(const ReleaseLater&) = delete;
  ~ReleaseLater() { thread_.join(); }

  bool is_released() const { return is_released_; }

 private:
  std::atomic<bool> is_released_ = false;
  std::thread thread_;
};

TEST_F(Order, ForwardReturnsBeforeTheDeviceIsDone) {
  const Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  const std::vector<float> expected = attention.read();
  property::check(heed_tensor_fill(attention.output.get(), 0));
  property::check(heed_context_synchronize(context.get()));

  ascend_sim_hold_workers(1);
  property::check(attention.forward());
  property::check(attention.forward());
  const ReleaseLater later;
  EXPECT_FALSE(later.is_released()) << "forward waited for a device that stands still";
  EXPECT_EQ(attention.read(), expected) << "reading waits";
  EXPECT_TRUE(later.is_released());
}

TEST_F(Order, RotaryPositionsDoNotWait) {
  const Context context = make_npu_context();
  RotaryCase call;
  call.layout = HEED_ROPE_INTERLEAVED;
  call.head_size = 48;
  call.rotary_size = 20;
  call.epsilon = 1e-5f;
  const RotaryLayer layer(context.get(), call);
  property::check(layer.forward());
  const std::vector<float> expected = layer.read();
  ascend_sim_hold_workers(1);
  property::check(layer.forward());
  property::check(layer.forward());
  const ReleaseLater later;
  EXPECT_FALSE(later.is_released()) << "forward waited for a device that stands still";
  EXPECT_EQ(layer.read(), expected) << "reading waits";
  EXPECT_TRUE(later.is_released());
}

TEST_F(Order, SynchronizeWaits) {
  const Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  property::check(heed_context_synchronize(context.get()));
  ascend_sim_hold_workers(1);
  property::check(attention.forward());
  const ReleaseLater later;
  property::check(heed_context_synchronize(context.get()));
  EXPECT_TRUE(later.is_released());
}

// A queued call does not see what is written after it, and still finds what is destroyed after it.
TEST_F(Order, TensorsMayBeWrittenAndDestroyedAtOnce) {
  const Context context = make_npu_context();
  std::vector<float> expected;
  for (const bool is_slow : {false, true}) {
    ascend_sim_delay_tasks(is_slow ? 500 : 0);
    Attention attention(context.get());
    property::check(attention.forward());
    property::check(heed_tensor_fill(attention.queries.get(), 100));
    attention.keys.reset();
    attention.layer.reset();
    for (int i = 0; i < 4; ++i) {
      const Tensor other = capi_test::make_tensor(context.get(), {2, 6, 64}, HEED_F16);
      property::check(heed_tensor_fill(other.get(), -100));
    }
    if (is_slow) {
      EXPECT_EQ(attention.read(), expected);
    } else {
      expected = attention.read();
    }
  }
}

TEST_F(Order, WrappedMemoryIsReleasedWhenTheDeviceIsDoneWithIt) {
  const Context context = make_npu_context();
  Attention attention(context.get());
  property::check(attention.forward());
  struct Seen {
    bool is_released = false;
    uint64_t num_synchronized = 0;
  } seen;
  const Tensor lender = capi_test::make_tensor(context.get(), {2, 4, 64}, HEED_F16);
  const std::array<int64_t, 3> dims = {2, 4, 64};
  heed_tensor* wrapped = nullptr;
  property::check(heed_tensor_wrap(
      context.get(), HEED_F16, 3, dims.data(), nullptr, heed_tensor_data(lender.get()),
      [](void* user, void*) {
        *static_cast<Seen*>(user) = {true, ascend_sim_count("synchronize")};
      },
      &seen, &wrapped));
  attention.outputs.output = wrapped;
  ascend_sim_hold_workers(1);
  property::check(attention.forward());
  const uint64_t before = ascend_sim_count("synchronize");
  const ReleaseLater later;
  heed_tensor_destroy(wrapped);
  EXPECT_TRUE(seen.is_released);
  EXPECT_GT(seen.num_synchronized, before);
  EXPECT_TRUE(later.is_released());
}

// Later calls reuse the memory and the operations of earlier ones.
TEST_F(Order, RepeatedCallsAllocateNothing) {
  const Context context = make_npu_context();
  const Attention attention(context.get(), HEED_F16, {5, 3});
  for (int i = 0; i < 3; ++i) property::check(attention.forward());
  const uint64_t mallocs = ascend_sim_count("malloc");
  const uint64_t operations = ascend_sim_count("create_operation");
  for (int i = 0; i < 10; ++i) property::check(attention.forward());
  EXPECT_EQ(ascend_sim_count("malloc"), mallocs);
  EXPECT_EQ(ascend_sim_count("create_operation"), operations);
}

TEST_F(Order, ThreadsMayShareALayerAndADevice) {
  const Context context = make_npu_context();
  const Attention first(context.get(), HEED_F16, {5, 3});
  property::check(first.forward());
  const std::vector<float> expected = first.read();
  std::array<std::thread, 4> threads;
  std::atomic<int> num_right = 0;
  for (std::thread& thread : threads) {
    thread = std::thread([&] {
      const Context own = make_npu_context();
      for (int i = 0; i < 5; ++i) {
        const Tensor output = capi_test::make_tensor(own.get(), {2, 4, 64}, HEED_F16);
        heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
        outputs.output = output.get();
        property::check(heed_layer_forward(first.layer.get(), &first.inputs, nullptr, &outputs));
        if (capi_test::read_floats(own.get(), output.get()) == expected) ++num_right;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(num_right, 20);
}

// Each scale is an operation of its own, and a host may use any number of them.
TEST_F(Order, TheNumberOfKeptOperationsIsLimited) {
  const Context context = make_npu_context();
  const Tensor tokens = capi_test::make_random(context.get(), {1, 2, 16}, 1, HEED_F16);
  const Tensor output = capi_test::make_tensor(context.get(), {1, 2, 16}, HEED_F16);
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  inputs.queries = tokens.get();
  outputs.output = output.get();
  const auto attend = [&](int i) {
    heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    options.scale = 1.0f + static_cast<float>(i) / 1024.0f;
    const Layer layer = capi_test::make_dot_product(context.get(), options);
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    return i % 300 == 0 ? capi_test::read_bytes(output.get()) : std::vector<uint8_t>{};
  };
  const std::vector<uint8_t> first = attend(0);
  const uint64_t before = ascend_sim_count("create_operation");
  constexpr int kNumScales = 2400;
  for (int i = 1; i < kNumScales; ++i) attend(i);
  EXPECT_EQ(ascend_sim_count("create_operation") - before, uint64_t{kNumScales - 1});
  // Counts all live objects, operations included.
  EXPECT_LT(ascend_sim_leaks(nullptr, 0), size_t{kNumScales - 100});
  EXPECT_EQ(attend(0), first);
}

// The dtype is new too, so Setup must compute kernels, which it does in its thread's cache.
TEST_F(Order, AThreadsOperationsAreNotUsedByAnother) {
  const Context context = make_npu_context();
  std::thread([&] {
    const Attention attention(context.get());
    property::check(attention.forward());
  }).join();
  const uint64_t before = ascend_sim_count("create_operation");
  const Attention attention(context.get(), HEED_BF16);
  property::check(attention.forward());
  EXPECT_GT(ascend_sim_count("create_operation"), before);
}

// The host's saturation mode is unchanged afterwards, and heed computes with infinities anyway.
TEST_F(Order, TheHostsOverflowModeDoesNotAffectHeed) {
  const aclError initialized = aclInit(nullptr);
  EXPECT_TRUE(initialized == ACL_SUCCESS || initialized == 100002);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  ASSERT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_SATURATION), ACL_SUCCESS);
  {
    const Context context = make_npu_context();
    const Tensor a = capi_test::make_tensor_of<uint16_t>(context.get(), {2, 1}, {0x7c00, 0x7e00}, HEED_F16);
    const Tensor one = capi_test::make_tensor_of<uint16_t>(context.get(), {1, 1}, {0x3c00}, HEED_F16);
    const Tensor product = capi_test::make_tensor(context.get(), {2, 1}, HEED_F16);
    property::check(heed_matmul(a.get(), one.get(), product.get()));
    const std::vector<float> numbers = capi_test::read_floats(context.get(), product.get());
    EXPECT_EQ(numbers[0], HUGE_VALF);
    EXPECT_TRUE(std::isnan(numbers[1])) << numbers[1];
  }
  aclrtFloatOverflowMode mode = ACL_RT_OVERFLOW_MODE_UNDEF;
  EXPECT_EQ(aclrtGetDeviceSatMode(&mode), ACL_SUCCESS);
  EXPECT_EQ(mode, ACL_RT_OVERFLOW_MODE_SATURATION);
  EXPECT_EQ(aclrtSetDeviceSatMode(ACL_RT_OVERFLOW_MODE_INFNAN), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

// A host that uses AscendCL itself keeps its device and its context, and can go on after heed is closed.
TEST_F(Order, TheHostsOwnContextIsRestored) {
  const aclError initialized = aclInit(nullptr);
  EXPECT_TRUE(initialized == ACL_SUCCESS || initialized == 100002);
  ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
  aclrtContext own = nullptr;
  ASSERT_EQ(aclrtCreateContext(&own, 0), ACL_SUCCESS);
  aclrtStream stream = nullptr;
  ASSERT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
  const auto is_own = [&] {
    aclrtContext current = nullptr;
    return aclrtGetCurrentContext(&current) == ACL_SUCCESS && current == own;
  };
  {
    const Context context = make_npu_context();
    EXPECT_TRUE(is_own());
    const Attention attention(context.get());
    property::check(attention.forward());
    EXPECT_TRUE(is_own());
    EXPECT_FALSE(attention.read().empty());
    EXPECT_TRUE(is_own());
  }
  EXPECT_TRUE(is_own());
  EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyStream(stream), ACL_SUCCESS);
  EXPECT_EQ(aclrtDestroyContext(own), ACL_SUCCESS);
  EXPECT_EQ(aclrtResetDevice(0), ACL_SUCCESS);
}

}  // namespace
}  // namespace heed::ascend_test
