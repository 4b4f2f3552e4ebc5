// SPDX-License-Identifier: Apache-2.0
// The records of all families.
#pragma once

#include <array>
#include <span>
#include <string_view>

#include "families/family.h"

namespace heed {

// Those of encoders, of decoders and of models with both; and those whose attention alone is known.
std::array<std::span<const Family>, 4> all_families();

// The record of a model_type; of another one a record that is not known.
const Family& family_of(std::string_view model_type);
// Null: heed makes no whole models of that family.
const Family* model_family_of(std::string_view model_type);

// Whether the record is true of the model_type.
bool is_of(const Family& family, std::string_view model_type);
// Whether the classes of the family have the setting, or its published files.
bool has_setting(const Family& family, Setting setting);

}  // namespace heed
