// SPDX-License-Identifier: Apache-2.0
// heed's answers against those of torch.nn.MultiheadAttention in float64, through the C functions alone. The files,
// and how far a correct engine may be away from them element by element, come from make_goldens.py, which derives the
// bounds.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

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

  std::string path() const { return std::string(HEED_SOURCE_DIR "/tests/golden/data/") + file + ".safetensors"; }
};

// What each file's metadata says of heed's options. The inputs are what tensors the file has.
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

// What GoogleTest shows of a parameter.
std::ostream& operator<<(std::ostream& stream, const Golden& golden) { return stream << name_of(golden); }

void check(heed_status status) {
  if (status != HEED_OK) throw std::runtime_error(std::string(heed_status_name(status)) + ": " + heed_last_error());
}

template <auto destroy>
struct Destroyer {
  template <class Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};
using Context = std::unique_ptr<heed_context, Destroyer<heed_context_destroy>>;
using Layer = std::unique_ptr<heed_layer, Destroyer<heed_layer_destroy>>;
using Tensor = std::unique_ptr<heed_tensor, Destroyer<heed_tensor_destroy>>;

Context make_context() {
  heed_context* context = nullptr;
  check(heed_context_create(nullptr, &context));
  return Context(context);
}

Tensor make_tensor(const Context& context, heed_dtype dtype, const heed_tensor* shaped_as) {
  const int32_t rank = heed_tensor_rank(shaped_as);
  std::array<int64_t, 8> dims{};
  for (int32_t axis = 0; axis < rank; ++axis) dims[static_cast<size_t>(axis)] = heed_tensor_dim(shaped_as, axis);
  heed_tensor* tensor = nullptr;
  check(heed_tensor_create(context.get(), dtype, rank, dims.data(), &tensor));
  return Tensor(tensor);
}

// NULL when the file has no such tensor.
Tensor load_if_present(const Context& context, const Golden& golden, const char* name) {
  heed_tensor* tensor = nullptr;
  const heed_status status = heed_tensor_load_safetensors(context.get(), golden.path().c_str(), name, &tensor);
  if (status != HEED_ERROR_NOT_FOUND) check(status);
  return Tensor(tensor);
}

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
  return options;
}

Layer make_layer(const Context& context, const heed_multi_head_attention_options& options, const std::string& path,
                 const char* prefix) {
  heed_layer* layer = nullptr;
  check(heed_multi_head_attention_create(context.get(), &options, &layer));
  Layer owner(layer);
  check(heed_layer_load(layer, path.c_str(), prefix));
  return owner;
}

struct Inputs {
  Inputs(const Context& context, const Golden& golden)
      : queries(load_if_present(context, golden, "queries")),
        keys(load_if_present(context, golden, "keys")),
        values(load_if_present(context, golden, "values")),
        valid_lens(load_if_present(context, golden, "valid_lens")),
        mask(load_if_present(context, golden, "mask")),
        bias(load_if_present(context, golden, "bias")) {
    given.queries = queries.get();
    given.keys = keys.get();
    given.values = values.get();
    given.valid_lens = valid_lens.get();
    given.mask = mask.get();
    given.bias = bias.get();
  }

  Tensor queries, keys, values, valid_lens, mask, bias;
  heed_layer_inputs given = HEED_LAYER_INPUTS_INIT;
};

struct Outputs {
  Tensor output, weights, log_sum_exp;
};

Outputs forward(const Layer& layer, const heed_layer_inputs& inputs) {
  heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
  check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT | HEED_WANT_WEIGHTS | HEED_WANT_LOG_SUM_EXP,
                                  &made));
  Outputs outputs{Tensor(made.output), Tensor(made.weights), Tensor(made.log_sum_exp)};
  check(heed_layer_forward(layer.get(), &inputs, nullptr, &made));
  return outputs;
}

// The same into tensors of F32, whatever the inputs are.
Outputs forward_wide(const Context& context, const Layer& layer, const heed_layer_inputs& inputs,
                     const Outputs& shaped_as) {
  Outputs outputs{make_tensor(context, HEED_F32, shaped_as.output.get()),
                  make_tensor(context, HEED_F32, shaped_as.weights.get()),
                  make_tensor(context, HEED_F32, shaped_as.log_sum_exp.get())};
  heed_layer_outputs given = HEED_LAYER_OUTPUTS_INIT;
  given.output = outputs.output.get();
  given.weights = outputs.weights.get();
  given.log_sum_exp = outputs.log_sum_exp.get();
  check(heed_layer_forward(layer.get(), &inputs, nullptr, &given));
  return outputs;
}

std::vector<double> numbers_of(const Context& context, const heed_tensor* tensor) {
  const Tensor wide = make_tensor(context, HEED_F64, tensor);
  check(heed_tensor_copy(wide.get(), tensor));
  std::vector<double> numbers(static_cast<size_t>(heed_tensor_num_elements(tensor)));
  check(heed_tensor_read(wide.get(), numbers.data(), heed_tensor_num_bytes(wide.get())));
  return numbers;
}

std::vector<unsigned char> bytes_of(const heed_tensor* tensor) {
  std::vector<unsigned char> bytes(heed_tensor_num_bytes(tensor));
  check(heed_tensor_read(tensor, bytes.data(), bytes.size()));
  return bytes;
}

// Half a unit in the last place of a 16-bit type at a number of this magnitude; F32's own rounding is in the bounds.
double half_unit(heed_dtype dtype, double magnitude) {
  if (dtype == HEED_F32) return 0;
  const int precision = dtype == HEED_F16 ? 11 : 8;
  const int smallest_exponent = dtype == HEED_F16 ? -14 : -126;
  const int exponent = magnitude > 0 ? std::max(std::ilogb(magnitude), smallest_exponent) : smallest_exponent;
  return std::ldexp(1.0, exponent - precision);
}

struct Comparison {
  double largest_difference = 0;
  // Of a difference to its bound.
  double largest_ratio = 0;
  // Elements beyond their bound, NaN among them.
  size_t num_beyond = 0;
};

Comparison compare(const Context& context, const Golden& golden, const heed_tensor* result, const char* expected_name,
                   const char* bound_name) {
  const Tensor expected = load_if_present(context, golden, expected_name);
  const Tensor bound = load_if_present(context, golden, bound_name);
  if (!expected || !bound) throw std::runtime_error(golden.path() + " lacks " + expected_name + " or " + bound_name);
  for (const Tensor* stored : {&expected, &bound}) {
    const heed_tensor* tensor = stored->get();
    bool same_shape = heed_tensor_rank(tensor) == heed_tensor_rank(result);
    for (int32_t axis = 0; same_shape && axis < heed_tensor_rank(tensor); ++axis) {
      same_shape = heed_tensor_dim(tensor, axis) == heed_tensor_dim(result, axis);
    }
    if (!same_shape || heed_tensor_dtype(tensor) != HEED_F64) {
      throw std::runtime_error(golden.path() + ": " + expected_name + " has another shape or dtype than the result");
    }
  }

  const std::vector<double> is = numbers_of(context, result);
  const std::vector<double> should = numbers_of(context, expected.get());
  const std::vector<double> off = numbers_of(context, bound.get());
  Comparison comparison;
  for (size_t i = 0; i < is.size(); ++i) {
    const double allowed = off[i] + half_unit(heed_tensor_dtype(result), std::abs(should[i]) + off[i]);
    const double difference = std::abs(is[i] - should[i]);
    if (!(difference <= allowed)) ++comparison.num_beyond;
    comparison.largest_difference = std::max(comparison.largest_difference, difference);
    if (allowed > 0) comparison.largest_ratio = std::max(comparison.largest_ratio, difference / allowed);
  }
  return comparison;
}

void expect_within(const Context& context, const Golden& golden, const Outputs& outputs) {
  const struct {
    const heed_tensor* result;
    const char* name;
    const char* bound_name;
  } results[] = {{outputs.output.get(), "output", "bound"},
                 {outputs.weights.get(), "weights", "weights_bound"},
                 {outputs.log_sum_exp.get(), "log_sum_exp", "log_sum_exp_bound"}};
  for (const auto& [result, name, bound_name] : results) {
    const Comparison comparison = compare(context, golden, result, name, bound_name);
    EXPECT_EQ(comparison.num_beyond, 0u) << name << " of " << heed_tensor_num_elements(result)
                                         << " elements, largest difference " << comparison.largest_difference << ", "
                                         << comparison.largest_ratio << " of its bound";
    std::printf("%-22s %-11s largest difference %.2e, %.4f of its bound\n", name_of(golden).c_str(), name,
                comparison.largest_difference, comparison.largest_ratio);
  }
}

class PyTorch : public testing::TestWithParam<Golden> {};

TEST_P(PyTorch, GivesTheSameOutputWeightsAndLogSumExp) {
  const Golden& golden = GetParam();
  const Context context = make_context();
  const Layer layer = make_layer(context, options_of(golden), golden.path(), "attention");
  const Inputs inputs(context, golden);
  const Outputs outputs = forward(layer, inputs.given);
  EXPECT_EQ(heed_tensor_dtype(outputs.output.get()), heed_tensor_dtype(inputs.queries.get()));
  expect_within(context, golden, outputs);
  if (heed_tensor_dtype(outputs.output.get()) != HEED_F32) {
    expect_within(context, golden, forward_wide(context, layer, inputs.given, outputs));
  }
}

TEST_P(PyTorch, ASavedLayerIsTheSameLayer) {
  const Golden& golden = GetParam();
  const Context context = make_context();
  const Layer layer = make_layer(context, options_of(golden), golden.path(), "attention");
  const std::string saved = "golden_saved_" + name_of(golden) + ".safetensors";
  const std::string saved_again = "golden_saved_again_" + name_of(golden) + ".safetensors";
  check(heed_layer_save(layer.get(), saved.c_str()));
  const Layer loaded = make_layer(context, options_of(golden), saved, nullptr);
  check(heed_layer_save(loaded.get(), saved_again.c_str()));

  const auto content_of = [](const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_FALSE(content_of(saved).empty());
  EXPECT_EQ(content_of(saved), content_of(saved_again));

  const Inputs inputs(context, golden);
  const Outputs before = forward(layer, inputs.given);
  const Outputs after = forward(loaded, inputs.given);
  EXPECT_EQ(bytes_of(before.output.get()), bytes_of(after.output.get()));
  EXPECT_EQ(bytes_of(before.weights.get()), bytes_of(after.weights.get()));
  EXPECT_EQ(bytes_of(before.log_sum_exp.get()), bytes_of(after.log_sum_exp.get()));
  std::remove(saved.c_str());
  std::remove(saved_again.c_str());
}

INSTANTIATE_TEST_SUITE_P(Golden, PyTorch, testing::ValuesIn(kGoldens),
                         [](const testing::TestParamInfo<Golden>& test) { return name_of(test.param); });

// The bounds cover every order of summation, so they are wide: they must still tell one meaning from another.
TEST(GoldenBounds, TellMeaningsApart) {
  const Context context = make_context();
  const auto num_beyond = [&](const Golden& golden, const heed_multi_head_attention_options& options,
                              const Inputs& inputs) {
    const Outputs outputs = forward(make_layer(context, options, golden.path(), "attention"), inputs.given);
    return compare(context, golden, outputs.output.get(), "output", "bound").num_beyond;
  };
  for (const Golden& golden : kGoldens) {
    SCOPED_TRACE(name_of(golden));
    const heed_multi_head_attention_options right = options_of(golden);
    Inputs inputs(context, golden);
    heed_multi_head_attention_options wrong = right;
    wrong.scale = 1 / std::sqrt(2.0F);
    EXPECT_GT(num_beyond(golden, wrong, inputs), 0u) << "another scale";

    wrong = right;
    wrong.causal = HEED_CAUSAL_NONE;
    wrong.window = HEED_WINDOW_NONE;
    wrong.window_left = wrong.window_right = 0;
    Inputs unmasked(context, golden);
    unmasked.given.valid_lens = unmasked.given.mask = unmasked.given.bias = nullptr;
    const bool masks = right.causal != HEED_CAUSAL_NONE || right.window != HEED_WINDOW_NONE ||
                       inputs.given.valid_lens || inputs.given.mask || inputs.given.bias;
    if (masks) {
      EXPECT_GT(num_beyond(golden, wrong, unmasked), 0u) << "nothing masked";
    }

    if (right.causal != HEED_CAUSAL_NONE && inputs.given.keys != nullptr &&
        heed_tensor_dim(inputs.given.keys, 1) != heed_tensor_dim(inputs.given.queries, 1)) {
      wrong = right;
      wrong.causal = right.causal == HEED_CAUSAL_TOP_LEFT ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_TOP_LEFT;
      EXPECT_GT(num_beyond(golden, wrong, inputs), 0u) << "the other corner";
    }
  }
}

}  // namespace
