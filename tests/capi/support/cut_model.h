// SPDX-License-Identifier: Apache-2.0
// A model in several files, as Hugging Face's libraries write it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"

namespace heed::capi_test {

struct NamedFloats {
  std::string name;
  Dims dims;
  std::vector<float> elements;
};

// The bytes of a .safetensors file with F32 tensors. `metadata`: the JSON of its __metadata__; it has none if empty.
std::string safetensors_of(const std::vector<NamedFloats>& tensors, const std::string& metadata = "");

// The parameters of a layer. The prefix includes its separator.
std::vector<NamedFloats> parameters_of(const heed_layer* layer, const std::string& prefix = "");

// "model-00001-of-00003.safetensors", counted from 1.
std::string part_name(size_t number, size_t num_parts);

constexpr const char* kIndexName = "model.safetensors.index.json";

// The text of an index that maps each tensor to its file.
std::string index_of(const std::map<std::string, std::string>& weight_map);

// Writes tensor i into part i % num_parts, and the index beside them.
void write_cut_model(const TemporaryFolder& folder, const std::vector<NamedFloats>& tensors, size_t num_parts);

}  // namespace heed::capi_test
