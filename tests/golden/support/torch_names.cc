// SPDX-License-Identifier: Apache-2.0
#include "golden/support/torch_names.h"

#include <utility>

namespace heed::golden {
namespace {

void replace(std::string& text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  if (at != std::string::npos) text.replace(at, from.size(), to);
}

}  // namespace

std::vector<std::string> names_of_torch(std::string name) {
  static const std::pair<const char*, const char*> kParts[] = {
      {"multihead_attn.", "cross_attention."},
      {"self_attn.", "self_attention."},
      {"out_proj.", "W_o."},
      {"q_proj_weight", "W_q.weight"},
      {"k_proj_weight", "W_k.weight"},
      {"v_proj_weight", "W_v.weight"},
      {"linear1.", "feed_forward.W_1."},
      {"linear2.", "feed_forward.W_2."},
      {"norm1.", "norm_1."},
      {"norm2.", "norm_2."},
      {"norm3.", "norm_3."},
  };
  for (const auto& [from, to] : kParts) replace(name, from, to);
  const size_t packed = name.find("in_proj_");
  if (packed == std::string::npos) return {name};
  const std::string prefix = name.substr(0, packed);
  const std::string kind = name.substr(packed + std::string("in_proj_").size());
  return {prefix + "W_q." + kind, prefix + "W_k." + kind, prefix + "W_v." + kind};
}

}  // namespace heed::golden
