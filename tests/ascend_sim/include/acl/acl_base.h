// SPDX-License-Identifier: Apache-2.0
// The simulator's declarations of AscendCL: types, data types, formats and error codes. Names, types and values are
// those of the vendor's header of the same name; what the simulator does not use is left out.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define ACL_SIM_EXTERN_C extern "C"
#else
#define ACL_SIM_EXTERN_C
#endif
#define ACL_SIM_API ACL_SIM_EXTERN_C __attribute__((visibility("default")))

// C has no other way to name a type.
// NOLINTBEGIN(modernize-use-using)
typedef int aclError;
typedef void* aclrtStream;
typedef void* aclrtEvent;
typedef void* aclrtContext;
// The bits of an IEEE 754 binary16 number.
typedef uint16_t aclFloat16;

typedef enum {
  ACL_DT_UNDEFINED = -1,
  ACL_FLOAT = 0,
  ACL_FLOAT16 = 1,
  ACL_INT8 = 2,
  ACL_INT32 = 3,
  ACL_UINT8 = 4,
  ACL_INT16 = 6,
  ACL_UINT16 = 7,
  ACL_UINT32 = 8,
  ACL_INT64 = 9,
  ACL_UINT64 = 10,
  ACL_DOUBLE = 11,
  ACL_BOOL = 12,
  ACL_STRING = 13,
  ACL_COMPLEX64 = 16,
  ACL_COMPLEX128 = 17,
  ACL_BF16 = 27,
  ACL_INT4 = 29
} aclDataType;

typedef enum {
  ACL_FORMAT_UNDEFINED = -1,
  ACL_FORMAT_NCHW = 0,
  ACL_FORMAT_NHWC = 1,
  ACL_FORMAT_ND = 2,
  ACL_FORMAT_FRACTAL_NZ = 29
} aclFormat;
// NOLINTEND(modernize-use-using)

// Codes that have a name in the vendor's headers. The codes of the lower runtime (107000, 207001, 507015, ...) have no
// names there; runtime/errors.h names those that the simulator returns.
static const int ACL_ERROR_NONE = 0;
static const int ACL_SUCCESS = 0;
static const int ACL_ERROR_INVALID_PARAM = 100000;
static const int ACL_ERROR_UNINITIALIZE = 100001;
static const int ACL_ERROR_REPEAT_INITIALIZE = 100002;
static const int ACL_ERROR_REPEAT_FINALIZE = 100037;
static const int ACL_ERROR_COMPILING_STUB_MODE = 100039;
static const int ACL_ERROR_BAD_ALLOC = 200000;
static const int ACL_ERROR_INTERNAL_ERROR = 500000;
static const int ACL_ERROR_FAILURE = 500001;
static const int ACL_ERROR_RT_FAILURE = 500003;
static const int ACL_ERROR_DRV_FAILURE = 500004;

// Bytes of one element; 0 for a type without a size in bytes, or an unknown one.
ACL_SIM_API size_t aclDataTypeSize(aclDataType dataType);

// As the vendor documents them. To binary16, infinity and NaN become 65504 with the value's sign. From binary16,
// infinity and NaN are read as ordinary numbers, so infinity becomes 65536.
ACL_SIM_API aclFloat16 aclFloatToFloat16(float value);
ACL_SIM_API float aclFloat16ToFloat(aclFloat16 value);

// The chip's name, "Ascend910B4" unless the fault soc= says otherwise.
ACL_SIM_API const char* aclrtGetSocName(void);
