// SPDX-License-Identifier: Apache-2.0
// Tensors in memory that the processor cannot access: every function that reads or writes them goes through copies,
// whatever the strides, and does not change the bytes between their elements.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "base/file.h"
#include "far_memory.h"
#include "plain_memory.h"
#include "tensor/copy.h"
#include "tensor/dlpack.h"
#include "tensor/fill.h"
#include "tensor/host_image.h"
#include "tensor/npy.h"

namespace heed {
namespace {

using Numbers = std::vector<float>;

struct FarTensor : testing::Test {
  std::shared_ptr<FarMemory> memory = std::make_shared<FarMemory>();
  Tensor tensor = Tensor::zeros(memory, DType::F32, {2, 3});

  void SetUp() override {
    const Numbers numbers = {0, 1, 2, 3, 4, 5};
    write_tensor(tensor, numbers.data());
  }

  static Numbers read(const Tensor& from) {
    Numbers numbers(static_cast<size_t>(from.num_elements()));
    read_tensor(from, numbers.data());
    return numbers;
  }
};

TEST_F(FarTensor, IsReadAsItWasWritten) {
  EXPECT_EQ(read(tensor), (Numbers{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(memory->num_copies, 2);
}

TEST_F(FarTensor, IsReadThroughViews) {
  EXPECT_EQ(read(tensor.transpose(nullptr)), (Numbers{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(read(tensor.slice(1, 1, 1)), (Numbers{1, 4}));
  const Dims backwards = {-3, -1};
  EXPECT_EQ(read(tensor.view({2, 3}, &backwards, 5)), (Numbers{5, 4, 3, 2, 1, 0}));
  const Dims repeated = {0, 1};
  EXPECT_EQ(read(tensor.view({2, 3}, &repeated, 3)), (Numbers{3, 4, 5, 3, 4, 5}));
  EXPECT_EQ(read(tensor.slice(0, 1, 0)), Numbers());
}

TEST_F(FarTensor, OfSmallElementsIsReadBackwards) {
  const Tensor bytes = Tensor::zeros(memory, DType::U8, {2});
  const uint8_t numbers[] = {7, 9};
  write_tensor(bytes, numbers);
  const Dims backwards = {-1};
  uint8_t read[2] = {};
  read_tensor(bytes.view({2}, &backwards, 1), read);
  EXPECT_EQ(read[0], 9);
  EXPECT_EQ(read[1], 7);
}

TEST_F(FarTensor, IsOneCopyIfItsElementsAreContiguous) {
  const Dims strides = {3, 77, 1};
  const Tensor of_three_axes = tensor.view({2, 1, 3}, &strides, 0);
  for (const Tensor& dense : {tensor, of_three_axes}) {
    memory->num_copies = 0;
    EXPECT_EQ(read(host_copy(dense)), (Numbers{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(memory->num_copies, 1);
    HostImage(dense).commit();
    EXPECT_EQ(memory->num_copies, 2);
    fill_arange(dense, 0, 1);
  }
  memory->num_copies = 0;
  HostImage(tensor.slice(0, 1, 0)).commit();
  EXPECT_EQ(memory->num_copies, 0);
}

// The elements of a sparse view are copied one by one: if they span more than eight times their bytes, in units of
// eight.
TEST_F(FarTensor, IsReadElementByElementIfItIsSparse) {
  for (const int64_t distance : {15, 17, 1000}) {
    SCOPED_TRACE(distance);
    const Tensor wide = Tensor::zeros(memory, DType::F32, {2, distance});
    fill_arange(wide, 0, 1);
    memory->num_copies = 0;
    EXPECT_EQ(read(wide.slice(1, 7, 1)), (Numbers{7, static_cast<float>(7 + distance)}));
    EXPECT_EQ(memory->num_copies, distance == 15 ? 1 : 2);
  }
}

TEST_F(FarTensor, IsWrittenThroughViewsWithoutTheBytesBetween) {
  const Tensor column = tensor.slice(1, 1, 1);
  memory->num_copies = 0;
  fill_tensor(column, 9);
  EXPECT_EQ(memory->num_copies, 2) << "one for each element";
  EXPECT_EQ(read(tensor), (Numbers{0, 9, 2, 3, 9, 5}));
  const Numbers numbers = {10, 11, 12};
  memory->num_copies = 0;
  write_tensor(tensor.slice(0, 1, 1), numbers.data());
  EXPECT_EQ(memory->num_copies, 1);
  EXPECT_EQ(read(tensor), (Numbers{0, 9, 2, 10, 11, 12}));
  write_tensor(tensor.slice(1, 1, 2), Numbers{20, 21, 22, 23}.data());
  EXPECT_EQ(read(tensor), (Numbers{0, 20, 21, 10, 22, 23}));
}

TEST_F(FarTensor, IsCopiedToAndFromTheHost) {
  const Tensor here = Tensor::zeros(plain_memory(), DType::BF16, {3, 2});
  copy_tensor(here, tensor.transpose(nullptr));
  const Tensor there = Tensor::zeros(memory, DType::F32, {2, 3, 2});
  copy_tensor(there, here);
  EXPECT_EQ(read(there), (Numbers{0, 3, 1, 4, 2, 5, 0, 3, 1, 4, 2, 5}));
}

TEST_F(FarTensor, IsCopiedOnTheDeviceByOneCopy) {
  const Tensor other = Tensor::zeros(memory, DType::F32, {2, 3});
  memory->num_copies = 0;
  copy_tensor(other, tensor);
  EXPECT_EQ(memory->num_copies, 1);
  EXPECT_EQ(read(other), (Numbers{0, 1, 2, 3, 4, 5}));
}

TEST_F(FarTensor, IsSavedAndLoaded) {
  for (const Tensor& saved : {tensor, tensor.transpose(nullptr)}) {
    save_npy("far.npy", saved);
    const FileSource source("far.npy");
    EXPECT_EQ(read(load_npy(memory, source)), read(saved));
  }
  std::remove("far.npy");
}

TEST_F(FarTensor, IsRefusedByDlpack) {
  const auto status_of = [](const auto& call) {
    try {
      call();
    } catch (const Error& error) {
      return error.status;
    }
    return Status::Ok;
  };
  EXPECT_EQ(status_of([&] { to_dlpack(tensor); }), Status::Unsupported);
}

TEST_F(FarTensor, IsNotReleasedBeforeTheDeviceIsDoneWithIt) {
  struct Seen {
    FarMemory* memory;
    int waits_before = -1;
  } seen{memory.get()};
  {
    Tensor wrapped = Tensor::wrap(memory, DType::F32, {1}, nullptr, tensor.data());
    wrapped.release_with(
        [](void* user, void*) { static_cast<Seen*>(user)->waits_before = static_cast<Seen*>(user)->memory->num_waits; },
        &seen);
  }
  EXPECT_EQ(seen.waits_before, 1);
}

// Host memory is used directly, without a copy.
TEST(HostImage, IsTheTensorItselfOnTheHost) {
  const Tensor tensor = Tensor::zeros(plain_memory(), DType::F32, {2});
  EXPECT_EQ(host_copy(tensor).data(), tensor.data());
  EXPECT_EQ(HostImage(tensor).image().data(), tensor.data());
}

}  // namespace
}  // namespace heed
