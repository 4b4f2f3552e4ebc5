// SPDX-License-Identifier: Apache-2.0
// Tensors from and to DLPack: both sides share the memory, and the deleter is called once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <thread>

#include "capi/support/attention_call.h"
#include "capi/support/dlpack_lender.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct CallDeleter {
  void operator()(DLManagedTensor* managed) const { managed->deleter(managed); }
};
using Managed = std::unique_ptr<DLManagedTensor, CallDeleter>;

Managed to_dlpack(heed_tensor* tensor) {
  DLManagedTensor* managed = nullptr;
  check(heed_tensor_to_dlpack(tensor, &managed));
  return Managed(managed);
}

Tensor from_dlpack(heed_context* context, Managed managed) {
  heed_tensor* tensor = nullptr;
  check(heed_tensor_from_dlpack(context, managed.get(), &tensor));
  managed.release();  // NOLINT(bugprone-unused-return-value): it is the tensor's now
  return Tensor(tensor);
}

Dims given_shape(const DLTensor& tensor) { return {tensor.shape, tensor.shape + tensor.ndim}; }
Dims given_strides(const DLTensor& tensor) { return {tensor.strides, tensor.strides + tensor.ndim}; }

constexpr struct {
  heed_dtype dtype;
  DLDataType type;
} kDTypes[] = {{HEED_F32, {kDLFloat, 32, 1}}, {HEED_F16, {kDLFloat, 16, 1}}, {HEED_BF16, {kDLBfloat, 16, 1}},
               {HEED_F64, {kDLFloat, 64, 1}}, {HEED_I32, {kDLInt, 32, 1}},   {HEED_I64, {kDLInt, 64, 1}},
               {HEED_I8, {kDLInt, 8, 1}},     {HEED_U8, {kDLUInt, 8, 1}},    {HEED_BOOL, {6, 8, 1}}};

TEST(FromDlpack, SharesTheMemory) {
  const Context context = make_context();
  DlpackLender lender({2, 3});
  const Tensor tensor = lender.lend(context.get());
  EXPECT_EQ(heed_tensor_dtype(tensor.get()), HEED_F32);
  EXPECT_EQ(dims_of(tensor.get()), (Dims{2, 3}));
  EXPECT_EQ(strides_of(tensor.get()), (Dims{3, 1}));
  EXPECT_EQ(heed_tensor_data(tensor.get()), lender.memory);
  EXPECT_EQ(heed_tensor_fill(tensor.get(), 7.0), HEED_OK) << heed_last_error();
  EXPECT_EQ(lender.memory[5], 7.0f);
  EXPECT_EQ(lender.memory[6], 6.0f);
}

TEST(FromDlpack, KeepsNoPointerToTheDescription) {
  const Context context = make_context();
  DlpackLender lender({2, 3}, {1, 2});
  const Tensor tensor = lender.lend(context.get());
  lender.shape.assign(2, -1);
  lender.steps.assign(2, -1);
  lender.managed.dl_tensor = {};
  EXPECT_EQ(dims_of(tensor.get()), (Dims{2, 3}));
  EXPECT_EQ(read_elements<float>(tensor.get()), (std::vector<float>{0, 2, 4, 1, 3, 5}));
}

TEST(FromDlpack, TakesStridesOfEveryKindAndOffsets) {
  const Context context = make_context();
  const auto elements = [&](const Dims& dims, const Dims& strides, int64_t first, uint64_t byte_offset) {
    DlpackLender lender(dims, strides, first);
    lender.managed.dl_tensor.byte_offset = byte_offset;
    return read_elements<float>(lender.lend(context.get()).get());
  };
  EXPECT_EQ(elements({2, 2}, {12, 5}, 1, 0), (std::vector<float>{1, 6, 13, 18}));
  EXPECT_EQ(elements({2, 2}, {}, 0, 8), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(elements({2, 2}, {}, 3, 8), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(elements({3}, {-2}, 5, 0), (std::vector<float>{5, 3, 1}));
  EXPECT_EQ(elements({2, 3}, {0, 1}, 4, 0), (std::vector<float>{4, 5, 6, 4, 5, 6}));
  EXPECT_EQ(elements({}, {}, 9, 4), (std::vector<float>{10}));
  // The stride of an axis of size 1 does not matter.
  EXPECT_EQ(elements({1, 2}, {INT64_MIN, 1}, 0, 0), (std::vector<float>{0, 1}));
  EXPECT_EQ(elements({1, 1, 2, 1, 1, 2, 1, 1}, {}, 0, 0), (std::vector<float>{0, 1, 2, 3}));
}

TEST(FromDlpack, TakesArraysWithoutElements) {
  const Context context = make_context();
  for (const bool has_data : {false, true}) {
    DlpackLender lender({2, 0, 3}, {5, INT64_MAX, -1});
    if (!has_data) {
      lender.managed.dl_tensor.data = nullptr;
      lender.managed.dl_tensor.byte_offset = 3;
    }
    Tensor tensor = lender.lend(context.get());
    EXPECT_EQ(heed_tensor_num_bytes(tensor.get()), 0u);
    EXPECT_EQ(heed_tensor_fill(tensor.get(), 1.0), HEED_OK) << heed_last_error();
    tensor.reset();
    EXPECT_EQ(lender.num_deletions, 1);
  }
}

TEST(FromDlpack, KnowsEveryDType) {
  const Context context = make_context();
  for (const auto& [dtype, type] : kDTypes) {
    DlpackLender lender({3});
    lender.managed.dl_tensor.dtype = type;
    EXPECT_EQ(heed_tensor_dtype(lender.lend(context.get()).get()), dtype);
  }
}

TEST(FromDlpack, AcceptsTensorsWithoutADeleter) {
  const Context context = make_context();
  DlpackLender lender({2, 3});
  lender.managed.deleter = nullptr;
  EXPECT_EQ(read_elements<float>(lender.lend(context.get()).get()).back(), 5.0f);
}

TEST(FromDlpack, CallsTheDeleterAfterTheLastUserInEveryOrder) {
  std::vector<size_t> order = {0, 1, 2, 3};
  do {
    Context context = make_context();
    DlpackLender lender({4, 6});
    std::vector<Tensor> handles;
    handles.push_back(lender.lend(context.get()));
    handles.push_back(make_slice(handles[0].get(), 0, 1, 2));
    handles.push_back(make_transposed(handles[1].get(), {1, 0}));
    Managed exported = to_dlpack(handles[2].get());
    context.reset();
    for (const size_t i : order) {
      EXPECT_EQ(lender.num_deletions, 0);
      if (i < handles.size())
        handles[i].reset();
      else
        exported.reset();
    }
    EXPECT_EQ(lender.num_deletions, 1);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(FromDlpack, CallsTheDeleterOnTheThreadOfTheLastUser) {
  const Context context = make_context();
  for (int round = 0; round < 50; ++round) {
    DlpackLender lender({4, 6});
    std::vector<Tensor> handles;
    handles.push_back(lender.lend(context.get()));
    for (int64_t i = 0; i < 3; ++i) handles.push_back(make_slice(handles[0].get(), 0, i, 1));
    std::vector<std::thread> threads;
    threads.reserve(handles.size());
    for (Tensor& handle : handles) threads.emplace_back([&handle] { handle.reset(); });
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(lender.num_deletions, 1);
    EXPECT_NE(lender.thread, std::this_thread::get_id());
  }
}

TEST(FromDlpack, GivesInputsAndOutputsOfLayers) {
  AttentionCall call(Kind::DotProductRank3, {.batch = 1, .num_queries = 2, .num_keys = 3});
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = read_bytes(call.outputs.output);
  // Queries (1, 2, 4), and an output (1, 2, 6) that the DLPack side can read.
  DlpackLender queries({1, 2, 4});
  DlpackLender output({1, 2, 6});
  check(heed_tensor_read(call.inputs.queries, queries.memory, 8 * sizeof(float)));
  Tensor imported_queries = queries.lend(call.context.get());
  Tensor imported_output = output.lend(call.context.get());
  call.inputs.queries = imported_queries.get();
  call.outputs.output = imported_output.get();
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_bytes(imported_output.get()), expected);
  imported_queries.reset();
  imported_output.reset();
  EXPECT_EQ(queries.num_deletions, 1);
  EXPECT_EQ(output.num_deletions, 1);
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), reinterpret_cast<const uint8_t*>(output.memory)));
}

TEST(FromDlpack, IsNotKeptByParametersThatAreSetFromIt) {
  const AttentionCall call(Kind::MultiHead);
  DlpackLender lender({8, 6}, {1, 3});
  Tensor weight = lender.lend(call.context.get());
  const std::vector<float> expected = read_elements<float>(weight.get());
  ASSERT_EQ(heed_layer_set_parameter(call.layer.get(), "W_q.weight", weight.get()), HEED_OK) << heed_last_error();
  weight.reset();
  EXPECT_EQ(lender.num_deletions, 1);
  std::fill(std::begin(lender.memory), std::end(lender.memory), 0.0f);
  EXPECT_EQ(read_elements<float>(snapshot(call.layer.get(), "W_q.weight").get()), expected);
}

TEST(ToDlpack, DescribesTheTensor) {
  const Context context = make_context();
  for (const auto& [dtype, type] : kDTypes) {
    const Tensor tensor = make_tensor(context.get(), {2, 3, 4}, dtype);
    const Managed managed = to_dlpack(tensor.get());
    const DLTensor& given = managed->dl_tensor;
    EXPECT_EQ(given.data, heed_tensor_data(tensor.get()));
    EXPECT_EQ(given.byte_offset, 0u);
    EXPECT_EQ(given.device.device_type, kDLCPU);
    EXPECT_EQ(given.device.device_id, 0);
    EXPECT_EQ(given.dtype.code, type.code);
    EXPECT_EQ(given.dtype.bits, type.bits);
    EXPECT_EQ(given.dtype.lanes, 1);
    EXPECT_EQ(given_shape(given), (Dims{2, 3, 4}));
    EXPECT_EQ(given_strides(given), (Dims{12, 4, 1}));
  }
}

TEST(ToDlpack, BeginsAtTheViewsFirstElement) {
  const Context context = make_context();
  const Tensor tensor = make_tensor_of<float>(context.get(), {2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor backwards = make_view(tensor.get(), {3, 2}, {-1, 3}, 2);
  const Managed managed = to_dlpack(backwards.get());
  EXPECT_EQ(*static_cast<float*>(managed->dl_tensor.data), 2.0f);
  EXPECT_EQ(managed->dl_tensor.byte_offset, 0u);
  EXPECT_EQ(given_shape(managed->dl_tensor), (Dims{3, 2}));
  EXPECT_EQ(given_strides(managed->dl_tensor), (Dims{-1, 3}));

  const Tensor scalar = make_tensor(context.get(), {});
  EXPECT_EQ(to_dlpack(scalar.get())->dl_tensor.ndim, 0);
  const Tensor empty = make_tensor(context.get(), {0, 3});
  EXPECT_EQ(given_shape(to_dlpack(empty.get())->dl_tensor), (Dims{0, 3}));
}

TEST(ToDlpack, SharesTheMemoryBeyondTensorAndContext) {
  Context context = make_context();
  Tensor tensor = make_tensor(context.get(), {2, 3});
  const Managed managed = to_dlpack(tensor.get());
  auto* data = static_cast<float*>(managed->dl_tensor.data);
  data[4] = 9;
  EXPECT_EQ(read_elements<float>(tensor.get())[4], 9.0f);
  check(heed_tensor_fill(tensor.get(), 3.0));
  EXPECT_EQ(data[4], 3.0f);
  tensor.reset();
  context.reset();
  EXPECT_EQ(data[5], 3.0f);
  data[5] = 1;
}

TEST(ToDlpack, CanBeRepeatedAndDeletedOnAnotherThread) {
  const Context context = make_context();
  for (int round = 0; round < 50; ++round) {
    Tensor tensor = make_tensor(context.get(), {4, 6});
    Managed first = to_dlpack(tensor.get());
    Managed second = to_dlpack(tensor.get());
    EXPECT_EQ(first->dl_tensor.data, second->dl_tensor.data);
    // A consumer may overwrite the shape and strides arrays of its managed tensor.
    std::fill_n(first->dl_tensor.shape, 2, -1);
    std::fill_n(first->dl_tensor.strides, 2, -1);
    EXPECT_EQ(given_shape(second->dl_tensor), (Dims{4, 6}));
    EXPECT_EQ(dims_of(tensor.get()), (Dims{4, 6}));
    std::thread one([&] { first.reset(); });
    std::thread two([&] { second.reset(); });
    tensor.reset();
    one.join();
    two.join();
  }
}

TEST(ToDlpack, CopiesSnapshotsOfParameters) {
  const AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  const std::vector<uint8_t> before = read_bytes(weight.get());
  const Tensor turned = make_transposed(weight.get(), {1, 0});
  for (heed_tensor* tensor : {weight.get(), turned.get()}) {
    Managed managed = to_dlpack(tensor);
    Managed another = to_dlpack(tensor);
    EXPECT_NE(managed->dl_tensor.data, another->dl_tensor.data);
    const Dims dims = dims_of(tensor);
    EXPECT_EQ(given_shape(managed->dl_tensor), dims);
    EXPECT_EQ(given_strides(managed->dl_tensor), (Dims{dims[1], 1}));
    const std::vector<uint8_t> expected = read_bytes(tensor);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), static_cast<uint8_t*>(managed->dl_tensor.data)));
    std::fill_n(static_cast<uint8_t*>(managed->dl_tensor.data), expected.size(), uint8_t{0});
    const Tensor imported = from_dlpack(call.context.get(), std::move(managed));
    EXPECT_EQ(heed_tensor_fill(imported.get(), 1.0), HEED_OK) << heed_last_error();
  }
  EXPECT_EQ(read_bytes(weight.get()), before);
  EXPECT_EQ(read_bytes(snapshot(call.layer.get(), "W_q.weight").get()), before);
}

TEST(Dlpack, ExportedAndImportedIsTheSameTensor) {
  const Context context = make_context();
  const Context other = make_context();
  for (const auto& [dtype, type] : kDTypes) {
    Tensor tensor = make_tensor(context.get(), {3, 4}, dtype);
    Tensor view = make_view(tensor.get(), {2, 3}, {-4, 1}, 5);
    Tensor back = from_dlpack(other.get(), to_dlpack(view.get()));
    EXPECT_EQ(heed_tensor_dtype(back.get()), dtype);
    EXPECT_EQ(dims_of(back.get()), dims_of(view.get()));
    EXPECT_EQ(strides_of(back.get()), strides_of(view.get()));
    EXPECT_EQ(heed_tensor_data(back.get()), heed_tensor_data(view.get()));
    // heed recognizes that the memory is shared.
    EXPECT_EQ(heed_tensor_copy(tensor.get(), make_slice(back.get(), 0, 0, 1).get()), HEED_ERROR_INVALID_ARGUMENT);
    tensor.reset();
    view.reset();
    EXPECT_EQ(read_bytes(back.get()).size(), heed_tensor_num_bytes(back.get()));
  }
}

TEST(DlpackErrors, OfShapeOnlyTensors) {
  const Context context = make_context();
  const Tensor tensor = make_shape_only(context.get(), {2, 3});
  DLManagedTensor* managed = nullptr;
  EXPECT_TRUE(is_refused(heed_tensor_to_dlpack(tensor.get(), &managed),
                         {HEED_ERROR_INVALID_ARGUMENT, {"tensor is a shape-only tensor (2, 3)"}}));
  EXPECT_EQ(managed, nullptr);
}

}  // namespace
}  // namespace heed::capi_test
