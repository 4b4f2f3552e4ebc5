// SPDX-License-Identifier: Apache-2.0
// Invalid matrix products, softmax calls and fills: the whole message of each, and an unchanged result tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"
#include "support/numbers.h"

namespace heed::capi_test {
namespace {

class OperationErrors : public testing::Test {
 protected:
  // A tensor of ones that lives as long as the test.
  heed_tensor* ones(const Dims& dims, heed_dtype dtype = HEED_F32) {
    heed_tensor* tensor = keep(make_tensor(context_.get(), dims, dtype));
    check(heed_tensor_fill(tensor, 1.0));
    return tensor;
  }

  heed_tensor* shape_only(const Dims& dims) { return keep(make_shape_only(context_.get(), dims)); }

  heed_tensor* keep(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return tensors_.back().get();
  }

  static void expect_sentence(heed_status status, const std::string& sentence) {
    EXPECT_TRUE(is_refused(status, {HEED_ERROR_INVALID_ARGUMENT, {}}));
    EXPECT_EQ(heed_last_error(), sentence);
    forget_last_error();
  }

  void expect_matmul(const heed_tensor* a, const heed_tensor* b, heed_tensor* product, const std::string& sentence) {
    expect_unwritten(
        product, [&] { return heed_matmul(a, b, product); }, sentence);
  }

  void expect_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result, const std::string& sentence) {
    expect_unwritten(
        result, [&] { return heed_softmax(tensor, axis, result); }, sentence);
  }

  void expect_activation(const heed_tensor* tensor, int32_t activation, heed_tensor* result,
                         const std::string& sentence) {
    expect_unwritten(
        result, [&] { return heed_activation(tensor, activation, result); }, sentence);
  }

  void expect_masked(const heed_tensor* scores, const heed_tensor* lens, heed_tensor* result,
                     const std::string& sentence) {
    expect_unwritten(
        result, [&] { return heed_masked_softmax(scores, lens, result); }, sentence);
  }

  const Context context_ = make_context();

 private:
  template <typename Call>
  static void expect_unwritten(heed_tensor* result, Call call, const std::string& sentence) {
    const bool has_data = heed_tensor_data(result) != nullptr;
    const std::vector<uint8_t> before = has_data ? read_bytes(result) : std::vector<uint8_t>();
    forget_last_error();
    expect_sentence(call(), sentence);
    if (!has_data) return;
    EXPECT_EQ(read_bytes(result), before) << "the result was written";
  }

  std::vector<Tensor> tensors_;
};

TEST_F(OperationErrors, MatmulOfShapesThatDoNotFit) {
  expect_matmul(ones({2, 3}), ones({4, 5}), ones({2, 5}),
                "a has dims (2, 3) and b has dims (4, 5), whose inner sizes are 3 and 4: expected the same");
  expect_matmul(ones({3}), ones({4}), ones({}),
                "a has dims (3) and b has dims (4), whose inner sizes are 3 and 4: expected the same");
  expect_matmul(ones({2, 3, 4}), ones({3}), ones({2, 3}),
                "a has dims (2, 3, 4) and b has dims (3), whose inner sizes are 4 and 3: expected the same");
  expect_matmul(
      ones({2, 1, 3}), ones({4, 3, 1}), ones({4, 1, 1}),
      "a has dims (2, 1, 3) and b has dims (4, 3, 1), whose axes before the last two do not broadcast: expected "
      "equal sizes, or 1");
  expect_matmul(ones({}), ones({3}), ones({}), "a has dims () of rank 0, expected rank 1 to 8");
  expect_matmul(ones({3}), ones({}), ones({}), "b has dims () of rank 0, expected rank 1 to 8");
  expect_matmul(ones({2, 3}), ones({3, 5}), ones({5, 2}),
                "product has dims (5, 2), expected (2, 5), the shape of a times b");
  expect_matmul(ones({3}), ones({3, 5}), ones({1, 5}), "product has dims (1, 5), expected (5), the shape of a times b");
  expect_matmul(ones({2, 1, 4, 3}), ones({7, 3, 5}), ones({2, 4, 5}),
                "product has dims (2, 4, 5), expected (2, 7, 4, 5), the shape of a times b");
}

TEST_F(OperationErrors, MatmulOfOtherDtypes) {
  const std::string advice = ", expected F32, F16 or BF16: copy it into a tensor of one of these first";
  for (const auto& [dtype, name] : {std::pair{HEED_F64, "F64"}, {HEED_I32, "I32"}, {HEED_BOOL, "BOOL"}}) {
    expect_matmul(ones({2, 3}, dtype), ones({3, 2}, dtype), ones({2, 2}), std::string("a is ") + name + advice);
    expect_matmul(ones({2, 3}), ones({3, 2}, dtype), ones({2, 2}), std::string("b is ") + name + advice);
    expect_matmul(ones({2, 3}), ones({3, 2}), ones({2, 2}, dtype),
                  std::string("product is ") + name + ", expected F32, the dtype of a");
  }
  expect_matmul(ones({2, 3}, HEED_F16), ones({3, 2}), ones({2, 2}), "b is F32, but a is F16: expected the same dtype");
  expect_matmul(ones({2, 3}, HEED_F16), ones({3, 2}, HEED_F16), ones({2, 2}, HEED_BF16),
                "product is BF16, expected F32 or the dtype of a, F16");
}

TEST_F(OperationErrors, MatmulOfMemoryThatCannotBe) {
  heed_tensor* const a = ones({2, 2});
  heed_tensor* const b = ones({2, 2});
  heed_tensor* const storage = ones({4, 4});
  expect_matmul(a, b, a, "product shares memory with a, expected separate memory");
  expect_matmul(a, b, b, "product shares memory with b, expected separate memory");
  expect_matmul(keep(make_view(storage, {2, 2}, {4, 1})), b, keep(make_view(storage, {2, 2}, {4, 1}, 5)),
                "product shares memory with a, expected separate memory");
  expect_matmul(shape_only({2, 2}), b, ones({2, 2}),
                "a is a shape-only tensor (2, 2): its data is NULL, expected elements");
  expect_matmul(a, shape_only({2, 2}), ones({2, 2}),
                "b is a shape-only tensor (2, 2): its data is NULL, expected elements");
  expect_matmul(a, b, shape_only({2, 2}), "product is a shape-only tensor (2, 2): its data is NULL, expected elements");
  expect_matmul(
      a, b, keep(make_view(storage, {2, 2}, {1, 0})),
      "product has stride 0 on axis 1 of dims (2, 2), expected a positive stride in a tensor that is written");
  expect_matmul(
      a, b, keep(make_view(storage, {2, 2}, {1, 1})),
      "product has dims (2, 2) with strides that put two elements in the same place, expected none in a tensor "
      "that is written");
  const AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");  // (8, 6)
  forget_last_error();
  expect_sentence(heed_matmul(ones({8, 2}), ones({2, 6}), weight.get()),
                  "product is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it");
}

TEST_F(OperationErrors, InterleavedMemoryIsSeparate) {
  heed_tensor* const storage = ones({2, 4});
  EXPECT_EQ(heed_matmul(keep(make_slice(storage, 1, 0, 2)), ones({2, 2}), keep(make_slice(storage, 1, 2, 2))), HEED_OK)
      << heed_last_error();
  EXPECT_EQ(read_elements<float>(storage), (std::vector<float>{1, 1, 2, 2, 1, 1, 2, 2}));
}

TEST_F(OperationErrors, Softmax) {
  heed_tensor* const tensor = ones({2, 3});
  expect_softmax(tensor, 2, ones({2, 3}), "axis is 2, but tensor has dims (2, 3) of rank 2");
  expect_softmax(tensor, -3, ones({2, 3}), "axis is -3, but tensor has dims (2, 3) of rank 2");
  expect_softmax(tensor, INT32_MIN, ones({2, 3}), "axis is -2147483648, but tensor has dims (2, 3) of rank 2");
  expect_softmax(ones({}), 0, ones({}), "tensor has dims () of rank 0, expected rank 1 to 8");
  expect_softmax(ones({2, 3}, HEED_F64), 0, ones({2, 3}),
                 "tensor is F64, expected F32, F16 or BF16: copy it into a tensor of one of these first");
  expect_softmax(tensor, 0, ones({3, 2}), "result has dims (3, 2), expected (2, 3), the dims of tensor");
  expect_softmax(tensor, 0, ones({2, 3}, HEED_F16), "result is F16, expected F32, the dtype of tensor");
  expect_softmax(ones({2, 3}, HEED_BF16), 0, ones({2, 3}, HEED_F16),
                 "result is F16, expected F32 or the dtype of tensor, BF16");
  expect_softmax(tensor, 0, tensor, "result shares memory with tensor, expected separate memory");
  expect_softmax(shape_only({2, 3}), 0, ones({2, 3}),
                 "tensor is a shape-only tensor (2, 3): its data is NULL, expected elements");
  expect_softmax(tensor, 0, shape_only({2, 3}),
                 "result is a shape-only tensor (2, 3): its data is NULL, expected elements");
  expect_softmax(
      tensor, 0, keep(make_view(ones({6}), {2, 3}, {3, -1}, 2)),
      "result has stride -1 on axis 1 of dims (2, 3), expected a positive stride in a tensor that is written");
}

TEST_F(OperationErrors, Activation) {
  heed_tensor* const tensor = ones({2, 3});
  const std::string expected =
      ", expected HEED_ACTIVATION_RELU (0), HEED_ACTIVATION_GELU (1), HEED_ACTIVATION_GELU_TANH (2), "
      "HEED_ACTIVATION_GELU_QUICK (3) or HEED_ACTIVATION_SILU (4)";
  expect_activation(tensor, -1, ones({2, 3}), "activation is -1" + expected);
  expect_activation(tensor, 5, ones({2, 3}), "activation is 5" + expected);
  expect_activation(ones({}), 0, ones({}), "tensor has dims () of rank 0, expected rank 1 to 8");
  expect_activation(ones({2, 3}, HEED_I32), 0, ones({2, 3}),
                    "tensor is I32, expected F32, F16 or BF16: copy it into a tensor of one of these first");
  expect_activation(tensor, 0, ones({3, 2}), "result has dims (3, 2), expected (2, 3), the dims of tensor");
  expect_activation(tensor, 0, ones({2, 3}, HEED_BF16), "result is BF16, expected F32, the dtype of tensor");
  expect_activation(tensor, 0, tensor, "result shares memory with tensor, expected separate memory");
  expect_activation(shape_only({2, 3}), 0, ones({2, 3}),
                    "tensor is a shape-only tensor (2, 3): its data is NULL, expected elements");
}

TEST_F(OperationErrors, MaskedSoftmax) {
  heed_tensor* const scores = ones({2, 3, 4});
  heed_tensor* const result = ones({2, 3, 4});
  const auto lens = [this](const Dims& dims, const std::vector<float>& lengths) {
    return keep(make_tensor_of(context_.get(), dims, lengths));
  };
  const std::string expected = ", expected a whole number from 0 to the number of keys, 4";
  expect_masked(scores, lens({2}, {4, 5}), result, "valid_lens[1] is 5" + expected);
  expect_masked(scores, lens({2}, {-1, 4}), result, "valid_lens[0] is -1" + expected);
  expect_masked(scores, lens({2, 3}, {0, 1, 2, 3, 4, 2.5}), result, "valid_lens[1, 2] is 2.5" + expected);
  expect_masked(scores, lens({2}, {std::nanf(""), 4}), result, "valid_lens[0] is nan" + expected);
  expect_masked(scores, keep(make_tensor_of<int64_t>(context_.get(), {2}, {4, int64_t{1} << 40})), result,
                "valid_lens[1] is 1099511627776" + expected);
  expect_masked(scores, keep(make_tensor_of<int32_t>(context_.get(), {2}, {-7, 0})), result,
                "valid_lens[0] is -7" + expected);
  expect_masked(scores, lens({2, 1}, {4, 4}), result,
                "valid_lens has dims (2, 1), expected (2) for the batch or (2, 3) for batch and queries");
  expect_masked(scores, lens({3}, {4, 4, 4}), result,
                "valid_lens has dims (3), expected (2) for the batch or (2, 3) for batch and queries");
  expect_masked(scores, ones({2}, HEED_F16), result, "valid_lens is F16, expected F32, I32 or I64");
  expect_masked(scores, shape_only({2}), result,
                "valid_lens is a shape-only tensor (2): its data is NULL, expected elements");
  expect_masked(ones({2, 4}), nullptr, ones({2, 4}),
                "scores has dims (2, 4) of rank 2, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)");
  expect_masked(ones({1, 1, 1, 2, 4}), nullptr, ones({1, 1, 1, 2, 4}),
                "scores has dims (1, 1, 1, 2, 4) of rank 5, expected rank 3, (B, Q, K), or rank 4, (B, H, Q, K)");
  expect_masked(ones({2, 3, 4}, HEED_I32), nullptr, result,
                "scores is I32, expected F32, F16 or BF16: copy it into a tensor of one of these first");
  expect_masked(scores, nullptr, ones({2, 4, 3}), "result has dims (2, 4, 3), expected (2, 3, 4), the dims of scores");
  expect_masked(scores, nullptr, ones({2, 3, 4}, HEED_F16), "result is F16, expected F32, the dtype of scores");
  expect_masked(scores, nullptr, scores, "result shares memory with scores, expected separate memory");
  expect_masked(scores, keep(make_view(result, {2}, {0})), result,
                "result shares memory with valid_lens, expected separate memory");
}

TEST_F(OperationErrors, Fills) {
  heed_tensor* const tensor = ones({2, 3}, HEED_F16);
  const std::vector<uint8_t> before = read_bytes(tensor);
  forget_last_error();
  expect_sentence(heed_tensor_fill_arange(tensor, kNaN, 1), "start is nan, expected a finite number");
  expect_sentence(heed_tensor_fill_arange(tensor, 0, -kInfinity), "step is -inf, expected a finite number");
  expect_sentence(heed_tensor_fill_alibi_slopes(tensor), "tensor has dims (2, 3) of rank 2, expected rank 1, (H)");
  expect_sentence(heed_tensor_fill_alibi_slopes(ones({})), "tensor has dims () of rank 0, expected rank 1, (H)");
  expect_sentence(heed_tensor_fill_uniform(tensor, kInfinity, 1, 1), "low is inf, expected a finite number");
  expect_sentence(heed_tensor_fill_uniform(tensor, 0, kInfinity, 1), "high is inf, expected a finite number");
  expect_sentence(heed_tensor_fill_uniform(tensor, 1, 0.5, 1), "low is 1 and high is 0.5, expected low <= high");
  expect_sentence(heed_tensor_fill_uniform(tensor, -1e308, 1e308, 1),
                  "low is -1e+308 and high is 1e+308, expected a difference that a double can hold");
  expect_sentence(heed_tensor_fill_uniform(tensor, 1.0001, 1.0002, 1),
                  "low is 1.0001 and high is 1.0002, between which F16, the dtype of tensor, has no number: expected a "
                  "wider range");
  expect_sentence(
      heed_tensor_fill_uniform(ones({2}, HEED_U8), 300, 400, 1),
      "low is 300 and high is 400, between which U8, the dtype of tensor, has no number: expected a wider range");
  // 2^63 is above the largest int64, 2^63 - 1, which a double rounds to 2^63.
  expect_sentence(heed_tensor_fill_uniform(ones({2}, HEED_I64), 0x1p63, 0x1p64, 1),
                  "low is 9.22337e+18 and high is 1.84467e+19, between which I64, the dtype of tensor, has no number: "
                  "expected a wider range");
  expect_sentence(heed_tensor_fill_normal(tensor, kNaN, 1, 1), "mean is nan, expected a finite number");
  expect_sentence(heed_tensor_fill_normal(tensor, 0, kInfinity, 1),
                  "standard_deviation is inf, expected a finite number");
  expect_sentence(heed_tensor_fill_normal(tensor, 0, -0.5, 1), "standard_deviation is -0.5, expected at least 0");
  EXPECT_EQ(read_bytes(tensor), before);

  const AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  heed_tensor* const repeated = keep(make_view(tensor, {2, 3}, {0, 1}));
  for (const auto& [wrong, sentence] :
       {std::pair<heed_tensor*, const char*>{
            shape_only({2, 3}), "tensor is a shape-only tensor (2, 3): its data is NULL, expected elements"},
        {weight.get(), "tensor is a read-only snapshot of a parameter: use heed_layer_set_parameter to change it"},
        {repeated,
         "tensor has stride 0 on axis 0 of dims (2, 3), expected a positive stride in a tensor that is "
         "written"}}) {
    expect_sentence(heed_tensor_fill_arange(wrong, 0, 1), sentence);
    expect_sentence(heed_tensor_fill_uniform(wrong, 0, 1, 1), sentence);
    expect_sentence(heed_tensor_fill_uniform(wrong, 1, 1, 1), sentence);
    expect_sentence(heed_tensor_fill_normal(wrong, 0, 1, 1), sentence);
  }
}

}  // namespace
}  // namespace heed::capi_test
