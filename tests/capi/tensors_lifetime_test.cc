// SPDX-License-Identifier: Apache-2.0
// Which objects keep memory alive, and when it is released.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

// Memory that counts how often it was released.
struct Lender {
  alignas(64) float memory[24] = {};
  std::atomic<int> num_releases{0};
  void* data = nullptr;

  static void release(void* user, void* data) {
    auto* lender = static_cast<Lender*>(user);
    lender->data = data;
    ++lender->num_releases;
  }

  Tensor lend(heed_context* context, const Dims& dims, const Dims& strides = {}, int64_t first = 0) {
    heed_tensor* tensor = nullptr;
    check(heed_tensor_wrap(context, HEED_F32, static_cast<int32_t>(dims.size()), dims.data(),
                           strides.empty() ? nullptr : strides.data(), memory + first, release, this, &tensor));
    return Tensor(tensor);
  }
};

TEST(Release, IsCalledOnceWithTheCallersPointers) {
  const Context context = make_context();
  Lender lender;
  Tensor tensor = lender.lend(context.get(), {2, 3}, {3, -1}, 2);
  EXPECT_EQ(lender.num_releases, 0);
  tensor.reset();
  EXPECT_EQ(lender.num_releases, 1);
  EXPECT_EQ(lender.data, lender.memory + 2);
}

TEST(Release, IsCalledForTensorsWithoutElementsToo) {
  const Context context = make_context();
  Lender lender;
  lender.lend(context.get(), {0, 3});
  EXPECT_EQ(lender.num_releases, 1);
  EXPECT_EQ(lender.data, lender.memory);
}

TEST(Release, WaitsForEveryView) {
  const Context context = make_context();
  // The tensor and its views, destroyed in every order.
  std::vector<size_t> order = {0, 1, 2, 3, 4};
  do {
    Lender lender;
    std::vector<Tensor> handles;
    handles.push_back(lender.lend(context.get(), {4, 6}));
    handles.push_back(make_slice(handles[0].get(), 0, 1, 2));
    handles.push_back(make_transposed(handles[1].get(), {1, 0}));
    handles.push_back(make_reshaped(handles[0].get(), {24}));
    handles.push_back(make_view(handles[3].get(), {2, 2}, {}, 3));
    for (const size_t i : order) {
      EXPECT_EQ(lender.num_releases, 0);
      handles[i].reset();
    }
    EXPECT_EQ(lender.num_releases, 1);
    EXPECT_EQ(lender.data, lender.memory);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Release, IsNotCalledByAWrapThatFails) {
  const Context context = make_context();
  Lender lender;
  heed_tensor* tensor = nullptr;
  const int64_t dims[] = {2};
  const int64_t negative[] = {-2};
  const int64_t far[] = {INT64_MAX};
  const auto wrap_lent = [&](heed_dtype dtype, int32_t rank, const int64_t* shape, const int64_t* strides, void* data) {
    return heed_tensor_wrap(context.get(), dtype, rank, shape, strides, data, Lender::release, &lender, &tensor);
  };
  EXPECT_NE(wrap_lent(HEED_F32, 1, negative, nullptr, lender.memory), HEED_OK);
  EXPECT_NE(wrap_lent(HEED_F32, 9, dims, nullptr, lender.memory), HEED_OK);
  EXPECT_NE(wrap_lent(HEED_DTYPE_INVALID, 1, dims, nullptr, lender.memory), HEED_OK);
  EXPECT_NE(wrap_lent(HEED_F32, 1, dims, far, lender.memory), HEED_OK);
  EXPECT_NE(wrap_lent(HEED_F32, 1, dims, nullptr, reinterpret_cast<char*>(lender.memory) + 2), HEED_OK);
  EXPECT_NE(wrap_lent(HEED_F32, 1, dims, nullptr, nullptr), HEED_OK);
  EXPECT_NE(heed_tensor_wrap(nullptr, HEED_F32, 1, dims, nullptr, lender.memory, Lender::release, &lender, &tensor),
            HEED_OK);
  EXPECT_NE(
      heed_tensor_wrap(context.get(), HEED_F32, 1, dims, nullptr, lender.memory, Lender::release, &lender, nullptr),
      HEED_OK);
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(lender.num_releases, 0);
}

TEST(Release, IsOptional) {
  const Context context = make_context();
  float memory[2] = {1, 2};
  wrap(context.get(), {2}, {}, memory);
  EXPECT_EQ(memory[1], 2.0f);
}

TEST(Release, WorksAfterTheContextIsDestroyed) {
  Lender lender;
  Tensor view;
  {
    Context context = make_context();
    Tensor tensor = lender.lend(context.get(), {4, 6});
    view = make_slice(tensor.get(), 1, 0, 3);
    context.reset();
    tensor.reset();
  }
  EXPECT_EQ(lender.num_releases, 0);
  EXPECT_EQ(heed_tensor_fill(view.get(), 3.0), HEED_OK) << heed_last_error();
  EXPECT_EQ(lender.memory[0], 3.0f);
  view.reset();
  EXPECT_EQ(lender.num_releases, 1);
}

TEST(Release, MayBeCausedByAnyThread) {
  const Context context = make_context();
  for (int round = 0; round < 50; ++round) {
    Lender lender;
    std::vector<Tensor> handles;
    handles.push_back(lender.lend(context.get(), {4, 6}));
    for (int64_t i = 0; i < 4; ++i) handles.push_back(make_slice(handles[0].get(), 0, i, 1));
    std::vector<std::thread> threads;
    threads.reserve(handles.size());
    for (Tensor& handle : handles) threads.emplace_back([&handle] { handle.reset(); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(lender.num_releases, 1);
  }
}

TEST(Lifetime, ObjectsOutliveTheirContextsHandle) {
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = call.read_outputs();
  Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  check(heed_tensor_fill(call.outputs.output, 0.0));
  call.context.reset();
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), expected);
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 4), HEED_OK) << heed_last_error();
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  call.layer.reset();
  EXPECT_EQ(read_elements<float>(weight.get()).size(), 48u);
}

TEST(Lifetime, InputsAreNotKept) {
  AttentionCall call(Kind::MultiHead);
  Lender lender;
  Tensor queries = lender.lend(call.context.get(), {1, 2, 6});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  ASSERT_EQ(heed_layer_initialize(call.layer.get(), &inputs, 1), HEED_OK) << heed_last_error();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(call.layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  ASSERT_EQ(heed_layer_forward(call.layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  queries.reset();
  EXPECT_EQ(lender.num_releases, 1);
}

TEST(TensorErrors, SnapshotsAreReadOnlyThroughEveryView) {
  const AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");  // (8, 6)
  const Tensor value = make_random(call.context.get(), {8, 6}, 9);
  const std::vector<float> before = read_elements<float>(weight.get());
  const Tensor viewed = make_view(weight.get(), {8, 6}, {});
  const Tensor reshaped = make_reshaped(weight.get(), {8, 6});
  const Tensor sliced = make_slice(weight.get(), 0, 0, 8);
  const Tensor transposed = make_transposed(weight.get(), {1, 0});
  const Tensor twice = make_transposed(transposed.get(), {1, 0});
  std::vector<RefusedCall> calls;
  for (heed_tensor* to : {weight.get(), viewed.get(), reshaped.get(), sliced.get(), twice.get()}) {
    const Refusal refusal = invalid({"read-only"});
    calls.push_back({"write", [&, to](OutParameters&) { return heed_tensor_write(to, before.data(), 192); }, refusal});
    calls.push_back({"fill", [to](OutParameters&) { return heed_tensor_fill(to, 0.0); }, refusal});
    calls.push_back({"copy", [&, to](OutParameters&) { return heed_tensor_copy(to, value.get()); }, refusal});
    calls.push_back({"data",
                     [to](OutParameters&) {
                       EXPECT_EQ(heed_tensor_data(to), nullptr);
                       return heed_last_status();
                     },
                     invalid({"read-only", "heed_tensor_read"})});
  }
  expect_refused(calls);
  EXPECT_EQ(read_elements<float>(weight.get()), before);
  EXPECT_EQ(read_elements<float>(snapshot(call.layer.get(), "W_q.weight").get()), before);
}

}  // namespace
}  // namespace heed::capi_test
