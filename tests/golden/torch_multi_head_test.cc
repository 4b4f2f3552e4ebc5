// SPDX-License-Identifier: Apache-2.0
// Multi-head attention against PyTorch's nn.MultiheadAttention in float64: every case of data/torch_multi_head.safetensors,
// its parameters loaded from the file by PyTorch's names. Constant keys are in it: bias_k with bias_v, and add_zero_attn. The
// options of a case are in the file's metadata.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/golden_file.h"
#include "golden/support/torch_file.h"

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

// PyTorch's boolean masks are true where a key is hidden.
Tensor inverted(heed_context* context, const heed_tensor* mask) {
  std::vector<uint8_t> bytes(heed_tensor_num_bytes(mask));
  check(heed_tensor_read(mask, bytes.data(), bytes.size()));
  for (uint8_t& byte : bytes) byte = byte == 0 ? 1 : 0;
  return capi_test::make_tensor_of(context, capi_test::dims_of(mask), bytes, HEED_BOOL);
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
    const int64_t heads = options_["num_heads"];
    if (heed_tensor_rank(mask) == 3) {
      const int64_t batch = heed_tensor_dim(mask, 0) / heads;
      mask = keep(capi_test::make_reshaped(mask, {batch, heads, heed_tensor_dim(mask, 1), heed_tensor_dim(mask, 2)}));
    } else if (!dims.empty()) {
      mask = keep(capi_test::make_reshaped(mask, dims));
    }
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
    // PyTorch's weights of rows without a visible key are NaN, heed's are 0 (rule 7).
    if (options.contains("note")) return;
    const Tensor weights = file.load((name + ".weights").c_str());
    const bool unbatched = options.value("unbatched", false);
    Dims dims = capi_test::dims_of(outputs.weights.get());
    if (unbatched) dims.erase(dims.begin());
    expect_near(capi_test::make_reshaped(outputs.weights.get(), dims).get(), weights.get(), 1e-6 * coarser);
  });
}

INSTANTIATE_TEST_SUITE_P(File, TorchMultiHead, testing::ValuesIn(TorchFile(kFile).cases()),
                         [](const auto& golden) { return golden.param; });

TEST(TorchMultiHeadFile, HasTheCasesOfConstantKeys) {
  for (const char* name : {"bias_kv", "zero_attn", "bias_kv_zero_attn_masks", "hidden_item_bias_kv"}) {
    const Json options = TorchFile(kFile).options_of(name);
    EXPECT_TRUE(options["add_bias_kv"].get<bool>() || options["add_zero_attn"].get<bool>()) << name;
  }
}

}  // namespace
}  // namespace heed::golden
