// SPDX-License-Identifier: Apache-2.0
// Tensors that cannot be created, viewed, written or copied.
#include <gtest/gtest.h>

#include <cstdint>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kHuge = INT64_MAX;

using Call = std::function<heed_status(OutParameters&)>;

class TensorErrors : public testing::Test {
 protected:
  Call create(Dims dims, heed_dtype dtype = HEED_F32) const {
    return [this, dims, dtype](OutParameters& out) {
      return heed_tensor_create(context_.get(), dtype, static_cast<int32_t>(dims.size()), dims.data(), &out.tensor);
    };
  }

  Call wrap_of(Dims dims, Dims strides, void* data, heed_dtype dtype = HEED_F32) const {
    return [this, dims, strides, data, dtype](OutParameters& out) {
      return heed_tensor_wrap(context_.get(), dtype, static_cast<int32_t>(dims.size()), dims.data(),
                              strides.empty() ? nullptr : strides.data(), data, nullptr, nullptr, &out.tensor);
    };
  }

  Call view_of(heed_tensor* tensor, Dims dims, Dims strides, int64_t offset) const {
    return [tensor, dims, strides, offset](OutParameters& out) {
      return heed_tensor_view(tensor, static_cast<int32_t>(dims.size()), dims.data(),
                              strides.empty() ? nullptr : strides.data(), offset, &out.tensor);
    };
  }

  Call reshape_of(heed_tensor* tensor, Dims dims) const {
    return [tensor, dims](OutParameters& out) {
      return heed_tensor_reshape(tensor, static_cast<int32_t>(dims.size()), dims.data(), &out.tensor);
    };
  }

  Call transpose_of(heed_tensor* tensor, std::vector<int32_t> axes) const {
    return [tensor, axes](OutParameters& out) { return heed_tensor_transpose(tensor, axes.data(), &out.tensor); };
  }

  Call slice_of(heed_tensor* tensor, int32_t axis, int64_t start, int64_t length) const {
    return [=](OutParameters& out) { return heed_tensor_slice(tensor, axis, start, length, &out.tensor); };
  }

  const Context context_ = make_context();
  const Tensor tensor_ = make_tensor(context_.get(), {2, 3, 4});
  const Tensor shape_only_ = make_shape_only(context_.get(), {2, 3, 4});
  alignas(64) float memory_[64] = {};
};

TEST_F(TensorErrors, ShapesThatCannotBeAreRefused) {
  const auto create_rank = [this](int32_t rank) -> Call {
    return [this, rank](OutParameters& out) {
      const Dims ones(9, 1);
      return heed_tensor_create(context_.get(), HEED_F32, rank, ones.data(), &out.tensor);
    };
  };
  expect_refused({
      {"rank 9", create_rank(9), invalid({"rank", "9", "8"})},
      {"rank -1", create_rank(-1), invalid({"rank", "-1"})},
      {"negative dim", create({2, -3}), invalid({"dims[1]", "-3"})},
      {"dims that overflow", create({kHuge, 2}), invalid({"dims", "9223372036854775807", "overflow"})},
      {"dims that overflow behind a zero", create({0, kHuge, 2}), invalid({"dims", "overflow"})},
      {"bytes that overflow", create({kHuge / 2}), invalid({"dims", "overflow"})},
      {"eight dims that overflow", create({256, 256, 256, 256, 256, 256, 256, 256}), invalid({"dims", "overflow"})},
      {"dtype 9", create({2}, static_cast<heed_dtype>(9)), invalid({"dtype", "9"})},
      {"dtype -1", create({2}, HEED_DTYPE_INVALID), invalid({"dtype", "-1"})},
  });
}

TEST_F(TensorErrors, TooMuchMemoryIsOutOfMemory) {
  expect_refused({
      {"128 TiB", create({int64_t{1} << 45}), {HEED_ERROR_OUT_OF_MEMORY, {"140737488355328"}}},
      {"all of the address space", create({kHuge / 4}), {HEED_ERROR_OUT_OF_MEMORY, {"9223372036854775804"}}},
      {"a workspace of 128 TiB",
       [this](OutParameters& out) { return heed_workspace_create(context_.get(), size_t{1} << 47, &out.workspace); },
       {HEED_ERROR_OUT_OF_MEMORY, {"140737488355328"}}},
      {"the largest workspace",
       [this](OutParameters& out) { return heed_workspace_create(context_.get(), SIZE_MAX, &out.workspace); },
       {HEED_ERROR_OUT_OF_MEMORY, {"18446744073709551615"}}},
  });
}

TEST_F(TensorErrors, WrapsAreChecked) {
  char* const bytes = reinterpret_cast<char*>(memory_);
  expect_refused({
      {"negative dim", wrap_of({-1}, {}, memory_), invalid({"dims[0]", "-1"})},
      {"dtype 9", wrap_of({1}, {}, memory_, static_cast<heed_dtype>(9)), invalid({"dtype", "9"})},
      {"dims that overflow", wrap_of({kHuge, 2}, {}, memory_), invalid({"dims", "overflow"})},
      {"dims that overflow, with strides", wrap_of({kHuge, 2}, {0, 0}, memory_), invalid({"dims", "overflow"})},
      {"data at an odd byte", wrap_of({2}, {}, bytes + 1), invalid({"data", "aligned", "4", "F32"})},
      {"F64 at half an element", wrap_of({2}, {}, bytes + 4, HEED_F64), invalid({"data", "aligned", "8", "F64"})},
      {"stride that overflows", wrap_of({3}, {kHuge}, memory_), invalid({"strides[0]", "9223372036854775807"})},
      {"negative stride that overflows", wrap_of({3}, {INT64_MIN}, memory_), invalid({"strides[0]"})},
      {"strides that overflow together", wrap_of({2, 2}, {kHuge, kHuge}, memory_), invalid({"strides[1]"})},
      {"bytes that overflow", wrap_of({2}, {kHuge / 2}, memory_), invalid({"strides"})},
      {"beyond the end of memory", wrap_of({2}, {kHuge / 4 - 1}, reinterpret_cast<void*>(UINTPTR_MAX - 63)),
       invalid({"data"})},
      {"before the start of memory", wrap_of({2}, {-1024}, reinterpret_cast<void*>(uintptr_t{64})), invalid({"data"})},
      {"shape-only that overflows", wrap_of({kHuge, kHuge}, {}, nullptr), invalid({"dims", "overflow"})},
  });
}

TEST_F(TensorErrors, AShapeOnlyTensorHasNothingToRelease) {
  const int64_t dims[] = {2};
  const auto release = [](void*, void*) { FAIL() << "released"; };
  expect_refused({{"release without data",
                   [&](OutParameters& out) {
                     return heed_tensor_wrap(context_.get(), HEED_F32, 1, dims, nullptr, nullptr, release, nullptr,
                                             &out.tensor);
                   },
                   invalid({"release", "data", "NULL"})}});
}

TEST_F(TensorErrors, AxesOutOfRangeGiveMinusOne) {
  const auto after = [](int64_t got) {
    EXPECT_EQ(got, -1);
    return heed_last_status();
  };
  const heed_tensor* tensor = tensor_.get();
  const Tensor scalar = make_tensor(context_.get(), {});
  expect_refused({
      {"dim 3", [&](OutParameters&) { return after(heed_tensor_dim(tensor, 3)); }, invalid({"axis", "3", "(2, 3, 4)"})},
      {"dim -4", [&](OutParameters&) { return after(heed_tensor_dim(tensor, -4)); },
       invalid({"axis", "-4", "(2, 3, 4)"})},
      {"stride 3", [&](OutParameters&) { return after(heed_tensor_stride(tensor, 3)); }, invalid({"axis", "3"})},
      {"stride of a smallest axis", [&](OutParameters&) { return after(heed_tensor_stride(tensor, INT32_MIN)); },
       invalid({"axis", "-2147483648"})},
      {"dim 0 of rank 0", [&](OutParameters&) { return after(heed_tensor_dim(scalar.get(), 0)); },
       invalid({"axis", "0"})},
  });
}

TEST_F(TensorErrors, TransfersAreOfExactlyTheTensorsBytes) {
  heed_tensor* const tensor = tensor_.get();
  heed_tensor* const shape_only = shape_only_.get();
  expect_refused({
      {"write too little", [&](OutParameters&) { return heed_tensor_write(tensor, memory_, 95); },
       invalid({"num_bytes", "95", "96"})},
      {"write too much", [&](OutParameters&) { return heed_tensor_write(tensor, memory_, 97); },
       invalid({"num_bytes", "97", "96"})},
      {"read too little", [&](OutParameters&) { return heed_tensor_read(tensor, memory_, 95); },
       invalid({"num_bytes", "95", "96"})},
      {"read too much", [&](OutParameters&) { return heed_tensor_read(tensor, memory_, 97); },
       invalid({"num_bytes", "97", "96"})},
      {"write nothing", [&](OutParameters&) { return heed_tensor_write(tensor, nullptr, 0); },
       invalid({"num_bytes", "0", "96"})},
      {"write shape-only", [&](OutParameters&) { return heed_tensor_write(shape_only, memory_, 96); },
       invalid({"tensor", "shape-only"})},
      {"read shape-only", [&](OutParameters&) { return heed_tensor_read(shape_only, memory_, 96); },
       invalid({"tensor", "shape-only"})},
      {"text of shape-only",
       [&](OutParameters& out) {
         return heed_tensor_to_text(shape_only, out.text.data(), out.text.size(), &out.num_bytes);
       },
       invalid({"tensor", "shape-only"})},
      {"fill shape-only", [&](OutParameters&) { return heed_tensor_fill(shape_only, 1.0); },
       invalid({"tensor", "shape-only"})},
  });
}

TEST_F(TensorErrors, RepeatedAndReversedTensorsCannotBeWritten) {
  const Tensor repeated = wrap(context_.get(), {2, 3}, {3, 0}, memory_);
  const Tensor reversed = wrap(context_.get(), {2, 3}, {3, -1}, memory_ + 2);
  const Tensor overlapping = wrap(context_.get(), {2, 3}, {2, 1}, memory_);
  const Tensor one = make_tensor(context_.get(), {});
  std::vector<RefusedCall> calls;
  const float elements[6] = {1, 2, 3, 4, 5, 6};
  struct Destination {
    const char* what;
    heed_tensor* tensor;
    std::vector<std::string> words;
  };
  const std::vector<Destination> destinations = {{"repeated", repeated.get(), {"stride 0", "axis 1", "(2, 3)"}},
                                                 {"reversed", reversed.get(), {"stride -1", "axis 1", "(2, 3)"}},
                                                 {"overlapping", overlapping.get(), {"(2, 3)", "same place"}}};
  for (const auto& [what, tensor, words] : destinations) {
    heed_tensor* const to = tensor;
    calls.push_back(
        {what, [&, to](OutParameters&) { return heed_tensor_write(to, elements, sizeof elements); }, invalid(words)});
    calls.push_back({what, [to](OutParameters&) { return heed_tensor_fill(to, 1.0); }, invalid(words)});
    calls.push_back({what, [&, to](OutParameters&) { return heed_tensor_copy(to, one.get()); }, invalid(words)});
  }
  expect_refused(calls);
  for (const float element : memory_) EXPECT_EQ(element, 0.0f);
}

TEST_F(TensorErrors, CopiesAreChecked) {
  heed_tensor* const tensor = tensor_.get();
  const Tensor rows = make_tensor(context_.get(), {2, 3});
  const Tensor more = make_tensor(context_.get(), {1, 2, 3, 4});
  const Tensor lower = make_slice(tensor, 0, 0, 1);
  const Tensor both = make_slice(tensor, 0, 0, 2);
  expect_refused({
      {"shapes that do not broadcast", [&](OutParameters&) { return heed_tensor_copy(tensor, rows.get()); },
       invalid({"source", "(2, 3)", "destination", "(2, 3, 4)", "broadcast"})},
      {"a source of higher rank", [&](OutParameters&) { return heed_tensor_copy(tensor, more.get()); },
       invalid({"(1, 2, 3, 4)", "(2, 3, 4)"})},
      {"into itself", [&](OutParameters&) { return heed_tensor_copy(tensor, tensor); },
       invalid({"destination", "source", "memory"})},
      {"into a part of itself", [&](OutParameters&) { return heed_tensor_copy(both.get(), lower.get()); },
       invalid({"destination", "source", "memory"})},
      {"from shape-only", [&](OutParameters&) { return heed_tensor_copy(tensor, shape_only_.get()); },
       invalid({"source", "shape-only"})},
      {"into shape-only", [&](OutParameters&) { return heed_tensor_copy(shape_only_.get(), tensor); },
       invalid({"destination", "shape-only"})},
  });
}

TEST_F(TensorErrors, ViewsStayInsideTheStorage) {
  heed_tensor* const tensor = tensor_.get();
  const Tensor part = make_slice(tensor, 0, 1, 1);
  expect_refused({
      {"one too many", view_of(tensor, {25}, {}, 0), invalid({"(25)", "96"})},
      {"one too far", view_of(tensor, {24}, {}, 1), invalid({"(24)", "offset is 1", "96"})},
      {"before the first", view_of(tensor, {1}, {}, -1), invalid({"offset is -1", "96"})},
      {"before the storage, from a part", view_of(part.get(), {1}, {}, -13), invalid({"offset is -13"})},
      {"a stride too far", view_of(tensor, {4}, {8}, 0), invalid({"(4)", "96"})},
      {"backwards over the start", view_of(tensor, {4}, {-1}, 2), invalid({"(4)", "offset is 2"})},
      {"an offset that overflows", view_of(tensor, {1}, {}, kHuge), invalid({"offset is 9223372036854775807"})},
      {"the lowest offset", view_of(tensor, {1}, {}, INT64_MIN), invalid({"offset is -9223372036854775808"})},
      {"a stride that overflows", view_of(tensor, {3}, {kHuge}, 0), invalid({"strides[0]"})},
      {"a negative dim", view_of(tensor, {-1}, {}, 0), invalid({"dims[0]", "-1"})},
      {"dims that overflow", view_of(tensor, {kHuge, kHuge}, {0, 0}, 0), invalid({"dims", "overflow"})},
      {"of shape-only", view_of(shape_only_.get(), {1}, {}, 0), invalid({"tensor", "shape-only"})},
      {"rank 9", view_of(tensor, Dims(9, 1), {}, 0), invalid({"rank", "9"})},
  });
}

TEST_F(TensorErrors, ReshapesKeepTheNumberOfElements) {
  heed_tensor* const tensor = tensor_.get();
  const Tensor transposed = make_transposed(tensor, {0, 2, 1});
  const Tensor empty = make_tensor(context_.get(), {0, 3});
  expect_refused({
      {"another number", reshape_of(tensor, {5, 5}), invalid({"(5, 5)", "25", "(2, 3, 4)", "24"})},
      {"two of -1", reshape_of(tensor, {-1, -1}), invalid({"(-1, -1)", "-1"})},
      {"a -1 that does not come out even", reshape_of(tensor, {-1, 5}), invalid({"(-1, 5)", "24", "-1"})},
      {"a -1 beside a zero", reshape_of(empty.get(), {-1, 0}), invalid({"(-1, 0)", "-1"})},
      {"-2", reshape_of(tensor, {-2, 12}), invalid({"dims[0]", "-2"})},
      {"dims that overflow", reshape_of(tensor, {kHuge, 2}), invalid({"overflow"})},
      {"rank 9", reshape_of(tensor, Dims(9, 1)), invalid({"rank", "9"})},
      {"strides that admit none",
       reshape_of(transposed.get(), {24}),
       {HEED_ERROR_UNSUPPORTED, {"(2, 4, 3)", "(24)", "copy"}}},
  });
}

TEST_F(TensorErrors, TransposesNameEachAxisOnce) {
  heed_tensor* const tensor = tensor_.get();
  expect_refused({
      {"named twice", transpose_of(tensor, {0, 1, 1}), invalid({"axes"})},
      {"named twice, once from the end", transpose_of(tensor, {0, 2, -1}), invalid({"axes"})},
      {"out of range", transpose_of(tensor, {0, 1, 3}), invalid({"axes"})},
      {"out of range from the end", transpose_of(tensor, {0, 1, -4}), invalid({"axes"})},
  });
}

TEST_F(TensorErrors, SlicesStayInsideTheDim) {
  heed_tensor* const tensor = tensor_.get();
  const Tensor scalar = make_tensor(context_.get(), {});
  expect_refused({
      {"axis 3", slice_of(tensor, 3, 0, 1), invalid({"axis", "3", "(2, 3, 4)"})},
      {"axis -4", slice_of(tensor, -4, 0, 1), invalid({"axis", "-4"})},
      {"axis of rank 0", slice_of(scalar.get(), 0, 0, 1), invalid({"axis", "0"})},
      {"start behind the end", slice_of(tensor, 1, 4, 0), invalid({"start", "4", "3"})},
      {"start before the beginning", slice_of(tensor, 1, -4, 1), invalid({"start", "-4", "3"})},
      {"the lowest start", slice_of(tensor, 1, INT64_MIN, 1), invalid({"start", "-9223372036854775808"})},
      {"too long", slice_of(tensor, 1, 1, 3), invalid({"length", "3", "2", "axis 1"})},
      {"far too long", slice_of(tensor, 1, 1, kHuge), invalid({"length", "9223372036854775807"})},
      {"negative length", slice_of(tensor, 1, 0, -1), invalid({"length", "-1"})},
  });
}

TEST_F(TensorErrors, SnapshotsAreReadOnlyThroughEveryView) {
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
