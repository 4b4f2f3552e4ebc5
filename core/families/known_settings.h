// SPDX-License-Identifier: Apache-2.0
// The settings of config.json whose meaning heed knows: it reads them, or they do not change what a model computes without
// training. Another one might change the numbers, so that the model is refused.
#pragma once

#include "families/family.h"
#include "families/load_accept.h"
#include "families/model_config.h"

namespace heed {

// Throws Unsupported that names the first setting which is neither null nor false, and not known or only of other
// families. One that is not known may be accepted. `family`: of whole models.
void require_known_settings(const ModelConfig& config, const Family& family, const LoadAccept& accept);

}  // namespace heed
