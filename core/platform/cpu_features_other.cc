// SPDX-License-Identifier: Apache-2.0
// Processors for which heed has only portable kernels.
#include "platform/cpu_features.h"

namespace heed::platform {

CpuFeatures cpu_features() noexcept { return 0; }

void pause_processor() noexcept {}

}  // namespace heed::platform
