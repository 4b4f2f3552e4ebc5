// SPDX-License-Identifier: Apache-2.0
// Causal attention with ATB's compressed mask, a triangle of 128 x 128. Each row must see the same keys as with a full
// mask, for all head sizes, numbers of keys and lengths.
#include <algorithm>
#include <cmath>

#include "ascend/support/simulated.h"

namespace heed::ascend_test {
namespace {

using capi_test::make_tensor;
using capi_test::make_tensor_of;
using Floats = std::vector<float>;

struct Sizes {
  int64_t batch;
  int64_t num_keys;  // and number of queries
  int64_t head_size;
  int64_t value_head_size;
};

// Queries are 0, so all scores are 0 and a row is the mean of the values of its visible keys. The last keys of each
// batch element are marked, as many as a value has elements: the last key's value has a 1 in element 0, the one before
// it in element 1, and so on. So output element i is the weight of the i-th key from the end.
struct Marked {
  Marked(heed_context* context, const Sizes& sizes, heed_dtype dtype, int32_t causal = HEED_CAUSAL_TOP_LEFT)
      : context_(context),
        sizes_(sizes),
        unit_(dtype == HEED_F16 ? 0x1p-11F : 0x1p-8F),
        layer_(make_layer(context, causal)),
        queries_(make_tensor(context, {sizes.batch, sizes.num_keys, sizes.head_size}, dtype)),
        values_(make_tensor(context, {sizes.batch, sizes.num_keys, sizes.value_head_size}, dtype)),
        output_(make_tensor(context, {sizes.batch, sizes.num_keys, sizes.value_head_size}, dtype)) {
    Floats values(static_cast<size_t>(sizes.batch * sizes.num_keys * sizes.value_head_size));
    for (int64_t b = 0; b < sizes.batch; ++b) {
      for (int64_t i = 0; i < num_marked(); ++i) values[element_index(b, sizes.num_keys - 1 - i, i)] = 1;
    }
    const Tensor wide = make_tensor_of<float>(context, {sizes.batch, sizes.num_keys, sizes.value_head_size}, values);
    property::check(heed_tensor_copy(values_.get(), wide.get()));
    inputs.queries = queries_.get();
    inputs.values = values_.get();
    outputs_.output = output_.get();
  }

  void forward() const { property::check(heed_layer_forward(layer_.get(), &inputs, nullptr, &outputs_)); }

  // Whether each row sees the keys up to its own index that are within its batch element's length, and no others, as
  // far as keys are marked. A row without a visible key is 0.
  testing::AssertionResult is_causal(const Dims& lens) const {
    forward();
    const Floats results = capi_test::read_floats(context_, output_.get());
    for (int64_t b = 0; b < sizes_.batch; ++b) {
      for (int64_t row = 0; row < sizes_.num_keys; ++row) {
        const int64_t num_seen = std::min(row + 1, lens[static_cast<size_t>(b)]);
        for (int64_t i = 0; i < num_marked(); ++i) {
          const int64_t key = sizes_.num_keys - 1 - i;
          const float weight = results[element_index(b, row, i)];
          const bool is_right =
              key < num_seen ? std::fabs(weight * static_cast<float>(num_seen) - 1) <= unit_ : weight == 0;
          if (!is_right)
            return testing::AssertionFailure() << "batch element " << b << ", row " << row << " of " << sizes_.num_keys
                                               << " gives key " << key << " the weight " << weight;
        }
      }
    }
    return testing::AssertionSuccess();
  }
  testing::AssertionResult is_causal() const {
    return is_causal(Dims(static_cast<size_t>(sizes_.batch), sizes_.num_keys));
  }

  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;

 private:
  static Layer make_layer(heed_context* context, int32_t causal) {
    heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    options.causal = causal;
    return capi_test::make_dot_product(context, options);
  }
  int64_t num_marked() const { return std::min(sizes_.value_head_size, sizes_.num_keys); }
  size_t element_index(int64_t b, int64_t key, int64_t i) const {
    return static_cast<size_t>((b * sizes_.num_keys + key) * sizes_.value_head_size + i);
  }

  heed_context* context_;
  Sizes sizes_;
  float unit_;
  Layer layer_;
  Tensor queries_;
  Tensor values_;
  Tensor output_;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
};

class Triangle : public Simulated {};

// Head sizes with blocks of 128, 112, 96, 80 and 64 keys, and numbers of keys near the ends of pairs of such blocks.
TEST_F(Triangle, NoRowSeesALaterKeyWhateverTheHeadSize) {
  const Context context = make_npu_context();
  int number = 0;
  for (const auto& [head_size, value_head_size] : {std::pair{64, 64},
                                                   {128, 128},
                                                   {129, 129},
                                                   {144, 144},
                                                   {160, 160},
                                                   {176, 130},
                                                   {40, 192},
                                                   {192, 192},
                                                   {193, 193},
                                                   {256, 256}}) {
    for (const int64_t num_keys : {1, 129, 402, 448, 482, 512, 562, 576}) {
      const heed_dtype dtype = number++ % 2 == 0 ? HEED_F16 : HEED_BF16;
      const Marked marked(context.get(), {1, num_keys, head_size, value_head_size}, dtype);
      EXPECT_TRUE(marked.is_causal()) << "head sizes " << head_size << " and " << value_head_size << ", dtype "
                                      << dtype;
    }
  }
}

// The triangle is uploaded once, and nothing else is uploaded.
TEST_F(Triangle, IsUploadedOnceForPaddedHeadsToo) {
  const Context context = make_npu_context();
  Marked(context.get(), {1, 130, 160, 160}, HEED_F16).forward();
  const Marked marked(context.get(), {1, 512, 160, 160}, HEED_F16);
  property::check(heed_context_synchronize(context.get()));
  const uint64_t uploads = ascend_sim_count("memcpy_h2d");
  marked.forward();
  EXPECT_EQ(ascend_sim_count("memcpy_h2d"), uploads);
}

TEST_F(Triangle, IsNotUsedIfLengthsHideSomething) {
  const Context context = make_npu_context();
  // Lengths that hide keys of only the first, the second or the last batch element; of all; and all keys of one.
  for (const Dims& lens : {Dims{5, 3, 5}, {4, 5, 5}, {5, 5, 1}, {4, 4, 4}, {5, 0, 5}, {0, 0, 0}, {5, 5, 5}}) {
    const Tensor valid_lens = make_tensor_of<int64_t>(context.get(), {3}, lens);
    for (const int32_t causal : {HEED_CAUSAL_TOP_LEFT, HEED_CAUSAL_BOTTOM_RIGHT}) {
      for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
        Marked marked(context.get(), {3, 5, 16, 5}, dtype, causal);
        marked.inputs.valid_lens = valid_lens.get();
        EXPECT_TRUE(marked.is_causal(lens)) << testing::PrintToString(lens) << ", dtype " << dtype;
      }
    }
  }
}

}  // namespace
}  // namespace heed::ascend_test
