// SPDX-License-Identifier: Apache-2.0
#include "capi/support/cut_model.h"

#include <cstdio>
#include <cstring>

namespace heed::capi_test {

std::string safetensors_of(const std::vector<NamedFloats>& tensors, const std::string& metadata) {
  std::string header = metadata.empty() ? "" : "\"__metadata__\":" + metadata;
  std::string data;
  for (const NamedFloats& tensor : tensors) {
    std::string dims;
    for (const int64_t dim : tensor.dims) dims += (dims.empty() ? "" : ",") + std::to_string(dim);
    const std::string begin = std::to_string(data.size());
    const size_t num_bytes = tensor.elements.size() * sizeof(float);
    data.append(reinterpret_cast<const char*>(tensor.elements.data()), num_bytes);
    header += (header.empty() ? "\"" : ",\"") + tensor.name + R"(":{"dtype":"F32","shape":[)" + dims +
              R"(],"data_offsets":[)" + begin + "," + std::to_string(data.size()) + "]}";
  }
  return safetensors("{" + header + "}", 0) + data;
}

std::vector<NamedFloats> parameters_of(const heed_layer* layer, const std::string& prefix) {
  std::vector<NamedFloats> tensors;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    const char* name = heed_layer_parameter_name(layer, i);
    const Tensor value = snapshot(layer, name);
    tensors.push_back({prefix + name, dims_of(value.get()), read_elements<float>(value.get())});
  }
  return tensors;
}

std::string part_name(size_t number, size_t num_parts) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", number, num_parts);
  return name;
}

std::string index_of(const std::map<std::string, std::string>& weight_map) {
  std::string text;
  for (const auto& [name, file] : weight_map) {
    text += text.empty() ? "" : ",\n";
    text += "    \"" + name + "\": \"" + file + "\"";
  }
  return "{\n  \"metadata\": {\"total_size\": 1.5e3, \"more\": [{}, null]},\n  \"weight_map\": {\n" + text +
         "\n  }\n}\n";
}

void write_cut_model(const TemporaryFolder& folder, const std::vector<NamedFloats>& tensors, size_t num_parts) {
  std::vector<std::vector<NamedFloats>> parts(num_parts);
  std::map<std::string, std::string> weight_map;
  for (size_t i = 0; i < tensors.size(); ++i) {
    parts[i % num_parts].push_back(tensors[i]);
    weight_map[tensors[i].name] = part_name(i % num_parts + 1, num_parts);
  }
  for (size_t i = 0; i < num_parts; ++i) folder.write(part_name(i + 1, num_parts), safetensors_of(parts[i]));
  folder.write(kIndexName, index_of(weight_map));
}

}  // namespace heed::capi_test
