// SPDX-License-Identifier: Apache-2.0
#include <cstring>

#include "errors/provocation.h"

namespace heed::errors_test {

namespace {

class DlpackScene : public Scene {
 protected:
  // Takes a number, since later versions have device types that the header's enumeration lacks.
  void set_device(int32_t type, int32_t index) {
    std::memcpy(&managed.dl_tensor.device.device_type, &type, sizeof type);
    managed.dl_tensor.device.device_id = index;
  }
  void set_dtype(int code, int bits, int lanes) {
    managed.dl_tensor.dtype = {static_cast<uint8_t>(code), static_cast<uint8_t>(bits), static_cast<uint16_t>(lanes)};
  }
};

#define MANAGED_AS(its_status, its_sentence, ...) \
  ALSO_AS(its_status, its_sentence, heed_tensor_from_dlpack(context, &managed, &new_tensor), __VA_ARGS__)
#define MANAGED(its_sentence, ...) MANAGED_AS(INVALID_ARGUMENT, its_sentence, __VA_ARGS__)
#define DEVICE(its_name, type, index)                                    \
  MANAGED("managed->dl_tensor.device is " its_name " with index " #index \
          ", but the context is on device cpu:0: expected kDLCPU (1)",   \
          set_device(type, index))
#define DTYPE(code, bits, lanes)                                                                                      \
  MANAGED_AS(UNSUPPORTED,                                                                                             \
             "managed->dl_tensor.dtype has code " #code ", " #bits " bits and " #lanes                                \
             " lanes, expected one lane of float of 16, 32 or 64 bits, bfloat of 16, int of 8, 32 or 64, uint of 8, " \
             "or bool of 8",                                                                                          \
             set_dtype(code, bits, lanes))

Cases devices_and_dtypes() {
  using Scene = DlpackScene;
  return {
      DEVICE("kDLCUDA (2)", 2, 0),
      DEVICE("kDLCUDA (2)", 2, 1),
      DEVICE("kDLCUDAHost (3)", 3, 0),
      DEVICE("kDLExtDev (12)", 12, 7),
      DEVICE("kDLMAIA (17)", 17, 0),
      DEVICE("0", 0, 0),
      DEVICE("5", 5, 0),
      DEVICE("18", 18, 0),
      DEVICE("99", 99, -1),
      DEVICE("-1", -1, 0),
      DTYPE(0, 16, 1),
      DTYPE(1, 32, 1),
      DTYPE(2, 8, 1),
      DTYPE(2, 128, 1),
      DTYPE(4, 32, 1),
      DTYPE(5, 64, 1),
      DTYPE(3, 64, 1),
      DTYPE(6, 1, 1),
      DTYPE(255, 255, 1),
      DTYPE(2, 32, 2),
      DTYPE(2, 32, 0),
      DTYPE(2, 32, 65535),
  };
}

Cases shapes_and_data() {
  using Scene = DlpackScene;
  return {
    MANAGED("managed->dl_tensor.shape is NULL, expected 1 sizes", managed.dl_tensor.ndim = 1;
            managed.dl_tensor.shape = NULL),
        MANAGED("dims is (4294967296, 4294967296, 4), whose product overflows, expected at most 2^63 - 1 elements",
                dims[0] = dims[1] = int64_t{1} << 32),
        MANAGED("dims is (576460752303423488, 3, 4), whose size in bytes overflows, expected at most 2^63 - 1 bytes",
                dims[0] = int64_t{1} << 59),
        MANAGED(
            "strides[1] is 9223372036854775807, which over a dim of 3 overflows, expected steps that fit in 64 bits",
            managed.dl_tensor.strides = strides;
            strides[1] = INT64_MAX),
        MANAGED("strides over dims (2, 3, 4) reach beyond what memory can address, expected at most 2^63 - 1 bytes",
                managed.dl_tensor.strides = strides;
                strides[0] = int64_t{1} << 62),
        MANAGED(
            "strides over dims (2, 3, 4) reach from data beyond what memory can address, expected every element inside "
            "it",
            managed.dl_tensor.strides = strides;
            strides[0] = -(int64_t{1} << 60)),
        MANAGED("managed->dl_tensor.data is NULL, but its shape (2, 3, 4) has 24 elements",
                managed.dl_tensor.data = NULL;
                managed.dl_tensor.byte_offset = 64),
        MANAGED("data is 0x1002, expected an address aligned to the 4 bytes of an element of F32",
                managed.dl_tensor.data = (void*)0x1002),
        MANAGED("data is 0x1002, expected an address aligned to the 4 bytes of an element of F32",
                managed.dl_tensor.data = (void*)0x1000;
                managed.dl_tensor.byte_offset = 2),
  };
}

}  // namespace

Topic dlpack() {
  return {"DLPack",
          "",
          {
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor),
                      managed.dl_tensor.device.device_type = kDLCUDA),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.dtype.lanes = 4),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.ndim = -1),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.ndim = 9),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.shape = NULL),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), dims[1] = -1),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.data = (void*)0x1000;
                      managed.dl_tensor.byte_offset = UINT64_MAX),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.data = NULL),
              devices_and_dtypes(),
              shapes_and_data(),
          }};
}

}  // namespace heed::errors_test
