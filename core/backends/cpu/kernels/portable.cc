// SPDX-License-Identifier: Apache-2.0
// The kernels for every processor.
#define HEED_ISA_NAMESPACE portable
#define HEED_ISA_TEXT "portable"
#define HEED_ISA_TABLE kPortableKernels

#include "backends/cpu/kernels/kernels-inl.h"
