// SPDX-License-Identifier: Apache-2.0
// The getters of tensors, and views.
#include <gtest/gtest.h>

#include <cstdint>
#include <numeric>

#include "capi/support/objects.h"

namespace heed::capi_test {
namespace {

constexpr heed_dtype kEveryDType[] = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32,
                                      HEED_I64, HEED_I8,  HEED_U8,   HEED_BOOL};
constexpr size_t kElementBytes[] = {4, 2, 2, 8, 4, 8, 1, 1, 1};

class Tensors : public testing::Test {
 protected:
  // A tensor with elements 0, 1, 2, ... in row-major order.
  Tensor count_up(const Dims& dims) const {
    Tensor tensor = make_tensor(context_.get(), dims, HEED_I32);
    std::vector<int32_t> elements(static_cast<size_t>(heed_tensor_num_elements(tensor.get())));
    std::iota(elements.begin(), elements.end(), 0);
    check(heed_tensor_write(tensor.get(), elements.data(), elements.size() * sizeof(int32_t)));
    return tensor;
  }

  const Context context_ = make_context();
};

using Elements = std::vector<int32_t>;

TEST_F(Tensors, AreMadeOfAlignedZeros) {
  for (const heed_dtype dtype : kEveryDType) {
    const Tensor tensor = make_tensor(context_.get(), {3, 5}, dtype);
    EXPECT_EQ(heed_tensor_dtype(tensor.get()), dtype);
    EXPECT_EQ(heed_tensor_num_bytes(tensor.get()), 15 * kElementBytes[dtype]);
    EXPECT_EQ(read_bytes(tensor.get()), std::vector<uint8_t>(15 * kElementBytes[dtype], 0));
    EXPECT_EQ(reinterpret_cast<uintptr_t>(heed_tensor_data(tensor.get())) % 64, 0u);
  }
}

TEST_F(Tensors, ReportTheirShape) {
  const Tensor tensor = make_tensor(context_.get(), {2, 3, 4});
  EXPECT_EQ(heed_tensor_rank(tensor.get()), 3);
  EXPECT_EQ(dims_of(tensor.get()), (Dims{2, 3, 4}));
  EXPECT_EQ(strides_of(tensor.get()), (Dims{12, 4, 1}));
  EXPECT_EQ(heed_tensor_dim(tensor.get(), -1), 4);
  EXPECT_EQ(heed_tensor_dim(tensor.get(), -3), 2);
  EXPECT_EQ(heed_tensor_stride(tensor.get(), -2), 4);
  EXPECT_EQ(heed_tensor_num_elements(tensor.get()), 24);
  EXPECT_EQ(heed_tensor_num_bytes(tensor.get()), 96u);
}

TEST_F(Tensors, OfRank0HaveOneElement) {
  heed_tensor* handle = nullptr;
  ASSERT_EQ(heed_tensor_create(context_.get(), HEED_F32, 0, nullptr, &handle), HEED_OK) << heed_last_error();
  const Tensor tensor(handle);
  EXPECT_EQ(heed_tensor_rank(handle), 0);
  EXPECT_EQ(heed_tensor_num_elements(handle), 1);
  EXPECT_EQ(heed_tensor_num_bytes(handle), 4u);
  EXPECT_EQ(heed_tensor_fill(handle, 2.5), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(handle), std::vector<float>{2.5f});
  EXPECT_EQ(dims_of(make_reshaped(handle, {1, 1}).get()), (Dims{1, 1}));
  ASSERT_EQ(heed_tensor_transpose(handle, nullptr, &handle), HEED_OK) << heed_last_error();
  heed_tensor_destroy(handle);
}

TEST_F(Tensors, OfRank8Work) {
  const Tensor tensor = count_up({1, 2, 1, 2, 1, 2, 1, 2});
  const Tensor reversed = make_transposed(tensor.get(), {7, 6, 5, 4, 3, 2, 1, 0});
  EXPECT_EQ(read_elements<int32_t>(reversed.get()), (Elements{0, 8, 4, 12, 2, 10, 6, 14, 1, 9, 5, 13, 3, 11, 7, 15}));
}

TEST_F(Tensors, WithAZeroDimNeedNoDataAndDoNothing) {
  const Tensor created = make_tensor(context_.get(), {2, 0, 3});
  const Tensor wrapped = make_shape_only(context_.get(), {0});
  for (heed_tensor* tensor : {created.get(), wrapped.get()}) {
    EXPECT_EQ(heed_tensor_num_elements(tensor), 0);
    EXPECT_EQ(heed_tensor_num_bytes(tensor), 0u);
    EXPECT_EQ(heed_tensor_write(tensor, nullptr, 0), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_tensor_read(tensor, nullptr, 0), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_tensor_fill(tensor, 1.0), HEED_OK) << heed_last_error();
    EXPECT_EQ(dims_of(make_view(tensor, {0, 5}, {}).get()), (Dims{0, 5}));
    EXPECT_EQ(dims_of(make_reshaped(tensor, {5, 0, 2}).get()), (Dims{5, 0, 2}));
    EXPECT_EQ(dims_of(make_slice(tensor, 0, 0, 0).get())[0], 0);
  }
  EXPECT_EQ(heed_tensor_copy(created.get(), make_tensor(context_.get(), {}).get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(make_transposed(created.get(), {2, 0, 1}).get()), (Dims{3, 2, 0}));
}

TEST_F(Tensors, OverTheCallersMemoryAreThatMemory) {
  float memory[12] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const Tensor dense = wrap(context_.get(), {3, 4}, {}, memory);
  EXPECT_EQ(heed_tensor_data(dense.get()), memory);
  EXPECT_EQ(heed_tensor_fill(dense.get(), 7.0), HEED_OK);
  EXPECT_EQ(memory[11], 7.0f);
  memory[5] = -1.0f;
  EXPECT_EQ(read_elements<float>(dense.get())[5], -1.0f);
}

TEST_F(Tensors, ReadThroughAnyStrides) {
  int32_t memory[6] = {0, 1, 2, 3, 4, 5};
  struct Case {
    Dims dims;
    Dims strides;
    int64_t first;
    Elements expected;
  };
  const std::vector<Case> cases = {
      {{2, 2}, {3, 2}, 0, {0, 2, 3, 5}},        // gaps
      {{2, 3}, {1, 2}, 0, {0, 2, 4, 1, 3, 5}},  // column-major
      {{2, 3}, {0, 1}, 1, {1, 2, 3, 1, 2, 3}},  // repeated
      {{3}, {-2}, 5, {5, 3, 1}},                // reversed
      {{2, 3}, {-3, -1}, 5, {5, 4, 3, 2, 1, 0}},
      {{3, 2}, {1, 2}, 0, {0, 2, 1, 3, 2, 4}},  // overlapping
      {{}, {}, 4, {4}},
  };
  for (const Case& row : cases) {
    const Tensor tensor = wrap(context_.get(), row.dims, row.strides, memory + row.first, HEED_I32);
    if (!row.dims.empty()) {
      EXPECT_EQ(strides_of(tensor.get()), row.strides);
    }
    EXPECT_EQ(read_elements<int32_t>(tensor.get()), row.expected);
    EXPECT_EQ(heed_tensor_data(tensor.get()), memory + row.first);
  }
}

TEST_F(Tensors, WriteThroughPositiveStrides) {
  int32_t memory[6] = {9, 9, 9, 9, 9, 9};
  const Tensor columns = wrap(context_.get(), {2, 2}, {1, 3}, memory, HEED_I32);
  const Elements elements = {1, 2, 3, 4};
  EXPECT_EQ(heed_tensor_write(columns.get(), elements.data(), 16), HEED_OK) << heed_last_error();
  EXPECT_EQ((Elements(memory, memory + 6)), (Elements{1, 3, 9, 2, 4, 9}));
  // The stride of an axis of size 1 does not matter.
  const Tensor one = wrap(context_.get(), {1, 2}, {-5, 1}, memory, HEED_I32);
  EXPECT_EQ(heed_tensor_fill(one.get(), 0.0), HEED_OK) << heed_last_error();
  EXPECT_EQ((Elements(memory, memory + 6)), (Elements{0, 0, 9, 2, 4, 9}));
}

TEST_F(Tensors, ViewsReachAllOfTheStorage) {
  const Tensor tensor = count_up({4, 3});
  const Tensor part = make_slice(tensor.get(), 0, 2, 1);  // 6, 7, 8
  EXPECT_EQ(read_elements<int32_t>(make_view(part.get(), {12}, {}, -6).get()),
            (Elements{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read_elements<int32_t>(make_view(part.get(), {3}, {-3}, 4).get()), (Elements{10, 7, 4}));
  const Tensor window = make_view(tensor.get(), {3, 2}, {3, 1}, 4);
  EXPECT_EQ(read_elements<int32_t>(window.get()), (Elements{4, 5, 7, 8, 10, 11}));
  EXPECT_EQ(heed_tensor_fill(window.get(), 0.0), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<int32_t>(tensor.get()), (Elements{0, 1, 2, 3, 0, 0, 6, 0, 0, 9, 0, 0}));
  EXPECT_EQ(heed_tensor_data(window.get()), static_cast<int32_t*>(heed_tensor_data(tensor.get())) + 4);
}

TEST_F(Tensors, TransposesMoveAxes) {
  const Tensor tensor = count_up({2, 3});
  heed_tensor* handle = nullptr;
  ASSERT_EQ(heed_tensor_transpose(tensor.get(), nullptr, &handle), HEED_OK) << heed_last_error();
  const Tensor reversed(handle);
  EXPECT_EQ(dims_of(reversed.get()), (Dims{3, 2}));
  EXPECT_EQ(read_elements<int32_t>(reversed.get()), (Elements{0, 3, 1, 4, 2, 5}));
  const Tensor cube = count_up({2, 3, 4});
  const Tensor moved = make_transposed(cube.get(), {-1, 0, 1});
  EXPECT_EQ(dims_of(moved.get()), (Dims{4, 2, 3}));
  EXPECT_EQ(strides_of(moved.get()), (Dims{1, 12, 4}));
}

TEST_F(Tensors, SlicesCountFromBothEnds) {
  const Tensor tensor = count_up({3, 4});
  EXPECT_EQ(read_elements<int32_t>(make_slice(tensor.get(), 1, 1, 2).get()), (Elements{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(read_elements<int32_t>(make_slice(tensor.get(), -2, -1, 1).get()), (Elements{8, 9, 10, 11}));
  const Tensor none = make_slice(tensor.get(), 0, 3, 0);
  EXPECT_EQ(dims_of(none.get()), (Dims{0, 4}));
  EXPECT_EQ(read_elements<int32_t>(none.get()), Elements{});
}

TEST_F(Tensors, ReshapesInferOneDim) {
  const Tensor tensor = count_up({2, 3, 4});
  EXPECT_EQ(dims_of(make_reshaped(tensor.get(), {-1}).get()), (Dims{24}));
  EXPECT_EQ(dims_of(make_reshaped(tensor.get(), {4, -1}).get()), (Dims{4, 6}));
  EXPECT_EQ(dims_of(make_reshaped(tensor.get(), {24, -1, 1}).get()), (Dims{24, 1, 1}));
  EXPECT_EQ(dims_of(make_reshaped(make_tensor(context_.get(), {0, 3}).get(), {-1, 3}).get()), (Dims{0, 3}));
}

// Whatever strides a reshape gives, the view has the same elements in the same order, in the same memory.
TEST_F(Tensors, ReshapesOfStridedTensorsKeepTheOrder) {
  const Tensor storage = count_up({4, 6, 4});
  const std::vector<Tensor> sources = [&] {
    std::vector<Tensor> made;
    made.push_back(make_view(storage.get(), {4, 6, 4}, {}));
    made.push_back(make_transposed(storage.get(), {1, 0, 2}));
    made.push_back(make_transposed(storage.get(), {2, 1, 0}));
    made.push_back(make_slice(storage.get(), 2, 1, 2));
    made.push_back(make_slice(storage.get(), 1, 2, 3));
    made.push_back(make_slice(storage.get(), 0, 1, 2));
    made.push_back(make_view(storage.get(), {2, 4, 6}, {0, 6, 1}));
    made.push_back(make_view(storage.get(), {4, 6}, {-6, -1}, 23));
    made.push_back(make_view(storage.get(), {4, 1, 6, 1}, {12, 5, 2, -7}));
    return made;
  }();
  const std::vector<Dims> shapes = {{-1},          {1, -1},       {2, -1},    {-1, 2},       {4, -1},
                                    {-1, 4},       {6, -1},       {-1, 6},    {2, 2, -1},    {-1, 3, 2},
                                    {4, 6, -1},    {2, 1, 2, -1}, {12, -1},   {-1, 12},      {-1, 1, 1},
                                    {2, 2, 3, -1}, {3, -1},       {-1, 2, 2}, {2, 2, 2, -1}, {24, -1}};
  int num_views = 0;
  for (const Tensor& source : sources) {
    const Elements expected = read_elements<int32_t>(source.get());
    for (const Dims& dims : shapes) {
      heed_tensor* handle = nullptr;
      const heed_status status =
          heed_tensor_reshape(source.get(), static_cast<int32_t>(dims.size()), dims.data(), &handle);
      const Tensor view(handle);
      if (status != HEED_OK) {
        EXPECT_TRUE(status == HEED_ERROR_UNSUPPORTED || status == HEED_ERROR_INVALID_ARGUMENT) << heed_last_error();
        continue;
      }
      ++num_views;
      EXPECT_EQ(read_elements<int32_t>(view.get()), expected);
      EXPECT_EQ(heed_tensor_data(view.get()), heed_tensor_data(source.get()));
    }
  }
  EXPECT_GT(num_views, 60);
}

TEST_F(Tensors, ReshapesArePossibleWheneverAViewIs) {
  const Tensor storage = count_up({4, 6, 4});
  // Splitting an axis never needs a copy, nor does joining axes that are contiguous with each other.
  const Tensor split = make_reshaped(make_transposed(storage.get(), {2, 1, 0}).get(), {2, 2, 3, 2, 4});
  EXPECT_EQ(strides_of(split.get()), (Dims{2, 1, 8, 4, 24}));
  const Tensor joined = make_reshaped(make_slice(storage.get(), 2, 1, 2).get(), {24, 2});
  EXPECT_EQ(strides_of(joined.get()), (Dims{4, 1}));
  const Tensor heads = make_reshaped(make_slice(storage.get(), 1, 2, 3).get(), {4, 12});
  EXPECT_EQ(strides_of(heads.get()), (Dims{24, 1}));
}

TEST_F(Tensors, WithoutDataKeepTheirShapeInViews) {
  const Tensor shape_only = make_shape_only(context_.get(), {2, 3, 4});
  EXPECT_EQ(heed_tensor_data(shape_only.get()), nullptr);
  EXPECT_EQ(heed_tensor_num_elements(shape_only.get()), 24);
  EXPECT_EQ(dims_of(make_reshaped(shape_only.get(), {6, 4}).get()), (Dims{6, 4}));
  EXPECT_EQ(dims_of(make_transposed(shape_only.get(), {1, 0, 2}).get()), (Dims{3, 2, 4}));
  const Tensor slice = make_slice(shape_only.get(), 1, 1, 2);
  EXPECT_EQ(dims_of(slice.get()), (Dims{2, 2, 4}));
  EXPECT_EQ(heed_tensor_data(slice.get()), nullptr);
}

}  // namespace
}  // namespace heed::capi_test
