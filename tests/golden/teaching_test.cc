// SPDX-License-Identifier: Apache-2.0
// Attention as defined by well-known tutorials, papers and classes, computed with heed's options for it
// (docs/semantics.md, "Other people's attention"). make_teaching.py generates the files, which contain the authors'
// numbers.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "reference/multi_head_attention.h"

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

// The tensor times a factor, with each number rounded once.
Tensor times(const GoldenFile& file, const heed_tensor* tensor, double factor) {
  std::vector<float> numbers = capi_test::read_floats(file.context(), tensor);
  for (float& number : numbers) number = static_cast<float>(number * factor);
  return capi_test::make_tensor_of(file.context(), capi_test::dims_of(tensor), numbers);
}

// Computes the layer's three results from the file's inputs, and compares them with the file's.
template <typename Options>
void expect_as_in(const GoldenFile& file, const Layer& layer, const Options& options) {
  const Inputs inputs(file);
  file.expect(forward(layer.get(), inputs.given), derive(layer.get(), options, inputs.given));
}

void expect_dot_product_as_in(const GoldenFile& file, float scale, int32_t empty_rows = HEED_EMPTY_ROWS_ZERO) {
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.scale = scale;
  options.empty_rows = empty_rows;
  expect_as_in(file, capi_test::make_dot_product(file.context(), options), options);
}

class Teaching : public testing::Test {
 protected:
  Context context_;
};

TEST_F(Teaching, FourWordsAreOneHeadWithTransposedMatrices) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_four_words");
    const heed_multi_head_attention_options options = one_head(3, 3);
    const Layer layer = capi_test::make_multi_head(context_.get(), options);
    check(heed_layer_set_parameter(layer.get(), "W_q.weight", transposed(file.load("W_Q")).get()));
    check(heed_layer_set_parameter(layer.get(), "W_k.weight", transposed(file.load("W_K")).get()));
    check(heed_layer_set_parameter(layer.get(), "W_v.weight", transposed(file.load("W_V")).get()));
    expect_as_in(file, layer, options);
  });
}

TEST_F(Teaching, VaswanisDotProductIsTheDefault) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_vaswani");
    expect_dot_product_as_in(file, 0);
  });
}

TEST_F(Teaching, LuongsDotProductIsAScaleOfOne) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_luong_dot");
    expect_dot_product_as_in(file, 1);
  });
}

// q . W_a k = (q W_a) . k: one head that projects only the queries. Projections by the identity change no bit.
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
    expect_as_in(file, layer, options);
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
    expect_as_in(file, layer, options);
  });
}

TEST_F(Teaching, D2lJavaDividesByTheRootOfTwoAndAveragesEmptyRows) {
  on_device([&](Fallback fallback) {
    context_ = make_context(fallback);
    const GoldenFile file(context_.get(), "teaching_d2l_java");
    expect_dot_product_as_in(file, 0.70710678F, HEED_EMPTY_ROWS_MEAN);
  });
}

// softmax(q . k) / sqrt(dim_k) times V equals softmax(q . k) times V / sqrt(dim_k).
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
    const Inputs inputs(file);
    const Outputs outputs = forward(layer.get(), inputs.given);
    const Derived derived = derive(layer.get(), options, inputs.given);
    file.expect(outputs, derived);

    // The rows of weights that the class returns sum to the factor.
    const auto class_weights = [&](const Tensor& weights) {
      if (weights == nullptr) return Tensor();
      return capi_test::make_reshaped(times(file, weights.get(), factor).get(), {2, 4, 4});
    };
    file.expect(class_weights(outputs.weights).get(), "class_weights", class_weights(derived.values.weights).get(),
                class_weights(derived.errors.weights).get());
  });
}

// x W^T + b as one matrix product: x with a column of ones appended, times W with b appended.
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

// The reference's results for these projections, and for attention with heads that are made by a reshape.
Derived derive_cut(const GoldenFile& file, const Outputs& results) {
  if (!on_ascend()) return {};
  const Tensor x = file.load("queries");
  const auto project_exactly = [&](const std::string& name) {
    const Tensor weight = file.load((name + ".weight").c_str());
    const std::vector<double> numbers = numbers_of(weight.get());
    const std::vector<double> bias = numbers_of(file.load((name + ".bias").c_str()).get());
    reference::Projection projection;
    projection.output_size = heed_tensor_dim(weight.get(), 0);
    projection.input_size = heed_tensor_dim(weight.get(), 1) + 1;
    const auto with_last = [](const std::vector<double>& rows, int64_t length, const auto& last_of) {
      std::vector<double> longer;
      for (size_t i = 0; i < rows.size(); ++i) {
        longer.push_back(rows[i]);
        if ((i + 1) % static_cast<size_t>(length) == 0) longer.push_back(last_of(i / static_cast<size_t>(length)));
      }
      return longer;
    };
    projection.weight = with_last(numbers, projection.input_size - 1, [&](size_t row) { return bias[row]; });
    const std::vector<double> ones =
        with_last(numbers_of(x.get()), projection.input_size - 1, [](size_t) { return 1.0; });
    const auto format = property::compute_format(HEED_F32);
    return reference::project(projection, reference::as_read(ones, format),
                              static_cast<int64_t>(ones.size()) / projection.input_size, format);
  };
  const Dims weights = capi_test::dims_of(results.weights.get());
  reference::AttentionProblem problem;
  problem.compute_format = property::compute_format(HEED_F32);
  problem.sizes.batch = weights[0];
  problem.sizes.num_heads = problem.sizes.num_kv_heads = weights[1];
  problem.sizes.num_queries = weights[2];
  problem.sizes.num_keys = weights[3];
  problem.queries = project_exactly("W_q");
  problem.keys = project_exactly("W_k");
  problem.values = project_exactly("W_v");
  const int64_t num_rows = weights[0] * weights[1] * weights[2];
  problem.sizes.head_size = static_cast<int64_t>(problem.queries.values.size()) / num_rows;
  problem.sizes.value_head_size = static_cast<int64_t>(problem.values.values.size()) / num_rows;
  problem.options.scale = 1;
  return as_tensors(reference::attention(problem), results);
}

// Such heads are not those of heed's multi-head attention, but dot-product attention of rank 4 takes any heads.
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
    Derived derived = derive_cut(file, outputs);
    for (Outputs* all : {&outputs, &derived.values, &derived.errors}) {
      if (all->output != nullptr) all->output = capi_test::make_reshaped(all->output.get(), {2, 4, 6});
    }
    file.expect(outputs, derived);
  });
}

}  // namespace
}  // namespace heed::golden
