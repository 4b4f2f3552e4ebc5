// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {

Topic fills() {
  return {"Numbers that a tensor is filled with",
          "",
          {
              PROVOKE(heed_tensor_fill_arange(tensor, NAN, 1)),
              PROVOKE(heed_tensor_fill_alibi_slopes(tensor)),
              PROVOKE(heed_tensor_fill_uniform(tensor, 1, 0, 42)),
              PROVOKE(heed_tensor_fill_uniform(tensor, -1e308, 1e308, 42)),
              PROVOKE(heed_tensor_fill_uniform(tensor_of(HEED_I8, {3}), 1000, 2000, 42)),
              PROVOKE(heed_tensor_fill_normal(tensor, NAN, 1, 42)),
              PROVOKE(heed_tensor_fill_normal(tensor, 0, -1, 42)),
          }};
}

Topic operations() {
  return {
      "Operations on tensors",
      "",
      {
          PROVOKE(heed_matmul(tensor_of(HEED_I32, {2, 3}), tensor_of(HEED_F32, {3, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {}), tensor_of(HEED_F32, {3, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F32, {3, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {5, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3, 5}), tensor_of(HEED_F32, {3, 5, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3, 5}), tensor_of(HEED_F32, {2, 5, 6}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {3, 4}), tensor_of(HEED_F16, {2, 4}))),
          PROVOKE(heed_matmul(tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F16, {3, 4}), tensor_of(HEED_BF16, {2, 4}))),
          PROVOKE(heed_matmul(tensor, tensor_of(HEED_F32, {2, 4, 4}), tensor)),
          PROVOKE(heed_softmax(tensor, 3, tensor_of(HEED_F32, {2, 3, 4}))),
          PROVOKE(heed_softmax(tensor, -1, tensor_of(HEED_F32, {2, 3}))),
          PROVOKE(heed_masked_softmax(tensor_of(HEED_F32, {2, 3}), NULL, tensor)),
          PROVOKE(heed_masked_softmax(tensor, NULL, tensor_of(HEED_F32, {2, 3}))),
          PROVOKE(heed_masked_softmax(tensor, lengths({4, 5}), tensor_of(HEED_F32, {2, 3, 4}))),
          PROVOKE(heed_activation(tensor, 5, tensor_of(HEED_F32, {2, 3, 4}))),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {1, 0}), tensor_of(HEED_F32, {0, 1}), tensor)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 0, NULL, merged, NULL)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, NULL, NULL)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, tensor_of(HEED_F32, {2, 3}), NULL)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, tensor_of(HEED_F16, {2, 3}))),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, merged)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, tensor_of(HEED_F32, {3}), merged, NULL)),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, NULL),
                  part_outputs[1] = tensor_of(HEED_F32, {3})),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, NULL),
                  part_outputs[1] = tensor_of(HEED_F32, {2, 3, 5})),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, NULL),
                  part_outputs[1] = tensor_of(HEED_F16, {2, 3, 4})),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 2, NULL, merged, NULL),
                  part_log_sum_exps[1] = tensor_of(HEED_F32, {2, 4})),
          PROVOKE(heed_attention_merge(part_outputs, part_log_sum_exps, 1, tensor_of(HEED_F32, {1}),
                                       tensor_of(HEED_F32, {3, 4}), NULL),
                  part_outputs[0] = tensor_of(HEED_F32, {3, 4}), part_log_sum_exps[0] = tensor_of(HEED_F32, {3})),
      }};
}

}  // namespace heed::errors_test
