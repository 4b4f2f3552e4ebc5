// SPDX-License-Identifier: Apache-2.0
// Scores that are no plain dot product, against d2l's classes and formulas in float64: the cases of
// data/torch_scores.safetensors. The options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/torch_backward.h"
#include "golden/support/torch_case.h"
#include "golden/support/torch_file.h"

namespace heed::golden {
namespace {

constexpr const char* kFile = "torch_scores";

class TorchScores : public testing::TestWithParam<std::string> {
 protected:
  const std::string& name() const { return GetParam(); }
  nlohmann::json options() const { return TorchFile(kFile).options_of(name()); }
  Tensor load(const GoldenFile& file, const std::string& tensor) const {
    return file.load((name() + "." + tensor).c_str());
  }
  void set_parameters(const GoldenFile& file, heed_layer* layer, std::initializer_list<const char*> names) const {
    for (const char* parameter : names)
      check(heed_layer_set_parameter(layer, parameter, load(file, std::string("param.") + parameter).get()));
  }
  // 1e-6 is the file's own figure for an engine in f32.
  void expect_the_files_results(const GoldenFile& file, const Outputs& outputs) const {
    const double coarser = property::coarseness(HEED_F32);
    expect_near(outputs.output.get(), load(file, "output").get(), 1e-6 * coarser);
    expect_near(outputs.weights.get(), load(file, "weights").get(), 1e-6 * coarser);
  }
  // Those of inputs, and those of parameters by heed's names. 4e-6 is the file's own figure for an engine in f32.
  void expect_the_files_gradients(const GoldenFile& file, const Layer& layer, const Inputs& inputs,
                                  const std::map<std::string, std::string>& parameters = {}) const {
    if (property::on_ascend()) return;
    const TorchFile torch_file(kFile);
    const TorchCase torch_case(torch_file, name());
    const reference::NamedRows gradients = backward(file.context(), layer.get(), inputs.given, torch_case.cotangent());
    std::map<std::string, std::string> names = parameters;
    names.insert({{"query", "queries"}, {"key", "keys"}, {"value", "values"}});
    for (const std::string& gradient : torch_case.gradients()) {
      const auto other = names.find(gradient);
      torch_case.expect_gradient(gradient, gradients.at(other != names.end() ? other->second : gradient).values, 4e-6);
    }
  }
};

class D2lAdditive : public TorchScores {};

TEST_P(D2lAdditive, AgreesWithD2l) {
  heed_additive_attention_options heed_options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
  heed_options.num_hiddens = options()["num_hiddens"];
  heed_options.scale = options()["scale"];
  if (options().value("empty_rows", "zero") == "mean") heed_options.empty_rows = HEED_EMPTY_ROWS_MEAN;
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Layer layer = capi_test::make_additive(context.get(), heed_options);
    set_parameters(file, layer.get(), {"W_q.weight", "W_k.weight", "w_v.weight"});
    const Inputs inputs(file, name());
    expect_the_files_results(file, forward(layer.get(), inputs.given));
    expect_the_files_gradients(file, layer, inputs);
  });
}

INSTANTIATE_TEST_SUITE_P(File, D2lAdditive,
                         testing::Values("additive_plain", "additive_lens", "additive_lens_per_query",
                                         "additive_hidden_item"),
                         [](const auto& golden) { return golden.param; });

class AdditiveHeads : public TorchScores {};

TEST_P(AdditiveHeads, AgreesWithTheFormula) {
  heed_multi_head_attention_options heed_options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_options.num_heads = options()["num_heads"];
  heed_options.head_size = options()["head_size"];
  heed_options.num_hiddens = heed_options.num_heads * heed_options.head_size;
  heed_options.scoring = HEED_SCORING_ADDITIVE;
  // The default is 1 / sqrt(4).
  const bool is_default = name() == "additive_heads_default_scale";
  EXPECT_EQ(options()["scale"], is_default ? 0.5 : 1.0);
  if (!is_default) heed_options.scale = options()["scale"];
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Layer layer = capi_test::make_multi_head(context.get(), heed_options);
    set_parameters(file, layer.get(), {"W_q.weight", "W_k.weight", "W_v.weight", "W_o.weight", "w_v.weight"});
    const Inputs inputs(file, name());
    expect_the_files_results(file, forward(layer.get(), inputs.given));
    expect_the_files_gradients(file, layer, inputs);
  });
}

INSTANTIATE_TEST_SUITE_P(File, AdditiveHeads, testing::Values("additive_heads_scale_1", "additive_heads_default_scale"),
                         [](const auto& golden) { return golden.param; });

class LuongGeneral : public TorchScores {};

TEST_P(LuongGeneral, AgreesWithTheFormula) {
  heed_general_attention_options heed_options = HEED_GENERAL_ATTENTION_OPTIONS_INIT;
  heed_options.query_size = 4;
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Layer layer = capi_test::make_general(context.get(), heed_options);
    check(heed_layer_set_parameter(layer.get(), "W.weight", load(file, "param.W").get()));
    const Inputs inputs(file, name());
    expect_the_files_results(file, forward(layer.get(), inputs.given));
    expect_the_files_gradients(file, layer, inputs, {{"W", "W.weight"}});
  });
}

INSTANTIATE_TEST_SUITE_P(File, LuongGeneral, testing::Values("luong_general"),
                         [](const auto& golden) { return golden.param; });

class LuongConcat : public TorchScores {};

// v . tanh(W [q; k]) with W cut in two is additive attention.
TEST_P(LuongConcat, IsAdditiveAttention) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const Inputs inputs(file, name());
    const Tensor weight = load(file, "param.W");
    const int64_t num_hiddens = heed_tensor_dim(weight.get(), 0);
    const int64_t query_size = heed_tensor_dim(inputs.queries.get(), 2);
    const int64_t key_size = heed_tensor_dim(inputs.keys.get(), 2);
    heed_additive_attention_options heed_options = HEED_ADDITIVE_ATTENTION_OPTIONS_INIT;
    heed_options.num_hiddens = num_hiddens;
    const Layer layer = capi_test::make_additive(context.get(), heed_options);
    const auto set = [&](const char* parameter, const Tensor& value) {
      check(heed_layer_set_parameter(layer.get(), parameter, value.get()));
    };
    set("W_q.weight", capi_test::make_slice(weight.get(), 1, 0, query_size));
    set("W_k.weight", capi_test::make_slice(weight.get(), 1, query_size, key_size));
    set("w_v.weight", capi_test::make_reshaped(load(file, "param.v").get(), {1, num_hiddens}));
    expect_the_files_results(file, forward(layer.get(), inputs.given));
  });
}

INSTANTIATE_TEST_SUITE_P(File, LuongConcat, testing::Values("luong_concat"),
                         [](const auto& golden) { return golden.param; });

class NadarayaWatson : public TorchScores {};

// -((x - x_i) w)^2 / 2 = w^2 x x_i - w^2 x_i^2 / 2 - w^2 x^2 / 2, and softmax ignores what all keys have: so these weights
// are those of the queries (w^2 x, -w^2 / 2) and the keys (x_i, x_i^2).
TEST_P(NadarayaWatson, IsDotProductAttention) {
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const std::vector<double> x = numbers_of(load(file, "input.query").get());
    const std::vector<double> given = numbers_of(load(file, "input.key").get());
    const double square = numbers_of(load(file, "param.w").get()).at(0) * numbers_of(load(file, "param.w").get()).at(0);
    std::vector<float> queries;
    std::vector<float> keys;
    for (const double query : x) {
      queries.push_back(static_cast<float>(square * query));
      queries.push_back(static_cast<float>(-square / 2));
    }
    for (const double key : given) {
      keys.push_back(static_cast<float>(key));
      keys.push_back(static_cast<float>(key * key));
    }
    const auto b = static_cast<int64_t>(x.size());
    const int64_t k = static_cast<int64_t>(given.size()) / b;
    const Tensor query_rows = capi_test::make_tensor_of(context.get(), {b, 1, 2}, queries);
    const Tensor key_rows = capi_test::make_tensor_of(context.get(), {b, k, 2}, keys);
    const Tensor values = load(file, "input.value");
    const Tensor value_rows = capi_test::make_reshaped(values.get(), {b, k, 1});
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = query_rows.get();
    inputs.keys = key_rows.get();
    inputs.values = value_rows.get();
    heed_dot_product_attention_options heed_options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    heed_options.scale = 1;
    const Layer layer = capi_test::make_dot_product(context.get(), heed_options);
    Outputs outputs = forward(layer.get(), inputs);
    outputs.output = capi_test::make_reshaped(outputs.output.get(), {b});
    outputs.weights = capi_test::make_reshaped(outputs.weights.get(), {b, k});
    expect_the_files_results(file, outputs);
  });
}

INSTANTIATE_TEST_SUITE_P(File, NadarayaWatson, testing::Values("nadaraya_watson"),
                         [](const auto& golden) { return golden.param; });

TEST(TorchScoresFile, HasNoOtherCases) {
  EXPECT_EQ(TorchFile(kFile).cases().size(), 9U) << "more than the nine that are tested here";
}

}  // namespace
}  // namespace heed::golden
