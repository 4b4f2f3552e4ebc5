// SPDX-License-Identifier: Apache-2.0
// The settings of config.json whose meaning heed knows: it reads them, or they do not change what a model computes without
// training. Another one might change the numbers, so that the model is refused.
#pragma once

#include <string>

#include "families/family.h"
#include "families/load_accept.h"
#include "families/model_config.h"

namespace heed {

// Throws Unsupported that names the first setting which is neither null nor false, and not known or only of other
// families, unless it is not known and accepted; then InvalidArgument for the first that is not written as it is read. `family`:
// of whole models.
void require_known_settings(const ModelConfig& config, const Family& family, const LoadAccept& accept);

// Removes all settings but those that every class reads and those in the record of the family, which is of whole models: no rule
// then reads a setting of another one.
void keep_settings_of(ModelConfig& config, const Family& family);

// Throws Unsupported that names the path.
[[noreturn]] void refuse_of_another_family(const ModelConfig& config, const std::string& path, const Family& family);

// Throws InvalidArgument that names both names of a setting.
[[noreturn]] void refuse_two_names(const ModelConfig& config, const std::string& name, const std::string& other);

// Of a whole model with rotary positions. Throws Unsupported for a member that heed does not know and that is not accepted by
// its path, and InvalidArgument for one that is not written as it should be, or that the type of the positions needs and that is
// missing.
void require_rope_members(const ModelConfig& config, const Family& family, const LoadAccept& accept);

}  // namespace heed
