// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <string>

#include "capi/support/files.h"
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// The index of a model in several files, in which ' stands for ".
std::string index(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  return text;
}

// The beginning of a zip archive whose first file has this name.
std::string zip(const std::string& name) {
  return std::string("PK\x03\x04") + std::string(22, '\0') + static_cast<char>(name.size()) + std::string(3, '\0') +
         name;
}

}  // namespace

Topic weight_files() {
  return {
      "Models in several files, and files of another kind",
      "`index(text)` is an index, in which ' stands for \", `zip(name)` is the beginning of a zip archive whose "
      "first file has this name.",
      {
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.safetensors.index.json", index("{'metadata':{}}")),
                                               "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.safetensors.index.json", index("{'weight_map':")),
                                               "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{},'weight_map':{}}")), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':[]}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':'one'}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':3}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':null}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':true}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':{}}}")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':'../model.safetensors'}}")), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'a\\u0000':'model.safetensors'}}")),
              "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':'one','a':'two'}}")), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':'none.safetensors'}}")), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{'b':'none.safetensors'}}")), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("model.safetensors.index.json", index("{'weight_map':{}}") + std::string(1, '\0')), "a",
              &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, "large.index.json", "a", &new_tensor),
                  bytes("large.index.json", index("{'weight_map':"));
                  std::filesystem::resize_file("large.index.json", 100000001)),
          PROVOKE(heed_tensor_load_safetensors(
                      context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':'model.safetensors'}}")),
                      "a", &new_tensor),
                  names({"a", "b"})),
          PROVOKE(heed_tensor_load_safetensors(
                      context,
                      bytes("model.safetensors.index.json",
                            index("{'weight_map':{'a':'model.safetensors','b':'other.safetensors'}}")),
                      "a", &new_tensor),
                  names({"a", "b"})),
          PROVOKE(heed_tensor_load_safetensors(
                      context, bytes("model.safetensors.index.json", index("{'weight_map':{'a':'model.safetensors'}}")),
                      "a", &new_tensor),
                  names({})),
          PROVOKE(
              heed_tensor_load_safetensors(context, bytes("model-00002-of-00003.safetensors", ""), "a", &new_tensor),
              bytes("model.safetensors.index.json", index("{'weight_map':{'a':'model-00001-of-00003.safetensors'}}"))),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("alone-00001-of-00003.safetensors", capi_test::safetensors("{}", 0)), "a", &new_tensor)),
          PROVOKE(
              heed_layer_load(layer, bytes("alone-00002-of-00003.safetensors", capi_test::safetensors("{}", 0)), NULL)),
          PROVOKE(heed_layer_load_memory(layer, "{\"weight_map\":{}}", 17, NULL)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("pytorch_model.bin", zip("archive/data.pkl")), "a",
                                               &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.keras", zip("metadata.json")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("arrays.npz", zip("a.npy")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.zip", zip("model/config.xml")), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.pt", "\x80\2]q.q.q.q"), "a", &new_tensor)),
          PROVOKE(
              heed_tensor_load_safetensors(context, bytes("model.weights.h5", "\x89HDF\r\n\x1A\n"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("array.npy", "\x93NUMPY\1\1"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.gguf", "GGUF\3\1\1\1"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(
              context, bytes("pointer.safetensors", "version https://git-lfs.github.com/spec/v1\n"), "a", &new_tensor)),
          PROVOKE(
              heed_tensor_load_safetensors(context, bytes("page.safetensors", "<!doctype html>"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.gz", "\x1F\x8B\b\b\1\1\1\1"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.tar", std::string(257, '.') + "ustar"), "a",
                                               &new_tensor)),
          PROVOKE(
              heed_tensor_load_safetensors(context, bytes("model.onnx", "\b\b\x12\7pytorch\x1A"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model.tflite", "\x1C\1\1\1TFL3.."), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("model-0000.params", "DJL@\1\1\1\1"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("block.parameters", "HEED\1AbstractBlock"), "a",
                                               &new_tensor)),
          PROVOKE(heed_tensor_load_safetensors(context, bytes("list.json", "[1, 2, 3]"), "a", &new_tensor)),
          PROVOKE(heed_tensor_load_npy(context, bytes("model.pt", zip("archive/data.pkl")), &new_tensor)),
          PROVOKE(heed_tensor_load_npy(context, bytes("arrays.npz", zip("a.npy")), &new_tensor)),
          PROVOKE(
              heed_tensor_load_npy(context, bytes("model.safetensors", capi_test::safetensors("{}", 0)), &new_tensor)),
          PROVOKE(heed_weights_open(context, file("{'a\\u0000':{'dtype':'U8','shape':[0],'data_offsets':[0,0]}}", 0),
                                    &new_weights)),
          PROVOKE(heed_weights_name(new_weights, 2), heed_weights_open(context, names({"a", "b"}), &new_weights)),
          PROVOKE(heed_weights_dim(new_weights, 0, 1), heed_weights_open(context, names({"a", "b"}), &new_weights)),
          PROVOKE(heed_weights_dim(new_weights, 0, 8),
                  heed_weights_open(context,
                                    file("{'a':{'dtype':'U8','shape':[1,1,1,1,1,1,1,1,1],'data_offsets':[0,1]}}", 1),
                                    &new_weights)),
      }};
}

}  // namespace heed::errors_test
