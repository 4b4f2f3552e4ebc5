// SPDX-License-Identifier: Apache-2.0
// Contexts with flush_subnormals: docs/semantics.md, section "Subnormal numbers as 0". The reference gets the inputs and
// parameters with 0 for their subnormal numbers, and its bound the error of flushed results.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "property/support/device.h"
#include "property/support/operation_call.h"
#include "reference/error_bound.h"
#include "reference/multi_head_attention.h"
#include "support/call.h"
#include "support/one_input.h"
#include "support/random_block.h"
#include "support/random_case.h"
#include "support/samples.h"

namespace heed::property {
namespace {

constexpr double kSmallestNormal = 0x1p-126;

// A magnitude of tensors whose elements are subnormal, normal, or some of both.
double draw_magnitude(Random& random) { return random.magnitude(1e-43, 1e-34); }

void scale(Input& input, double factor) {
  for (double& element : input.contents.values) element *= factor;
  const int64_t unused_before = input.unused_before;
  input = make_input(std::move(input.contents), input.dtype, input.strides);
  input.unused_before = unused_before;
}

// The input as the context reads it.
Input as_flushed(Input input) {
  if (input.dtype == HEED_F16) return input;
  for (double& element : input.contents.values) {
    if (std::fabs(element) < kSmallestNormal) element = 0.0;
  }
  return input;
}

void flush(std::optional<Input>& input) {
  if (input) input = as_flushed(*std::move(input));
}

Call as_flushed(Call call) {
  call.queries = as_flushed(std::move(call.queries));
  flush(call.keys);
  flush(call.values);
  flush(call.bias);
  flush(call.alibi_slopes);
  flush(call.sinks);
  for (auto& [name, parameter] : call.parameters) parameter = as_flushed(std::move(parameter));
  return call;
}

heed_context_options flushing_options(int32_t num_threads = 0) {
  heed_context_options options = device_options();
  options.flush_subnormals = 1;
  options.num_threads = num_threads;
  return options;
}

Context flushing_context(int32_t num_threads = 0) {
  const heed_context_options options = flushing_options(num_threads);
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

TEST(FlushSubnormals, RandomCallsAreWithinTheirBound) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  constexpr uint64_t kSeed = 20241129;
  ChoiceSampler sampler(kSeed);
  Random random(kSeed);
  AccuracyStatistics statistics;
  for (int64_t number = 0; number < num_rounds(1500); ++number) {
    Call call = make_call(sampler.next(), kSeed * 1000003 + static_cast<uint64_t>(number));
    call.flush_subnormals = true;
    for (auto& [name, parameter] : call.parameters) {
      if (parameter.dtype != HEED_F16 && random.chance(0.3)) scale(parameter, draw_magnitude(random));
    }
    if (call.values && call.values->dtype != HEED_F16 && random.chance(0.3))
      scale(*call.values, draw_magnitude(random));
    const Results results = run(call);
    const reference::FlushedSubnormals scope;
    ASSERT_TRUE(agree(results, solve(as_flushed(call)), &statistics)) << "call " << number;
  }
  EXPECT_GT(statistics.largest_fraction, 0.1) << "the bound is wider than needed";
}

TEST(FlushSubnormals, RandomBlocksAreWithinTheirBound) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  Random random(7300);
  AccuracyStatistics statistics;
  for (int64_t number = 0; number < num_rounds(300); ++number) {
    Call call = make_block_call(static_cast<uint64_t>(number));
    call.flush_subnormals = true;
    for (auto& [name, parameter] : call.parameters) {
      if (parameter.dtype != HEED_F16 && random.chance(0.2)) scale(parameter, draw_magnitude(random));
    }
    if (call.queries.dtype != HEED_F16 && random.chance(0.2)) scale(call.queries, draw_magnitude(random));
    const Results results = run(call);
    const reference::FlushedSubnormals scope;
    ASSERT_TRUE(agree(results, solve(as_flushed(call)), &statistics)) << "call " << number;
  }
  EXPECT_EQ(statistics.without_bound, 0);
}

// A linear layer with subnormal weights, and its inputs.
struct LinearCase {
  Input input;
  Input weight;
  std::optional<Input> bias;
  heed_dtype output = HEED_F32;

  OneOutput forward(heed_context* context) const {
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = weight.contents.dims[0];
    options.no_bias = bias ? 0 : 1;
    heed_layer* layer = nullptr;
    check(heed_linear_create(context, &options, &layer));
    const Layer owned(layer);
    check(heed_layer_set_parameter(layer, "weight", HostTensor(context, weight).handle()));
    if (bias) check(heed_layer_set_parameter(layer, "bias", HostTensor(context, *bias).handle()));
    return property::forward(context, layer, {input, output, {}});
  }

  testing::AssertionResult agrees(const OneOutput& actual) const {
    const reference::FlushedSubnormals scope;
    reference::Projection projection;
    projection.output_size = weight.contents.dims[0];
    projection.input_size = weight.contents.dims[1];
    projection.weight = as_flushed(weight).contents.values;
    if (bias) projection.bias = as_flushed(*bias).contents.values;
    const Dims& dims = input.contents.dims;
    const reference::Bounded expected = reference::project(
        projection, reference::as_read(as_flushed(input).contents.values, std::nullopt), dims[0], std::nullopt);
    const Dims result_dims = {dims[0], projection.output_size};
    return property::agree(output, actual.contents, {result_dims, expected.values}, {result_dims, expected.errors});
  }
};

LinearCase random_linear(const Dims& input_dims, int64_t output_size, heed_dtype dtype, Random& random) {
  LinearCase result;
  const double of_weight = dtype == HEED_F16 ? 1e-7 : draw_magnitude(random);
  result.weight = make_input(random_array({output_size, input_dims[1]}, random, of_weight), dtype);
  if (random.chance(0.5)) result.bias = make_input(random_array({output_size}, random, of_weight), dtype);
  const double of_input = random.chance(0.3) ? draw_magnitude(random) : random.magnitude(1e-4, 1e4);
  result.input = make_input(random_array(input_dims, random, of_input), random.one_of(kFloats));
  result.output = result_dtype(result.input.dtype, random);
  return result;
}

TEST(FlushSubnormals, LinearLayersAreWithinTheirBound) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  Random random(7301);
  const Context context = flushing_context();
  for (int64_t round = 0; round < num_rounds(600); ++round) {
    const Dims dims = {1 + random.below(40), random.one_of(std::vector<int64_t>{0, 1, 2, 16, 31, 67})};
    const LinearCase linear =
        random_linear(dims, random.one_of(std::vector<int64_t>{1, 2, 5, 63, 65}), random.one_of(kFloats), random);
    ASSERT_TRUE(linear.agrees(linear.forward(context.get()))) << "round " << round;
  }
}

TEST(FlushSubnormals, NumberOfThreadsChangesNothing) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  Random random(7302);
  Call attention;
  attention.kind = Kind::DotProductRank4;
  attention.flush_subnormals = true;
  attention.queries = make_input(random_array({2, 4, 90, 32}, random, 1.0));
  attention.keys = make_input(random_array({2, 4, 200, 32}, random, 1.0));
  attention.values = make_input(random_array({2, 4, 200, 32}, random, 1e-37));
  const LinearCase linear = random_linear({200, 128}, 256, HEED_F32, random);
  attention.num_threads = 1;
  const Results attended = run(attention);
  const OneOutput projected = linear.forward(flushing_context(1).get());
  {
    const reference::FlushedSubnormals scope;
    EXPECT_TRUE(agree(attended, solve(as_flushed(attention))));
  }
  EXPECT_TRUE(linear.agrees(projected));
  for (int32_t num_threads = 2; num_threads <= 16; ++num_threads) {
    attention.num_threads = num_threads;
    // Again, so that threads that have served once serve another time.
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(same_bits(run(attention), attended)) << num_threads << " threads";
      ASSERT_EQ(linear.forward(flushing_context(num_threads).get()).bytes, projected.bytes)
          << num_threads << " threads";
    }
  }
}

// The products of a row of numbers with 1, so that each result is its number.
Array times_one(heed_context* context, heed_dtype dtype, std::vector<double> numbers, heed_dtype output) {
  const auto count = static_cast<int64_t>(numbers.size());
  LinearCase linear;
  linear.input = make_input({{count, 1}, std::move(numbers)}, dtype);
  linear.weight = make_input({{1, 1}, {1.0}}, dtype);
  linear.output = output;
  return linear.forward(context).contents;
}

TEST(FlushSubnormals, CountsSubnormalNumbersOfF32AndBf16AsZero) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  const std::vector<double> numbers = {0x1p-126, 0x1p-127, -0x1p-133, 0x1.8p-127, -0x1p-126, 0x1p-125};
  const std::vector<double> flushed = {0x1p-126, 0.0, 0.0, 0.0, -0x1p-126, 0x1p-125};
  const Context kept = make_context();
  const Context context = flushing_context();
  for (const heed_dtype dtype : {HEED_F32, HEED_BF16}) {
    for (const heed_dtype output : {HEED_F32, dtype}) {
      EXPECT_EQ(times_one(kept.get(), dtype, numbers, output).values, numbers);
      EXPECT_EQ(times_one(context.get(), dtype, numbers, output).values, flushed);
    }
  }
}

TEST(FlushSubnormals, KeepsTheNumbersOfF16) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  const std::vector<double> numbers = {0x1p-24, -0x1p-24, 0x1.8p-23, 0x1.ff8p-15, 0x1p-14, 65504.0};
  const Context context = flushing_context();
  for (const heed_dtype output : {HEED_F32, HEED_F16})
    EXPECT_EQ(times_one(context.get(), HEED_F16, numbers, output).values, numbers);
}

TEST(FlushSubnormals, ConversionsKeepAllNumbers) {
  HEED_SKIP_ON_ASCEND("the option concerns only the CPU");
  const Context context = flushing_context();
  const Input numbers = make_input({{4}, {0x1p-149, -0x1p-127, 0x1p-133, 1.0}});
  const HostTensor tensor(context.get(), numbers);
  heed_tensor* copy = nullptr;
  const int64_t dims[] = {4};
  check(heed_tensor_create(context.get(), HEED_F64, 1, dims, &copy));
  const Tensor owned(copy);
  check(heed_tensor_copy(copy, tensor.handle()));
  std::vector<double> converted(4);
  check(heed_tensor_read(copy, converted.data(), sizeof(double) * converted.size()));
  EXPECT_EQ(converted, numbers.contents.values);
}

}  // namespace
}  // namespace heed::property
