// SPDX-License-Identifier: Apache-2.0
// Numbers and shapes that ATB accepts in more than one form: another form gives another result, or is not tested by
// ATB. These tests check that heed uses the intended form.
#include <cmath>
#include <limits>

#include "ascend/support/simulated.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;
using capi_test::make_tensor_of;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

class Numbers : public Simulated {};

// A tensor on the device. The dtype represents all these numbers exactly.
Tensor make_exact(heed_context* context, const Dims& dims, heed_dtype dtype, const std::vector<float>& numbers) {
  const Tensor wide = make_tensor_of<float>(context, dims, numbers);
  Tensor tensor = make_tensor(context, dims, dtype);
  property::check(heed_tensor_copy(tensor.get(), wide.get()));
  return tensor;
}

struct Gap {
  heed_dtype dtype;
  // From this number on, the dtype has only even integers.
  float first;
};
constexpr Gap kGaps[] = {{HEED_F16, 2048}, {HEED_BF16, 256}};

// ATB accepts a 16-bit bias, which it adds to the rounded product, or a float bias, which it adds before the only
// rounding. heed always passes a 16-bit bias, whatever the parameter's dtype, so that results do not depend on that
// dtype.
TEST_F(Numbers, ABiasIsAddedToTheRoundedProductInTheInputsDtype) {
  const Context context = make_npu_context();
  for (const Gap& gap : kGaps) {
    for (const heed_dtype parameters : {gap.dtype, HEED_F32}) {
      heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
      options.output_size = 1;
      heed_layer* made = nullptr;
      property::check(heed_linear_create(context.get(), &options, &made));
      const Layer layer(made);
      const Tensor weight = make_exact(context.get(), {1, 2}, parameters, {1, 1});
      const Tensor bias = make_exact(context.get(), {1}, parameters, {1});
      property::check(heed_layer_set_parameter(layer.get(), "weight", weight.get()));
      property::check(heed_layer_set_parameter(layer.get(), "bias", bias.get()));
      const Tensor input = make_exact(context.get(), {1, 2}, gap.dtype, {gap.first, 1});
      const Tensor output = make_tensor(context.get(), {1, 1}, gap.dtype);
      heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
      inputs.queries = input.get();
      heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
      outputs.output = output.get();
      property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
      // With the intended form, first + 1 is rounded to `first` twice. With the other, first + 2 is rounded once and is
      // exact.
      EXPECT_EQ(capi_test::read_floats(context.get(), output.get()), std::vector<float>{gap.first})
          << "dtype " << gap.dtype << " with parameters in dtype " << parameters;
    }
  }
}

// Attention with one head, D = 16. All elements of a row are the same number.
class OneHead {
 public:
  OneHead(heed_context* context, heed_dtype dtype, const std::vector<float>& of_queries,
          const std::vector<float>& of_keys, const std::vector<float>& of_values)
      : context_(context),
        queries_(make_rows(dtype, of_queries)),
        keys_(make_rows(dtype, of_keys)),
        values_(make_rows(dtype, of_values)),
        output_(make_tensor(context, {1, static_cast<int64_t>(of_queries.size()), kHeadSize}, dtype)) {
    inputs.queries = queries_.get();
    inputs.keys = keys_.get();
    inputs.values = values_.get();
  }

  // The first element of each row of the result.
  std::vector<float> forward(const heed_dot_product_attention_options& options) {
    const Layer layer = capi_test::make_dot_product(context_, options);
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output_.get();
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    const std::vector<float> all = capi_test::read_floats(context_, output_.get());
    std::vector<float> firsts;
    for (size_t i = 0; i < all.size(); i += kHeadSize) firsts.push_back(all[i]);
    return firsts;
  }

  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;

 private:
  static constexpr int64_t kHeadSize = 16;

  Tensor make_rows(heed_dtype dtype, const std::vector<float>& numbers) const {
    std::vector<float> all;
    for (const float number : numbers) all.insert(all.end(), kHeadSize, number);
    return make_exact(context_, {1, static_cast<int64_t>(numbers.size()), kHeadSize}, dtype, all);
  }

  heed_context* context_;
  Tensor queries_;
  Tensor keys_;
  Tensor values_;
  Tensor output_;
};

// The kernel works through a row in blocks of keys. A first block that is hidden by -infinity would give NaN.
TEST_F(Numbers, ABiasHidesTheFirstBlocksOfKeysByAFiniteNumber) {
  constexpr int64_t kNumKeys = 700;
  const Context context = make_npu_context();
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    std::vector<float> of_values(kNumKeys, 5.0f);
    of_values.back() = 3;
    OneHead attention(context.get(), dtype, {1, 1}, std::vector<float>(kNumKeys, 0.0f), of_values);
    // The first row sees the last key alone, the second all others.
    std::vector<float> numbers(2 * kNumKeys, 0.0f);
    std::fill_n(numbers.begin(), kNumKeys - 1, -kInfinity);
    numbers.back() = -kInfinity;
    const Tensor bias = make_exact(context.get(), {2, kNumKeys}, dtype, numbers);
    attention.inputs.bias = bias.get();
    EXPECT_EQ(attention.forward(HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT), (std::vector<float>{3, 5}))
        << "dtype " << dtype;
  }
}

struct Masked {
  const char* name;
  heed_dot_product_attention_options options;
  std::vector<int64_t> lens;
};

// A row is NaN if its only visible key has a score of -infinity (rule 8). A mask adds a finite number to hidden keys,
// so without special care the visible key would count less than the hidden ones, and the row would attend to those.
TEST_F(Numbers, ARowThatSeesOnlyAnInfiniteKeyIsNaNUnderAMask) {
  const Context context = make_npu_context();
  std::vector<Masked> all(3, {"the triangle", HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT, {}});
  all[0].options.causal = HEED_CAUSAL_TOP_LEFT;
  all[1].name = "a window";
  all[1].options.window = HEED_WINDOW_TOP_LEFT;
  all[1].options.window_left = 4;
  all[1].options.window_right = 0;
  all[2].name = "lengths of queries";
  all[2].lens = {1, 2, 3};
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    for (const Masked& masked : all) {
      OneHead attention(context.get(), dtype, {1, 1, 1}, {-kInfinity, 0, 0}, {1, 2, 4});
      Tensor lens;
      if (!masked.lens.empty()) {
        lens = make_tensor_of<int64_t>(context.get(), {1, 3}, masked.lens);
        attention.inputs.valid_lens = lens.get();
      }
      const std::vector<float> rows = attention.forward(masked.options);
      EXPECT_TRUE(std::isnan(rows[0])) << masked.name << " in "
                                       << "dtype " << dtype << " gives " << rows[0];
    }
  }
}

// ATB accepts other sizes too, but its own tests use these.
TEST_F(Numbers, HeadsArePaddedToMultiplesOf16) {
  const Context context = make_npu_context();
  for (const int64_t head_size : {2, 8, 16, 24, 32, 40, 200, 208, 248}) {
    const Layer layer = capi_test::make_dot_product(context.get(), HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT);
    const Tensor tokens = capi_test::make_random(context.get(), {1, 3, head_size}, 1, HEED_F16);
    const Tensor output = make_tensor(context.get(), {1, 3, head_size}, HEED_F16);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = tokens.get();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.get();
    const uint64_t appended = ascend_sim_count("execute:ConcatOperation");
    const uint64_t cut = ascend_sim_count("execute:SliceOperation");
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    const bool is_padded = head_size % 16 != 0;
    EXPECT_EQ(ascend_sim_count("execute:ConcatOperation") - appended, is_padded ? 3u : 0u) << head_size;
    EXPECT_EQ(ascend_sim_count("execute:SliceOperation") - cut, is_padded ? 1u : 0u) << head_size;
  }
}

}  // namespace
}  // namespace heed::ascend_test
