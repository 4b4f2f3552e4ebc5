// SPDX-License-Identifier: Apache-2.0
// Folders of models whose tensors are below modules of a program that wrapped the model.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr const char* kPrefixes[] = {"module.", "_orig_mod.", "0.auto_model.", "model.language_model.", "a.model.b."};

void add_prefix(ModelCopy& copy, const std::string& prefix) {
  for (NamedFloats& tensor : copy.tensors) tensor.name = prefix + tensor.name;
}

TEST(ModelPrefixes, OfAllTensorsAreRemoved) {
  for (const std::string& family : every_model()) {
    const std::vector<uint8_t> expected = ModelCall(golden_model(family)).run();
    for (const char* const prefix : kPrefixes) {
      SCOPED_TRACE(family + " below " + prefix);
      ModelCopy copy(family);
      add_prefix(copy, prefix);
      for (const size_t num_files : {1, 3}) EXPECT_EQ(ModelCall(copy.write(num_files)).run(), expected) << num_files;
    }
  }
}

// The tied table of such a file may have the head's name, too.
TEST(ModelPrefixes, MayBeBeforeATableOfAnotherName) {
  const std::vector<uint8_t> expected = ModelCall(golden_model("gpt2")).run();
  ModelCopy copy("gpt2");
  copy.tensor("transformer.wte.weight").name = "lm_head.weight";
  add_prefix(copy, "module.");
  EXPECT_EQ(ModelCall(copy.write()).run(), expected);
}

TEST(ModelPrefixes, OfSomeTensorsAreNamed) {
  for (const char* const family : {"bert", "llama", "t5"}) {
    for (const char* const other : {"lm_head_2.weight", "a.weight", "visual.patch_embed.weight", "zz"}) {
      SCOPED_TRACE(std::string(family) + " with " + other);
      ModelCopy copy(family);
      add_prefix(copy, "model.language_model.");
      copy.tensors.push_back({other, {1}, {1}});
      for (const size_t num_files : {1, 2}) {
        EXPECT_TRUE(is_refused(try_model_folder(copy.write(num_files)),
                               {HEED_ERROR_NOT_FOUND,
                                {"the layers of the model below \"model.language_model.\"",
                                 "but \"" + std::string(other) + "\" is not", "one prefix before all of them"}}));
      }
    }
  }
}

// Sentences have the names that the file has.
TEST(ModelPrefixes, AreInTheNamesOfMissingTensors) {
  ModelCopy copy("llama");
  copy.remove_tensor("model.layers.1.mlp.gate_proj.weight");
  add_prefix(copy, "module.");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()),
                         {HEED_ERROR_NOT_FOUND, {"\"module.model.layers.1.mlp.gate_proj.weight\""}}));
}

// A folder without the layers' names at all has no prefix.
TEST(ModelPrefixes, AreNotSoughtWhereNoLayerIs) {
  ModelCopy copy("llama");
  std::erase_if(copy.tensors, [](const NamedFloats& tensor) { return tensor.name.starts_with("model.layers."); });
  add_prefix(copy, "module.");
  EXPECT_TRUE(is_refused(try_model_folder(copy.write()), {HEED_ERROR_NOT_FOUND, {"layers.0"}}));
}

}  // namespace
}  // namespace heed::capi_test
