// SPDX-License-Identifier: Apache-2.0
// Positional encodings: docs/semantics.md, section "Linear layers, dropout and positional encodings".
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/philox.h"
#include "reference/positional_encoding.h"
#include "support/numbers.h"
#include "support/one_input.h"
#include "support/packing.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using Options = heed_positional_encoding_options;

Options options_of(int32_t kind, int64_t size, int64_t max_positions = 200) {
  Options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  options.kind = kind;
  options.size = size;
  options.max_positions = max_positions;
  return options;
}

// `table`: the parameter of a learned encoding.
OneOutput encode(const Options& options, const OneInputCall& call, const std::optional<Input>& table = {},
                 int32_t num_threads = 0) {
  return on_device([&](Fallback fallback) {
    heed_context_options context_options = device_options(fallback);
    context_options.num_threads = num_threads;
    heed_context* raw_context = nullptr;
    check(heed_context_create(&context_options, &raw_context));
    const Context context(raw_context);
    heed_layer* raw_layer = nullptr;
    check(heed_positional_encoding_create(context.get(), &options, &raw_layer));
    const Layer layer(raw_layer);
    if (table) {
      const HostTensor weight(context.get(), *table);
      check(heed_layer_set_parameter(layer.get(), "weight", weight.handle()));
    }
    return forward(context.get(), layer.get(), call);
  });
}

OneInputCall call_of(Array contents, heed_dtype dtype = HEED_F32) {
  OneInputCall call;
  call.input = make_input(std::move(contents), dtype);
  call.dtype = dtype;
  return call;
}

reference::BoundedNumber row_element(const Options& options, const std::optional<Input>& table, int64_t position,
                                     int64_t d) {
  switch (options.kind) {
    case HEED_POSITIONS_SINUSOIDAL: return reference::sinusoid(reference::Sinusoids::InTurn, options.size, position, d);
    case HEED_POSITIONS_SINUSOIDAL_HALVES:
      return reference::sinusoid(reference::Sinusoids::Halves, options.size, position, d);
    case HEED_POSITIONS_SINUSOIDAL_HALVES_2I:
      return reference::sinusoid(reference::Sinusoids::HalvesOfPairs, options.size, position, d);
    default: break;
  }
  const auto index = static_cast<size_t>((options.first_row + position) * options.size + d);
  return {table->contents.values[index], 0.0};
}

// `position_of(index)`: that of the row at this index.
template <typename PositionOf>
testing::AssertionResult agrees(const Options& options, const OneInputCall& call, const std::optional<Input>& table,
                                const OneOutput& output, PositionOf position_of) {
  testing::AssertionResult verdict = testing::AssertionSuccess();
  for_each_index(call.input.contents.dims, [&](const Dims& index, size_t i) {
    if (!verdict) return;
    const auto words = reference::philox_4x32_10(
        {static_cast<uint32_t>(i / 4), 0, 0, 0},
        {static_cast<uint32_t>(call.dropout_seed), static_cast<uint32_t>(call.dropout_seed >> 32)});
    const double dropout = call.training != 0 ? static_cast<double>(options.dropout) : 0.0;
    const bool is_kept = dropout == 0.0 || words[i % 4] >= std::floor(dropout * 0x1p32);
    reference::BoundedNumber expected;
    if (is_kept) {
      expected = reference::encoded(row_element(options, table, position_of(index), index.back()),
                                    call.input.contents.values[i], dropout);
    }
    if (reference::accepts(format_of(call.dtype), expected.value, expected.error, output.contents.values[i])) return;
    verdict = testing::AssertionFailure()
              << "at " << testing::PrintToString(index) << ": got " << output.contents.values[i] << ", expected "
              << expected.value << " within " << expected.error;
  });
  return verdict;
}

// The row of position 3, which begins at element 18.
TEST(PositionalEncoding, EachKindHasItsSinesAndCosines) {
  struct Expected {
    int32_t kind;
    std::vector<double> row;
  };
  for (const Expected& expected :
       {Expected{HEED_POSITIONS_SINUSOIDAL, {0.14112, -0.989992, 0.138798, 0.990321, 0.006463, 0.999979}},
        {HEED_POSITIONS_SINUSOIDAL_HALVES, {0.14112, 0.029996, 0.0003, -0.989992, 0.99955, 1.0}},
        {HEED_POSITIONS_SINUSOIDAL_HALVES_2I, {0.14112, 0.138798, 0.006463, -0.989992, 0.990321, 0.999979}}}) {
    const OneOutput output = encode(options_of(expected.kind, 6), call_of(filled({1, 4, 6}, 0.0)));
    for (size_t d = 0; d < 6; ++d)
      EXPECT_NEAR(output.contents.values[18 + d], expected.row[d], 0.5e-6 + a_few_roundings(1.0)) << d;
  }
}

TEST(PositionalEncoding, AgreesWithTheReference) {
  Random random(6101);
  for (int64_t round = 0; round < num_rounds(400); ++round) {
    Options options = options_of(static_cast<int32_t>(random.below(4)), 4 + 2 * random.below(20));
    if (options.kind == HEED_POSITIONS_SINUSOIDAL || options.kind == HEED_POSITIONS_LEARNED)
      options.size -= random.below(4);
    const bool is_learned = options.kind == HEED_POSITIONS_LEARNED;
    if (is_learned && random.chance(0.5)) options.first_row = 1 + random.below(3);
    if (random.chance(0.3)) options.dropout = 0.25F;
    const heed_dtype table_dtype = random.one_of(kFloats);
    std::optional<Input> table;
    if (is_learned) {
      const Array rows = random_array({options.first_row + options.max_positions, options.size}, random, 2.0);
      table = make_input(rows, table_dtype);
    }
    const int64_t batch = random.below(5);
    std::vector<int64_t> counts;
    for (int64_t b = 0; b < batch; ++b) counts.push_back(random.one_of<int64_t>({0, 1, 15, 64, 65, random.below(200)}));
    const bool is_packed = random.chance(0.4);
    const int64_t length = largest_of(counts);
    const Input offsets = make_offsets(counts, random.chance(0.5) ? HEED_I32 : HEED_I64);
    const auto total = static_cast<int64_t>(offsets.contents.values.back());
    const Dims rows = is_packed ? Dims{total} : Dims{batch, length};
    Dims dims = rows;
    dims.push_back(options.size);
    const heed_dtype dtype = random.one_of(kFloats);
    OneInputCall call = call_of(random_array(dims, random, 2.0), dtype);
    call.input = make_input(call.input.contents, dtype, make_strides(random.one_of(kReadable), dims, random));
    call.dtype = random.chance(0.5) ? dtype : HEED_F32;
    call.output_strides = make_strides(random.one_of(kWritable), dims, random);
    call.with_workspace = random.chance(0.5);
    call.training = random.chance(0.5) ? 1 : 0;
    call.dropout_seed = random.next();
    Array positions = filled(rows, 0.0);
    for (double& position : positions.values) position = static_cast<double>(random.below(options.max_positions));
    const bool are_given = random.chance(0.5);
    if (are_given) call.positions = make_input(positions, random.chance(0.5) ? HEED_I32 : HEED_I64);
    if (is_packed) call.query_offsets = offsets;
    const OneOutput output = encode(options, call, table);
    EXPECT_TRUE(
        agrees(options, call, table, output,
               [&](const Dims& index) {
                 if (are_given)
                   return static_cast<int64_t>(
                       positions.values[static_cast<size_t>(is_packed ? index[0] : index[0] * length + index[1])]);
                 if (!is_packed) return index[1];
                 int64_t row = index[0];
                 for (int64_t b = 0; row >= counts[static_cast<size_t>(b)]; ++b) row -= counts[static_cast<size_t>(b)];
                 return row;
               }))
        << "round " << round;
  }
}

TEST(PositionalEncoding, SinusoidsAreInF64UpToTheLastPosition) {
  Options options = options_of(HEED_POSITIONS_SINUSOIDAL, 2, 1 << 20);
  OneInputCall call = call_of(filled({1, 2, 2}, 0.0));
  call.positions = make_input({{1, 2}, {131071.0, 1048575.0}}, HEED_I32);
  const OneOutput output = encode(options, call);
  const std::vector<double> expected = {std::sin(131071.0), std::cos(131071.0), std::sin(1048575.0),
                                        std::cos(1048575.0)};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(output.contents.values[i], expected[i], a_few_roundings(1.0) / 10.0);
}

TEST(PositionalEncoding, PackedThreadsAndLaterPositionsChangeNoBit) {
  Random random(6102);
  const std::vector<int64_t> counts = {16, 0, 1, 257, 15, 64, 0, 65, 256};
  const Input offsets = make_offsets(counts);
  const auto total = static_cast<int64_t>(offsets.contents.values.back());
  for (int32_t kind = 0; kind < 4; ++kind) {
    const Options options = options_of(kind, 66, 300);
    std::optional<Input> table;
    if (kind == HEED_POSITIONS_LEARNED) table = make_input(random_array({300, 66}, random, 2.0), HEED_BF16);
    OneInputCall packed = call_of(random_array({total, 66}, random, 2.0), HEED_F16);
    packed.query_offsets = offsets;
    const OneOutput expected = encode(options, packed, table, 1);
    EXPECT_EQ(encode(options, packed, table, 4).bytes, expected.bytes);
    const OneOutput padded =
        encode(options, call_of(pad(packed.input.contents, 0, offsets, 257, kNaN), HEED_F16), table);
    EXPECT_EQ(pack(padded.contents, 0, offsets).values, expected.contents.values);
    // The same positions, given.
    Array positions = filled({total}, 0.0);
    int64_t row = 0;
    for (int64_t count : counts) {
      for (int64_t i = 0; i < count; ++i) positions.values[static_cast<size_t>(row++)] = static_cast<double>(i);
    }
    packed.positions = make_input(positions, HEED_I32);
    EXPECT_EQ(encode(options, packed, table).bytes, expected.bytes);
    // A table for more positions has the same rows.
    if (kind == HEED_POSITIONS_LEARNED) continue;
    EXPECT_EQ(encode(options_of(kind, 66, 1000), packed).bytes, expected.bytes);
  }
}

}  // namespace
}  // namespace heed::property
