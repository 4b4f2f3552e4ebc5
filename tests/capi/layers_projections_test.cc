// SPDX-License-Identifier: Apache-2.0
// Projections: inputs that are the same tensor are projected together, and weights are kept in packed form. Neither
// changes a result.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"

namespace heed::capi_test {
namespace {

using nlohmann::json;
using Operations = std::vector<std::string>;

constexpr Kind kProjectingKinds[] = {Kind::MultiHead, Kind::MultiHeadAdditive, Kind::Additive};

// Which of queries, keys and values are the same tensor: those with equal letters.
constexpr const char* kSharings[] = {"qqq", "qqv", "qkk", "qkq", "qkv"};

// Heads of odd sizes, fewer key heads than query heads, and biases.
heed_multi_head_attention_options odd_heads(int32_t scoring = HEED_SCORING_DOT_PRODUCT) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = 6;
  options.num_kv_heads = 3;
  options.head_size = 5;
  options.value_head_size = 7;
  options.output_size = 11;
  options.biases = HEED_BIAS_ALL;
  options.scoring = scoring;
  return options;
}

// Self-attention over 19 tokens, with biases other than 0.
class SelfAttention {
 public:
  explicit SelfAttention(Kind kind, heed_dtype dtype = HEED_F32, heed_dtype parameter_dtype = HEED_F32)
      : call_(kind, {.batch = 2, .num_queries = 19, .num_keys = 19}, dtype), copies_{tokens(dtype), tokens(dtype)} {
    if (kind != Kind::Additive)
      call_.replace_layer(odd_heads(kind == Kind::MultiHead ? HEED_SCORING_DOT_PRODUCT : HEED_SCORING_ADDITIVE));
    call_.inputs = HEED_LAYER_INPUTS_INIT;
    call_.inputs.queries = call_.shape_only({2, 19, 13}, parameter_dtype);
    check(heed_layer_initialize(call_.layer.get(), &call_.inputs, 8));
    for (int64_t i = 0; i < heed_layer_parameter_count(call_.layer.get()); ++i) {
      const char* name = heed_layer_parameter_name(call_.layer.get(), i);
      const Tensor value = snapshot(call_.layer.get(), name);
      if (heed_tensor_rank(value.get()) == 1)
        check(heed_layer_set_parameter(call_.layer.get(), name, call_.random(dims_of(value.get()), 30)));
    }
    call_.inputs.queries = tokens(dtype);
    call_.outputs = HEED_LAYER_OUTPUTS_INIT;
    check(heed_layer_create_outputs(call_.layer.get(), &call_.inputs, call_.every_output(), &call_.outputs));
    for (heed_tensor* output : {call_.outputs.output, call_.outputs.weights, call_.outputs.log_sum_exp})
      call_.keep(Tensor(output));
  }

  // Inputs with different letters are separate copies.
  void share(const std::string& letters) {
    const std::map<char, const heed_tensor*> tensors = {
        {'q', call_.inputs.queries}, {'k', copies_[0]}, {'v', copies_[1]}};
    call_.inputs.keys = tensors.at(letters[1]);
    call_.inputs.values = tensors.at(letters[2]);
  }

  AttentionCall& call() { return call_; }

  std::vector<uint8_t> results() {
    for (heed_tensor* output : {call_.outputs.output, call_.outputs.weights, call_.outputs.log_sum_exp}) {
      if (output != nullptr) check(heed_tensor_fill(output, -1.0));
    }
    const Workspace workspace = make_workspace(call_.context.get(), call_.workspace_size());
    EXPECT_EQ(call_.forward(workspace.get()), HEED_OK) << heed_last_error();
    return call_.read_outputs();
  }

  json explained() {
    size_t num_bytes = 0;
    check(heed_layer_explain(call_.layer.get(), &call_.inputs, &call_.outputs, nullptr, 0, &num_bytes));
    std::string text(num_bytes, '\0');
    check(heed_layer_explain(call_.layer.get(), &call_.inputs, &call_.outputs, text.data(), text.size(), nullptr));
    return json::parse(text.c_str());
  }

  Operations operations() {
    Operations names;
    const json plan = explained();
    for (const json& operation : plan.at("operations")) names.push_back(operation.at("operation"));
    return names;
  }

 private:
  heed_tensor* tokens(heed_dtype dtype) { return call_.random({2, 19, 13}, 20, dtype); }

  AttentionCall call_;
  std::vector<heed_tensor*> copies_;
};

TEST(Projections, OfOneTensorAreOneOperation) {
  SelfAttention attention(Kind::MultiHead);
  const std::map<std::string, Operations> expected = {
      {"qqq", {"project queries, keys and values"}},
      {"qqv", {"project queries and keys", "project values"}},
      {"qkk", {"project queries", "project keys and values"}},
      {"qkq", {"project queries and values", "project keys"}},
      {"qkv", {"project queries", "project keys", "project values"}},
  };
  for (const auto& [letters, projections] : expected) {
    attention.share(letters);
    Operations operations = projections;
    operations.insert(operations.end(), {"attention", "project output"});
    EXPECT_EQ(attention.operations(), operations) << letters;
  }
  attention.call().inputs.keys = attention.call().inputs.values = nullptr;
  EXPECT_EQ(attention.operations().front(), "project queries, keys and values");
  // A second handle of the same elements.
  heed_tensor* queries = const_cast<heed_tensor*>(attention.call().inputs.queries);
  const Tensor view = make_view(queries, {2, 19, 13}, {int64_t{19} * 13, 13, 1});
  attention.call().inputs.keys = view.get();
  EXPECT_EQ(attention.operations().front(), "project queries, keys and values");
  // The same address with different strides.
  const Tensor first_row = make_view(queries, {2, 19, 13}, {int64_t{19} * 13, 0, 1});
  attention.call().inputs.keys = first_row.get();
  EXPECT_EQ(attention.operations().front(), "project queries");
}

TEST(Projections, OfValuesAreOmittedWithoutTheOutput) {
  SelfAttention attention(Kind::MultiHead);
  attention.call().outputs.output = nullptr;
  attention.share("qqq");
  EXPECT_EQ(attention.operations(), (Operations{"project queries and keys", "attention"}));
  attention.share("qkk");
  EXPECT_EQ(attention.operations(), (Operations{"project queries", "project keys", "attention"}));
}

TEST(Projections, OfAShapeOnlyTensorAreOneOperation) {
  SelfAttention attention(Kind::MultiHead);
  heed_layer_inputs& inputs = attention.call().inputs;
  inputs.queries = inputs.keys = attention.call().shape_only({2, 19, 13});
  inputs.values = attention.call().shape_only({2, 19, 13});
  EXPECT_EQ(attention.operations().front(), "project queries and keys");
}

TEST(Projections, TogetherReadTheirInputOnce) {
  SelfAttention attention(Kind::MultiHead);
  attention.share("qkv");
  const json apart = attention.explained();
  attention.share("qqq");
  const json together = attention.explained();
  EXPECT_EQ(together.at("flops"), apart.at("flops"));
  EXPECT_EQ(together.at("bytes").get<int64_t>(), apart.at("bytes").get<int64_t>() - int64_t{2} * 4 * 2 * 19 * 13);
}

TEST(Projections, GiveTheSameBitsTogetherAndSeparately) {
  for (const Kind kind : kProjectingKinds) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      for (const heed_dtype parameter_dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
        SelfAttention attention(kind, dtype, parameter_dtype);
        attention.share("qkv");
        const std::vector<uint8_t> all = attention.results();
        heed_tensor* const output = attention.call().outputs.output;
        attention.call().outputs.output = nullptr;
        const std::vector<uint8_t> without_output = attention.results();
        for (const char* letters : kSharings) {
          attention.share(letters);
          attention.call().outputs.output = output;
          EXPECT_EQ(attention.results(), all) << letters;
          attention.call().outputs.output = nullptr;
          EXPECT_EQ(attention.results(), without_output) << letters;
        }
        attention.call().outputs.output = output;
        attention.call().inputs.keys = attention.call().inputs.values = nullptr;
        EXPECT_EQ(attention.results(), all) << "defaults";
      }
    }
  }
}

// So a workspace for one way of sharing is large enough for all others.
TEST(Projections, NeedTheSameWorkspaceTogetherAndSeparately) {
  for (const Kind kind : kProjectingKinds) {
    SelfAttention attention(kind);
    attention.share("qkv");
    const size_t expected = attention.call().workspace_size();
    for (const char* letters : kSharings) {
      attention.share(letters);
      EXPECT_EQ(attention.call().workspace_size(), expected) << letters;
    }
  }
}

TEST(Projections, WorkInTheWorkspaceOfALargerCallWhateverIsShared) {
  AttentionCall call(Kind::MultiHead);
  call.replace_layer(odd_heads());
  call.inputs = HEED_LAYER_INPUTS_INIT;
  call.inputs.queries = call.shape_only({2, 30, 13});
  call.inputs.keys = call.shape_only({2, 40, 13});
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 8));
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.output = call.shape_only({2, 30, 11});
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  for (const int64_t length : {1, 7, 30}) {
    call.inputs.queries = call.random({2, length, 13}, 5);
    call.outputs.output = call.zeros({2, length, 11});
    for (const heed_tensor* keys : {call.inputs.queries, static_cast<const heed_tensor*>(call.zeros({2, 40, 13}))}) {
      call.inputs.keys = keys;
      EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    }
  }
}

// The bytes of a new layer's outputs, after the same parameters were set one by one, in reverse order.
std::vector<uint8_t> results_of_a_fresh_layer(const AttentionCall& call, Layer fresh) {
  const int64_t count = heed_layer_parameter_count(call.layer.get());
  for (int64_t i = count - 1; i >= 0; --i) {
    const char* name = heed_layer_parameter_name(call.layer.get(), i);
    check(heed_layer_set_parameter(fresh.get(), name, snapshot(call.layer.get(), name).get()));
  }
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(fresh.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  check(heed_layer_forward(fresh.get(), &call.inputs, nullptr, &outputs));
  return read_bytes(output.get());
}

// After a parameter has been replaced in any way, calls use the new value.
TEST(PackedWeights, AreOfTheCurrentParameters) {
  for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
    AttentionCall call(Kind::MultiHead, {.batch = 2, .num_queries = 9, .num_keys = 9});
    call.replace_layer(odd_heads());
    call.inputs = HEED_LAYER_INPUTS_INIT;
    call.inputs.queries = call.shape_only({2, 9, 6}, dtype);
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
    call.inputs.queries = call.random({2, 9, 6}, 1);
    call.outputs = HEED_LAYER_OUTPUTS_INIT;
    call.outputs.output = call.zeros({2, 9, 11});
    std::vector<uint8_t> before;
    const auto expect_new_results = [&](const std::string& after) {
      ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
      const std::vector<uint8_t> results = call.read_outputs();
      EXPECT_NE(results, before) << after;
      EXPECT_EQ(results, results_of_a_fresh_layer(call, make_multi_head(call.context.get(), odd_heads()))) << after;
      before = results;
    };
    expect_new_results("heed_layer_initialize");
    for (int64_t i = 0; i < heed_layer_parameter_count(call.layer.get()); ++i) {
      const char* name = heed_layer_parameter_name(call.layer.get(), i);
      const Dims dims = dims_of(snapshot(call.layer.get(), name).get());
      check(heed_layer_set_parameter(call.layer.get(), name, call.random(dims, 40 + static_cast<uint64_t>(i))));
      // A bias of the keys adds the same number to all scores of a row, so the softmax does not change.
      if (name != std::string("W_k.bias")) expect_new_results(name);
    }
    // A refused value changes nothing.
    EXPECT_EQ(heed_layer_set_parameter(call.layer.get(), "W_q.weight", call.zeros({3, 3})),
              HEED_ERROR_INVALID_ARGUMENT);
    ASSERT_EQ(call.forward(), HEED_OK);
    EXPECT_EQ(call.read_outputs(), before);

    const TemporaryFolder folder;
    const std::string path = folder.path("layer.safetensors");
    check(heed_layer_save(call.layer.get(), path.c_str()));
    const std::vector<uint8_t> saved = before;
    check(heed_layer_initialize(call.layer.get(), &call.inputs, 2));
    expect_new_results("heed_layer_initialize again");
    const Layer loaded = make_multi_head(call.context.get(), odd_heads());
    check(heed_layer_load(loaded.get(), path.c_str(), nullptr));
    ASSERT_EQ(heed_layer_forward(loaded.get(), &call.inputs, nullptr, &call.outputs), HEED_OK) << heed_last_error();
    EXPECT_EQ(call.read_outputs(), saved);
    check(heed_layer_load(call.layer.get(), path.c_str(), nullptr));
    expect_new_results("heed_layer_load");
  }
}

TEST(PackedWeights, OfALinearLayerAreOfTheCurrentParameters) {
  AttentionCall call(Kind::Linear);
  std::vector<uint8_t> before;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    check(heed_layer_set_parameter(call.layer.get(), "weight", call.random({5, 6}, 50 + seed)));
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_NE(call.read_outputs(), before);
    before = call.read_outputs();
    EXPECT_EQ(before, results_of_a_fresh_layer(call, make_linear(call.context.get(), five_outputs())));
  }
}

}  // namespace
}  // namespace heed::capi_test
