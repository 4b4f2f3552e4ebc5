// SPDX-License-Identifier: Apache-2.0
// ATB's class of the chip that aclrtGetSocName names.
#pragma once

namespace ascend_sim::atb_library {

enum class Chip {
  // Atlas A2 and A3, which the vendor's sources call 910B. All simulated operations run on these.
  A2,
  // The first generation of Ascend 910.
  First910,
  Inference310P,
  Other,
};

Chip chip();

}  // namespace ascend_sim::atb_library
