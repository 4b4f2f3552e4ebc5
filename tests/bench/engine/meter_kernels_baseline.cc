// SPDX-License-Identifier: Apache-2.0
// The meters' loops, compiled for: baseline.
#define METER_VECTOR_BYTES 16
#define METER_TABLE kBaselineMeters
#define METER_NAME "baseline"
#include "meter_kernels-inl.h"
