// SPDX-License-Identifier: Apache-2.0
// PyTorch's masks and activations as heed's.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <string>

#include "capi/support/objects.h"

namespace heed::golden {

// PyTorch's boolean masks are true where a key is hidden, heed's where it may be attended to.
capi_test::Tensor inverted(heed_context* context, const heed_tensor* mask);

// A mask of any dtype as (B, H, Q, K) or (Q, K): PyTorch's with heads is (B * H, Q, K).
capi_test::Tensor with_heads_apart(heed_tensor* mask, int64_t num_heads);

// HEED_ACTIVATION_... of the name in the files' metadata; none if heed has no such activation.
std::optional<int32_t> activation_of(const std::string& name);

}  // namespace heed::golden
