// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

class ArrayScene : public Scene {
 protected:
  heed_tensor* rows = tensor_of(HEED_F32, {2, 3});
  heed_tensor* other = tensor_of(HEED_F32, {2, 3});
  heed_tensor* row = tensor_of(HEED_F32, {3});
  heed_tensor* number = tensor_of(HEED_F32, {});
  heed_tensor* half = tensor_of(HEED_F16, {2, 3});
  heed_tensor* whole = tensor_with<int32_t>({3}, {7, 0, -1});
  heed_tensor* ones = tensor_with<int32_t>({3}, {1, 1, 1});
  heed_tensor* truths = tensor_of(HEED_BOOL, {2, 3});
  heed_tensor* places = tensor_with<int32_t>({2, 1}, {0, 3});
  heed_tensor* table = tensor_of(HEED_F32, {2, 1});
  heed_tensor* first_rows = tensor_with<int32_t>({2}, {0, 2});
  const int32_t both[2] = {0, 1};
  const int32_t twice[2] = {1, -1};
  const int32_t outside[1] = {2};
  const int64_t three = 3;
};

Cases refused_dtypes() {
  using Scene = ArrayScene;
  return {
      ALSO("b is U8, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_subtract(rows, tensor_of(HEED_U8, {3}), other)),
      ALSO("a is BOOL, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_compare(HEED_COMPARE_LESS, truths, rows, truths)),
      ALSO("a is I8, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_elementwise(HEED_ELEMENTWISE_NEGATIVE, tensor_of(HEED_I8, {2, 3}), NULL, rows)),
      ALSO("result is F64, expected F32, the dtype of the result",
           heed_elementwise(HEED_ELEMENTWISE_MAXIMUM, rows, row, tensor_of(HEED_F64, {2, 3}))),
      ALSO("result is F32, expected I32, the dtype of the result",
           heed_elementwise(HEED_ELEMENTWISE_REMAINDER, ones, ones, row)),
      ALSO("result is F32, expected BOOL, since it is a truth value",
           heed_elementwise(HEED_ELEMENTWISE_LOGICAL_AND, rows, rows, other)),
      ALSO("result is I64, expected I32, the dtype of tensor", heed_clip(ones, ones, NULL, tensor_of(HEED_I64, {3}))),
      ALSO("low is I32, expected F32, the dtype of tensor", heed_clip(rows, ones, NULL, other)),
      ALSO("high is I32, expected F32, the dtype of tensor", heed_clip(rows, NULL, ones, other)),
      ALSO("a is BOOL, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_select(truths, truths, rows, other)),
      ALSO("tensor is U8, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_reduce(HEED_REDUCE_SUM, tensor_of(HEED_U8, {2, 3}), 0, row)),
      ALSO("tensor is BOOL, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_reduce(HEED_REDUCE_NORM, truths, 0, row)),
      ALSO("result is F32, expected I64, as of a sum or product of integers",
           heed_reduce(HEED_REDUCE_SUM, whole, 0, number)),
      ALSO("result is I64, expected F32, as of a mean or norm of integers",
           heed_reduce(HEED_REDUCE_MEAN, whole, 0, tensor_of(HEED_I64, {}))),
      ALSO("result is F32, expected I64, since it is an index", heed_reduce(HEED_REDUCE_ARGMAX, rows, 0, row)),
      ALSO("tensor is I8, expected F32, F16, BF16, F64, I32 or I64: copy it into a tensor of one of these first",
           heed_cumulative_sum(tensor_of(HEED_I8, {3}), 0, tensor_of(HEED_I64, {3}))),
      ALSO("result is I32, expected I64, as of sums of integers", heed_cumulative_sum(whole, 0, ones)),
      ALSO("values is F32, expected F16, the dtype of tensor", heed_sort(half, 0, 0, other, NULL)),
      ALSO("indices is F32, expected I64, since they are indices", heed_sort(half, 0, 0, NULL, other)),
      ALSO("result is F32, expected F64, the dtype of tensor", heed_log_softmax(tensor_of(HEED_F64, {2, 3}), 0, other)),
      ALSO("result is F32, expected F64, the dtype of tensor",
           heed_rotary_embedding(tensor_of(HEED_F64, {2, 3}), table, table, NULL, HEED_ROPE_HALF, other)),
      ALSO("indices is F32, expected I32 or I64", heed_gather(rows, other, 0, tensor_of(HEED_F32, {2, 3}))),
      ALSO("result is F16, expected F32, the dtype of tensor", heed_take(rows, ones, 0, tensor_of(HEED_F16, {3, 3}))),
  };
}

Cases refused_shapes() {
  using Scene = ArrayScene;
  return {
      ALSO("a has dims (2, 3) and b has dims (2), which do not broadcast: axis 1 of the result has 3 and 2, expected "
           "equal "
           "sizes, or 1",
           heed_add(rows, tensor_of(HEED_F32, {2}), other)),
      ALSO("product has dims (3), expected (2, 3), to which the inputs are broadcast", heed_multiply(rows, row, row)),
      ALSO("result has dims (3), expected (2, 3), those of the input",
           heed_elementwise(HEED_ELEMENTWISE_EXP, rows, NULL, row)),
      ALSO("condition has dims (2, 3) and a has dims (2), which do not broadcast: axis 1 of the result has 3 and 2, "
           "expected equal sizes, or 1",
           heed_select(truths, tensor_of(HEED_F32, {2}), number, other)),
      ALSO("axis is -3, but tensor has dims (2, 3) of rank 2", heed_reduce(HEED_REDUCE_MAX, rows, -3, row)),
      ALSO("axis is 1, but tensor has dims () of rank 0", heed_reduce(HEED_REDUCE_SUM, number, 1, number)),
      ALSO("result has dims (2, 1), expected (3) or (1, 3), those of tensor without the axes that are reduced",
           heed_reduce_axes(HEED_REDUCE_SUM, rows, both, 1, tensor_of(HEED_F32, {2, 1}))),
      ALSO("axis is 2, but tensor has dims (2, 3) of rank 2", heed_cumulative_sum(rows, 2, other)),
      ALSO("axis is 2, but tensor has dims (2, 3) of rank 2", heed_log_softmax(rows, 2, other)),
      ALSO("result has dims (3), expected (2, 3), the dims of tensor", heed_cumulative_sum(rows, 0, row)),
      ALSO("axis is 2, but tensor has dims (2, 3) of rank 2", heed_sort(rows, 2, 0, other, NULL)),
      ALSO("values has dims (3), expected (2, 3), the dims of tensor", heed_sort(rows, 0, 0, row, NULL)),
      ALSO("indices has dims (3), expected (2, 3), those of tensor, with as many as are wanted on the axis",
           heed_top_k(rows, 0, 1, NULL, tensor_of(HEED_I64, {3}))),
      ALSO("axis is 2, but tensor has dims (2, 3) of rank 2", heed_gather(rows, places, 2, other)),
      ALSO("result has dims (2, 3), expected (2, 1), those of tensor with the size of indices on the axis",
           heed_gather(rows, places, 1, other)),
      ALSO("axis is -3, but tensor has dims (2, 3) of rank 2", heed_take(rows, ones, -3, other)),
      ALSO("result has dims (2, 3), expected (3, 3), those of tensor with those of indices in the place of the axis",
           heed_take(rows, ones, 0, other)),
      ALSO("indices has 3 at index (1, 0), expected -2 to 1, since axis 0 of tensor has size 2",
           heed_take(rows, places, 0, tensor_of(HEED_F32, {2, 1, 3}))),
      ALSO("axis is 3, but tensors[0] has dims (2, 3, 4) of rank 3", heed_concatenate(part_outputs, 2, 3, merged),
           part_outputs[1] = rows),
  };
}

Cases refused_memory() {
  using Scene = ArrayScene;
  return {
      ALSO("difference shares memory with a in another order or dtype, expected separate memory, or a itself",
           heed_subtract(view_of(rows, {3, 2}, {1, 3}), number, view_of(rows, {3, 2}, {2, 1}))),
      ALSO("sum shares memory with b in another order or dtype, expected separate memory, or b itself",
           heed_add(rows, view_of(other, {3}, {1}), other)),
      ALSO("result shares memory with tensor, expected separate memory",
           heed_reduce(HEED_REDUCE_SUM, rows, 0, view_of(rows, {3}, {1}))),
      ALSO("indices shares memory with values, expected separate memory",
           heed_sort(tensor_of(HEED_I64, {3}), 0, 0, new_tensor, new_tensor),
           heed_tensor_create(context, HEED_I64, 1, &three, &new_tensor)),
      ALSO("result shares memory with tensor, expected separate memory", heed_gather(rows, places, 0, rows)),
      ALSO("result shares memory with cosines, expected separate memory",
           heed_rotary_embedding(rows, view_of(other, {2, 1}, {1, 1}), table, NULL, HEED_ROPE_HALF, other)),
      ALSO("result shares memory with tensor in another order or dtype, expected separate memory, or tensor itself",
           heed_rotary_embedding(view_of(rows, {3, 2}, {1, 3}), tensor_of(HEED_F32, {3, 1}),
                                 tensor_of(HEED_F32, {3, 1}), NULL, HEED_ROPE_HALF, view_of(rows, {3, 2}, {2, 1}))),
      ALSO("sines is a shape-only tensor (2, 1): its data is NULL, expected elements",
           heed_rotary_embedding(rows, table, shape_of(HEED_F32, {2, 1}), NULL, HEED_ROPE_HALF, other)),
      ALSO("result shares memory with tensors[0], expected separate memory",
           heed_concatenate(part_outputs, 1, 0, tensor), part_outputs[0] = tensor),
      ALSO("a is a shape-only tensor (2, 3): its data is NULL, expected elements",
           heed_add(shape_of(HEED_F32, {2, 3}), row, other)),
      ALSO("b is a shape-only tensor (3): its data is NULL, expected elements",
           heed_elementwise(HEED_ELEMENTWISE_REMAINDER, whole, shape_of(HEED_I32, {3}), ones)),
      ALSO("b is a shape-only tensor (3): its data is NULL, expected elements",
           heed_elementwise(HEED_ELEMENTWISE_POWER, whole, shape_of(HEED_I32, {3}), ones)),
      ALSO("quotient is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it",
           heed_divide(tensor_of(HEED_F32, {8, 6}), number, snapshot("W_q.weight"))),
      ALSO("sum has stride 0 on axis 0 of dims (2, 3), expected a positive stride in a tensor that is written",
           heed_add(rows, row, view_of(other, {2, 3}, {0, 1}))),
  };
}

Cases with_their_sentences() {
  using Scene = ArrayScene;
  return {
      PROVOKE(heed_elementwise(30, rows, row, other)),
      PROVOKE(heed_elementwise(HEED_ELEMENTWISE_ADD, rows, NULL, other)),
      PROVOKE(heed_elementwise(HEED_ELEMENTWISE_EXP, rows, row, other)),
      PROVOKE(heed_compare(6, rows, row, truths)),
      PROVOKE(heed_add(rows, truths, other)),
      PROVOKE(heed_add(tensor_of(HEED_BF16, {2, 3}), half, other)),
      PROVOKE(heed_add(half, half, truths)),
      PROVOKE(heed_add(rows, row, half)),
      PROVOKE(heed_compare(HEED_COMPARE_EQUAL, rows, row, other)),
      PROVOKE(heed_divide(ones, whole, ones)),
      PROVOKE(heed_elementwise(HEED_ELEMENTWISE_REMAINDER, ones, whole, ones)),
      PROVOKE(heed_elementwise(HEED_ELEMENTWISE_POWER, ones, whole, ones)),
      PROVOKE(heed_add(rows, tensor_of(HEED_F32, {4}), other)),
      PROVOKE(heed_add(rows, row, row)),
      PROVOKE(heed_elementwise(HEED_ELEMENTWISE_EXP, rows, NULL, row)),
      PROVOKE(heed_add(rows, number, view_of(rows, {2, 3}, {1, 2}))),
      PROVOKE(heed_select(rows, rows, rows, other)),
      PROVOKE(heed_clip(rows, NULL, NULL, other)),
      PROVOKE(heed_clip(rows, ones, NULL, other)),
      PROVOKE(heed_reduce(8, rows, 0, row)),
      PROVOKE(heed_reduce(HEED_REDUCE_SUM, whole, 0, number)),
      PROVOKE(heed_reduce(HEED_REDUCE_MEAN, whole, 0, whole)),
      PROVOKE(heed_reduce(HEED_REDUCE_ARGMIN, rows, 0, row)),
      PROVOKE(heed_reduce(HEED_REDUCE_SUM, rows, 0, tensor_of(HEED_F32, {2}))),
      PROVOKE(heed_reduce(HEED_REDUCE_MAX, tensor_of(HEED_F32, {0, 3}), 0, row)),
      PROVOKE(heed_reduce_axes(HEED_REDUCE_SUM, rows, both, 0, number)),
      PROVOKE(heed_reduce_axes(HEED_REDUCE_SUM, rows, outside, 1, row)),
      PROVOKE(heed_reduce_axes(HEED_REDUCE_SUM, rows, twice, 2, number)),
      PROVOKE(heed_reduce_axes(HEED_REDUCE_ARGMAX, tensor, both, 2, tensor_of(HEED_I64, {4}))),
      PROVOKE(heed_reduce_axes(HEED_REDUCE_SUM, rows, both, 2, row)),
      PROVOKE(heed_cumulative_sum(whole, 0, whole)),
      PROVOKE(heed_sort(rows, 0, 2, other, NULL)),
      PROVOKE(heed_sort(rows, 0, 0, NULL, NULL)),
      PROVOKE(heed_sort(rows, 0, 0, half, NULL)),
      PROVOKE(heed_sort(rows, 0, 0, NULL, other)),
      PROVOKE(heed_top_k(rows, 1, 1, tensor_of(HEED_F32, {2, 4}), NULL)),
      PROVOKE(heed_top_k(rows, 1, 1, row, NULL)),
      PROVOKE(
          heed_top_k(view_of(tensor_of(HEED_I8, {1}), {int64_t{1} << 41}, {0}), 0, 1, tensor_of(HEED_I8, {1}), NULL)),
      PROVOKE(heed_gather(rows, other, 0, other)),
      PROVOKE(heed_gather(rows, ones, 0, other)),
      PROVOKE(heed_gather(rows, places, 1, tensor_of(HEED_F32, {2, 1}))),
      PROVOKE(heed_gather(rows, places, 1, other)),
      PROVOKE(heed_gather(rows, places, 1, tensor_of(HEED_F16, {2, 1}))),
      PROVOKE(heed_gather(tensor_of(HEED_F32, {2, 0}), places, 1, tensor_of(HEED_F32, {2, 1}))),
      PROVOKE(heed_take(rows, ones, 0, other)),
      PROVOKE(heed_take(tensor_of(HEED_F32, {1, 1, 1, 1, 1, 1, 1, 2}), places, 7, number)),
      PROVOKE(heed_softmax(whole, 0, row)),
      PROVOKE(heed_rotary_embedding(rows, table, table, NULL, 0, other)),
      PROVOKE(heed_rotary_embedding(truths, table, table, NULL, HEED_ROPE_HALF, truths)),
      PROVOKE(heed_rotary_embedding(row, table, table, NULL, HEED_ROPE_HALF, row)),
      PROVOKE(heed_rotary_embedding(rows, ones, table, NULL, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, row, table, first_rows, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, row, table, NULL, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, other, other, NULL, HEED_ROPE_INTERLEAVED, other)),
      PROVOKE(heed_rotary_embedding(rows, table, row, NULL, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, table, table, row, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, table, table, ones, HEED_ROPE_HALF, other)),
      PROVOKE(heed_rotary_embedding(rows, table, table, first_rows, HEED_ROPE_HALF, other)),
      PROVOKE(heed_concatenate(part_outputs, 0, 0, merged)),
      PROVOKE(heed_concatenate(part_outputs, 2, 0, merged), part_outputs[1] = half),
      PROVOKE(heed_concatenate(part_outputs, 2, 0, merged), part_outputs[1] = rows),
      PROVOKE(heed_concatenate(part_outputs, 2, 0, merged)),
      PROVOKE(heed_concatenate(part_outputs, 2, 0, tensor_of(HEED_F16, {4, 3, 4}))),
      PROVOKE(heed_concatenate(part_outputs, 2, 0, row),
              part_outputs[0] = part_outputs[1] = view_of(tensor_of(HEED_I8, {1}), {int64_t{1} << 62}, {0})),
  };
}

}  // namespace

Topic arrays() {
  return {"Arithmetic, reductions, order and selection",
          "`rows`, `other` (2, 3), `row` (3) and `number` () are F32, `half` (2, 3) is F16, `truths` (2, 3) BOOL; "
          "`whole` is 7, 0, -1, "
          "`ones` 1, 1, 1 and `places` (2, 1) 0, 3, all I32; `table` (2, 1) is F32 and `first_rows` 0, 2 I32. `both` "
          "is 0, 1, `twice` 1, -1 and `outside` 2.",
          {
              with_their_sentences(),
              refused_dtypes(),
              refused_shapes(),
              refused_memory(),
          }};
}

}  // namespace heed::errors_test
