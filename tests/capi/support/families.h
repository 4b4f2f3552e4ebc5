// SPDX-License-Identifier: Apache-2.0
// Loads files whose tensors have the names of a model's family, with and without a configuration.
#pragma once

#include <heed/heed.h>

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {

struct FileTensor {
  std::string name;
  Dims dims = {8, 8};
};

// A .safetensors file with these tensors in F32.
std::string file_of(const std::vector<FileTensor>& tensors);

using Names = std::vector<std::string>;

inline const Names kBert = {"self.query.weight", "self.key.weight", "self.value.weight", "output.dense.weight"};
inline const Names kBart = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "out_proj.weight"};
inline const Names kLlama = {"q_proj.weight", "k_proj.weight", "v_proj.weight", "o_proj.weight"};
inline const Names kT5 = {"q.weight", "k.weight", "v.weight", "o.weight"};
inline const Names kTimm = {"qkv.weight", "proj.weight"};
inline const Names kXlm = {"q_lin.weight", "k_lin.weight", "v_lin.weight", "out_lin.weight"};
inline const Names kGpt2 = {"c_attn.weight", "c_proj.weight"};
inline const Names kOwn = {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"};

// Tensors with these names after the prefix and a dot. Packed projections have three times 8 rows or columns.
std::vector<FileTensor> below(const std::string& prefix, const Names& names);

// `tensors` and one more.
std::vector<FileTensor> operator+(std::vector<FileTensor> tensors, const FileTensor& more);

// Two heads of 4 elements.
heed_multi_head_attention_options two_of_four();
// The same with a causal mask.
heed_multi_head_attention_options causal();

class Families : public testing::Test {
 protected:
  struct Answer {
    heed_status status = HEED_OK;
    std::string sentence;
    std::vector<std::string> warnings;
  };

  // Loads these tensors with this text as config.json beside the file; without one if the text is empty.
  Answer load(const std::vector<FileTensor>& tensors, const std::string& config, const std::string& prefix,
              const heed_multi_head_attention_options& options, const char* accept = nullptr);
  Answer load_layer(const Layer& layer, const std::vector<FileTensor>& tensors, const std::string& config,
                    const std::string& prefix, const char* accept = nullptr);

  static void expect_loaded(const Answer& answer);
  static void expect_refused(const Answer& answer, heed_status status, const std::string& words);

 private:
  static void write(void* user, int32_t level, const char* text);
  Context make_logging_context();

  std::vector<std::string> warnings_;

 protected:
  const Context context_ = make_logging_context();
};

}  // namespace heed::capi_test
