// SPDX-License-Identifier: Apache-2.0
// Which of ATB's classes of chips aclrtGetSocName names.
#pragma once

namespace ascend_sim::atb_library {

enum class Chip {
  // Atlas A2 and A3, which the vendor's sources call 910B: all that is simulated runs on these.
  A2,
  // The first Ascend 910.
  First910,
  Inference310P,
  Other,
};

Chip chip();

}  // namespace ascend_sim::atb_library
