// SPDX-License-Identifier: Apache-2.0
// Multi-head attention against PyTorch's nn.MultiheadAttention in float64: every case of data/torch_multi_head.safetensors,
// its parameters loaded from the file by PyTorch's names. Constant keys are in it: bias_k with bias_v, and add_zero_attn. The
// options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/from_torch.h"
#include "golden/support/golden_file.h"
#include "golden/support/torch_backward.h"
#include "golden/support/torch_case.h"
#include "golden/support/torch_file.h"
#include "golden/support/torch_reference.h"

namespace heed::golden {
namespace {

using Json = nlohmann::json;

constexpr const char* kFile = "torch_multi_head";

heed_multi_head_attention_options heed_options(const Json& options) {
  heed_multi_head_attention_options result = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  result.num_hiddens = options["embed_dim"];
  result.num_heads = options["num_heads"];
  result.biases = options["bias"].get<bool>() ? HEED_BIAS_ALL : HEED_BIAS_NONE;
  result.add_bias_kv = options["add_bias_kv"].get<bool>() ? 1 : 0;
  result.add_zero_attn = options["add_zero_attn"].get<bool>() ? 1 : 0;
  return result;
}

// The inputs of a case in heed's form: (B, S, E), and masks that are true where a query may attend.
class TorchInputs {
 public:
  TorchInputs(const GoldenFile& file, std::string name, const Json& options)
      : name_(std::move(name)), options_(options) {
    inputs_.queries = sequence(file, "query");
    if (!options["self_attention"].get<bool>()) {
      inputs_.keys = sequence(file, "key");
      inputs_.values = sequence(file, "value");
    }
    if (heed_tensor* mask = load(file, "attn_mask")) add_mask(file.context(), mask, {});
    if (heed_tensor* padding = load(file, "key_padding_mask"))
      add_mask(file.context(), padding, {heed_tensor_dim(padding, 0), 1, 1, heed_tensor_dim(padding, 1)});
  }

  const heed_layer_inputs& get() const { return inputs_; }

 private:
  heed_tensor* keep(Tensor tensor) {
    kept_.push_back(std::move(tensor));
    return kept_.back().get();
  }
  // NULL if the case has no such input.
  heed_tensor* load(const GoldenFile& file, const std::string& input) {
    Tensor tensor = file.load_if_present((name_ + ".input." + input).c_str());
    return tensor == nullptr ? nullptr : keep(std::move(tensor));
  }
  heed_tensor* sequence(const GoldenFile& file, const std::string& input) {
    heed_tensor* tensor = load(file, input);
    if (options_.value("unbatched", false))
      return keep(capi_test::make_reshaped(tensor, {1, heed_tensor_dim(tensor, 0), heed_tensor_dim(tensor, 1)}));
    if (options_["batch_first"].get<bool>()) return tensor;
    return keep(capi_test::make_transposed(tensor, {1, 0, 2}));
  }
  // Masks and padding of one kind are never given together, except boolean ones: then the padding becomes lengths.
  void add_mask(heed_context* context, heed_tensor* mask, const Dims& dims) {
    mask = keep(dims.empty() ? with_heads_apart(mask, options_["num_heads"]) : capi_test::make_reshaped(mask, dims));
    if (heed_tensor_dtype(mask) != HEED_BOOL) {
      inputs_.bias = mask;
    } else if (inputs_.mask == nullptr) {
      inputs_.mask = keep(inverted(context, mask));
    } else {
      const std::vector<int32_t> lens = options_["lens"].get<std::vector<int32_t>>();
      inputs_.valid_lens =
          keep(capi_test::make_tensor_of(context, {static_cast<int64_t>(lens.size())}, lens, HEED_I32));
    }
  }

  std::string name_;
  const Json& options_;
  std::vector<Tensor> kept_;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
};

// The result with the axes of the file's.
Tensor in_the_files_form(const Json& options, heed_tensor* result) {
  if (options.value("unbatched", false)) {
    Dims dims = capi_test::dims_of(result);
    dims.erase(dims.begin());
    return capi_test::make_reshaped(result, dims);
  }
  const bool batch_first = options["batch_first"];
  return capi_test::make_transposed(result, batch_first ? std::vector{0, 1, 2} : std::vector{1, 0, 2});
}

// The rows of weights that see no key: those of an item of length 0, or those of the one query that the mask
// "hidden_row" hides all keys from.
int64_t num_hidden_rows(const Json& options) {
  const int64_t heads = options["num_heads"];
  if (options.value("attn_mask", "") == "hidden_row") return heads * options["B"].get<int64_t>();
  const auto lens = options["lens"].get<std::vector<int64_t>>();
  return heads * options["Q"].get<int64_t>() * std::count(lens.begin(), lens.end(), 0);
}

// PyTorch's weights of rows without a visible key are NaN, heed's are 0 (rule 7). Expects those zeros, and returns the
// file's weights with zeros instead of NaN.
Tensor expect_zeros_in_hidden_rows(heed_context* context, const Json& options, const heed_tensor* weights,
                                   const heed_tensor* in_file) {
  const Dims dims = capi_test::dims_of(in_file);
  const std::vector<double> is = numbers_of(weights);
  std::vector<double> expected = numbers_of(in_file);
  int64_t num_hidden = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    if (!std::isnan(expected[i])) continue;
    ++num_hidden;
    expected[i] = 0;
    EXPECT_EQ(is.at(i), 0) << "element " << i;
  }
  EXPECT_EQ(num_hidden, num_hidden_rows(options) * dims.back());
  return capi_test::make_tensor_of(context, dims, expected);
}

class TorchMultiHead : public testing::TestWithParam<std::string> {};

TEST_P(TorchMultiHead, AgreesWithPyTorch) {
  const std::string& name = GetParam();
  const Json options = TorchFile(kFile).options_of(name);
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), kFile);
    const TorchInputs inputs(file, name, options);
    const Layer layer = capi_test::make_multi_head(context.get(), heed_options(options));
    check(heed_layer_load(layer.get(), file.path().c_str(), (name + ".param").c_str()));
    const Outputs outputs = forward(layer.get(), inputs.get());
    // 1e-6 is the file's own figure for an engine in f32.
    const double coarser = property::coarseness(HEED_F32);
    expect_near(in_the_files_form(options, outputs.output.get()).get(), file.load((name + ".output").c_str()).get(),
                1e-6 * coarser);
    Tensor expected = file.load((name + ".weights").c_str());
    Dims dims = capi_test::dims_of(outputs.weights.get());
    if (options.value("unbatched", false)) dims.erase(dims.begin());
    const Tensor weights = capi_test::make_reshaped(outputs.weights.get(), dims);
    // The notes are about rows without a visible key.
    if (options.contains("note"))
      expected = expect_zeros_in_hidden_rows(context.get(), options, weights.get(), expected.get());
    expect_near(weights.get(), expected.get(), 1e-6 * coarser);
  });
}

TEST_P(TorchMultiHead, HasPyTorchsGradients) {
  const TorchFile torch_file(kFile);
  const TorchCase torch_case(torch_file, GetParam());
  const Json& options = torch_case.options();
  const Context context = make_context();
  const GoldenFile file(context.get(), kFile);
  const TorchInputs inputs(file, torch_case.name(), options);
  const Layer layer = capi_test::make_multi_head(context.get(), heed_options(options));
  check(heed_layer_load(layer.get(), file.path().c_str(), (torch_case.name() + ".param").c_str()));
  const int64_t batch = options["B"];
  const bool batch_first = options["batch_first"];
  const auto turned = [&](const std::vector<double>& rows, int64_t first, int64_t second) {
    return batch_first ? rows : with_first_axes_swapped(rows, first, second);
  };
  const reference::NamedRows gradients =
      backward(context.get(), layer.get(), inputs.get(), turned(torch_case.cotangent(), options["Q"], batch));
  const std::map<std::string, std::string> inputs_of = {{"query", "queries"}, {"key", "keys"}, {"value", "values"}};
  for (const std::string& name : torch_case.gradients()) {
    std::vector<double> gradient;
    if (const auto input = inputs_of.find(name); input != inputs_of.end())
      gradient = turned(gradients.at(input->second).values, batch, options[name == "query" ? "Q" : "K"]);
    else
      gradient = name.ends_with("_mask") ? gradients.at("bias").values : torch_gradient(gradients, name);
    // 8e-6 is the file's own figure for an engine in f32.
    torch_case.expect_gradient(name, gradient, 8e-6);
  }
}

INSTANTIATE_TEST_SUITE_P(File, TorchMultiHead, testing::ValuesIn(TorchFile(kFile).cases()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchMultiHeadFile, HasTheCasesOfConstantKeys) {
  for (const char* name : {"bias_kv", "zero_attn", "bias_kv_zero_attn_masks", "hidden_item_bias_kv"}) {
    const Json options = TorchFile(kFile).options_of(name);
    EXPECT_TRUE(options["add_bias_kv"].get<bool>() || options["add_zero_attn"].get<bool>()) << name;
  }
}

TEST(TorchMultiHeadFile, HasNotesForTheCasesWithHiddenRows) {
  std::vector<std::string> noted;
  for (const std::string& name : TorchFile(kFile).cases()) {
    const Json options = TorchFile(kFile).options_of(name);
    if (!options.contains("note")) continue;
    noted.push_back(name);
    EXPECT_NE(options["note"].get<std::string>().find("rows without a visible key"), std::string::npos) << name;
  }
  EXPECT_EQ(noted, (std::vector<std::string>{"hidden_item", "hidden_row", "self_hidden_item"}));
}

}  // namespace
}  // namespace heed::golden
