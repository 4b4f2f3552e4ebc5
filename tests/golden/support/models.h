// SPDX-License-Identifier: Apache-2.0
// The models of transformers in data/models, and what make_models.py stored beside them.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"

namespace heed::golden {

std::string folder_of(const std::string& family);
// The file of its weights.
std::string path_of(const std::string& family);

// Loads the layer from that file although it lacks options of the model, which `accept` of heed_load_options names.
heed_status load_accepting(heed_layer* layer, const std::string& family, const char* prefix, const char* accept);
// The same of a file.
heed_status load_file_accepting(heed_layer* layer, const std::string& path, const char* prefix, const char* accept);

// A tensor of cases.safetensors; null if there is none of that name.
capi_test::Tensor load_case(const capi_test::Context& context, const std::string& family, const std::string& name);

// The number of tokens of each batch element; empty if nothing is padded.
std::vector<int32_t> lengths_of(const capi_test::Context& context, const std::string& family);

// The largest magnitude.
double largest_of(const std::vector<double>& numbers);

// Expects results in F32 to be a model's: on the CPU nearer than 1e-5 of the largest one, and everywhere within the
// bounds of derived_bound.h, if `errors` is not null.
void expect_numbers_of_model(const std::vector<double>& is, const std::vector<double>& expected,
                             const heed_tensor* errors);

}  // namespace heed::golden
