// SPDX-License-Identifier: Apache-2.0
// Dropout layers: docs/semantics.md, sections "Linear layers, dropout and positional encodings" and "Random numbers",
// against the reference's Philox.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "property/support/device.h"
#include "reference/number_format.h"
#include "reference/philox.h"
#include "support/one_input.h"
#include "support/samples.h"

namespace heed::property {
namespace {

OneOutput drop(float dropout, const OneInputCall& call) {
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
    options.dropout = dropout;
    heed_layer* layer = nullptr;
    check(heed_dropout_create(context.get(), &options, &layer));
    return forward(context.get(), Layer(layer).get(), call);
  });
}

bool keeps(uint64_t seed, float dropout, size_t i) {
  const auto words = reference::philox_4x32_10({static_cast<uint32_t>(i / 4), 0, 0, 0},
                                               {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return words[i % 4] >= std::floor(static_cast<double>(dropout) * 0x1p32);
}

OneInputCall training_call(const Dims& dims, heed_dtype dtype, uint64_t seed, Random& random) {
  OneInputCall call;
  call.input = make_input(random_array(dims, random, 2.0), dtype);
  call.dtype = dtype;
  call.dropout_seed = seed;
  call.training = 1;
  return call;
}

TEST(Dropout, KeepsWhatPhiloxKeepsWhateverTheShapeAndStrides) {
  Random random(6001);
  for (int64_t round = 0; round < num_rounds(1000); ++round) {
    Dims dims;
    const int64_t rank = 1 + random.below(8);
    for (int64_t axis = 0; axis < rank; ++axis) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(4));
    if (random.chance(0.3)) dims.back() = 37;
    const heed_dtype dtype = random.one_of(kFloats);
    OneInputCall call = training_call(dims, dtype, random.next(), random);
    call.input = make_input(call.input.contents, dtype, make_strides(random.one_of(kReadable), dims, random));
    call.dtype = random.chance(0.5) ? dtype : HEED_F32;
    call.output_strides = make_strides(random.one_of(kWritable), dims, random);
    call.with_workspace = random.chance(0.5);
    const float dropout = random.one_of(std::vector<float>{0.1F, 0.5F, 0.75F, 0.999F});
    const auto scale = static_cast<float>(1.0 / (1.0 - static_cast<double>(dropout)));
    const OneOutput output = drop(dropout, call);
    ASSERT_EQ(output.contents.dims, dims);
    for (size_t i = 0; i < output.contents.values.size(); ++i) {
      const float product = static_cast<float>(call.input.contents.values[i]) * scale;
      const double expected = keeps(call.dropout_seed, dropout, i)
                                  ? reference::round_to(format_of(call.dtype), static_cast<double>(product))
                                  : 0.0;
      ASSERT_EQ(output.contents.values[i], expected) << "round " << round << ", element " << i;
    }
  }
}

TEST(Dropout, KeepsTheExpectedNumberOfElements) {
  Random random(6002);
  constexpr int64_t kCount = 100'000;
  for (const float dropout : {0.05F, 0.5F, 0.9F}) {
    OneInputCall call = training_call({kCount}, HEED_F32, 17, random);
    call.input = make_input(filled({kCount}, 1.0));
    double kept = 0;
    for (const double element : drop(dropout, call).contents.values) kept += element != 0.0 ? 1 : 0;
    const double expected = kCount * (1.0 - static_cast<double>(dropout));
    // Six standard deviations of a binomial distribution.
    EXPECT_NEAR(kept, expected, 6 * std::sqrt(expected * static_cast<double>(dropout)));
  }
}

TEST(Dropout, SameSeedSameBitsAnotherSeedOtherBits) {
  Random random(6003);
  OneInputCall call = training_call({50, 20}, HEED_F32, 1, random);
  const OneOutput first = drop(0.5F, call);
  EXPECT_EQ(drop(0.5F, call).bytes, first.bytes);
  for (const uint64_t seed : {uint64_t{2}, uint64_t{1} << 32 | 1}) {
    call.dropout_seed = seed;
    EXPECT_NE(drop(0.5F, call).bytes, first.bytes);
  }
}

TEST(Dropout, DroppedNonFiniteNumbersAreZero) {
  Random random(6004);
  OneInputCall call = training_call({40}, HEED_F32, 3, random);
  for (size_t i = 0; i < 40; ++i) {
    call.input.contents.values[i] =
        i % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : -std::numeric_limits<double>::infinity();
  }
  const OneOutput output = drop(0.5F, call);
  for (size_t i = 0; i < 40; ++i) {
    const double element = output.contents.values[i];
    if (!keeps(3, 0.5F, i)) {
      EXPECT_EQ(element, 0.0);
      EXPECT_FALSE(std::signbit(element));
    } else {
      EXPECT_TRUE(i % 2 == 0 ? std::isnan(element) : element == -std::numeric_limits<double>::infinity());
    }
  }
}

// For 16 bits every pattern, and for F32 also quiet and signalling NaNs; results are compared bit by bit.
TEST(Dropout, CopiesBitsUnlessItDrops) {
  const auto same_bytes = [](heed_context* context, heed_dtype dtype, float dropout, int32_t training,
                             const std::vector<uint8_t>& bytes) {
    const int64_t count = static_cast<int64_t>(bytes.size()) / (dtype == HEED_F32 ? 4 : 2);
    heed_tensor* tensors[2];
    for (heed_tensor*& tensor : tensors) check(heed_tensor_create(context, dtype, 1, &count, &tensor));
    const Tensor input(tensors[0]);
    const Tensor output(tensors[1]);
    check(heed_tensor_write(input.get(), bytes.data(), bytes.size()));
    heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
    options.dropout = dropout;
    heed_layer* made = nullptr;
    check(heed_dropout_create(context, &options, &made));
    const Layer layer(made);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = input.get();
    inputs.training = training;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.get();
    check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    std::vector<uint8_t> result(bytes.size());
    check(heed_tensor_read(output.get(), result.data(), result.size()));
    return result == bytes;
  };
  std::vector<uint8_t> patterns;
  for (int i = 0; i < 1 << 16; ++i) {
    patterns.push_back(static_cast<uint8_t>(i));
    patterns.push_back(static_cast<uint8_t>(i >> 8));
  }
  std::vector<uint8_t> floats;
  for (const uint32_t bits : {0x7f800001u, 0xffc12345u, 0x7f800000u, 0x80000000u, 1u, 0x3f800000u}) {
    for (int shift = 0; shift < 32; shift += 8) floats.push_back(static_cast<uint8_t>(bits >> shift));
  }
  for (const auto& [dropout, training] : {std::pair{0.5F, 0}, std::pair{0.0F, 1}, std::pair{0.0F, 0}}) {
    for (const heed_dtype dtype : kFloats) {
      EXPECT_TRUE(on_device([&, p = dropout, t = training](Fallback fallback) {
        return same_bytes(make_context(fallback).get(), dtype, p, t, dtype == HEED_F32 ? floats : patterns);
      })) << name_of(dtype);
    }
  }
}

TEST(Dropout, WidensExactlyUnlessItDrops) {
  Random random(6005);
  for (const heed_dtype dtype : {HEED_F16, HEED_BF16}) {
    OneInputCall call = training_call({7, 5}, dtype, 1, random);
    call.training = 0;
    call.dtype = HEED_F32;
    EXPECT_EQ(drop(0.5F, call).contents.values, call.input.contents.values);
  }
}

}  // namespace
}  // namespace heed::property
