// SPDX-License-Identifier: Apache-2.0
// Feed-forward networks: rule 18 against the f64 reference.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "support/activations.h"
#include "support/block_reference.h"
#include "support/numbers.h"
#include "support/one_input.h"
#include "support/samples.h"

namespace heed::property {
namespace {

struct NetworkSample {
  heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
  Call parts;  // has the parameters

  OneOutput forward(const OneInputCall& call) const {
    return on_device([&](Fallback fallback) {
      const Context context = make_context(fallback);
      heed_layer* made = nullptr;
      check(heed_feed_forward_create(context.get(), &options, &made));
      const Layer layer(made);
      for (const auto& [name, value] : parts.parameters)
        check(heed_layer_set_parameter(made, name.c_str(), HostTensor(context.get(), value).handle()));
      return property::forward(context.get(), made, call);
    });
  }

  reference::Bounded expected(const OneInputCall& call) const {
    reference::FeedForward network = feed_forward_of(parts, options, "");
    network.compute_format = compute_format(call.input.dtype);
    if (call.training != 0) network.dropout = {options.dropout, call.dropout_seed};
    return reference::feed_forward(network, call.input.contents.values);
  }
};

NetworkSample random_network(const heed_feed_forward_options& options, int64_t input_size, Random& random,
                             heed_dtype dtype = HEED_F32) {
  NetworkSample sample;
  sample.options = options;
  const auto add = [&](const std::string& name, int64_t output_size, int64_t size) {
    const double amplitude = std::sqrt(3.0 / static_cast<double>(size));
    sample.parts.parameters[name + ".weight"] = make_input(random_array({output_size, size}, random, amplitude), dtype);
    if (options.no_bias == 0)
      sample.parts.parameters[name + ".bias"] = make_input(random_array({output_size}, random), dtype);
  };
  add("W_1", options.hidden_size, input_size);
  if (options.gated != 0) add("W_gate", options.hidden_size, input_size);
  add("W_2", options.output_size != 0 ? options.output_size : input_size, options.hidden_size);
  return sample;
}

TEST(FeedForward, AgreesWithTheReference) {
  Random random(7101);
  double largest = 0.0;
  for (int64_t round = 0; round < num_rounds(1500) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Dims dims;
    const int64_t rank = 1 + random.below(8);
    for (int64_t axis = 1; axis < rank; ++axis) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(3));
    dims.push_back(random.one_of(std::vector<int64_t>{1, 2, 3, 16, 31}));
    heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
    // The hidden rows of 1024 elements lie further apart.
    options.hidden_size = random.one_of(std::vector<int64_t>{1, 3, 16, 33, 70, 1024});
    options.output_size = random.one_of(std::vector<int64_t>{0, 1, 5, 20});
    options.activation = static_cast<int32_t>(random.below(kNumActivationsOfC));
    options.gated = random.chance(0.5) ? 1 : 0;
    options.no_bias = random.chance(0.3) ? 1 : 0;
    options.dropout = random.one_of<float>({0.0F, 0.25F});
    const NetworkSample sample = random_network(options, dims.back(), random, random.one_of(kFloats));
    OneInputCall call;
    const heed_dtype dtype = random.one_of(kFloats);
    const double amplitude = random.one_of<double>({0.1, 3.0, 30.0});
    call.input =
        make_input(random_array(dims, random, amplitude), dtype, make_strides(random.one_of(kReadable), dims, random));
    call.dtype = random.chance(0.5) ? dtype : HEED_F32;
    if (options.output_size != 0) dims.back() = options.output_size;
    call.output_strides = make_strides(random.one_of(kWritable), dims, random);
    call.with_workspace = random.chance(0.5);
    call.training = random.chance(0.5) ? 1 : 0;
    call.dropout_seed = random.next();
    const OneOutput output = sample.forward(call);
    ASSERT_EQ(output.contents.dims, dims);
    const reference::Bounded expected = sample.expected(call);
    for (size_t i = 0; i < expected.values.size(); ++i) {
      const auto format = format_of(call.dtype);
      const double actual = output.contents.values[i];
      ASSERT_TRUE(reference::accepts(format, expected.values[i], expected.errors[i], actual))
          << "element " << i << " is " << actual << ", expected " << expected.values[i] << " within "
          << expected.errors[i];
      if (call.dtype == HEED_F32)
        largest = std::max(largest, reference::used_fraction(format, expected.values[i], expected.errors[i], actual));
    }
  }
  EXPECT_GT(largest, 0.05);
}

TEST(FeedForward, RowAloneHasTheSameBits) {
  HEED_SKIP_ON_ASCEND("rule 10 is the CPU's");
  Random random(7102);
  heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
  options.hidden_size = 70;
  options.activation = HEED_ACTIVATION_GELU;
  for (const int32_t gated : {0, 1}) {
    options.gated = gated;
    const NetworkSample sample = random_network(options, 33, random);
    const Array rows = random_array({300, 33}, random, 2.0);
    const OneOutput whole = sample.forward({make_input(rows), HEED_F32, {}});
    const size_t row_bytes = 33 * sizeof(float);
    for (const int64_t row : {0, 150, 299}) {
      const auto first = whole.bytes.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(row) * row_bytes);
      EXPECT_EQ(sample.forward({make_input(slice(rows, 0, row, 1)), HEED_F32, {}}).bytes,
                std::vector<uint8_t>(first, first + static_cast<std::ptrdiff_t>(row_bytes)));
    }
  }
}

TEST(FeedForward, NumbersThatAreNotFiniteMakeOnlyTheirRowNaN) {
  Random random(7103);
  heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
  options.hidden_size = 9;
  for (const int32_t activation : kActivationsOfC) {
    options.activation = activation;
    const NetworkSample sample = random_network(options, 7, random);
    Array rows = random_array({3, 7}, random);
    const OneOutput finite = sample.forward({make_input(rows), HEED_F32, {}});
    rows.values[7 + 2] = kNaN;
    const OneOutput results = sample.forward({make_input(rows), HEED_F32, {}});
    for (size_t i = 0; i < 21; ++i) {
      if (i / 7 == 1) {
        EXPECT_TRUE(std::isnan(results.contents.values[i])) << "activation " << activation;
      } else {
        EXPECT_EQ(results.contents.values[i], finite.contents.values[i]);
      }
    }
  }
}

}  // namespace
}  // namespace heed::property
