// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

class TensorScene : public Scene {
 protected:
  heed_status create(const Dims& sizes, heed_dtype dtype = HEED_F32) {
    return heed_tensor_create(context, dtype, static_cast<int32_t>(sizes.size()), sizes.data(), &new_tensor);
  }
  heed_status wrap(const Dims& sizes, const Dims& steps, void* data, heed_dtype dtype = HEED_F32) {
    return heed_tensor_wrap(context, dtype, static_cast<int32_t>(sizes.size()), sizes.data(),
                            steps.empty() ? nullptr : steps.data(), data, nullptr, nullptr, &new_tensor);
  }
  heed_status view(heed_tensor* whole, const Dims& sizes, const Dims& steps, int64_t offset) {
    return heed_tensor_view(whole, static_cast<int32_t>(sizes.size()), sizes.data(),
                            steps.empty() ? nullptr : steps.data(), offset, &new_tensor);
  }
  heed_status reshape(heed_tensor* whole, const Dims& sizes) {
    return heed_tensor_reshape(whole, static_cast<int32_t>(sizes.size()), sizes.data(), &new_tensor);
  }
  heed_status transpose(heed_tensor* whole, const std::vector<int32_t>& order) {
    return heed_tensor_transpose(whole, order.data(), &new_tensor);
  }
  heed_status slice(heed_tensor* whole, int32_t axis, int64_t start, int64_t length) {
    return heed_tensor_slice(whole, axis, start, length, &new_tensor);
  }
};

#define UNWRITABLE(its_sentence, ...)                                                   \
  ALSO(its_sentence, heed_tensor_write(new_tensor, memory + 6, 24), wrap(__VA_ARGS__)), \
      ALSO(its_sentence, heed_tensor_fill(new_tensor, 1.0), wrap(__VA_ARGS__)),         \
      ALSO(its_sentence, heed_tensor_copy(new_tensor, tensor_of(HEED_F32, {})), wrap(__VA_ARGS__))

Cases shapes_and_memory() {
  using Scene = TensorScene;
  return {
      ALSO("rank is -1, expected 0 to 8", heed_tensor_create(context, HEED_F32, -1, dims, &new_tensor)),
      ALSO("dims[1] is -3, expected at least 0", create({2, -3})),
      ALSO("dims is (9223372036854775807, 2), whose product overflows...", create({INT64_MAX, 2})),
      ALSO("dims is (0, 9223372036854775807, 2), whose product overflows...", create({0, INT64_MAX, 2})),
      ALSO("dims is (4611686018427387903), whose size in bytes overflows...", create({INT64_MAX / 2})),
      ALSO("dims is (256, 256, 256, 256, 256, 256, 256, 256), whose product overflows...",
           create({256, 256, 256, 256, 256, 256, 256, 256})),
      ALSO("dtype is 9...", create({2}, (heed_dtype)9)),
      ALSO("dtype is -1...", create({2}, HEED_DTYPE_INVALID)),
      ALSO_AS(OUT_OF_MEMORY, "140737488355328...", create({int64_t{1} << 45})),
      ALSO_AS(OUT_OF_MEMORY, "9223372036854775804...", create({INT64_MAX / 4})),
      ALSO_AS(OUT_OF_MEMORY, "140737488355328...", heed_workspace_create(context, size_t{1} << 47, &new_workspace)),
      ALSO_AS(OUT_OF_MEMORY, "18446744073709551615...", heed_workspace_create(context, SIZE_MAX, &new_workspace)),
      ALSO("dims[0] is -1, expected at least 0", wrap({-1}, {}, memory)),
      ALSO("dtype is 9...", wrap({1}, {}, memory, (heed_dtype)9)),
      ALSO("dims is (9223372036854775807, 2), whose product overflows...", wrap({INT64_MAX, 2}, {}, memory)),
      ALSO("dims is (9223372036854775807, 2), whose product overflows...", wrap({INT64_MAX, 2}, {0, 0}, memory)),
      ALSO("data is 0x..., expected an address aligned to the 4 bytes of an element of F32",
           wrap({2}, {}, (char*)memory + 1)),
      ALSO("data is 0x..., expected an address aligned to the 8 bytes of an element of F64",
           wrap({2}, {}, (char*)memory + 4, HEED_F64)),
      ALSO("strides[0] is 9223372036854775807...", wrap({3}, {INT64_MAX}, memory)),
      ALSO("strides[0]...", wrap({3}, {INT64_MIN}, memory)),
      ALSO("strides[1]...", wrap({2, 2}, {INT64_MAX, INT64_MAX}, memory)),
      ALSO("strides...", wrap({2}, {INT64_MAX / 2}, memory)),
      ALSO("strides over dims (2) reach from data...", wrap({2}, {INT64_MAX / 4 - 1}, (void*)(UINTPTR_MAX - 63))),
      ALSO("strides over dims (2) reach from data...", wrap({2}, {-1024}, (void*)64)),
      ALSO("dims is (9223372036854775807, 9223372036854775807), whose product overflows...",
           wrap({INT64_MAX, INT64_MAX}, {}, NULL)),
  };
}

Cases axes_and_transfers() {
  using Scene = TensorScene;
  return {
      ALSO("axis is -4, but the tensor (2, 3, 4) has rank 3", heed_tensor_dim(tensor, -4)),
      ALSO("axis is 3...", heed_tensor_stride(tensor, 3)),
      ALSO("axis is -2147483648...", heed_tensor_stride(tensor, INT32_MIN)),
      ALSO("axis is 0...", heed_tensor_dim(tensor_of(HEED_F32, {}), 0)),
      ALSO("num_bytes is 95, but the tensor (2, 3, 4) of F32 has 96 bytes", heed_tensor_write(tensor, memory, 95)),
      ALSO("num_bytes is 97, but the tensor (2, 3, 4) of F32 has 96 bytes", heed_tensor_write(tensor, memory, 97)),
      ALSO("num_bytes is 97, but the tensor (2, 3, 4) of F32 has 96 bytes", heed_tensor_read(tensor, memory, 97)),
      ALSO("num_bytes is 0, but the tensor (2, 3, 4) of F32 has 96 bytes", heed_tensor_write(tensor, NULL, 0)),
      ALSO("tensor is a shape-only...", heed_tensor_write(shape_only, memory, 96)),
      ALSO("tensor is a shape-only...", heed_tensor_read(shape_only, memory, 96)),
      ALSO("tensor is a shape-only...", heed_tensor_to_text(shape_only, text, sizeof text, &num_bytes)),
      UNWRITABLE("...stride 0...axis 1...(2, 3)...", {2, 3}, {3, 0}, memory),
      UNWRITABLE("...stride -1...axis 1...(2, 3)...", {2, 3}, {3, -1}, memory + 2),
      UNWRITABLE("...(2, 3)...same place...", {2, 3}, {2, 1}, memory),
  };
}

Cases more_views() {
  using Scene = TensorScene;
  return {
      ALSO("offset is 0, from where a view of dims (25) would reach from byte 0 to 100, expected it inside the 96...",
           view(tensor, {25}, {}, 0)),
      ALSO("offset is 1, from where a view of dims (24) would reach from byte 4 to 100, expected it inside the 96...",
           view(tensor, {24}, {}, 1)),
      ALSO("offset is -1, from where a view of dims (1) would reach from byte -4 to 0, expected it inside the 96...",
           view(tensor, {1}, {}, -1)),
      ALSO("offset is -13...", view(view_of(tensor, {1, 3, 4}, {}, 12), {1}, {}, -13)),
      ALSO("offset is 0, from where a view of dims (4) would reach from byte 0 to 100, expected it inside the 96...",
           view(tensor, {4}, {8}, 0)),
      ALSO("offset is 2, from where a view of dims (4)...", view(tensor, {4}, {-1}, 2)),
      ALSO("offset is 9223372036854775807...", view(tensor, {1}, {}, INT64_MAX)),
      ALSO("offset is -9223372036854775808...", view(tensor, {1}, {}, INT64_MIN)),
      ALSO("strides[0]...", view(tensor, {3}, {INT64_MAX}, 0)),
      ALSO("dims[0] is -1, expected at least 0", view(tensor, {-1}, {}, 0)),
      ALSO("dims is (9223372036854775807, 9223372036854775807), whose product overflows...",
           view(tensor, {INT64_MAX, INT64_MAX}, {0, 0}, 0)),
      ALSO("tensor is a shape-only...", view(shape_only, {1}, {}, 0)),
      ALSO("rank is 9, expected 0 to 8", view(tensor, Dims(9, 1), {}, 0)),
      ALSO("dims is (5, 5) with 25 elements, but the tensor (2, 3, 4) has 24", reshape(tensor, {5, 5})),
      ALSO("dims is (-1, -1)...", reshape(tensor, {-1, -1})),
      ALSO("dims is (-1, 5), but the tensor (2, 3, 4) has 24...", reshape(tensor, {-1, 5})),
      ALSO("dims is (-1, 0)...", reshape(tensor_of(HEED_F32, {0, 3}), {-1, 0})),
      ALSO("dims[0] is -2...", reshape(tensor, {-2, 12})),
      ALSO("dims is (9223372036854775807, 2), whose product overflows...", reshape(tensor, {INT64_MAX, 2})),
      ALSO("rank is 9, expected 0 to 8", reshape(tensor, Dims(9, 1))),
      ALSO_AS(UNSUPPORTED, "a tensor of dims (2, 4, 3) with these strides has no view of dims (24): copy...",
              reshape(view_of(tensor, {2, 4, 3}, {12, 1, 4}), {24})),
      ALSO("axes...", transpose(tensor, {0, 1, 1})),
      ALSO("axes...", transpose(tensor, {0, 2, -1})),
      ALSO("axes...", transpose(tensor, {0, 1, 3})),
      ALSO("axes...", transpose(tensor, {0, 1, -4})),
      ALSO("axis is 3, but the tensor (2, 3, 4) has rank 3", slice(tensor, 3, 0, 1)),
      ALSO("axis is -4...", slice(tensor, -4, 0, 1)),
      ALSO("axis is 0...", slice(tensor_of(HEED_F32, {}), 0, 0, 1)),
      ALSO("start is 4, expected -3...", slice(tensor, 1, 4, 0)),
      ALSO("start is -4, expected -3...", slice(tensor, 1, -4, 1)),
      ALSO("start is -9223372036854775808...", slice(tensor, 1, INT64_MIN, 1)),
      ALSO("length is 3, expected 0 to 2 from start 1 on axis 1 of the tensor (2, 3, 4)", slice(tensor, 1, 1, 3)),
      ALSO("length is 9223372036854775807...", slice(tensor, 1, 1, INT64_MAX)),
      ALSO("length is -1...", slice(tensor, 1, 0, -1)),
  };
}

Cases more_copies() {
  using Scene = TensorScene;
  return {
      ALSO("source has dims (1, 2, 3, 4), which do not broadcast to destination's (2, 3, 4)...",
           heed_tensor_copy(tensor, tensor_of(HEED_F32, {1, 2, 3, 4}))),
      ALSO("destination shares memory with source...",
           heed_tensor_copy(view_of(tensor, {2, 3, 4}, {}), view_of(tensor, {1, 3, 4}, {}))),
      ALSO("source is a shape-only...", heed_tensor_copy(tensor, shape_only)),
      ALSO("destination is a shape-only...", heed_tensor_copy(shape_only, tensor)),
  };
}

}  // namespace

Topic tensors() {
  return {"Tensors",
          "",
          {
              PROVOKE(heed_tensor_create(context, (heed_dtype)9, 3, dims, &new_tensor)),
              PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor)),
              PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1),
              PROVOKE(heed_tensor_create(context, HEED_F32, 2, dims, &new_tensor), dims[0] = INT64_MAX),
              PROVOKE(heed_tensor_create(context, HEED_F32, 1, dims, &new_tensor), dims[0] = INT64_MAX / 2),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, NULL, NULL, release, NULL, &new_tensor)),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, NULL, (void*)0x1002, NULL, NULL, &new_tensor)),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor),
                      strides[1] = INT64_MAX),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor),
                      strides[0] = INT64_MAX / 2),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, (void*)0x1000, NULL, NULL, &new_tensor),
                      strides[1] = -1024),
              PROVOKE(heed_tensor_dim(tensor, 3)),
              PROVOKE(heed_tensor_data(snapshot("W_q.weight"))),
              PROVOKE(heed_tensor_read(tensor, memory, 95)),
              PROVOKE(heed_tensor_fill(shape_only, 1.0)),
              PROVOKE(heed_tensor_fill(snapshot("W_q.weight"), 1.0)),
              PROVOKE(heed_tensor_fill(new_tensor, 1.0), strides[2] = 0;
                      heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor)),
              PROVOKE(heed_tensor_fill(new_tensor, 1.0), strides[0] = 4;
                      heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor)),
              shapes_and_memory(),
              axes_and_transfers(),
          }};
}

Topic views() {
  return {"Views",
          "",
          {
              PROVOKE(heed_tensor_view(tensor, 1, dims, NULL, 24, &new_tensor)),
              PROVOKE(heed_tensor_view(tensor, 1, dims, NULL, INT64_MAX, &new_tensor)),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor)),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -1; dims[1] = -1),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -2),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -1; dims[1] = 5),
              PROVOKE(heed_tensor_reshape(new_tensor, 1, dims, &new_tensor), dims[0] = 24;
                      heed_tensor_transpose(tensor, NULL, &new_tensor)),
              PROVOKE(heed_tensor_transpose(tensor, axes, &new_tensor), axes[2] = 3),
              PROVOKE(heed_tensor_transpose(tensor, axes, &new_tensor), axes[2] = 1),
              PROVOKE(heed_tensor_slice(tensor, -4, 0, 1, &new_tensor)),
              PROVOKE(heed_tensor_slice(tensor, 1, 4, 1, &new_tensor)),
              PROVOKE(heed_tensor_slice(tensor, 1, 1, 3, &new_tensor)),
              more_views(),
          }};
}

Topic copies() {
  return {"Copies",
          "",
          {
              PROVOKE(heed_tensor_copy(tensor, tensor_of(HEED_F32, {2, 3}))),
              PROVOKE(heed_tensor_copy(tensor, tensor)),
              more_copies(),
          }};
}

}  // namespace heed::errors_test
