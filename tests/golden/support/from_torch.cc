// SPDX-License-Identifier: Apache-2.0
#include "golden/support/from_torch.h"

#include <map>
#include <vector>

namespace heed::golden {

capi_test::Tensor inverted(heed_context* context, const heed_tensor* mask) {
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(mask));
  capi_test::check(heed_tensor_read(mask, bytes.data(), bytes.size()));
  for (uint8_t& byte : bytes) byte = byte == 0 ? 1 : 0;
  return capi_test::make_tensor_of(context, capi_test::dims_of(mask), bytes, HEED_BOOL);
}

capi_test::Tensor with_heads_apart(heed_tensor* mask, int64_t num_heads) {
  capi_test::Dims dims = capi_test::dims_of(mask);
  if (dims.size() == 3) dims = {dims[0] / num_heads, num_heads, dims[1], dims[2]};
  return capi_test::make_reshaped(mask, dims);
}

std::optional<int32_t> activation_of(const std::string& name) {
  static const std::map<std::string, int32_t> activations = {{"relu", HEED_ACTIVATION_RELU},
                                                             {"gelu", HEED_ACTIVATION_GELU},
                                                             {"gelu_tanh", HEED_ACTIVATION_GELU_TANH},
                                                             {"gelu_quick", HEED_ACTIVATION_GELU_QUICK},
                                                             {"silu", HEED_ACTIVATION_SILU}};
  const auto found = activations.find(name);
  return found == activations.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace heed::golden
