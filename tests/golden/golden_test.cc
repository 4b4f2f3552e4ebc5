// SPDX-License-Identifier: Apache-2.0
// heed's results against those of torch.nn.MultiheadAttention in float64, through the C functions alone.
// make_goldens.py generates the files. docs/semantics.md lists nn.MultiheadAttention's options with heed's options for
// them.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "golden/support/golden_file.h"

namespace heed::golden {
namespace {

enum class Layout { BatchFirst, SequenceFirst, Unbatched };

struct Golden {
  const char* file;
  int64_t num_hiddens;
  int64_t num_heads;
  int32_t biases = HEED_BIAS_NONE;
  int32_t causal = HEED_CAUSAL_NONE;
  int64_t num_kv_heads = 0;
  int32_t window = HEED_WINDOW_NONE;
  int64_t window_left = 0;
  int64_t window_right = 0;
  float dropout = 0;
  // The axes of queries, keys, values and output in the file: (B,S,E), (S,B,E) or (S,E).
  Layout layout = Layout::BatchFirst;
};

// heed's options for each file, as its metadata states them. The inputs are those tensors that the file has.
const Golden kGoldens[] = {
    {.file = "d2l", .num_hiddens = 100, .num_heads = 5},
    {.file = "pytorch_bias", .num_hiddens = 100, .num_heads = 5, .biases = HEED_BIAS_ALL},
    {.file = "kdim_vdim", .num_hiddens = 32, .num_heads = 4, .biases = HEED_BIAS_ALL},
    {.file = "partial_biases", .num_hiddens = 24, .num_heads = 3, .biases = HEED_BIAS_Q | HEED_BIAS_V | HEED_BIAS_O},
    {.file = "padding", .num_hiddens = 48, .num_heads = 3, .biases = HEED_BIAS_ALL},
    {.file = "padding_per_query", .num_hiddens = 48, .num_heads = 3},
    {.file = "causal", .num_hiddens = 40, .num_heads = 5, .biases = HEED_BIAS_ALL, .causal = HEED_CAUSAL_TOP_LEFT},
    {.file = "causal", .num_hiddens = 40, .num_heads = 5, .biases = HEED_BIAS_ALL, .causal = HEED_CAUSAL_BOTTOM_RIGHT},
    {.file = "causal_top_left", .num_hiddens = 40, .num_heads = 5, .causal = HEED_CAUSAL_TOP_LEFT},
    {.file = "causal_bottom_right", .num_hiddens = 40, .num_heads = 5, .causal = HEED_CAUSAL_BOTTOM_RIGHT},
    {.file = "causal_padding",
     .num_hiddens = 40,
     .num_heads = 5,
     .biases = HEED_BIAS_ALL,
     .causal = HEED_CAUSAL_TOP_LEFT},
    {.file = "window",
     .num_hiddens = 40,
     .num_heads = 5,
     .window = HEED_WINDOW_TOP_LEFT,
     .window_left = 2,
     .window_right = 1},
    {.file = "mask", .num_hiddens = 40, .num_heads = 5},
    {.file = "mask_per_head", .num_hiddens = 40, .num_heads = 5},
    {.file = "float_mask", .num_hiddens = 40, .num_heads = 5},
    {.file = "float_mask_per_head", .num_hiddens = 40, .num_heads = 5, .biases = HEED_BIAS_ALL},
    {.file = "float_key_padding", .num_hiddens = 12, .num_heads = 3},
    {.file = "kdim", .num_hiddens = 12, .num_heads = 3},
    {.file = "sequence_first",
     .num_hiddens = 12,
     .num_heads = 3,
     .biases = HEED_BIAS_ALL,
     .dropout = 0.5F,
     .layout = Layout::SequenceFirst},
    {.file = "unbatched", .num_hiddens = 12, .num_heads = 3, .biases = HEED_BIAS_ALL, .layout = Layout::Unbatched},
    {.file = "grouped", .num_hiddens = 48, .num_heads = 6, .biases = HEED_BIAS_ALL, .num_kv_heads = 2},
    {.file = "many_keys", .num_hiddens = 32, .num_heads = 2},
    {.file = "many_queries", .num_hiddens = 16, .num_heads = 1, .causal = HEED_CAUSAL_TOP_LEFT},
    {.file = "large_scores", .num_hiddens = 16, .num_heads = 2},
    {.file = "f16_parameters", .num_hiddens = 40, .num_heads = 5, .biases = HEED_BIAS_ALL},
    {.file = "f16", .num_hiddens = 40, .num_heads = 5},
    {.file = "bf16", .num_hiddens = 40, .num_heads = 5, .biases = HEED_BIAS_ALL},
};

std::string name_of(const Golden& golden) {
  const bool is_square = std::string(golden.file) == "causal";
  return std::string(golden.file) + (is_square && golden.causal == HEED_CAUSAL_BOTTOM_RIGHT ? "_as_bottom_right" : "");
}

// Shows a parameter in GoogleTest's messages.
std::ostream& operator<<(std::ostream& stream, const Golden& golden) { return stream << name_of(golden); }

heed_multi_head_attention_options options_of(const Golden& golden) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = golden.num_hiddens;
  options.num_heads = golden.num_heads;
  options.num_kv_heads = golden.num_kv_heads;
  options.biases = golden.biases;
  options.causal = golden.causal;
  options.window = golden.window;
  options.window_left = golden.window_left;
  options.window_right = golden.window_right;
  options.dropout = golden.dropout;
  return options;
}

Layer make_layer(heed_context* context, const heed_multi_head_attention_options& options, const std::string& path,
                 const char* prefix) {
  Layer layer = capi_test::make_multi_head(context, options);
  check(heed_layer_load(layer.get(), path.c_str(), prefix));
  return layer;
}

// For reading and for writing, since exchanging two axes twice gives the original order.
Tensor exchange_batch_and_sequence(heed_tensor* tensor) { return capi_test::make_transposed(tensor, {1, 0, 2}); }

Tensor add_batch(heed_tensor* tensor) {
  return capi_test::make_reshaped(tensor, {1, heed_tensor_dim(tensor, 0), heed_tensor_dim(tensor, 1)});
}

Tensor remove_batch(heed_tensor* tensor) {
  return capi_test::make_reshaped(tensor, {heed_tensor_dim(tensor, 1), heed_tensor_dim(tensor, 2)});
}

// A batch-first output with the axes in the order of the file.
Tensor as_stored(Layout layout, Tensor output) {
  if (output == nullptr || layout == Layout::BatchFirst) return output;
  return layout == Layout::Unbatched ? remove_batch(output.get()) : exchange_batch_and_sequence(output.get());
}

// The file's inputs with the batch first, as views if they are stored in another order.
struct BatchFirstInputs : Inputs {
  BatchFirstInputs(const GoldenFile& file, Layout layout) : Inputs(file) {
    if (layout == Layout::BatchFirst) return;
    for (Tensor* tensor : {&queries, &keys, &values}) {
      if (*tensor == nullptr) continue;
      *tensor = layout == Layout::Unbatched ? add_batch(tensor->get()) : exchange_batch_and_sequence(tensor->get());
    }
    given.queries = queries.get();
    given.keys = keys.get();
    given.values = values.get();
  }
};

// forward() with outputs of F32, whatever the dtype of the inputs is.
Outputs forward_wide(heed_context* context, const Layer& layer, const heed_layer_inputs& inputs,
                     const Outputs& shaped_as) {
  const auto make_wide = [&](const Tensor& narrow) {
    return capi_test::make_tensor(context, capi_test::dims_of(narrow.get()));
  };
  Outputs outputs{make_wide(shaped_as.output), make_wide(shaped_as.weights), make_wide(shaped_as.log_sum_exp)};
  heed_layer_outputs given = HEED_LAYER_OUTPUTS_INIT;
  given.output = outputs.output.get();
  given.weights = outputs.weights.get();
  given.log_sum_exp = outputs.log_sum_exp.get();
  check(heed_layer_forward(layer.get(), &inputs, nullptr, &given));
  return outputs;
}

// The mean of weights (B,H,Q,K) over the heads, as with average_attn_weights.
Tensor mean_over_heads(heed_context* context, const heed_tensor* weights) {
  const Dims dims = capi_test::dims_of(weights);
  const std::vector<float> each = capi_test::read_floats(context, weights);
  const auto num_heads = static_cast<size_t>(dims[1]);
  const auto pairs = static_cast<size_t>(dims[2] * dims[3]);
  std::vector<float> mean(each.size() / num_heads);
  for (size_t i = 0; i < mean.size(); ++i) {
    const size_t first = i / pairs * num_heads * pairs + i % pairs;
    double sum = 0;
    for (size_t head = 0; head < num_heads; ++head) sum += each[first + head * pairs];
    mean[i] = static_cast<float>(sum / static_cast<double>(num_heads));
  }
  return capi_test::make_tensor_of(context, {dims[0], dims[2], dims[3]}, mean);
}

class PyTorch : public testing::TestWithParam<Golden> {};

TEST_P(PyTorch, GivesTheSameOutputWeightsAndLogSumExp) {
  const Golden& golden = GetParam();
  on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    const GoldenFile file(context.get(), golden.file);
    const Layer layer = make_layer(context.get(), options_of(golden), file.path(), "attention");
    const BatchFirstInputs inputs(file, golden.layout);
    Outputs outputs = forward(layer.get(), inputs.given);
    Derived derived = derive(layer.get(), options_of(golden), inputs.given);
    EXPECT_EQ(heed_tensor_dtype(outputs.output.get()), heed_tensor_dtype(inputs.queries.get()));
    if (file.load_if_present("average_weights")) {
      const auto mean = [&](const Tensor& weights) {
        return weights == nullptr ? Tensor() : mean_over_heads(context.get(), weights.get());
      };
      file.expect(mean(outputs.weights).get(), "average_weights", mean(derived.values.weights).get(),
                  mean(derived.errors.weights).get());
    }
    if (heed_tensor_dtype(outputs.output.get()) != HEED_F32) {
      file.expect(forward_wide(context.get(), layer, inputs.given, outputs), derived);
    }
    for (Outputs* all : {&outputs, &derived.values, &derived.errors}) {
      all->output = as_stored(golden.layout, std::move(all->output));
    }
    file.expect(outputs, derived);
  });
}

TEST_P(PyTorch, ASavedAndLoadedLayerGivesTheSameBits) {
  const Golden& golden = GetParam();
  const Context context = make_context();
  const GoldenFile file(context.get(), golden.file);
  const Layer layer = make_layer(context.get(), options_of(golden), file.path(), "attention");
  const std::string saved = "golden_saved_" + name_of(golden) + ".safetensors";
  const std::string saved_again = "golden_saved_again_" + name_of(golden) + ".safetensors";
  check(heed_layer_save(layer.get(), saved.c_str()));
  const Layer loaded = make_layer(context.get(), options_of(golden), saved, nullptr);
  check(heed_layer_save(loaded.get(), saved_again.c_str()));

  const auto content_of = [](const std::string& path) {
    std::ifstream file_of_layer(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file_of_layer), {});
  };
  EXPECT_FALSE(content_of(saved).empty());
  EXPECT_EQ(content_of(saved), content_of(saved_again));

  const BatchFirstInputs inputs(file, golden.layout);
  const Outputs before = forward(layer.get(), inputs.given);
  const Outputs after = forward(loaded.get(), inputs.given);
  EXPECT_EQ(capi_test::read_bytes(before.output.get()), capi_test::read_bytes(after.output.get()));
  EXPECT_EQ(capi_test::read_bytes(before.weights.get()), capi_test::read_bytes(after.weights.get()));
  EXPECT_EQ(capi_test::read_bytes(before.log_sum_exp.get()), capi_test::read_bytes(after.log_sum_exp.get()));
  std::remove(saved.c_str());
  std::remove(saved_again.c_str());
}

INSTANTIATE_TEST_SUITE_P(Golden, PyTorch, testing::ValuesIn(kGoldens),
                         [](const testing::TestParamInfo<Golden>& test) { return name_of(test.param); });

// Computes the file's attention with other options or inputs, and compares the output with the file's.
Comparison compare_output(const GoldenFile& file, const Golden& golden,
                          const heed_multi_head_attention_options& options, const heed_layer_inputs& inputs) {
  const Layer layer = make_layer(file.context(), options, file.path(), "attention");
  const Outputs outputs = forward(layer.get(), inputs);
  const Tensor output = as_stored(golden.layout, forward_wide(file.context(), layer, inputs, outputs).output);
  return file.compare(output.get(), "output");
}

// The options and inputs of a golden file without mask, lengths, bias, causal and window.
struct Unmasked {
  Unmasked(const heed_multi_head_attention_options& with_masks, const heed_layer_inputs& masked_inputs)
      : options(with_masks), inputs(masked_inputs) {
    options.causal = HEED_CAUSAL_NONE;
    options.window = HEED_WINDOW_NONE;
    options.window_left = options.window_right = 0;
    inputs.valid_lens = inputs.mask = inputs.bias = nullptr;
    is_another = with_masks.causal != HEED_CAUSAL_NONE || with_masks.window != HEED_WINDOW_NONE ||
                 masked_inputs.valid_lens != nullptr || masked_inputs.mask != nullptr || masked_inputs.bias != nullptr;
  }

  heed_multi_head_attention_options options;
  heed_layer_inputs inputs;
  // Whether anything was removed.
  bool is_another;
};

// The bounds cover every order of summation, so they are wide. Yet results with a wrong option must exceed them.
TEST(GoldenBounds, DetectWrongOptions) {
  HEED_SKIP_ON_ASCEND(
      "in a third of the files the bounds of 16 bits cannot detect a wrong scale; OnAscendSeeOneUnmaskedRow tests "
      "them");
  const Context context = make_context();
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(name_of(golden));
    const GoldenFile file(context.get(), golden.file);
    const heed_multi_head_attention_options right = options_of(golden);
    const BatchFirstInputs inputs(file, golden.layout);
    heed_multi_head_attention_options wrong = right;
    wrong.scale = 1 / std::sqrt(2.0F);
    EXPECT_GT(compare_output(file, golden, wrong, inputs.given).num_beyond, 0u) << "another scale";

    const Unmasked unmasked(right, inputs.given);
    if (unmasked.is_another) {
      EXPECT_GT(compare_output(file, golden, unmasked.options, unmasked.inputs).num_beyond, 0u) << "nothing masked";
    }

    if (right.causal != HEED_CAUSAL_NONE && inputs.given.keys != nullptr &&
        heed_tensor_dim(inputs.given.keys, 1) != heed_tensor_dim(inputs.given.queries, 1)) {
      wrong = right;
      wrong.causal = right.causal == HEED_CAUSAL_TOP_LEFT ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_TOP_LEFT;
      EXPECT_GT(compare_output(file, golden, wrong, inputs.given).num_beyond, 0u) << "the other alignment";
    }
  }
}

// Splits an array (B,Q,...) into the elements of each batch element and query.
std::vector<std::vector<double>> rows_of(const Tensor& tensor) {
  const std::vector<double> all = numbers_of(tensor.get());
  const int64_t num_rows = heed_tensor_dim(tensor.get(), 0) * heed_tensor_dim(tensor.get(), 1);
  const auto length = static_cast<std::ptrdiff_t>(all.size()) / num_rows;
  std::vector<std::vector<double>> rows;
  for (auto row = all.begin(); row != all.end(); row += length) rows.emplace_back(row, row + length);
  return rows;
}

// A result that is right except for one row, computed without masks and biases. The bounds derived for the device must
// reject the row's weights, whichever row it is, and the outputs of some rows at least.
TEST(GoldenBounds, OnAscendSeeOneUnmaskedRow) {
  if (!on_ascend()) GTEST_SKIP() << "on the CPU the files' own bounds apply";
  const Context context = make_context();
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(name_of(golden));
    const GoldenFile file(context.get(), golden.file);
    const BatchFirstInputs inputs(file, golden.layout);
    const Unmasked unmasked(options_of(golden), inputs.given);
    if (!unmasked.is_another) continue;
    const Layer layer = make_layer(context.get(), options_of(golden), file.path(), "attention");
    const Derived right = derive(layer.get(), options_of(golden), inputs.given);
    const Derived wrong = derive(layer.get(), unmasked.options, unmasked.inputs);

    const auto weights_of = [](const Outputs& outputs) {
      return rows_of(capi_test::make_transposed(outputs.weights.get(), {0, 2, 1, 3}));
    };
    const auto right_weights = weights_of(right.values);
    const auto wrong_weights = weights_of(wrong.values);
    const auto weight_errors = weights_of(right.errors);
    const auto right_outputs = rows_of(right.values.output);
    const auto wrong_outputs = rows_of(wrong.values.output);
    const auto output_errors = rows_of(right.errors.output);
    size_t num_outputs_refused = 0;
    for (size_t row = 0; row < right_weights.size(); ++row) {
      if (wrong_weights[row] == right_weights[row]) continue;  // it sees every key anyway
      EXPECT_GT(num_beyond(HEED_F32, wrong_weights[row], right_weights[row], weight_errors[row]), 0u) << row;
      if (num_beyond(HEED_F32, wrong_outputs[row], right_outputs[row], output_errors[row]) > 0) ++num_outputs_refused;
    }
    if (!file.output_is_vague_on_ascend()) {
      EXPECT_GT(num_outputs_refused, 0u);
    }
  }
}

// An error that is within the bounds: all scores are wrong by one part in two thousand.
TEST(GoldenDeviations, SeeASmallSystematicError) {
  HEED_SKIP_ON_ASCEND("the error is smaller than the roundings of 16 bits");
  const Context context = make_context();
  size_t num_unseen_by_bounds = 0;
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(name_of(golden));
    const GoldenFile file(context.get(), golden.file);
    const BatchFirstInputs inputs(file, golden.layout);
    heed_multi_head_attention_options wrong = options_of(golden);
    const int64_t head_size = wrong.num_hiddens / wrong.num_heads;
    wrong.scale = (1 + 1.0F / 2048) / std::sqrt(static_cast<float>(head_size));
    const Comparison comparison = compare_output(file, golden, wrong, inputs.given);
    EXPECT_GT(comparison.root_mean_square, comparison.deviation);
    if (comparison.num_beyond == 0) ++num_unseen_by_bounds;
  }
  EXPECT_GT(num_unseen_by_bounds, 0u);
}

}  // namespace
}  // namespace heed::golden
