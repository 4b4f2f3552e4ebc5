// SPDX-License-Identifier: Apache-2.0
// Processors for which heed has portable kernels only.
#include "platform/cpu_features.h"

namespace heed::platform {

CpuFeatures cpu_features() noexcept { return 0; }

void pause_processor() noexcept {}

}  // namespace heed::platform
