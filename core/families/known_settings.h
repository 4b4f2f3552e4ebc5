// SPDX-License-Identifier: Apache-2.0
// The settings of config.json whose meaning heed knows: it reads them, or they do not change what a model computes without
// training. Another one might change the numbers, so that the model is refused.
#pragma once

#include "families/family.h"
#include "families/load_accept.h"
#include "families/model_config.h"

namespace heed {

// Throws Unsupported that names the first setting which is neither null nor false, and not known or only of other
// families, unless it is not known and accepted; then InvalidArgument for the first that is not written as it is read. `family`:
// of whole models.
void require_known_settings(const ModelConfig& config, const Family& family, const LoadAccept& accept);

// Of a whole model with rotary positions. Throws Unsupported for a member that heed does not know, and InvalidArgument for one
// that is not written as it should be, or that the type of the positions needs and that is missing.
void require_rope_members(const ModelConfig& config, const Family& family);

}  // namespace heed
