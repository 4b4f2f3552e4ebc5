// SPDX-License-Identifier: Apache-2.0
// A folder with a whole model, as Hugging Face's libraries write it, of which a test changes settings or tensors.
#pragma once

#include <heed/heed.h>

#include <string>
#include <vector>

#include "capi/support/cut_model.h"
#include "capi/support/files.h"

namespace heed::capi_test {

// The folder of a model: of a family in tests/golden/data/models, whose models have 40 ids, or by its name in model_settings or
// model_inputs beside it.
std::string golden_model(const std::string& family);

// The families of golden_model that heed_layer_create_from_folder makes: encoders, decoders and Transformers.
inline constexpr const char* kEncoderModels[] = {"albert",  "bert",       "clip-text", "distilbert",
                                                 "electra", "modernbert", "roberta"};
inline constexpr const char* kDecoderModels[] = {"gemma",   "gemma2", "gemma3", "gpt2",  "granite", "llama",
                                                 "mistral", "opt",    "phi3",   "qwen2", "qwen3"};
inline constexpr const char* kTransformerModels[] = {"bart", "marian", "mbart", "t5"};
std::vector<std::string> every_model();
// Those and the models that read images or audio.
std::vector<std::string> every_model_of_any_input();

// Makes the model of a folder and destroys it. Checks that a refused call changes no out-parameter.
heed_status try_model_folder(const std::string& folder);

class ModelCopy {
 public:
  explicit ModelCopy(const std::string& family);

  // Replaces or adds a setting, which is JSON.
  void set(const std::string& setting, const std::string& json);
  void remove_setting(const std::string& setting);
  std::vector<std::string> settings() const;
  std::string config;  // the text of config.json

  NamedFloats& tensor(const std::string& name);
  void remove_tensor(const std::string& name);
  std::vector<NamedFloats> tensors;
  std::string metadata;  // the JSON of __metadata__ in a file that is not cut; none if empty

  // Writes config.json and the weights, in one file or, with an index, in several. Returns the folder.
  std::string write(size_t num_files = 1) const;
  // Writes config.json alone.
  void write_config() const;
  std::string path(const std::string& name) const { return folder_.path(name); }

 private:
  TemporaryFolder folder_;
};

}  // namespace heed::capi_test
