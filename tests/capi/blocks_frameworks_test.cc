// SPDX-License-Identifier: Apache-2.0
// Encoder layers in the files of keras-hub and of DJL.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

constexpr int64_t kHeads = 2;

// The parameter of heed as keras-hub's TransformerEncoder keeps it: kernels are (in, out), and those of attention have an
// axis of heads.
NamedFloats as_keras(const heed_layer* layer, const std::string& parameter, const std::string& name) {
  const Tensor tensor = snapshot(layer, parameter.c_str());
  NamedFloats stored{name, dims_of(tensor.get()), read_elements<float>(tensor.get())};
  if (stored.dims.size() == 2) {
    const Tensor transposed = make_transposed(tensor.get(), {1, 0});
    stored.dims = dims_of(transposed.get());
    stored.elements = read_elements<float>(transposed.get());
  }
  const bool is_of_heads = parameter.find("self_attention.W_") == 0 && parameter != "self_attention.W_o.bias";
  if (!is_of_heads) return stored;
  if (parameter == "self_attention.W_o.weight")
    stored.dims = {kHeads, stored.dims[0] / kHeads, stored.dims[1]};
  else
    stored.dims.insert(stored.dims.end() - 1, kHeads), stored.dims.back() /= kHeads;
  return stored;
}

std::string keras_file(const heed_layer* layer, const std::string& prefix, char separator) {
  const struct {
    const char* parameter;
    const char* name;
  } kNames[] = {
      {"self_attention.W_q.weight", "self_attention_layer.query.kernel"},
      {"self_attention.W_q.bias", "self_attention_layer.query.bias"},
      {"self_attention.W_k.weight", "self_attention_layer.key.kernel"},
      {"self_attention.W_k.bias", "self_attention_layer.key.bias"},
      {"self_attention.W_v.weight", "self_attention_layer.value.kernel"},
      {"self_attention.W_v.bias", "self_attention_layer.value.bias"},
      {"self_attention.W_o.weight", "self_attention_layer.attention_output.kernel"},
      {"self_attention.W_o.bias", "self_attention_layer.attention_output.bias"},
      {"feed_forward.W_1.weight", "feedforward_intermediate_dense.kernel"},
      {"feed_forward.W_1.bias", "feedforward_intermediate_dense.bias"},
      {"feed_forward.W_2.weight", "feedforward_output_dense.kernel"},
      {"feed_forward.W_2.bias", "feedforward_output_dense.bias"},
      {"norm_1.weight", "self_attention_layer_norm.gamma"},
      {"norm_1.bias", "self_attention_layer_norm.beta"},
      {"norm_2.weight", "feedforward_layer_norm.gamma"},
      {"norm_2.bias", "feedforward_layer_norm.beta"},
  };
  std::vector<NamedFloats> tensors;
  for (const auto& [parameter, name] : kNames) {
    std::string whole = prefix + "." + name;
    std::replace(whole.begin(), whole.end(), '.', separator);
    tensors.push_back(as_keras(layer, parameter, whole));
  }
  return safetensors_of(tensors);
}

TEST(BlockFiles, OfKerasHubLoadInBothStylesOfNames) {
  const TemporaryFolder folder;
  BlockOptions blocks;
  blocks.attention.biases = HEED_BIAS_ALL;
  for (const char separator : {'.', '/'}) {
    SCOPED_TRACE(separator);
    AttentionCall call(Kind::EncoderLayer);
    call.layer = make_encoder_layer(call.context.get(), blocks.encoder_layer);
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 5));
    check(call.forward());
    const std::vector<uint8_t> expected = call.read_outputs();
    const std::string path = folder.write("keras.safetensors", keras_file(call.layer.get(), "block", separator));
    call.layer = make_encoder_layer(call.context.get(), blocks.encoder_layer);
    ASSERT_EQ(heed_layer_load(call.layer.get(), path.c_str(), "block"), HEED_OK) << heed_last_error();
    check(call.forward());
    EXPECT_EQ(call.read_outputs(), expected);
  }
}

TEST(BlockFiles, OfDjlsEncoderAreRefusedByItsBatchNorms) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("djl.safetensors", safetensors_of({{"01selfAttention_01keyProjection_weight", {2, 2}, {1, 2, 3, 4}},
                                                      {"03attentionNorm_runningMean", {2}, {0, 0}}}));
  const BlockOptions blocks;
  const Context context = make_context();
  const Layer layer = make_encoder_layer(context.get(), blocks.encoder_layer);
  EXPECT_TRUE(
      is_refused(heed_layer_load(layer.get(), path.c_str(), nullptr),
                 {HEED_ERROR_UNSUPPORTED, {"03attentionNorm_runningMean", "batch norm", "TransformerEncoderBlock"}}));
}

}  // namespace
}  // namespace heed::capi_test
