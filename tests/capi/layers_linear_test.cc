// SPDX-License-Identifier: Apache-2.0
// Linear layers: parameters, inputs of any rank, and the result of explain.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"

namespace heed::capi_test {
namespace {

TEST(Linear, IsTheProductWithTheWeightAndTheBias) {
  const Context context = make_context();
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 2;
  const Layer layer = make_linear(context.get(), options);
  EXPECT_EQ(heed_layer_parameter_count(layer.get()), 2);
  EXPECT_STREQ(heed_layer_parameter_name(layer.get(), 0), "weight");
  EXPECT_STREQ(heed_layer_parameter_name(layer.get(), 1), "bias");
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
  const Tensor weight = make_tensor_of<float>(context.get(), {2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor bias = make_tensor_of<float>(context.get(), {2}, {10, 20});
  ASSERT_EQ(heed_layer_set_parameter(layer.get(), "weight", weight.get()), HEED_OK) << heed_last_error();
  ASSERT_EQ(heed_layer_set_parameter(layer.get(), "bias", bias.get()), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), 1);

  const Tensor input = make_tensor_of<float>(context.get(), {2, 3}, {1, 0, 0, 1, 1, 1});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = input.get();
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  ASSERT_EQ(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs), HEED_OK) << heed_last_error();
  const Tensor output(outputs.output);
  ASSERT_EQ(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs), HEED_OK) << heed_last_error();
  EXPECT_EQ(dims_of(output.get()), (Dims{2, 2}));
  EXPECT_EQ(read_elements<float>(output.get()), (std::vector<float>{11, 24, 16, 35}));
}

TEST(Linear, WithoutBiasHasAWeightAlone) {
  const Context context = make_context();
  heed_linear_options options = five_outputs();
  options.no_bias = 1;
  const Layer layer = make_linear(context.get(), options);
  EXPECT_EQ(heed_layer_parameter_count(layer.get()), 1);
  EXPECT_STREQ(heed_layer_parameter_name(layer.get(), 0), "weight");
  heed_tensor* none = nullptr;
  EXPECT_EQ(heed_layer_parameter(layer.get(), "bias", &none), HEED_ERROR_NOT_FOUND);
}

TEST(Linear, TakesItsInputSizeAndDTypeFromTheQueries) {
  for (const Dims& dims : {Dims{7}, Dims{0, 7}, Dims{1, 2, 3, 4, 5, 6, 1, 7}}) {
    AttentionCall call(Kind::Linear);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = call.shape_only(dims, HEED_BF16);
    ASSERT_EQ(heed_layer_initialize(call.layer.get(), &inputs, 3), HEED_OK) << heed_last_error();
    const Tensor weight = snapshot(call.layer.get(), "weight");
    EXPECT_EQ(dims_of(weight.get()), (Dims{5, 7}));
    EXPECT_EQ(heed_tensor_dtype(weight.get()), HEED_BF16);
    EXPECT_EQ(read_floats(call.context.get(), snapshot(call.layer.get(), "bias").get()), std::vector<float>(5, 0.0f));
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    ASSERT_EQ(heed_layer_create_outputs(call.layer.get(), &inputs, HEED_WANT_OUTPUT, &made), HEED_OK);
    Dims expected = dims;
    expected.back() = 5;
    EXPECT_EQ(dims_of(call.keep(Tensor(made.output))), expected);
  }
}

TEST(Linear, DrawsTheWeightsOfItsSeedLikeOtherLayers) {
  AttentionCall call(Kind::Linear);
  const AttentionCall additive(Kind::Additive);
  // Compares the first parameter of each layer, for inputs of the same size and 5 outputs.
  EXPECT_EQ(read_bytes(snapshot(call.layer.get(), "weight").get()),
            read_bytes(snapshot(additive.layer.get(), "W_q.weight").get()));
}

TEST(Linear, SavesAndLoadsUnderItsNames) {
  const TemporaryFolder folder;
  const AttentionCall call(Kind::Linear);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = call.read_outputs();
  const std::string path = folder.path("linear.safetensors");
  ASSERT_EQ(heed_layer_save(call.layer.get(), path.c_str()), HEED_OK) << heed_last_error();
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 99));
  ASSERT_EQ(call.forward(), HEED_OK);
  EXPECT_NE(call.read_outputs(), expected);
  ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), nullptr), HEED_OK) << heed_last_error();
  ASSERT_EQ(call.forward(), HEED_OK);
  EXPECT_EQ(call.read_outputs(), expected);

  size_t num_bytes = 0;
  check(heed_layer_save_memory(call.layer.get(), nullptr, 0, &num_bytes));
  std::vector<char> bytes(num_bytes);
  check(heed_layer_save_memory(call.layer.get(), bytes.data(), bytes.size(), nullptr));
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), read_file(path));
  ASSERT_EQ(heed_layer_load_memory(call.layer.get(), bytes.data(), bytes.size(), ""), HEED_OK) << heed_last_error();
}

// In the file of a multi-head attention layer, each projection has the form of a linear layer.
TEST(Linear, LoadsAProjectionOfAnotherLayersFile) {
  const TemporaryFolder folder;
  const AttentionCall attention(Kind::MultiHead);
  const std::string path = folder.path("attention.safetensors");
  check(heed_layer_save(attention.layer.get(), path.c_str()));
  const Context context = make_context();
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 8;
  options.no_bias = 1;
  const Layer linear = make_linear(context.get(), options);
  ASSERT_EQ(heed_layer_load(linear.get(), path.c_str(), "W_q"), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_bytes(snapshot(linear.get(), "weight").get()),
            read_bytes(snapshot(attention.layer.get(), "W_q.weight").get()));
}

// The file of a linear module: a weight of 6 elements in these dims, then a bias (2), under these names.
std::string linear_file(const std::string& weight, const std::string& dims, const std::string& bias) {
  const std::string header = "{\"" + weight + R"(":{"dtype":"F32","shape":)" + dims + R"(,"data_offsets":[0,24]},")" +
                             bias + R"(":{"dtype":"F32","shape":[2],"data_offsets":[24,32]}})";
  const uint64_t length = header.size();
  const float numbers[] = {1, 2, 3, 4, 5, 6, 10, 20};
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  file += header;
  file.append(reinterpret_cast<const char*>(numbers), sizeof numbers);
  return file;
}

TEST(Linear, LoadsTheFilesOfOtherFrameworks) {
  const struct {
    const char* prefix;
    std::string file;
    std::vector<float> weight;  // (2, 3)
  } cases[] = {
      {"mlp.1", linear_file("mlp.1.weight", "[2,3]", "mlp.1.bias"), {1, 2, 3, 4, 5, 6}},
      {"model/dense", linear_file("model/dense/kernel", "[3,2]", "model/dense/bias"), {1, 3, 5, 2, 4, 6}},
      {"dense", linear_file("dense/kernel:0", "[3,2]", "dense/bias:0"), {1, 3, 5, 2, 4, 6}},
      {"02Linear", linear_file("02Linear_weight", "[2,3]", "02Linear_bias"), {1, 2, 3, 4, 5, 6}},
  };
  const Context context = make_context();
  heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
  options.output_size = 2;
  for (const auto& known : cases) {
    SCOPED_TRACE(known.prefix);
    const Layer layer = make_linear(context.get(), options);
    ASSERT_EQ(heed_layer_load_memory(layer.get(), known.file.data(), known.file.size(), known.prefix), HEED_OK)
        << heed_last_error();
    const Tensor weight = snapshot(layer.get(), "weight");
    EXPECT_EQ(dims_of(weight.get()), (Dims{2, 3}));
    EXPECT_EQ(read_elements<float>(weight.get()), known.weight);
    EXPECT_EQ(read_elements<float>(snapshot(layer.get(), "bias").get()), (std::vector<float>{10, 20}));
  }
}

TEST(Linear, ReadsAndWritesAnyStrides) {
  AttentionCall call(Kind::Linear);
  const Tensor dense = make_random(call.context.get(), {2, 3, 2, 3, 6}, 8);
  call.inputs.queries = dense.get();
  call.outputs.output = call.zeros({2, 3, 2, 3, 5});
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> expected = read_bytes(call.outputs.output);

  heed_tensor* other = call.zeros({6, 3, 2, 3, 2});
  const Tensor input = make_transposed(other, {4, 3, 2, 1, 0});
  check(heed_tensor_copy(input.get(), dense.get()));
  call.inputs.queries = input.get();
  call.outputs.output = call.keep(make_transposed(call.zeros({3, 5, 2, 2, 3}), {3, 4, 2, 0, 1}));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(read_bytes(call.outputs.output), expected);
}

}  // namespace
}  // namespace heed::capi_test
