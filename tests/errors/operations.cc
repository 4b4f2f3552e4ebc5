// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

class OperationScene : public Scene {
 protected:
  heed_tensor* a = tensor_of(HEED_F32, {2, 2});
  heed_tensor* b = tensor_of(HEED_F32, {2, 2});
  heed_tensor* whole = tensor_of(HEED_F32, {4, 4});
  heed_tensor* rows = tensor_of(HEED_F32, {2, 3});
  heed_tensor* half = tensor_of(HEED_F16, {2, 3});
};

#define UNFILLABLE(its_sentence, ...)                                     \
  ALSO(its_sentence, heed_tensor_fill_arange(__VA_ARGS__, 0, 1)),         \
      ALSO(its_sentence, heed_tensor_fill_uniform(__VA_ARGS__, 0, 1, 1)), \
      ALSO(its_sentence, heed_tensor_fill_uniform(__VA_ARGS__, 1, 1, 1)), \
      ALSO(its_sentence, heed_tensor_fill_normal(__VA_ARGS__, 0, 1, 1))

Cases more_fills() {
  using Scene = OperationScene;
  return {
      ALSO("start is nan, expected a finite number", heed_tensor_fill_arange(half, NAN, 1)),
      ALSO("step is -inf, expected a finite number", heed_tensor_fill_arange(half, 0, -INFINITY)),
      ALSO("tensor has dims (2, 3) of rank 2, expected rank 1, (H)", heed_tensor_fill_alibi_slopes(half)),
      ALSO("tensor has dims () of rank 0, expected rank 1, (H)",
           heed_tensor_fill_alibi_slopes(tensor_of(HEED_F32, {}))),
      ALSO("low is inf, expected a finite number", heed_tensor_fill_uniform(half, INFINITY, 1, 1)),
      ALSO("high is inf, expected a finite number", heed_tensor_fill_uniform(half, 0, INFINITY, 1)),
      ALSO("low is 1 and high is 0.5, expected low <= high", heed_tensor_fill_uniform(half, 1, 0.5, 1)),
      ALSO("low is -1e+308 and high is 1e+308, expected a difference that a double can hold",
           heed_tensor_fill_uniform(half, -1e308, 1e308, 1)),
      ALSO("low is 1.0001 and high is 1.0002, between which F16, the dtype of tensor, has no number: expected a wider "
           "range",
           heed_tensor_fill_uniform(half, 1.0001, 1.0002, 1)),
      ALSO("low is 300 and high is 400, between which U8, the dtype of tensor, has no number: expected a wider range",
           heed_tensor_fill_uniform(tensor_of(HEED_U8, {2}), 300, 400, 1)),
      ALSO("low is 9.22337e+18 and high is 1.84467e+19, between which I64, the dtype of tensor, has no number: "
           "expected a wider range",
           heed_tensor_fill_uniform(tensor_of(HEED_I64, {2}), 0x1p63, 0x1p64, 1)),
      ALSO("mean is nan, expected a finite number", heed_tensor_fill_normal(half, NAN, 1, 1)),
      ALSO("standard_deviation is inf, expected a finite number", heed_tensor_fill_normal(half, 0, INFINITY, 1)),
      ALSO("standard_deviation is -0.5, expected at least 0", heed_tensor_fill_normal(half, 0, -0.5, 1)),
      UNFILLABLE("tensor is a shape-only tensor (2, 3): its data is NULL, expected elements",
                 shape_of(HEED_F32, {2, 3})),
      UNFILLABLE("tensor is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it",
                 snapshot("W_q.weight")),
      UNFILLABLE("tensor has stride 0 on axis 0 of dims (2, 3), expected a positive stride in a tensor that is written",
                 view_of(half, {2, 3}, {0, 1})),
  };
}

Cases matmul() {
  using Scene = OperationScene;
  return {
      ALSO("a has dims (2, 3) and b has dims (4, 5), whose inner sizes are 3 and 4: expected the same",
           heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {4, 5}), tensor_of(HEED_F32, {2, 5}))),
      ALSO("a has dims (3) and b has dims (4), whose inner sizes are 3 and 4: expected the same",
           heed_matmul(tensor_of(HEED_F32, {3}), tensor_of(HEED_F32, {4}), tensor_of(HEED_F32, {}))),
      ALSO("a has dims (2, 3, 4) and b has dims (3), whose inner sizes are 4 and 3: expected the same",
           heed_matmul(tensor_of(HEED_F32, {2, 3, 4}), tensor_of(HEED_F32, {3}), tensor_of(HEED_F32, {2, 3}))),
      ALSO("a has dims (2, 1, 3) and b has dims (4, 3, 1), whose axes before the last two do not broadcast: expected "
           "equal sizes, or 1",
           heed_matmul(tensor_of(HEED_F32, {2, 1, 3}), tensor_of(HEED_F32, {4, 3, 1}), tensor_of(HEED_F32, {4, 1, 1}))),
      ALSO("a has dims () of rank 0, expected rank 1 to 8",
           heed_matmul(tensor_of(HEED_F32, {}), tensor_of(HEED_F32, {3}), tensor_of(HEED_F32, {}))),
      ALSO("b has dims () of rank 0, expected rank 1 to 8",
           heed_matmul(tensor_of(HEED_F32, {3}), tensor_of(HEED_F32, {}), tensor_of(HEED_F32, {}))),
      ALSO("product has dims (5, 2), expected (2, 5), the shape of a times b",
           heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {3, 5}), tensor_of(HEED_F32, {5, 2}))),
      ALSO("product has dims (1, 5), expected (5), the shape of a times b",
           heed_matmul(tensor_of(HEED_F32, {3}), tensor_of(HEED_F32, {3, 5}), tensor_of(HEED_F32, {1, 5}))),
      ALSO("product has dims (2, 4, 5), expected (2, 7, 4, 5), the shape of a times b",
           heed_matmul(tensor_of(HEED_F32, {2, 1, 4, 3}), tensor_of(HEED_F32, {7, 3, 5}),
                       tensor_of(HEED_F32, {2, 4, 5}))),
      ALSO("product is F32, expected F64, the dtype of the product", heed_matmul(rows, tensor_of(HEED_F64, {3, 2}), a)),
      ALSO("product is F64, expected F32, the dtype of the product",
           heed_matmul(rows, tensor_of(HEED_F32, {3, 2}), tensor_of(HEED_F64, {2, 2}))),
      ALSO("product is F32, expected I32, the dtype of the product",
           heed_matmul(tensor_of(HEED_I32, {2, 3}), tensor_of(HEED_I32, {3, 2}), a)),
      ALSO("product is I32, expected F32, the dtype of the product",
           heed_matmul(rows, tensor_of(HEED_I32, {3, 2}), tensor_of(HEED_I32, {2, 2}))),
      ALSO("a is BOOL, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_matmul(tensor_of(HEED_BOOL, {2, 3}), tensor_of(HEED_BOOL, {3, 2}), a)),
      ALSO("b is U8, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_matmul(rows, tensor_of(HEED_U8, {3, 2}), a)),
      ALSO("a is F16 and b is BF16, which have no common dtype: copy one of them into a tensor of F32 first",
           heed_matmul(half, tensor_of(HEED_BF16, {3, 2}), a)),
      ALSO("product is BF16, expected F32 or F16, the dtype of the product",
           heed_matmul(tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F16, {3, 2}), tensor_of(HEED_BF16, {2, 2}))),
      ALSO("product shares memory with a, expected separate memory", heed_matmul(a, b, a)),
      ALSO("product shares memory with b, expected separate memory", heed_matmul(a, b, b)),
      ALSO("product shares memory with a, expected separate memory",
           heed_matmul(view_of(whole, {2, 2}, {4, 1}), b, view_of(whole, {2, 2}, {4, 1}, 5))),
      ALSO("a is a shape-only tensor (2, 2): its data is NULL, expected elements",
           heed_matmul(shape_of(HEED_F32, {2, 2}), b, tensor_of(HEED_F32, {2, 2}))),
      ALSO("b is a shape-only tensor (2, 2): its data is NULL, expected elements",
           heed_matmul(a, shape_of(HEED_F32, {2, 2}), tensor_of(HEED_F32, {2, 2}))),
      ALSO("product is a shape-only tensor (2, 2): its data is NULL, expected elements",
           heed_matmul(a, b, shape_of(HEED_F32, {2, 2}))),
      ALSO("product has stride 0 on axis 1 of dims (2, 2), expected a positive stride in a tensor that is written",
           heed_matmul(a, b, view_of(whole, {2, 2}, {1, 0}))),
      ALSO("product has dims (2, 2) with strides that put two elements in the same place, expected none in a tensor "
           "that is written",
           heed_matmul(a, b, view_of(whole, {2, 2}, {1, 1}))),
      ALSO("product is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it",
           heed_matmul(tensor_of(HEED_F32, {8, 2}), tensor_of(HEED_F32, {2, 6}), snapshot("W_q.weight"))),
  };
}

Cases softmax_and_activation() {
  using Scene = OperationScene;
  return {
      ALSO("axis is 2, but tensor has dims (2, 3) of rank 2", heed_softmax(rows, 2, tensor_of(HEED_F32, {2, 3}))),
      ALSO("axis is -3, but tensor has dims (2, 3) of rank 2", heed_softmax(rows, -3, tensor_of(HEED_F32, {2, 3}))),
      ALSO("axis is -2147483648, but tensor has dims (2, 3) of rank 2",
           heed_softmax(rows, INT32_MIN, tensor_of(HEED_F32, {2, 3}))),
      ALSO("tensor has dims () of rank 0, expected rank 1 to 8",
           heed_softmax(tensor_of(HEED_F32, {}), 0, tensor_of(HEED_F32, {}))),
      ALSO("result is F32, expected F64, the dtype of tensor",
           heed_softmax(tensor_of(HEED_F64, {2, 3}), 0, tensor_of(HEED_F32, {2, 3}))),
      ALSO("result has dims (3, 2), expected (2, 3), the dims of tensor",
           heed_softmax(rows, 0, tensor_of(HEED_F32, {3, 2}))),
      ALSO("result is F16, expected F32, the dtype of tensor", heed_softmax(rows, 0, tensor_of(HEED_F16, {2, 3}))),
      ALSO("result is F16, expected F32 or BF16, the dtype of tensor",
           heed_softmax(tensor_of(HEED_BF16, {2, 3}), 0, tensor_of(HEED_F16, {2, 3}))),
      ALSO("result shares memory with tensor, expected separate memory", heed_softmax(rows, 0, rows)),
      ALSO("tensor is a shape-only tensor (2, 3): its data is NULL, expected elements",
           heed_softmax(shape_of(HEED_F32, {2, 3}), 0, tensor_of(HEED_F32, {2, 3}))),
      ALSO("result is a shape-only tensor (2, 3): its data is NULL, expected elements",
           heed_softmax(rows, 0, shape_of(HEED_F32, {2, 3}))),
      ALSO("result has stride -1 on axis 1 of dims (2, 3), expected a positive stride in a tensor that is written",
           heed_softmax(rows, 0, view_of(tensor_of(HEED_F32, {6}), {2, 3}, {3, -1}, 2))),
      ALSO("activation is -1, expected HEED_ACTIVATION_RELU (0), HEED_ACTIVATION_GELU (1), HEED_ACTIVATION_GELU_TANH "
           "(2), HEED_ACTIVATION_GELU_QUICK (3) or HEED_ACTIVATION_SILU (4)",
           heed_activation(rows, -1, tensor_of(HEED_F32, {2, 3}))),
      ALSO("activation is 5, expected HEED_ACTIVATION_RELU (0), HEED_ACTIVATION_GELU (1), HEED_ACTIVATION_GELU_TANH "
           "(2), HEED_ACTIVATION_GELU_QUICK (3) or HEED_ACTIVATION_SILU (4)",
           heed_activation(rows, 5, tensor_of(HEED_F32, {2, 3}))),
      ALSO("tensor has dims () of rank 0, expected rank 1 to 8",
           heed_activation(tensor_of(HEED_F32, {}), 0, tensor_of(HEED_F32, {}))),
      ALSO("tensor is I32, expected F32, F16, BF16 or F64: copy it into a tensor of one of these first",
           heed_activation(tensor_of(HEED_I32, {2, 3}), 0, tensor_of(HEED_F32, {2, 3}))),
      ALSO("result has dims (3, 2), expected (2, 3), the dims of tensor",
           heed_activation(rows, 0, tensor_of(HEED_F32, {3, 2}))),
      ALSO("result is BF16, expected F32, the dtype of tensor", heed_activation(rows, 0, tensor_of(HEED_BF16, {2, 3}))),
      ALSO("result shares memory with tensor, expected separate memory", heed_activation(rows, 0, rows)),
      ALSO("tensor is a shape-only tensor (2, 3): its data is NULL, expected elements",
           heed_activation(shape_of(HEED_F32, {2, 3}), 0, tensor_of(HEED_F32, {2, 3}))),
  };
}

Cases masked_softmax() {
  using Scene = OperationScene;
  return {
      ALSO("valid_lens[1] is 5, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<float>({2}, {4, 5}), merged)),
      ALSO("valid_lens[0] is -1, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<float>({2}, {-1, 4}), merged)),
      ALSO("valid_lens[1, 2] is 2.5, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<float>({2, 3}, {0, 1, 2, 3, 4, 2.5}), merged)),
      ALSO("valid_lens[0] is nan, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<float>({2}, {NAN, 4}), merged)),
      ALSO("valid_lens[1] is 1099511627776, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<int64_t>({2}, {4, int64_t{1} << 40}), merged)),
      ALSO("valid_lens[0] is -7, expected a whole number from 0 to the number of keys, 4",
           heed_masked_softmax(tensor, tensor_with<int32_t>({2}, {-7, 0}), merged)),
      ALSO("valid_lens has dims (2, 1), expected (2) for the batch or (2, 3) for batch and queries",
           heed_masked_softmax(tensor, tensor_with<float>({2, 1}, {4, 4}), merged)),
      ALSO("valid_lens has dims (3), expected (2) for the batch or (2, 3) for batch and queries",
           heed_masked_softmax(tensor, tensor_with<float>({3}, {4, 4, 4}), merged)),
      ALSO("valid_lens is F16, expected F32, I32 or I64",
           heed_masked_softmax(tensor, tensor_of(HEED_F16, {2}), merged)),
      ALSO("valid_lens is a shape-only tensor (2): its data is NULL, expected elements",
           heed_masked_softmax(tensor, shape_of(HEED_F32, {2}), merged)),
      ALSO("scores has dims (2, 4) of rank 2, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)",
           heed_masked_softmax(tensor_of(HEED_F32, {2, 4}), NULL, tensor_of(HEED_F32, {2, 4}))),
      ALSO("scores has dims (1, 1, 1, 2, 4) of rank 5, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)",
           heed_masked_softmax(tensor_of(HEED_F32, {1, 1, 1, 2, 4}), NULL, tensor_of(HEED_F32, {1, 1, 1, 2, 4}))),
      ALSO("scores is I32, expected F32, F16 or BF16: copy it into a tensor of one of these first",
           heed_masked_softmax(tensor_of(HEED_I32, {2, 3, 4}), NULL, merged)),
      ALSO("result has dims (2, 4, 3), expected (2, 3, 4), the dims of scores",
           heed_masked_softmax(tensor, NULL, tensor_of(HEED_F32, {2, 4, 3}))),
      ALSO("result is F16, expected F32, the dtype of scores",
           heed_masked_softmax(tensor, NULL, tensor_of(HEED_F16, {2, 3, 4}))),
      ALSO("result shares memory with scores, expected separate memory", heed_masked_softmax(tensor, NULL, tensor)),
      ALSO("result shares memory with valid_lens, expected separate memory",
           heed_masked_softmax(tensor, view_of(merged, {2}, {0}), merged)),
  };
}

}  // namespace

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
              more_fills(),
          }};
}

Topic operations() {
  return {
      "Operations on tensors",
      "",
      {
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {}), tensor_of(HEED_F32, {3, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {5, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3, 5}), tensor_of(HEED_F32, {3, 5, 4}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3, 5}), tensor_of(HEED_F32, {2, 5, 6}), tensor)),
          PROVOKE(heed_matmul(tensor_of(HEED_F32, {2, 3}), tensor_of(HEED_F32, {3, 4}), tensor_of(HEED_F16, {2, 4}))),
          PROVOKE(heed_matmul(tensor_of(HEED_F16, {2, 3}), tensor_of(HEED_F16, {3, 4}), tensor_of(HEED_BF16, {2, 4}))),
          PROVOKE(heed_matmul(tensor, tensor_of(HEED_F32, {2, 4, 4}), tensor)),
          PROVOKE(heed_softmax(tensor, 3, tensor_of(HEED_F32, {2, 3, 4}))),
          PROVOKE(heed_softmax(tensor, -1, tensor_of(HEED_F32, {2, 3}))),
          PROVOKE(heed_masked_softmax(tensor_of(HEED_F64, {2, 3, 4}), NULL, tensor)),
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
          matmul(),
          softmax_and_activation(),
          masked_softmax(),
      }};
}

}  // namespace heed::errors_test
