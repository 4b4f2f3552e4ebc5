// SPDX-License-Identifier: Apache-2.0
// An NPU as a device of heed: contexts, tensors in its memory, copies between devices, and its description.
#include <cstring>
#include <numeric>

#include "ascend/support/simulated.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/child_process.h"

namespace heed::ascend_test {
namespace {

using capi_test::is_refused;
using capi_test::make_slice;
using capi_test::make_tensor;
using capi_test::make_tensor_of;
using capi_test::make_transposed;
using capi_test::read_elements;

using Numbers = std::vector<float>;

class Device : public Simulated {};

Layer make_line(heed_context* context) {
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 2;
  options.no_bias = 1;
  Layer layer = capi_test::make_linear(context, options);
  property::check(heed_layer_set_parameter(layer.get(), "weight", make_tensor(context, {2, 3}).get()));
  return layer;
}

// Neither may be read at the address of the other.
TEST_F(Device, SetsOfGradientsAreOnOne) {
  const Context npu = make_npu_context();
  const Context cpu = capi_test::make_context();
  const Layer layers[] = {make_line(npu.get()), make_line(cpu.get())};
  const capi_test::Gradients gradients[] = {capi_test::make_gradients(layers[0].get()),
                                            capi_test::make_gradients(layers[1].get())};
  for (const int first : {0, 1}) {
    heed_gradients* const sets[] = {gradients[first].get(), gradients[1 - first].get()};
    double norm = 7;
    EXPECT_TRUE(is_refused(heed_gradients_norm(sets, 2, &norm),
                           {HEED_ERROR_INVALID_ARGUMENT, {"sets[1] is on device", "sets[0] is on"}}));
    EXPECT_TRUE(is_refused(heed_gradients_clip(sets, 2, 1, &norm),
                           {HEED_ERROR_INVALID_ARGUMENT, {"sets[1] is on device", "sets[0] is on"}}));
    EXPECT_EQ(norm, 7);
    EXPECT_TRUE(is_refused(heed_gradients_add(sets[0], sets[1]),
                           {HEED_ERROR_INVALID_ARGUMENT, {"addend is on device", "sum is on"}}));
  }
}

std::string describe(heed_context* context) {
  char text[1024] = "";
  size_t num_bytes = 0;
  property::check(heed_context_describe(context, text, sizeof text, &num_bytes));
  return text;
}

TEST_F(Device, IsCountedAndDescribed) {
  EXPECT_EQ(heed_device_count(HEED_DEVICE_ASCEND), 1);
  const Context context = make_npu_context();
  const std::string text = describe(context.get());
  EXPECT_NE(text.find("\"device\": \"ascend\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"isa\": \"Ascend910B4\""), std::string::npos) << text;
  EXPECT_NE(text.find("ATB"), std::string::npos) << text;
}

TEST_F(Device, IndexMustBeThatOfADevice) {
  heed_context_options options = npu_options();
  options.device_index = 1;
  heed_context* context = nullptr;
  EXPECT_TRUE(is_refused(heed_context_create(&options, &context),
                         {HEED_ERROR_INVALID_ARGUMENT, {"options->device_index is 1", "one NPU", "expected 0"}}));
  options.device_index = -1;
  EXPECT_TRUE(is_refused(heed_context_create(&options, &context),
                         {HEED_ERROR_INVALID_ARGUMENT, {"options->device_index is -1"}}));
}

// The host cannot read the tensor at its address: the simulator's device memory faults.
TEST_F(Device, TensorsAreInMemoryThatTheHostCannotRead) {
  const Context context = make_npu_context();
  const Tensor tensor = make_tensor_of<float>(context.get(), {3}, {1, 2, 3});
  property::check(heed_context_synchronize(context.get()));
  const auto* on_device = static_cast<const float*>(heed_tensor_data(tensor.get()));
  const auto* behind = static_cast<const float*>(ascend_sim_host_address(on_device));
  ASSERT_NE(behind, nullptr);
  EXPECT_EQ(Numbers(behind, behind + 3), (Numbers{1, 2, 3}));
  EXPECT_DEATH(static_cast<void>(*static_cast<const volatile float*>(on_device)), "");
}

TEST_F(Device, NewTensorsInReusedMemoryAreZeros) {
  const Context context = make_npu_context();
  for (int round = 0; round < 3; ++round) {
    const Tensor tensor = make_tensor(context.get(), {1000});
    EXPECT_EQ(read_elements<float>(tensor.get()), Numbers(1000, 0.0f));
    property::check(heed_tensor_fill(tensor.get(), 7));
  }
}

TEST_F(Device, TrimReturnsUnusedMemory) {
  constexpr int64_t kLarge = int64_t{1} << 20;
  const Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  const Numbers expected = attention.read();
  make_tensor(context.get(), {kLarge}).reset();
  const uint64_t before = ascend_sim_count("bytes_allocated");
  for (int round = 0; round < 2; ++round) {
    property::check(heed_context_trim(context.get()));
    EXPECT_LE(ascend_sim_count("bytes_allocated") + kLarge * sizeof(float), before);
    property::check(heed_context_trim(context.get()));
    property::check(attention.forward());
    EXPECT_EQ(attention.read(), expected);
  }
}

// Memory that queued work uses is not returned to the driver before the work is done.
TEST_F(Device, TrimWaitsForQueuedWork) {
  const Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  const Numbers expected = attention.read();
  ascend_sim_delay_tasks(1000);
  property::check(attention.forward());
  property::check(heed_context_trim(context.get()));
  EXPECT_EQ(attention.read(), expected);
}

TEST_F(Device, TensorsAreFilledReadAndViewed) {
  const Context context = make_npu_context();
  const Tensor tensor = make_tensor(context.get(), {2, 3});
  property::check(heed_tensor_fill_arange(tensor.get(), 0, 1));
  EXPECT_EQ(read_elements<float>(make_transposed(tensor.get(), {1, 0}).get()), (Numbers{0, 3, 1, 4, 2, 5}));
  const Tensor column = make_slice(tensor.get(), 1, 1, 1);
  property::check(heed_tensor_fill(column.get(), 9));
  EXPECT_EQ(read_elements<float>(tensor.get()), (Numbers{0, 9, 2, 3, 9, 5}));
}

TEST_F(Device, LargeTensorsAreWrittenAndRead) {
  const Context context = make_npu_context();
  std::vector<int32_t> numbers(3'000'000);
  std::iota(numbers.begin(), numbers.end(), -7);
  const Tensor tensor = make_tensor_of<int32_t>(context.get(), {3'000'000}, numbers);
  EXPECT_EQ(read_elements<int32_t>(tensor.get()), numbers);
}

TEST_F(Device, TensorsAreCopiedBetweenDevices) {
  const Context npu = make_npu_context();
  const Context cpu = capi_test::make_context();
  const Tensor here = make_tensor_of<float>(cpu.get(), {2, 2}, {1, 2, 3, 4.125f});
  const Tensor there = make_tensor(npu.get(), {2, 2}, HEED_BF16);
  const Tensor elsewhere = make_tensor(npu.get(), {3, 2, 2}, HEED_F32);
  const Tensor back = make_tensor(cpu.get(), {2, 2});
  property::check(heed_tensor_copy(there.get(), here.get()));
  property::check(heed_tensor_copy(elsewhere.get(), there.get()));
  property::check(heed_tensor_copy(back.get(), there.get()));
  EXPECT_EQ(read_elements<float>(back.get()), (Numbers{1, 2, 3, 4.125f}));
  EXPECT_EQ(read_elements<float>(elsewhere.get()), (Numbers{1, 2, 3, 4.125f, 1, 2, 3, 4.125f, 1, 2, 3, 4.125f}));
}

TEST_F(Device, ACallWithTensorsOfTwoDevicesIsRefused) {
  const Context npu = make_npu_context();
  const Context cpu = capi_test::make_context();
  Attention attention(npu.get());
  const Tensor queries = make_tensor(cpu.get(), {2, 4, 64}, HEED_F16);
  attention.inputs.queries = queries.get();
  EXPECT_TRUE(is_refused(attention.forward(),
                         {HEED_ERROR_INVALID_ARGUMENT, {"inputs->queries", "cpu:0", "ascend:0", "the same device"}}));
}

TEST_F(Device, TensorsAreCopiedBetweenTwoNpus) {
  ascend_sim_set_faults("device_count=2");
  const Context first = make_npu_context();
  heed_context_options options = npu_options();
  options.device_index = 1;
  const Context second = capi_test::make_context(&options);
  const Tensor here = make_tensor_of<float>(first.get(), {2, 2}, {1, 2, 3, 4});
  const Tensor there = make_tensor(second.get(), {2, 2});
  property::check(heed_tensor_copy(there.get(), here.get()));
  EXPECT_EQ(read_elements<float>(there.get()), (Numbers{1, 2, 3, 4}));

  Attention attention(second.get());
  property::check(attention.forward());
  const Tensor queries = make_tensor(first.get(), {2, 4, 64}, HEED_F16);
  attention.inputs.queries = queries.get();
  EXPECT_TRUE(is_refused(attention.forward(), {HEED_ERROR_INVALID_ARGUMENT, {"ascend:0", "ascend:1"}}));
}

TEST_F(Device, ContextsOnOneDeviceShareTensors) {
  const Context one = make_npu_context();
  Attention attention(one.get());
  property::check(attention.forward());
  const std::vector<float> expected = attention.read();
  const Context other = make_npu_context();
  const Tensor output = make_tensor(other.get(), {2, 4, 64}, HEED_F16);
  attention.outputs.output = output.get();
  property::check(attention.forward());
  EXPECT_EQ(capi_test::read_floats(other.get(), output.get()), expected);
}

TEST_F(Device, ObjectsOutliveTheContextsHandle) {
  Context context = make_npu_context();
  const Attention attention(context.get());
  property::check(attention.forward());
  const std::vector<uint8_t> expected = capi_test::read_bytes(attention.output.get());
  context.reset();
  property::check(attention.forward());
  EXPECT_EQ(capi_test::read_bytes(attention.output.get()), expected);
}

TEST_F(Device, ParametersAreSavedAndLoaded) {
  const Context context = make_npu_context();
  const Attention saved(context.get(), HEED_BF16);
  size_t num_bytes = 0;
  property::check(heed_layer_save_memory(saved.layer.get(), nullptr, 0, &num_bytes));
  std::vector<char> file(num_bytes);
  property::check(heed_layer_save_memory(saved.layer.get(), file.data(), file.size(), &num_bytes));
  const Attention loaded(context.get(), HEED_BF16);
  property::check(heed_layer_load_memory(loaded.layer.get(), file.data(), file.size(), nullptr));
  property::check(saved.forward());
  property::check(loaded.forward());
  EXPECT_EQ(loaded.read(), saved.read());
  const Context cpu = capi_test::make_context();
  const Attention on_cpu(cpu.get(), HEED_BF16);
  property::check(heed_layer_load_memory(on_cpu.layer.get(), file.data(), file.size(), nullptr));
  property::check(on_cpu.forward());
  EXPECT_LT(difference(on_cpu.read(), saved.read()), 0.1);
}

// Bloom's file has the rows of queries, keys and values of each head one after another.
TEST_F(Device, PackedProjectionsAreLoadedAsOnTheCpu) {
  std::string file = capi_test::safetensors(
      R"({"h.0.self_attention.query_key_value.weight":{"dtype":"F32","shape":[24,8],"data_offsets":[0,768]},)"
      R"("h.0.self_attention.dense.weight":{"dtype":"F32","shape":[8,8],"data_offsets":[768,1024]}})",
      1024);
  Numbers numbers(256);
  std::iota(numbers.begin(), numbers.end(), 1.0f);
  std::memcpy(file.data() + file.size() - 1024, numbers.data(), 1024);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  options.alibi = HEED_ALIBI_ADDED;
  const auto weights_in = [&](heed_context* context, const char* name) {
    const Layer layer = capi_test::make_multi_head(context, options);
    property::check(heed_layer_load_memory(layer.get(), file.data(), file.size(), "h.0.self_attention"));
    return capi_test::read_bytes(capi_test::snapshot(layer.get(), name).get());
  };
  const Context npu = make_npu_context();
  const Context cpu = capi_test::make_context();
  for (const char* const name : {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"})
    EXPECT_EQ(weights_in(npu.get(), name), weights_in(cpu.get(), name)) << name;
}

TEST_F(Device, HasNoCodeInDlpack) {
  const Context context = make_npu_context();
  const Tensor tensor = make_tensor(context.get(), {2});
  DLManagedTensor* managed = nullptr;
  EXPECT_TRUE(is_refused(heed_tensor_to_dlpack(tensor.get(), &managed),
                         {HEED_ERROR_UNSUPPORTED, {"ascend:0", "DLPack", "heed_tensor_copy"}}));
}

// A child of fork does not have the driver's threads.
TEST_F(Device, AChildOfForkMustNotUseIt) {
  const Context context = make_npu_context();
  const Attention attention(context.get());
  EXPECT_TRUE(succeeds_in_a_child([&] {
    EXPECT_TRUE(is_refused(attention.forward(), {HEED_ERROR_DEVICE_UNAVAILABLE, {"before fork"}}));
  }));
  property::check(attention.forward());
}

}  // namespace
}  // namespace heed::ascend_test
