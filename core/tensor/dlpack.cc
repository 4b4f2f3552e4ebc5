// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlpack.h"

#include <dlpack/dlpack.h>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/host_allocator.h"
#include "platform/floating_point_environment.h"
#include "tensor/copy.h"

namespace heed {
namespace {

// DLPack has a code for booleans from version 0.8 on.
constexpr uint8_t kBooleanCode = 6;

constexpr uint8_t dlpack_code(DType dtype) {
  switch (dtype) {
    case DType::F32:
    case DType::F16:
    case DType::F64: return kDLFloat;
    case DType::BF16: return kDLBfloat;
    case DType::I32:
    case DType::I64:
    case DType::I8: return kDLInt;
    case DType::U8: return kDLUInt;
    case DType::Bool: break;
  }
  return kBooleanCode;
}

// With one lane: an element is one number.
DLDataType dlpack_dtype(DType dtype) { return {dlpack_code(dtype), static_cast<uint8_t>(8 * size_of(dtype)), 1}; }

// The names include codes of later versions than the header's. Other codes are shown as a number.
std::string name_of_device(int32_t type) {
  constexpr const char* kNames[] = {nullptr,     "kDLCPU",      "kDLCUDA",   "kDLCUDAHost",    "kDLOpenCL",
                                    nullptr,     nullptr,       "kDLVulkan", "kDLMetal",       "kDLVPI",
                                    "kDLROCM",   "kDLROCMHost", "kDLExtDev", "kDLCUDAManaged", "kDLOneAPI",
                                    "kDLWebGPU", "kDLHexagon",  "kDLMAIA"};
  const bool is_known = type >= 0 && type < static_cast<int32_t>(std::size(kNames)) && kNames[type] != nullptr;
  return is_known ? std::string(kNames[type]) + " (" + std::to_string(type) + ")" : std::to_string(type);
}

// DLPack has a device code for host memory, but none for Ascend NPUs.
void check_device(const DLDevice& device, const Memory& memory) {
  // Copied as bytes, since a code of a later version may be outside the range of the header's enumeration.
  int32_t type = 0;
  static_assert(sizeof type == sizeof device.device_type);
  std::memcpy(&type, &device.device_type, sizeof type);
  if (!memory.is_host()) {
    fail(Status::Unsupported,
         "the context is on device %s, for which DLPack has no code: wrap the tensor in a context on the CPU, and copy "
         "it with heed_tensor_copy",
         memory.device_name());
  }
  if (type != kDLCPU) {
    fail(Status::InvalidArgument,
         "managed->dl_tensor.device is %s with index %d, but the context is on device %s: expected kDLCPU (1)",
         name_of_device(type).c_str(), static_cast<int>(device.device_id), memory.device_name());
  }
}

DType dtype_of(const DLDataType& type) {
  const auto known = find_dtype([&](DType dtype) {
    const DLDataType own = dlpack_dtype(dtype);
    return type.code == own.code && type.bits == own.bits && type.lanes == own.lanes;
  });
  if (known.has_value()) return *known;
  fail(Status::Unsupported,
       "managed->dl_tensor.dtype has code %d, %d bits and %d lanes, expected one lane of float of 16, 32 or 64 bits, "
       "bfloat of 16, int of 8, 32 or 64, uint of 8, or bool of 8",
       type.code, type.bits, type.lanes);
}

Shape shape_of(const DLTensor& given) {
  if (given.ndim < 0) fail(Status::InvalidArgument, "managed->dl_tensor.ndim is %d, expected at least 0", given.ndim);
  if (given.ndim > kMaxRank) {
    fail(Status::Unsupported, "managed->dl_tensor.ndim is %d, expected at most %d", given.ndim, kMaxRank);
  }
  if (given.ndim > 0 && given.shape == nullptr) {
    fail(Status::InvalidArgument, "managed->dl_tensor.shape is NULL, expected %d sizes", given.ndim);
  }
  Shape shape;
  shape.rank = given.ndim;
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    shape[axis] = given.shape[axis];
    if (shape[axis] < 0) {
      fail(Status::InvalidArgument, "managed->dl_tensor.shape[%d] is %" PRId64 ", expected at least 0", axis,
           shape[axis]);
    }
  }
  return shape;
}

// The element at index (0, 0, ...); NULL stays NULL.
void* first_element(const DLTensor& given) {
  if (given.data == nullptr) return nullptr;
  if (given.byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(given.data)) {
    fail(Status::InvalidArgument,
         "managed->dl_tensor.byte_offset is %" PRIu64 ", which from data %p overflows, expected an address",
         given.byte_offset, given.data);
  }
  return static_cast<std::byte*>(given.data) + given.byte_offset;
}

// An exported tensor and everything that its deleter frees.
struct Exported {
  explicit Exported(Tensor exported) noexcept
      : tensor(std::move(exported)), dims(tensor.shape().dims), strides(tensor.strides()) {}

  DLManagedTensor managed{};
  Tensor tensor;
  // Copies, since DLPack allows the consumer to write them.
  Dims dims;
  Dims strides;
};

// The consumer may call this in any floating-point environment.
void delete_exported(DLManagedTensor* managed) {
  const platform::FloatingPointEnvironment environment;
  auto* const exported = static_cast<Exported*>(managed->manager_ctx);
  host_destroy(exported->tensor.memory()->host_allocator(), exported);
}

}  // namespace

Tensor from_dlpack(std::shared_ptr<const Memory> memory, const DLManagedTensor& managed) {
  const DLTensor& given = managed.dl_tensor;
  check_device(given.device, *memory);
  const DType dtype = dtype_of(given.dtype);
  const Shape shape = shape_of(given);
  Dims strides{};
  if (given.strides != nullptr) std::copy_n(given.strides, shape.rank, strides.begin());
  Tensor tensor = Tensor::wrap(std::move(memory), dtype, shape, given.strides == nullptr ? nullptr : &strides,
                               first_element(given));
  if (!tensor.has_data()) {
    fail(Status::InvalidArgument, "managed->dl_tensor.data is NULL, but its shape %s has %" PRId64 " elements",
         to_string(shape).c_str(), tensor.num_elements());
  }
  return tensor;
}

void delete_dlpack(void* managed, void*) noexcept {
  auto* const owner = static_cast<DLManagedTensor*>(managed);
  if (owner->deleter != nullptr) owner->deleter(owner);
}

DLManagedTensor* to_dlpack(const Tensor& tensor) {
  tensor.require_data("tensor");
  if (!tensor.is_on_host()) {
    fail(Status::Unsupported,
         "tensor is on device %s, for which DLPack has no code: copy it with heed_tensor_copy to a tensor on the CPU",
         tensor.device_name());
  }
  Tensor shared = tensor.is_read_only() ? converted_copy(tensor.memory(), tensor, tensor.dtype()) : tensor;
  auto* const exported = host_create<Exported>(tensor.memory()->host_allocator(), std::move(shared));
  DLTensor& given = exported->managed.dl_tensor;
  given.data = exported->tensor.data();
  given.device = {kDLCPU, 0};
  given.ndim = tensor.rank();
  given.dtype = dlpack_dtype(tensor.dtype());
  given.shape = exported->dims.data();
  given.strides = exported->strides.data();
  given.byte_offset = 0;
  exported->managed.manager_ctx = exported;
  exported->managed.deleter = delete_exported;
  return &exported->managed;
}

}  // namespace heed
