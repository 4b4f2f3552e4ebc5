// SPDX-License-Identifier: Apache-2.0
#include "capi/support/model_copy.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "capi/support/objects.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

using Json = nlohmann::ordered_json;

std::vector<NamedFloats> tensors_of(const std::string& path) {
  const Context context = make_context();
  heed_weights* opened = nullptr;
  check(heed_weights_open(context.get(), path.c_str(), &opened));
  const std::unique_ptr<heed_weights, property::Destroyer<heed_weights_destroy>> weights(opened);
  std::vector<NamedFloats> tensors;
  for (int64_t i = 0; i < heed_weights_count(weights.get()); ++i) {
    const char* const name = heed_weights_name(weights.get(), i);
    heed_tensor* made = nullptr;
    check(heed_tensor_load_safetensors(context.get(), path.c_str(), name, &made));
    const Tensor tensor(made);
    tensors.push_back({name, dims_of(tensor.get()), read_floats(context.get(), tensor.get())});
  }
  return tensors;
}

}  // namespace

std::string golden_model(const std::string& family) {
  const std::string data = HEED_SOURCE_DIR "/tests/golden/data/";
  for (const char* const others : {"model_settings/", "model_heads/", "model_inputs/"}) {
    const std::string folder = data + others + family;
    if (!family.empty() && std::filesystem::exists(folder)) return folder;
  }
  return data + "models/" + family;
}

std::vector<std::string> every_model() {
  std::vector<std::string> all(std::begin(kEncoderModels), std::end(kEncoderModels));
  all.insert(all.end(), std::begin(kDecoderModels), std::end(kDecoderModels));
  all.insert(all.end(), std::begin(kTransformerModels), std::end(kTransformerModels));
  return all;
}

std::vector<std::string> every_model_of_any_input() {
  std::vector<std::string> all = every_model();
  all.insert(all.end(), {"vit", "whisper"});
  return all;
}

heed_status try_model_folder(const std::string& folder) {
  const Context context = make_context();
  OutParameters out;
  forget_last_error();
  const heed_status status = heed_layer_create_from_folder(context.get(), folder.c_str(), &out.layer);
  if (status == HEED_OK)
    heed_layer_destroy(out.layer);
  else
    EXPECT_TRUE(out == OutParameters()) << "an out-parameter changed";
  return status;
}

ModelCopy::ModelCopy(const std::string& family)
    : config(read_file(golden_model(family) + "/config.json")),
      tensors(tensors_of(golden_model(family) + "/model.safetensors")) {}

void ModelCopy::set(const std::string& setting, const std::string& json) {
  Json settings = Json::parse(config);
  settings[setting] = Json::parse(json);
  config = settings.dump();
}

void ModelCopy::remove_setting(const std::string& setting) {
  Json settings = Json::parse(config);
  settings.erase(setting);
  config = settings.dump();
}

std::vector<std::string> ModelCopy::settings() const {
  std::vector<std::string> names;
  const Json parsed = Json::parse(config);
  for (const auto& [name, value] : parsed.items()) names.push_back(name);
  return names;
}

NamedFloats& ModelCopy::tensor(const std::string& name) {
  const auto found = std::ranges::find(tensors, name, &NamedFloats::name);
  if (found == tensors.end()) throw std::logic_error("the model has no tensor " + name);
  return *found;
}

void ModelCopy::remove_tensor(const std::string& name) {
  tensor(name);
  std::erase_if(tensors, [&](const NamedFloats& one) { return one.name == name; });
}

void ModelCopy::write_config() const {
  // File systems write a file that is replaced to the disk at once, but not a new one.
  std::filesystem::remove(path("config.json"));
  folder_.write("config.json", config);
}

std::string ModelCopy::write(size_t num_files) const {
  for (const std::string& name : folder_.file_names()) std::filesystem::remove(path(name));
  write_config();
  if (num_files == 1)
    folder_.write("model.safetensors", safetensors_of(tensors, metadata));
  else
    write_cut_model(folder_, tensors, num_files);
  return folder_.path("");
}

}  // namespace heed::capi_test
