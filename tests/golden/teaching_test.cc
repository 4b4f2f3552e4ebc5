// SPDX-License-Identifier: Apache-2.0
// Attention as well-known tutorials, papers and classes have it, by heed's options: what docs/semantics.md says under
// "Other people's attention". The files, with the authors' numbers, come from make_teaching.py.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

heed_multi_head_attention_options one_head(int64_t head_size, int64_t value_head_size) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 1;
  options.head_size = head_size;
  options.value_head_size = value_head_size;
  options.no_output_projection = 1;
  return options;
}

Tensor transposed(const Tensor& matrix) { return capi_test::make_transposed(matrix.get(), {1, 0}); }

// Each number times the factor, rounded once.
Tensor times(const GoldenFile& file, const heed_tensor* tensor, double factor) {
  std::vector<float> numbers = capi_test::read_floats(file.context(), tensor);
  for (float& number : numbers) number = static_cast<float>(number * factor);
  return capi_test::make_tensor_of(file.context(), capi_test::dims_of(tensor), numbers);
}

Outputs dot_product(const GoldenFile& file, float scale, int32_t empty_rows = HEED_EMPTY_ROWS_ZERO) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.scale = scale;
  options.empty_rows = empty_rows;
  return forward(capi_test::make_dot_product(file.context(), options).get(), Inputs(file).given);
}

class Teaching : public testing::Test {
 protected:
  Context context_;
};

TEST_F(Teaching, FourWordsAreOneHeadWithTransposedMatrices) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_four_words");
    const Layer layer = capi_test::make_multi_head(context_.get(), one_head(3, 3));
    check(heed_layer_set_parameter(layer.get(), "W_q.weight", transposed(file.load("W_Q")).get()));
    check(heed_layer_set_parameter(layer.get(), "W_k.weight", transposed(file.load("W_K")).get()));
    check(heed_layer_set_parameter(layer.get(), "W_v.weight", transposed(file.load("W_V")).get()));
    forward(layer.get(), Inputs(file).given).expect_as_in(file);
  });
}

TEST_F(Teaching, VaswanisDotProductIsTheDefault) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_vaswani");
    dot_product(file, 0).expect_as_in(file);
  });
}

TEST_F(Teaching, LuongsDotProductIsAScaleOfOne) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_luong_dot");
    dot_product(file, 1).expect_as_in(file);
  });
}

// q . W_a k = (q W_a) . k: one head that projects the queries alone. Identities change no bit.
TEST_F(Teaching, LuongsGeneralScoreIsAProjectionOfTheQueries) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_luong_general");
    heed_multi_head_attention_options options = one_head(3, 4);
    options.scale = 1;
    const Layer layer = capi_test::make_multi_head(context_.get(), options);
    const auto identity = [&](int64_t size) {
      std::vector<float> numbers(static_cast<size_t>(size * size));
      for (int64_t i = 0; i < size; ++i) numbers[static_cast<size_t>(i * size + i)] = 1;
      return capi_test::make_tensor_of(context_.get(), {size, size}, numbers);
    };
    check(heed_layer_set_parameter(layer.get(), "W_q.weight", transposed(file.load("W_a")).get()));
    check(heed_layer_set_parameter(layer.get(), "W_k.weight", identity(3).get()));
    check(heed_layer_set_parameter(layer.get(), "W_v.weight", identity(4).get()));
    forward(layer.get(), Inputs(file).given).expect_as_in(file);
  });
}

TEST_F(Teaching, LuongsConcatIsTheAdditiveLayer) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_luong_concat");
    heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
    options.num_hiddens = 5;
    const Layer layer = capi_test::make_additive(context_.get(), options);
    const Tensor both = file.load("W_a");
    const Tensor row = file.load("v_a");
    check(heed_layer_set_parameter(layer.get(), "W_q.weight", capi_test::make_slice(both.get(), 1, 0, 4).get()));
    check(heed_layer_set_parameter(layer.get(), "W_k.weight", capi_test::make_slice(both.get(), 1, 4, 3).get()));
    check(heed_layer_set_parameter(layer.get(), "w_v.weight", capi_test::make_reshaped(row.get(), {1, 5}).get()));
    forward(layer.get(), Inputs(file).given).expect_as_in(file);
  });
}

TEST_F(Teaching, D2lJavaDividesByTheRootOfTwoAndAveragesEmptyRows) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_d2l_java");
    dot_product(file, 0.70710678F, HEED_EMPTY_ROWS_MEAN).expect_as_in(file);
  });
}

// softmax(q . k) / sqrt(dim_k) times V is softmax(q . k) times V / sqrt(dim_k).
TEST_F(Teaching, AFactorAfterTheSoftmaxBelongsToTheValues) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_scales_after_softmax");
    heed_multi_head_attention_options options = one_head(3, 4);
    options.biases = HEED_BIAS_Q | HEED_BIAS_K | HEED_BIAS_V;
    options.scale = 1;
    const Layer layer = capi_test::make_multi_head(context_.get(), options);
    check(heed_layer_load(layer.get(), file.path().c_str(), nullptr));
    const double factor = 1 / std::sqrt(3.0);
    for (const char* name : {"W_v.weight", "W_v.bias"}) {
      check(heed_layer_set_parameter(layer.get(), name, times(file, file.load(name).get(), factor).get()));
    }
    const Outputs outputs = forward(layer.get(), Inputs(file).given);
    outputs.expect_as_in(file);

    // The weights that the class returns add up to the factor.
    const Tensor class_weights = times(file, outputs.weights.get(), factor);
    file.expect(capi_test::make_reshaped(class_weights.get(), {2, 4, 4}).get(), "class_weights");
  });
}

// x W^T + b as one product of matrices: x with a last column of ones times W with b as its last column.
Tensor project(const GoldenFile& file, const char* weight_name, const char* bias_name) {
  const Tensor x = file.load("queries");
  const Tensor weight = file.load(weight_name);
  const Tensor bias = file.load(bias_name);
  const Dims dims = capi_test::dims_of(x.get());
  const int64_t num_outputs = heed_tensor_dim(weight.get(), 0);

  const Tensor with_ones = capi_test::make_tensor(file.context(), {dims[0], dims[1], dims[2] + 1});
  check(heed_tensor_fill(with_ones.get(), 1));
  check(heed_tensor_copy(capi_test::make_slice(with_ones.get(), 2, 0, dims[2]).get(), x.get()));
  const Tensor with_bias = capi_test::make_tensor(file.context(), {num_outputs, dims[2] + 1});
  check(heed_tensor_copy(capi_test::make_slice(with_bias.get(), 1, 0, dims[2]).get(), weight.get()));
  check(heed_tensor_copy(capi_test::make_slice(with_bias.get(), 1, dims[2], 1).get(),
                         capi_test::make_reshaped(bias.get(), {num_outputs, 1}).get()));
  Tensor projected = capi_test::make_tensor(file.context(), {dims[0], dims[1], num_outputs});
  check(heed_matmul(with_ones.get(), transposed(with_bias).get(), projected.get()));
  return projected;
}

// Heads that are cut out of memory are no heads of heed's multi-head attention, but any tensor of rank 4 has heads.
TEST_F(Teaching, HeadsCutByAReshapeAreDotProductAttentionOfRankFour) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_reshapes_into_heads");
    const auto cut = [](const Tensor& projected) { return capi_test::make_reshaped(projected.get(), {2, 2, 4, -1}); };
    const Tensor queries = cut(project(file, "W_q.weight", "W_q.bias"));
    const Tensor keys = cut(project(file, "W_k.weight", "W_k.bias"));
    const Tensor values = cut(project(file, "W_v.weight", "W_v.bias"));
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    inputs.keys = keys.get();
    inputs.values = values.get();
    heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    options.scale = 1;
    Outputs outputs = forward(capi_test::make_dot_product(context_.get(), options).get(), inputs);
    outputs.output = capi_test::make_reshaped(outputs.output.get(), {2, 4, 6});
    outputs.expect_as_in(file);
  });
}

}  // namespace
}  // namespace heed::golden
