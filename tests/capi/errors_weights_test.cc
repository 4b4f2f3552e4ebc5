// SPDX-License-Identifier: Apache-2.0
// Files in the layouts of other frameworks that do not fit the layer. The layouts themselves are tested in tests/unit.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct FileTensor {
  std::string name;
  Dims dims;
  std::string dtype = "F32";
};

// A file of zeros.
std::string file_of(const std::vector<FileTensor>& tensors) {
  std::string header;
  size_t offset = 0;
  for (const FileTensor& tensor : tensors) {
    std::string dims;
    size_t num_bytes = tensor.dtype == "F32" || tensor.dtype == "I32" ? 4 : 2;
    for (const int64_t dim : tensor.dims) {
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      num_bytes *= static_cast<size_t>(dim);
    }
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":")" + tensor.dtype + R"(","shape":[)" +
              dims + R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(offset + num_bytes) + "]}";
    offset += num_bytes;
  }
  return safetensors(header + "}", offset);
}

// Two heads of 4, and E = 8.
heed_multi_head_attention_options square() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  return options;
}

class WeightErrors : public testing::Test {
 protected:
  // Loading this file under the prefix "a" must fail with this message, and leave the layer without parameters.
  void expect_refused_file(const heed_multi_head_attention_options& options, const std::vector<FileTensor>& tensors,
                           heed_status status, const std::string& words) {
    const Layer layer = make_multi_head(context_.get(), options);
    const std::string file = file_of(tensors);
    forget_last_error();
    EXPECT_TRUE(
        is_refused(heed_layer_load_memory(layer.get(), file.data(), file.size(), "a"), Refusal{status, {words}}));
    EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0);
  }

  const Context context_ = make_context();
};

TEST_F(WeightErrors, WrongShapesAreReportedAsInTheFile) {
  const auto expect_wrong_shape = [&](const heed_multi_head_attention_options& options,
                                      const std::vector<FileTensor>& tensors, const std::string& sentence) {
    expect_refused_file(options, tensors, HEED_ERROR_INVALID_ARGUMENT, sentence);
  };
  heed_multi_head_attention_options biased = square();
  biased.biases = HEED_BIAS_ALL;
  const FileTensor packed = {"a.in_proj_weight", {24, 8}};
  const FileTensor output = {"a.out_proj.weight", {8, 8}};
  const FileTensor output_bias = {"a.out_proj.bias", {8}};
  expect_wrong_shape(square(), {{"a.in_proj_weight", {30, 8}}, output},
                     "\"a.in_proj_weight\" in \"memory\" has dims (30, 8), expected (24, any) for W_q.weight");
  expect_wrong_shape(biased, {packed, {"a.in_proj_bias", {8}}, output, output_bias},
                     "\"a.in_proj_bias\" in \"memory\" has dims (8), expected (24) for W_q.bias");
  expect_wrong_shape(square(), {packed, {"a.out_proj.weight", {8, 6}}},
                     "\"a.out_proj.weight\" in \"memory\" has dims (8, 6), expected (8, 8) for W_o.weight");
  // GPT-2's weights are (in, out).
  heed_multi_head_attention_options causal = square();
  causal.causal = HEED_CAUSAL_TOP_LEFT;
  expect_wrong_shape(causal, {{"a.c_attn.weight", {24, 8}}, {"a.c_proj.weight", {8, 8}}},
                     "\"a.c_attn.weight\" in \"memory\" has dims (24, 8), expected (any, 24) for W_q.weight");
  expect_wrong_shape(square(), {{"a.in_proj_weight", {24, 8}, "I32"}, output},
                     "\"a.in_proj_weight\" in \"memory\" is I32, expected F32, F16, BF16 or F64 for W_q.weight");
  expect_refused_file(square(), {{"a.in_proj_weight", {24, 8}, "U16"}, output}, HEED_ERROR_UNSUPPORTED,
                      "\"memory\": tensor \"a.in_proj_weight\" has dtype U16");
}

// The total number of features is right; only the axes in the file show that the heads are different.
TEST_F(WeightErrors, KerasFilesMustHaveTheLayersNumberOfHeads) {
  const auto keras = [](int64_t heads, int64_t kv_heads, int64_t size) {
    std::vector<FileTensor> tensors;
    tensors.push_back({"a/query/kernel", {8, heads, size}});
    tensors.push_back({"a/key/kernel", {8, kv_heads, size}});
    tensors.push_back({"a/value/kernel", {8, kv_heads, size}});
    tensors.push_back({"a/attention_output/kernel", {heads, size, 8}});
    return tensors;
  };
  heed_multi_head_attention_options grouped = square();
  grouped.num_heads = 4;
  grouped.num_kv_heads = 2;
  expect_refused_file(square(), keras(4, 4, 2), HEED_ERROR_INVALID_ARGUMENT,
                      "\"a/query/kernel\" in \"memory\" has dims (8, 4, 2), expected (any, 2, 4) for W_q.weight");
  expect_refused_file(grouped, keras(4, 4, 2), HEED_ERROR_INVALID_ARGUMENT,
                      "\"a/key/kernel\" in \"memory\" has dims (8, 4, 2), expected (any, 2, 2) for W_k.weight");
  const std::string file = file_of(keras(4, 2, 2));
  const Layer layer = make_multi_head(context_.get(), grouped);
  EXPECT_EQ(heed_layer_load_memory(layer.get(), file.data(), file.size(), "a"), HEED_OK) << heed_last_error();
}

TEST_F(WeightErrors, PartsOfATensorMustHaveEqualSizes) {
  heed_multi_head_attention_options grouped = square();
  grouped.num_kv_heads = 1;
  heed_multi_head_attention_options narrow_values = square();
  narrow_values.value_head_size = 3;
  const std::vector<FileTensor> pytorch = {{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 8}}};
  const std::string expected = " rows: expected options with as many key and value heads as query heads, of one size";
  expect_refused_file(grouped, pytorch, HEED_ERROR_INVALID_ARGUMENT,
                      "\"a.in_proj_weight\" in \"memory\" holds equal parts for W_q.weight and W_k.weight, but this "
                      "layer's have 8 and 4" +
                          expected);
  expect_refused_file(narrow_values, pytorch, HEED_ERROR_INVALID_ARGUMENT,
                      "\"a.in_proj_weight\" in \"memory\" holds equal parts for W_q.weight and W_v.weight, but this "
                      "layer's have 8 and 6" +
                          expected);
}

TEST_F(WeightErrors, AnInitializedLayerKeepsItsShapes) {
  // E is 6, 7 and 9 in AttentionCall's layer, so a packed tensor cannot have the shapes of all three.
  AttentionCall call(Kind::MultiHead);
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  const std::vector<uint8_t> before = call.read_outputs();
  const std::string file = file_of({{"in_proj_weight", {24, 6}}, {"out_proj.weight", {8, 8}}});
  EXPECT_TRUE(is_refused(heed_layer_load_memory(call.layer.get(), file.data(), file.size(), nullptr),
                         {HEED_ERROR_INVALID_ARGUMENT,
                          {"\"in_proj_weight\" in \"memory\" has dims (24, 6), expected (24, 7) for W_k.weight"}}));
  ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(call.read_outputs(), before) << "a refused file changed the layer";
}

TEST_F(WeightErrors, NamesThatDoNotFitTheOptions) {
  heed_multi_head_attention_options biased = square();
  biased.biases = HEED_BIAS_ALL;
  heed_multi_head_attention_options without_key_bias = square();
  without_key_bias.biases = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O;
  const std::vector<FileTensor> bare = {{"a.in_proj_weight", {24, 8}}, {"a.out_proj.weight", {8, 8}}};
  std::vector<FileTensor> full = bare;
  full.push_back({"a.in_proj_bias", {24}});
  full.push_back({"a.out_proj.bias", {8}});
  std::vector<FileTensor> with_added_keys = bare;
  with_added_keys.push_back({"a.bias_k", {1, 1, 8}});
  with_added_keys.push_back({"a.bias_v", {1, 1, 8}});
  std::vector<FileTensor> with_factor = bare;
  with_factor.push_back({"a.logit_scale", {1}});
  std::vector<FileTensor> twice = bare;
  for (const char* name : {"a.W_q.weight", "a.W_k.weight", "a.W_v.weight", "a.W_o.weight"})
    twice.push_back({name, {8, 8}});
  expect_refused_file(square(), full, HEED_ERROR_INVALID_ARGUMENT,
                      "\"memory\" has \"a.in_proj_bias\" for W_q.bias, a parameter that this layer's options lack: "
                      "expected HEED_BIAS_Q in options->biases");
  expect_refused_file(without_key_bias, full, HEED_ERROR_INVALID_ARGUMENT,
                      "\"memory\" has \"a.in_proj_bias\" for W_k.bias, a parameter that this layer's options lack: "
                      "expected HEED_BIAS_K in options->biases");
  expect_refused_file(biased, bare, HEED_ERROR_NOT_FOUND,
                      "\"memory\" has no tensor \"a.in_proj_bias\" for W_q.bias, which HEED_BIAS_Q in options->biases "
                      "asks for; it has 4 of the 8 parameters by the names of PyTorch nn.MultiheadAttention");
  expect_refused_file(square(), with_added_keys, HEED_ERROR_INVALID_ARGUMENT,
                      "\"memory\" has \"a.bias_k\", a parameter that this layer's options lack: expected "
                      "options->add_bias_kv");
  expect_refused_file(square(), with_factor, HEED_ERROR_UNSUPPORTED,
                      "\"memory\" has \"a.logit_scale\", which changes what PyTorch nn.MultiheadAttention computes");
  expect_refused_file(square(), twice, HEED_ERROR_INVALID_ARGUMENT,
                      "\"memory\" has this layer's parameters twice under the prefix \"a\"");
  expect_refused_file(square(), {{"b.in_proj_weight", {24, 8}}, {"b.out_proj.weight", {8, 8}}}, HEED_ERROR_NOT_FOUND,
                      "found the names of PyTorch nn.MultiheadAttention under the prefix \"b\"");
}

}  // namespace
}  // namespace heed::capi_test
