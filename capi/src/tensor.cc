// SPDX-License-Identifier: Apache-2.0
#include "tensor/tensor.h"

#include <heed/heed.h>

#include <algorithm>
#include <cinttypes>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "tensor/copy.h"
#include "tensor/dtype_term.h"
#include "tensor/tensor_text.h"

namespace heed::capi {
namespace {

// The axis of a getter, counted from 0; throws if the tensor does not have it.
int32_t existing_axis(const Tensor& tensor, int32_t axis) {
  const int32_t normal = normalize_axis(axis, tensor.rank());
  if (normal < 0)
    fail(Status::InvalidArgument, "axis is %d, but the " WORD("tensor") " %s has rank %d", axis,
         to_string(tensor.shape()).c_str(), tensor.rank());
  return normal;
}

void check_transfer(const Tensor& tensor, const void* host, const char* host_name, size_t num_bytes) {
  if (num_bytes != tensor.num_bytes()) {
    fail(Status::InvalidArgument, "num_bytes is %zu, but the " WORD("tensor") " %s of %s has %zu bytes", num_bytes,
         to_string(tensor.shape()).c_str(), term_of(tensor.dtype()), tensor.num_bytes());
  }
  if (num_bytes > 0) require(host, host_name);
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_tensor_create(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                               heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(tensor, ARGUMENT("tensor"));
    *tensor = make_handle(heed_tensor{Tensor::zeros(owner, read_dtype(dtype), read_shape(rank, dims))});
  });
}

heed_status heed_tensor_create_from(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                                    const void* data, heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(tensor, ARGUMENT("tensor"));
    const DType element = read_dtype(dtype);
    const Shape shape = read_shape(rank, dims);
    if (std::find(shape.dims.begin(), shape.dims.begin() + rank, 0) == shape.dims.begin() + rank) require(data, "data");
    *tensor = make_handle(heed_tensor{Tensor::copy_of(owner, element, shape, data)});
  });
}

heed_status heed_tensor_wrap(heed_context* context, heed_dtype dtype, int32_t rank, const int64_t* dims,
                             const int64_t* strides, void* data, void (*release)(void* user, void* data), void* user,
                             heed_tensor** tensor) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(tensor, ARGUMENT("tensor"));
    if (data == nullptr && release != nullptr)
      fail(Status::InvalidArgument, "release is given, but data is " WORD("NULL") ": there is nothing to release");
    const Shape shape = read_shape(rank, dims);
    Dims storage{};
    *tensor = make_handle(
        heed_tensor{Tensor::wrap(owner, read_dtype(dtype), shape, read_strides(shape, strides, storage), data)});
    // The last step, because a call that fails must not release the caller's memory. This step cannot fail.
    (*tensor)->tensor.release_with(release, user);
  });
}

void heed_tensor_destroy(heed_tensor* tensor) noexcept { destroy_handle(tensor); }

heed_dtype heed_tensor_dtype(const heed_tensor* tensor) noexcept {
  return guarded_value(__func__, tensor, HEED_DTYPE_INVALID,
                       [&] { return c_dtype(require(tensor, ARGUMENT("tensor"))->tensor.dtype()); });
}

int32_t heed_tensor_rank(const heed_tensor* tensor) noexcept {
  return guarded_value(__func__, tensor, -1, [&] { return require(tensor, ARGUMENT("tensor"))->tensor.rank(); });
}

int64_t heed_tensor_dim(const heed_tensor* tensor, int32_t axis) noexcept {
  return guarded_value<int64_t>(__func__, tensor, -1, [&] {
    const Tensor& self = require(tensor, ARGUMENT("tensor"))->tensor;
    return self.dim(existing_axis(self, axis));
  });
}

int64_t heed_tensor_stride(const heed_tensor* tensor, int32_t axis) noexcept {
  return guarded_value<int64_t>(__func__, tensor, -1, [&] {
    const Tensor& self = require(tensor, ARGUMENT("tensor"))->tensor;
    return self.stride(existing_axis(self, axis));
  });
}

int64_t heed_tensor_num_elements(const heed_tensor* tensor) noexcept {
  return guarded_value<int64_t>(__func__, tensor, -1,
                                [&] { return require(tensor, ARGUMENT("tensor"))->tensor.num_elements(); });
}

size_t heed_tensor_num_bytes(const heed_tensor* tensor) noexcept {
  return guarded_value<size_t>(__func__, tensor, 0,
                               [&] { return require(tensor, ARGUMENT("tensor"))->tensor.num_bytes(); });
}

void* heed_tensor_data(heed_tensor* tensor) noexcept {
  return guarded_value<void*>(__func__, tensor, nullptr, [&]() -> void* {
    const Tensor& self = require(tensor, ARGUMENT("tensor"))->tensor;
    if (self.is_read_only()) {
      fail(Status::InvalidArgument,
           ARGUMENT("tensor") " is a read-only snapshot of a parameter, whose memory is not given out: "
"use " FUNCTION("heed_tensor_read"));
    }
    return self.data();
  });
}

heed_status heed_tensor_write(heed_tensor* tensor, const void* source, size_t num_bytes) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    check_transfer(self, source, "source", num_bytes);
    write_tensor(self, source);
  });
}

heed_status heed_tensor_read(const heed_tensor* tensor, void* destination, size_t num_bytes) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    check_transfer(self, destination, "destination", num_bytes);
    read_tensor(self, destination);
  });
}

heed_status heed_tensor_to_text(const heed_tensor* tensor, char* text, size_t capacity, size_t* num_bytes) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor self = require(tensor, ARGUMENT("tensor"))->tensor;
    self.require_data(ARGUMENT("tensor"));
    write_text(elements_text(self), text, capacity, num_bytes);
  });
}

heed_status heed_tensor_copy(heed_tensor* destination, const heed_tensor* source) noexcept {
  return guarded(__func__, destination, [&] {
    const Tensor to = require(destination, "destination")->tensor;
    const Tensor from = require(source, "source")->tensor;
    copy_tensor(to, from);
  });
}

heed_status heed_tensor_view(heed_tensor* tensor, int32_t rank, const int64_t* dims, const int64_t* strides,
                             int64_t offset, heed_tensor** view) noexcept {
  return guarded(__func__, tensor, [&] {
    require(tensor, ARGUMENT("tensor"));
    require(view, "view");
    const Shape shape = read_shape(rank, dims);
    Dims storage{};
    *view = make_handle(heed_tensor{tensor->tensor.view(shape, read_strides(shape, strides, storage), offset)});
  });
}

heed_status heed_tensor_reshape(heed_tensor* tensor, int32_t rank, const int64_t* dims, heed_tensor** view) noexcept {
  return guarded(__func__, tensor, [&] {
    require(tensor, ARGUMENT("tensor"));
    require(view, "view");
    *view = make_handle(heed_tensor{tensor->tensor.reshape(read_shape(rank, dims, true))});
  });
}

heed_status heed_tensor_transpose(heed_tensor* tensor, const int32_t* axes, heed_tensor** view) noexcept {
  return guarded(__func__, tensor, [&] {
    require(tensor, ARGUMENT("tensor"));
    require(view, "view");
    *view = make_handle(heed_tensor{tensor->tensor.transpose(axes)});
  });
}

heed_status heed_tensor_slice(heed_tensor* tensor, int32_t axis, int64_t start, int64_t length,
                              heed_tensor** view) noexcept {
  return guarded(__func__, tensor, [&] {
    require(tensor, ARGUMENT("tensor"));
    require(view, "view");
    *view = make_handle(heed_tensor{tensor->tensor.slice(axis, start, length)});
  });
}

}  // extern "C"
