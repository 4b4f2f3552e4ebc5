// SPDX-License-Identifier: Apache-2.0
// Managed tensors that heed cannot import: each is refused by name, and stays the caller's.
#include <gtest/gtest.h>

#include <cstring>

#include "capi/support/dlpack_lender.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct WrongTensor {
  const char* what;
  std::function<void(DlpackLender& lender)> change;
  heed_status status;
  std::string sentence;
};

// Changes an F32 tensor of dims (2, 3) that could be imported.
void expect_not_taken(const std::vector<WrongTensor>& rows) {
  const Context context = make_context();
  for (const WrongTensor& row : rows) {
    SCOPED_TRACE(row.what);
    DlpackLender lender({2, 3}, {3, 1});
    row.change(lender);
    expect_refused(
        {{row.what,
          [&](OutParameters& out) { return heed_tensor_from_dlpack(context.get(), &lender.managed, &out.tensor); },
          {row.status, {}}}});
    EXPECT_EQ(heed_last_error(), row.sentence);
    EXPECT_EQ(lender.num_deletions, 0);
  }
}

// Takes a number, since later versions have device types that the header's enumeration lacks.
void set_device(DlpackLender& lender, int32_t type, int index) {
  std::memcpy(&lender.managed.dl_tensor.device.device_type, &type, sizeof type);
  lender.managed.dl_tensor.device.device_id = index;
}

TEST(DlpackErrors, OfDevices) {
  const auto sentence = [](const std::string& device, int index) {
    return "managed->dl_tensor.device is " + device + " with index " + std::to_string(index) +
           ", but the context is on device cpu:0: expected kDLCPU (1)";
  };
  expect_not_taken({
      {"CUDA", [](auto& l) { set_device(l, 2, 1); }, HEED_ERROR_INVALID_ARGUMENT, sentence("kDLCUDA (2)", 1)},
      {"pinned", [](auto& l) { set_device(l, 3, 0); }, HEED_ERROR_INVALID_ARGUMENT, sentence("kDLCUDAHost (3)", 0)},
      {"extension", [](auto& l) { set_device(l, 12, 7); }, HEED_ERROR_INVALID_ARGUMENT, sentence("kDLExtDev (12)", 7)},
      {"a later one", [](auto& l) { set_device(l, 17, 0); }, HEED_ERROR_INVALID_ARGUMENT, sentence("kDLMAIA (17)", 0)},
      {"none", [](auto& l) { set_device(l, 0, 0); }, HEED_ERROR_INVALID_ARGUMENT, sentence("0", 0)},
      {"a gap", [](auto& l) { set_device(l, 5, 0); }, HEED_ERROR_INVALID_ARGUMENT, sentence("5", 0)},
      {"unknown", [](auto& l) { set_device(l, 99, -1); }, HEED_ERROR_INVALID_ARGUMENT, sentence("99", -1)},
      {"negative", [](auto& l) { set_device(l, -1, 0); }, HEED_ERROR_INVALID_ARGUMENT, sentence("-1", 0)},
  });
}

TEST(DlpackErrors, OfDTypes) {
  const auto row = [](const char* what, int code, int bits, int lanes) {
    const DLDataType type = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
    return WrongTensor{what, [type](DlpackLender& lender) { lender.managed.dl_tensor.dtype = type; },
                       HEED_ERROR_UNSUPPORTED,
                       "managed->dl_tensor.dtype has code " + std::to_string(code) + ", " + std::to_string(bits) +
                           " bits and " + std::to_string(lanes) +
                           " lanes, expected one lane of float of 16, 32 or 64 bits, bfloat of 16, int of 8, 32 or 64, "
                           "uint of 8, or bool of 8"};
  };
  expect_not_taken({
      row("int of 16", kDLInt, 16, 1),
      row("uint of 32", kDLUInt, 32, 1),
      row("float of 8", kDLFloat, 8, 1),
      row("float of 128", kDLFloat, 128, 1),
      row("bfloat of 32", kDLBfloat, 32, 1),
      row("complex", kDLComplex, 64, 1),
      row("handle", kDLOpaqueHandle, 64, 1),
      row("bool of one bit", 6, 1, 1),
      row("a later code", 255, 255, 1),
      row("two lanes", kDLFloat, 32, 2),
      row("no lane", kDLFloat, 32, 0),
      row("many lanes", kDLFloat, 32, 65535),
  });
}

TEST(DlpackErrors, OfShapes) {
  expect_not_taken({
      {"negative ndim", [](auto& l) { l.managed.dl_tensor.ndim = -1; }, HEED_ERROR_INVALID_ARGUMENT,
       "managed->dl_tensor.ndim is -1, expected at least 0"},
      {"ndim 9",
       [](auto& l) {
         l.shape.assign(9, 1);
         l.managed.dl_tensor.shape = l.shape.data();
         l.managed.dl_tensor.strides = nullptr;
         l.managed.dl_tensor.ndim = 9;
       },
       HEED_ERROR_UNSUPPORTED, "managed->dl_tensor.ndim is 9, expected at most 8"},
      {"shape NULL", [](auto& l) { l.managed.dl_tensor.shape = nullptr; }, HEED_ERROR_INVALID_ARGUMENT,
       "managed->dl_tensor.shape is NULL, expected 2 sizes"},
      {"a negative dim", [](auto& l) { l.shape[1] = -3; }, HEED_ERROR_INVALID_ARGUMENT,
       "managed->dl_tensor.shape[1] is -3, expected at least 0"},
      {"a product that overflows",
       [](auto& l) {
         l.shape = {int64_t{1} << 32, int64_t{1} << 32};
         l.managed.dl_tensor.shape = l.shape.data();
       },
       HEED_ERROR_INVALID_ARGUMENT,
       "dims is (4294967296, 4294967296), whose product overflows, expected at most 2^63 - 1 elements"},
      {"bytes that overflow", [](auto& l) { l.shape[0] = int64_t{1} << 60; }, HEED_ERROR_INVALID_ARGUMENT,
       "dims is (1152921504606846976, 3), whose size in bytes overflows, expected at most 2^63 - 1 bytes"},
      {"a stride that overflows", [](auto& l) { l.steps[1] = INT64_MAX; }, HEED_ERROR_INVALID_ARGUMENT,
       "strides[1] is 9223372036854775807, which over a dim of 3 overflows, expected steps that fit in 64 bits"},
      {"strides beyond all memory", [](auto& l) { l.steps[0] = int64_t{1} << 62; }, HEED_ERROR_INVALID_ARGUMENT,
       "strides over dims (2, 3) reach beyond what memory can address, expected at most 2^63 - 1 bytes"},
      {"strides below all memory", [](auto& l) { l.steps[0] = -(int64_t{1} << 60); }, HEED_ERROR_INVALID_ARGUMENT,
       "strides over dims (2, 3) reach from data beyond what memory can address, expected every element inside it"},
  });
}

TEST(DlpackErrors, OfData) {
  const auto is_misaligned = [](const DlpackLender& lender, size_t bytes) {
    char address[32];
    std::snprintf(address, sizeof address, "%p",
                  static_cast<const void*>(reinterpret_cast<const char*>(lender.memory) + bytes));
    return "data is " + std::string(address) + ", expected an address aligned to the 4 bytes of an element of F32";
  };
  expect_not_taken({
      {"NULL", [](auto& l) { l.managed.dl_tensor.data = nullptr; }, HEED_ERROR_INVALID_ARGUMENT,
       "managed->dl_tensor.data is NULL, but its shape (2, 3) has 6 elements"},
      {"NULL with an offset",
       [](auto& l) {
         l.managed.dl_tensor.data = nullptr;
         l.managed.dl_tensor.byte_offset = 64;
       },
       HEED_ERROR_INVALID_ARGUMENT, "managed->dl_tensor.data is NULL, but its shape (2, 3) has 6 elements"},
  });
  const Context context = make_context();
  heed_tensor* tensor = nullptr;
  for (const bool by_offset : {false, true}) {
    DlpackLender lender({2, 3});
    DLTensor& given = lender.managed.dl_tensor;
    if (by_offset)
      given.byte_offset = 2;
    else
      given.data = reinterpret_cast<char*>(lender.memory) + 2;
    EXPECT_EQ(heed_tensor_from_dlpack(context.get(), &lender.managed, &tensor), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(heed_last_error(), is_misaligned(lender, 2));
    EXPECT_EQ(lender.num_deletions, 0);
  }
  DlpackLender lender({2, 3});
  lender.managed.dl_tensor.byte_offset = UINT64_MAX;
  EXPECT_TRUE(is_refused(heed_tensor_from_dlpack(context.get(), &lender.managed, &tensor),
                         {HEED_ERROR_INVALID_ARGUMENT, {"byte_offset is 18446744073709551615", "overflows"}}));
  EXPECT_EQ(lender.num_deletions, 0);
  EXPECT_EQ(tensor, nullptr);
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
