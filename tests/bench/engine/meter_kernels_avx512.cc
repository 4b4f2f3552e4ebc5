// SPDX-License-Identifier: Apache-2.0
// The meters' loops, compiled for: AVX-512.
#define METER_VECTOR_BYTES 64
#define METER_TABLE kAvx512Meters
#define METER_NAME "AVX-512"
#include "meter_kernels-inl.h"
