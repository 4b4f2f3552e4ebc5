// SPDX-License-Identifier: Apache-2.0
// The small models of tests/golden/data/models, whose files the fuzzer changes.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "fuzz/models/edits.h"

namespace heed::fuzz {

struct GoldenModel {
  std::string name;
  Configuration configuration;
  WeightsFile weights;
};

// The models of which heed makes whole layers, in the order of their names.
const std::vector<GoldenModel>& golden_models();

// The settings of all models and a few that none of them has, as JSON pointers such as "/rope_parameters/rope_type", each
// with the values that models have.
const std::map<std::string, std::vector<nlohmann::json>>& known_values();

}  // namespace heed::fuzz
