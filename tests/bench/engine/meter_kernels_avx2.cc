// SPDX-License-Identifier: Apache-2.0
// The meters' loops, compiled for: AVX2.
#define METER_VECTOR_BYTES 32
#define METER_TABLE kAvx2Meters
#define METER_NAME "AVX2"
#include "meter_kernels-inl.h"
