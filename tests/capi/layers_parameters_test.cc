// SPDX-License-Identifier: Apache-2.0
// How a layer gets its parameters, and snapshots of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"

namespace heed::capi_test {
namespace {

std::vector<std::string> names_of(const heed_layer* layer) {
  std::vector<std::string> names;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i)
    names.emplace_back(heed_layer_parameter_name(layer, i));
  return names;
}

std::vector<std::vector<float>> all_values(heed_context* context, const heed_layer* layer) {
  std::vector<std::vector<float>> values;
  for (const std::string& name : names_of(layer))
    values.push_back(read_floats(context, snapshot(layer, name.c_str()).get()));
  return values;
}

TEST(Parameters, HaveNamesByTheOptions) {
  const Context context = make_context();
  heed_multi_head_attention_options options = two_heads();
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(make_multi_head(context.get(), options).get()),
            (Names{"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight"}));
  options.biases = HEED_BIAS_ALL;
  EXPECT_EQ(
      names_of(make_multi_head(context.get(), options).get()),
      (Names{"W_q.weight", "W_q.bias", "W_k.weight", "W_k.bias", "W_v.weight", "W_v.bias", "W_o.weight", "W_o.bias"}));
  options.biases = HEED_BIAS_K;
  options.no_output_projection = 1;
  EXPECT_EQ(names_of(make_multi_head(context.get(), options).get()),
            (Names{"W_q.weight", "W_k.weight", "W_k.bias", "W_v.weight"}));
  options.scoring = HEED_SCORING_ADDITIVE;
  EXPECT_EQ(names_of(make_multi_head(context.get(), options).get()),
            (Names{"W_q.weight", "W_k.weight", "W_k.bias", "W_v.weight", "w_v.weight"}));
  EXPECT_EQ(names_of(make_additive(context.get(), five_hiddens()).get()),
            (Names{"W_q.weight", "W_k.weight", "w_v.weight"}));
  EXPECT_EQ(names_of(make_general(context.get(), six_in_queries()).get()), Names{"W.weight"});
  const Layer dot_product = make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
  EXPECT_EQ(names_of(dot_product.get()), Names{});
  EXPECT_EQ(heed_layer_is_initialized(dot_product.get()), 1);
}

TEST(Parameters, HaveTheShapesOfTheOptionsAndInputs) {
  AttentionCall call(Kind::MultiHead);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 4;
  options.num_kv_heads = 2;
  options.head_size = 3;
  options.value_head_size = 5;
  options.output_size = 11;
  options.biases = HEED_BIAS_ALL;
  options.scoring = HEED_SCORING_ADDITIVE;
  call.replace_layer(options);
  EXPECT_EQ(heed_layer_is_initialized(call.layer.get()), 0);
  ASSERT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 1), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_is_initialized(call.layer.get()), 1);
  const auto dims = [&](const char* name) { return dims_of(snapshot(call.layer.get(), name).get()); };
  EXPECT_EQ(dims("W_q.weight"), (Dims{12, 6}));
  EXPECT_EQ(dims("W_q.bias"), (Dims{12}));
  EXPECT_EQ(dims("W_k.weight"), (Dims{6, 7}));
  EXPECT_EQ(dims("W_k.bias"), (Dims{6}));
  EXPECT_EQ(dims("W_v.weight"), (Dims{10, 9}));
  EXPECT_EQ(dims("W_v.bias"), (Dims{10}));
  EXPECT_EQ(dims("W_o.weight"), (Dims{11, 20}));
  EXPECT_EQ(dims("W_o.bias"), (Dims{11}));
  EXPECT_EQ(dims("w_v.weight"), (Dims{4, 3}));
}

TEST(Parameters, OfAdditiveAttentionHaveTheShapesOfItsSizeAndInputs) {
  const AttentionCall call(Kind::Additive);
  const auto dims = [&](const char* name) { return dims_of(snapshot(call.layer.get(), name).get()); };
  EXPECT_EQ(dims("W_q.weight"), (Dims{5, 6}));
  EXPECT_EQ(dims("W_k.weight"), (Dims{5, 7}));
  EXPECT_EQ(dims("w_v.weight"), (Dims{1, 5}));
}

TEST(Initialize, DependsOnTheSeedAlone) {
  AttentionCall first(Kind::MultiHead);
  AttentionCall second(Kind::MultiHead, {.batch = 1, .num_queries = 1, .num_keys = 2});
  heed_context* const context = first.context.get();
  const auto initialized = [&](AttentionCall& call, uint64_t seed) {
    check(heed_layer_initialize(call.layer.get(), &call.inputs, seed));
    return all_values(context, call.layer.get());
  };
  const auto seed_5 = initialized(first, 5);
  EXPECT_EQ(initialized(second, 5), seed_5);
  const auto seed_6 = initialized(first, 6);
  for (size_t i = 0; i < seed_5.size(); ++i) EXPECT_NE(seed_5[i], seed_6[i]);
  EXPECT_NE(initialized(first, uint64_t{5} << 32), seed_5);
  EXPECT_EQ(initialized(first, 5), seed_5);
  // The parameters have different first elements.
  for (size_t i = 1; i < seed_5.size(); ++i) EXPECT_NE(seed_5[i][0], seed_5[0][0]);
}

TEST(Initialize, NeedsShapesOnly) {
  AttentionCall call(Kind::MultiHead);
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 3));
  const auto with_data = all_values(call.context.get(), call.layer.get());
  call.inputs.queries = call.shape_only({2, 3, 6});
  call.inputs.keys = call.shape_only({2, 5, 7});
  call.inputs.values = call.shape_only({2, 5, 9});
  call.inputs.valid_lens = call.shape_only({2}, HEED_I32);
  ASSERT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 3), HEED_OK) << heed_last_error();
  EXPECT_EQ(all_values(call.context.get(), call.layer.get()), with_data);
}

TEST(Initialize, DrawsWeightsWithVarianceTwoOverTheInputSize) {
  const Context context = make_context();
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 256;
  options.num_heads = 4;
  options.biases = HEED_BIAS_ALL;
  const Layer layer = make_multi_head(context.get(), options);
  const Tensor queries = make_shape_only(context.get(), {1, 1, 512});
  const Tensor keys = make_shape_only(context.get(), {1, 1, 64});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  inputs.keys = keys.get();
  check(heed_layer_initialize(layer.get(), &inputs, 42));
  struct Weight {
    const char* name;
    double input_size;
  };
  for (const auto& [name, input_size] :
       {Weight{"W_q.weight", 512}, Weight{"W_k.weight", 64}, Weight{"W_v.weight", 64}, Weight{"W_o.weight", 256}}) {
    const std::vector<float> elements = read_elements<float>(snapshot(layer.get(), name).get());
    const auto n = static_cast<double>(elements.size());
    double sum = 0;
    double sum_of_squares = 0;
    int num_far = 0;
    const double deviation = std::sqrt(2.0 / input_size);
    for (const float element : elements) {
      sum += element;
      sum_of_squares += static_cast<double>(element) * element;
      if (std::abs(element) > 2 * deviation) ++num_far;
    }
    // Five standard deviations of each estimate.
    EXPECT_NEAR(sum / n, 0.0, 5 * deviation / std::sqrt(n)) << name;
    EXPECT_NEAR(sum_of_squares / n * input_size / 2, 1.0, 5 * std::sqrt(2 / n)) << name;
    const double far = 0.0455002639;  // the share of a normal distribution beyond two deviations
    EXPECT_NEAR(num_far / n, far, 5 * std::sqrt(far * (1 - far) / n)) << name;
  }
  for (const char* name : {"W_q.bias", "W_k.bias", "W_v.bias", "W_o.bias"})
    EXPECT_EQ(read_elements<float>(snapshot(layer.get(), name).get()), std::vector<float>(256, 0.0f));
}

TEST(Initialize, DrawsTheWeightsOfScoresLikeOtherWeights) {
  const Context context = make_context();
  heed_additive_attention_options options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 20000;
  const Layer layer = make_additive(context.get(), options);
  const Tensor queries = make_shape_only(context.get(), {1, 1, 1});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  check(heed_layer_initialize(layer.get(), &inputs, 42));
  double sum_of_squares = 0;
  for (const float element : read_elements<float>(snapshot(layer.get(), "w_v.weight").get()))
    sum_of_squares += static_cast<double>(element) * element;
  // The sum of squares of n elements of variance 2 / n; five standard deviations of the estimate.
  EXPECT_NEAR(sum_of_squares / 2, 1.0, 5 * std::sqrt(2.0 / 20000));
}

TEST(Initialize, TakesTheQueriesDType) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    const AttentionCall call(Kind::MultiHead, {}, dtype);
    for (const std::string& name : names_of(call.layer.get()))
      EXPECT_EQ(heed_tensor_dtype(snapshot(call.layer.get(), name.c_str()).get()), dtype);
    // Also for a layer that was initialized before with another dtype.
    const AttentionCall singles(Kind::MultiHead);
    ASSERT_EQ(heed_layer_initialize(singles.layer.get(), &call.inputs, 1), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_tensor_dtype(snapshot(singles.layer.get(), "W_o.weight").get()), dtype);
  }
}

TEST(Initialize, MayChangeTheInputSizes) {
  AttentionCall call(Kind::MultiHead);
  call.inputs.queries = call.zeros({2, 3, 10});
  ASSERT_EQ(heed_layer_initialize(call.layer.get(), &call.inputs, 1), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(snapshot(call.layer.get(), "W_q.weight").get()), (Dims{8, 10}));
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

// For every dtype that parameters may have, packed or not.
TEST(Parameters, HaveAShapeWithoutValues) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::MultiHead, {}, dtype);
    heed_multi_head_attention_options options = two_heads();
    options.biases = HEED_BIAS_ALL;
    call.replace_layer(options);
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
    for (const std::string& name : names_of(call.layer.get())) {
      heed_tensor* made = nullptr;
      check(heed_layer_parameter_shape(call.layer.get(), name.c_str(), &made));
      const Tensor shape(made);
      const Tensor values = snapshot(call.layer.get(), name.c_str());
      EXPECT_EQ(dims_of(shape.get()), dims_of(values.get()));
      EXPECT_EQ(heed_tensor_dtype(shape.get()), dtype);
      EXPECT_EQ(heed_tensor_data(shape.get()), nullptr);
      EXPECT_EQ(heed_tensor_copy(shape.get(), values.get()), HEED_ERROR_INVALID_ARGUMENT);
    }
  }
}

// A weight has memory of its own, and a bias shares that of the layer.
TEST(Snapshot, KeepsItsValues) {
  for (const auto& [name, dims] : {std::pair{"W_q.weight", Dims{8, 6}}, std::pair{"W_q.bias", Dims{8}}}) {
    SCOPED_TRACE(name);
    AttentionCall call(Kind::MultiHead);
    heed_multi_head_attention_options options = two_heads();
    options.biases = HEED_BIAS_ALL;
    call.replace_layer(options);
    heed_layer* const layer = call.layer.get();
    check(heed_layer_initialize(layer, &call.inputs, 3));
    const Tensor first = make_random(call.context.get(), dims, 76);
    check(heed_layer_set_parameter(layer, name, first.get()));
    const Tensor old = snapshot(layer, name);
    const std::vector<float> before = read_elements<float>(old.get());
    EXPECT_EQ(before, read_elements<float>(first.get()));
    const Tensor value = make_random(call.context.get(), dims, 77);
    ASSERT_EQ(heed_layer_set_parameter(layer, name, value.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(read_elements<float>(old.get()), before);
    EXPECT_EQ(read_elements<float>(snapshot(layer, name).get()), read_elements<float>(value.get()));
    check(heed_layer_initialize(layer, &call.inputs, 99));
    EXPECT_EQ(read_elements<float>(old.get()), before);

    const Tensor last = snapshot(layer, name);
    const std::vector<float> of_last = read_elements<float>(last.get());
    EXPECT_EQ(heed_tensor_fill(last.get(), 5.0), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(heed_tensor_copy(last.get(), value.get()), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(read_elements<float>(snapshot(layer, name).get()), of_last);
    call.layer.reset();
    call.context.reset();
    EXPECT_EQ(read_elements<float>(last.get()), of_last);
    EXPECT_EQ(read_elements<float>(old.get()), before);
  }
}

// A weight is kept packed, in vectors and panels of the ISA: sizes next to theirs, and any bits, those of NaN too.
TEST(Snapshot, OfAWeightHasTheBitsThatWereSetOrLoaded) {
  const Context context = make_context();
  std::mt19937 random(41);
  for (const auto& [dtype, size] : {std::pair{HEED_F32, 4}, std::pair{HEED_F16, 2}, std::pair{HEED_BF16, 2}}) {
    for (const int64_t outputs : {1, 4, 5, 8, 12, 13, 15, 16, 17, 24, 31, 33, 47, 48, 49, 64, 65, 96, 97, 112, 200}) {
      for (const int64_t inputs : {1, 2, 15, 16, 33, 130}) {
        SCOPED_TRACE(std::to_string(outputs) + " x " + std::to_string(inputs) + " of dtype " + std::to_string(dtype));
        std::vector<unsigned char> bits(static_cast<size_t>(outputs * inputs * size));
        for (unsigned char& byte : bits) byte = static_cast<unsigned char>(random());
        heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
        options.output_size = outputs;
        options.no_bias = 1;
        const Layer layer = make_linear(context.get(), options);
        const Tensor value = wrap(context.get(), {outputs, inputs}, {}, bits.data(), dtype);
        check(heed_layer_set_parameter(layer.get(), "weight", value.get()));
        ASSERT_EQ(read_bytes(snapshot(layer.get(), "weight").get()), bits);

        size_t num_bytes = 0;
        check(heed_layer_save_memory(layer.get(), nullptr, 0, &num_bytes));
        std::vector<unsigned char> file(num_bytes);
        check(heed_layer_save_memory(layer.get(), file.data(), num_bytes, nullptr));
        ASSERT_TRUE(std::equal(bits.begin(), bits.end(), file.end() - static_cast<int64_t>(bits.size())));
        const Layer loaded = make_linear(context.get(), options);
        check(heed_layer_load_memory(loaded.get(), file.data(), num_bytes, nullptr));
        ASSERT_EQ(read_bytes(snapshot(loaded.get(), "weight").get()), bits);
      }
    }
  }
}

TEST(Snapshot, CanBeReadCopiedFromAndUsedAsAnInput) {
  AttentionCall call(Kind::MultiHead);
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  const Tensor copy = make_tensor(call.context.get(), {8, 6}, HEED_F64);
  EXPECT_EQ(heed_tensor_copy(copy.get(), weight.get()), HEED_OK) << heed_last_error();
  const Tensor words = make_reshaped(weight.get(), {2, 4, 6});
  const Tensor first = make_slice(words.get(), 1, 0, 3);
  call.inputs.queries = first.get();
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_set_parameter(call.layer.get(), "W_q.weight", weight.get()), HEED_OK) << heed_last_error();
}

TEST(SetParameter, CopiesTheValue) {
  AttentionCall call(Kind::MultiHead);
  const Tensor value = make_random(call.context.get(), {8, 6}, 5);
  const std::vector<float> elements = read_elements<float>(value.get());
  check(heed_layer_set_parameter(call.layer.get(), "W_q.weight", value.get()));
  check(heed_tensor_fill(value.get(), 0.0));
  EXPECT_EQ(read_elements<float>(snapshot(call.layer.get(), "W_q.weight").get()), elements);
}

TEST(SetParameter, ReadsThroughStridesAndFromOtherContexts) {
  AttentionCall call(Kind::MultiHead);
  const Context other = make_context();
  const Tensor value = make_random(other.get(), {6, 8}, 5);
  const Tensor transposed = make_transposed(value.get(), {1, 0});
  ASSERT_EQ(heed_layer_set_parameter(call.layer.get(), "W_q.weight", transposed.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_elements<float>(snapshot(call.layer.get(), "W_q.weight").get()),
            read_elements<float>(transposed.get()));
}

TEST(SetParameter, BeforeInitializationTakesTheValuesDTypeAndInputSize) {
  AttentionCall call(Kind::MultiHead);
  call.replace_layer(two_heads());
  heed_layer* const layer = call.layer.get();
  heed_context* const context = call.context.get();
  struct Value {
    const char* name;
    Dims dims;
    heed_dtype given;
    heed_dtype kept;
  };
  for (const auto& [name, dims, given, kept] :
       {Value{"W_q.weight", {8, 6}, HEED_F64, HEED_F32}, Value{"W_k.weight", {8, 7}, HEED_F16, HEED_F16},
        Value{"W_v.weight", {8, 9}, HEED_BF16, HEED_BF16}, Value{"W_o.weight", {8, 8}, HEED_F32, HEED_F32}}) {
    EXPECT_EQ(heed_layer_is_initialized(layer), 0);
    const Tensor value = make_random(context, dims, 8, given);
    ASSERT_EQ(heed_layer_set_parameter(layer, name, value.get()), HEED_OK) << heed_last_error();
    const Tensor stored = snapshot(layer, name);
    EXPECT_EQ(heed_tensor_dtype(stored.get()), kept);
    EXPECT_EQ(read_floats(context, stored.get()), read_floats(context, value.get()));
  }
  EXPECT_EQ(heed_layer_is_initialized(layer), 1);
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
}

TEST(SetParameter, BeforeInitializationMayBeRepeated) {
  AttentionCall call(Kind::MultiHead);
  call.replace_layer(two_heads());
  heed_layer* const layer = call.layer.get();
  check(heed_layer_set_parameter(layer, "W_q.weight", call.zeros({8, 6})));
  ASSERT_EQ(heed_layer_set_parameter(layer, "W_q.weight", call.zeros({8, 4}, HEED_F16)), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(snapshot(layer, "W_q.weight").get()), (Dims{8, 4}));
  EXPECT_EQ(heed_tensor_dtype(snapshot(layer, "W_q.weight").get()), HEED_F16);
}

TEST(SetParameter, OnAnInitializedLayerConverts) {
  for (const heed_dtype kept : {HEED_F32, HEED_F16, HEED_BF16}) {
    const AttentionCall call(Kind::MultiHead, {}, kept);
    heed_context* const context = call.context.get();
    for (const heed_dtype given : {HEED_F32, HEED_F16, HEED_BF16, HEED_F64}) {
      const Tensor value = make_random(context, {8, 6}, 9, given);
      ASSERT_EQ(heed_layer_set_parameter(call.layer.get(), "W_q.weight", value.get()), HEED_OK) << heed_last_error();
      const Tensor stored = snapshot(call.layer.get(), "W_q.weight");
      EXPECT_EQ(heed_tensor_dtype(stored.get()), kept);
      const Tensor expected = make_tensor(context, {8, 6}, kept);
      check(heed_tensor_copy(expected.get(), value.get()));
      EXPECT_EQ(read_bytes(stored.get()), read_bytes(expected.get()));
    }
  }
}

}  // namespace
}  // namespace heed::capi_test
