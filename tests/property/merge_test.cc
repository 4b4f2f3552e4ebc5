// SPDX-License-Identifier: Apache-2.0
// heed_attention_merge (docs/semantics.md, section "Merging"): compared with the formula in f64; and the merged parts
// of an attention, in any order and with sinks, compared with the whole attention.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "support/call.h"
#include "support/host_tensor.h"
#include "support/random.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using reference::kInfinity;
using reference::kUnitRoundoff;

struct Parts {
  std::vector<Input> outputs;
  std::vector<Input> log_sum_exps;
  std::optional<Input> sinks;
};

struct Merged {
  Array output;
  Array log_sum_exp;
};

Dims without_last(Dims dims) {
  dims.pop_back();
  return dims;
}

Merged merge(const Parts& parts, heed_dtype dtype, Layout layout, Random& random) {
  const Dims& dims = parts.outputs[0].contents.dims;
  const Dims row_dims = without_last(dims);
  const Dims strides = make_strides(layout, dims, random);
  const Dims row_strides = make_strides(layout, row_dims, random);
  return on_device([&](Fallback fallback) {
    const Context context = make_context(fallback);
    std::vector<HostTensor> tensors;
    std::vector<const heed_tensor*> outputs;
    std::vector<const heed_tensor*> log_sum_exps;
    tensors.reserve(2 * parts.outputs.size());
    for (size_t n = 0; n < parts.outputs.size(); ++n) {
      outputs.push_back(tensors.emplace_back(context.get(), parts.outputs[n]).handle());
      log_sum_exps.push_back(tensors.emplace_back(context.get(), parts.log_sum_exps[n]).handle());
    }
    std::optional<HostTensor> sinks;
    if (parts.sinks) sinks.emplace(context.get(), *parts.sinks);
    const HostTensor output(context.get(), dtype, dims, strides);
    const HostTensor log_sum_exp(context.get(), HEED_F32, row_dims, row_strides);
    check(heed_attention_merge(outputs.data(), log_sum_exps.data(), static_cast<int64_t>(outputs.size()),
                               sinks ? sinks->handle() : nullptr, output.handle(), log_sum_exp.handle()));
    EXPECT_TRUE(output.padding_is_untouched());
    EXPECT_TRUE(log_sum_exp.padding_is_untouched());
    for (const HostTensor& tensor : tensors) EXPECT_TRUE(tensor.input_is_untouched());
    return Merged{output.read(), log_sum_exp.read()};
  });
}

// One row by the formula, without a maximum to subtract: log_sum_exps here are below 100.
struct Row {
  double total = 0;
  std::vector<double> weights;
};

Row row_of(const Parts& parts, size_t row, double sink) {
  Row result;
  result.total = std::exp(sink);
  for (const Input& part : parts.log_sum_exps) {
    result.weights.push_back(std::exp(part.contents.values[row]));
    result.total += result.weights.back();
  }
  for (double& weight : result.weights) weight = result.total == 0 ? 0 : weight / result.total;
  return result;
}

double sink_of(const Parts& parts, size_t row) {
  if (!parts.sinks) return -kInfinity;
  const Dims& dims = parts.outputs[0].contents.dims;
  const auto num_queries = static_cast<size_t>(dims[dims.size() - 2]);
  const auto num_heads = static_cast<size_t>(dims[dims.size() - 3]);
  return parts.sinks->contents.values[row / num_queries % num_heads];
}

// The bound. Each weight is rounded once, by a factor (1 + d) with |d| <= u. In the sum of n products each product is
// affected by at most n + 1 roundings: its own, if products are rounded separately, and those of the additions. So the
// error is at most (n + 2) u times the sum of weight times magnitude, and that sum is at most the largest magnitude.
// Products and weights may also underflow.
void expect_by_formula(const Parts& parts, const Merged& merged, heed_dtype dtype, const std::string& what) {
  const Dims& dims = parts.outputs[0].contents.dims;
  const auto size = static_cast<size_t>(dims.back());
  const auto num_parts = static_cast<double>(parts.outputs.size());
  for (size_t row = 0; row < merged.log_sum_exp.values.size(); ++row) {
    const Row expected = row_of(parts, row, sink_of(parts, row));
    // The device computes in double, so only the rounding to F32 remains.
    const double log_sum_exp = std::log(expected.total);
    EXPECT_TRUE(reference::accepts(reference::Format::F32, log_sum_exp, 1e-14 * (1 + std::abs(log_sum_exp)),
                                   merged.log_sum_exp.values[row]))
        << what << ", row " << row << ": log_sum_exp " << merged.log_sum_exp.values[row] << ", expected "
        << log_sum_exp;
    for (size_t d = 0; d < size; ++d) {
      double value = 0;
      double largest = 0;
      for (size_t n = 0; n < parts.outputs.size(); ++n) {
        if (expected.weights[n] == 0) continue;
        const double element = parts.outputs[n].contents.values[row * size + d];
        value += expected.weights[n] * element;
        largest = std::max(largest, std::abs(element));
      }
      const double error = reference::kSecondOrder * (num_parts + 2) * kUnitRoundoff * largest +
                           num_parts * reference::underflow_error() * (1 + largest);
      EXPECT_TRUE(reference::accepts(format_of(dtype), value, error, merged.output.values[row * size + d]))
          << what << ", row " << row << ", element " << d << ": " << merged.output.values[row * size + d]
          << ", expected " << value << " within " << error;
    }
  }
}

Parts random_parts(Random& random, heed_dtype dtype, const Dims& dims, size_t num_parts) {
  const Dims row_dims = without_last(dims);
  Parts parts;
  for (size_t n = 0; n < num_parts; ++n) {
    const Dims strides = make_strides(random.one_of(kReadable), dims, random);
    Array output = random_array(dims, random, random.magnitude(1e-3, 1e3));
    Array log_sum_exp = random_array(row_dims, random, random.one_of(std::vector<double>{1, 10, 80}));
    // In some rows, some or all parts see no key.
    const double share = random.one_of(std::vector<double>{0, 0.3, 0.9});
    for (double& number : log_sum_exp.values) {
      if (random.chance(share)) number = -kInfinity;
    }
    parts.outputs.push_back(make_input(std::move(output), dtype, strides));
    parts.log_sum_exps.push_back(
        make_input(std::move(log_sum_exp), HEED_F32, make_strides(random.one_of(kReadable), row_dims, random)));
  }
  if (dims.size() >= 3 && random.chance(0.4))
    parts.sinks = make_input(random_array({dims[dims.size() - 3]}, random, 20));
  return parts;
}

TEST(Merge, IsTheFormulaInRandomCases) {
  constexpr int kCases = 400;
  Random random(18);
  int num_empty_rows = 0;
  for (int i = 0; i < kCases && !HasFailure(); ++i) {
    Dims dims;
    const int64_t rank = 2 + random.below(7);
    for (int64_t axis = 0; axis < rank; ++axis) dims.push_back(1 + random.below(axis < rank - 2 ? 3 : 5));
    // Sizes next to the widths of vectors.
    if (random.chance(0.5)) dims.back() = random.one_of(std::vector<int64_t>{0, 1, 3, 7, 8, 9, 15, 16, 17, 33, 64, 65});
    const heed_dtype dtype = random.one_of(kFloats);
    const heed_dtype result = random.chance(0.5) ? dtype : HEED_F32;
    const Parts parts = random_parts(random, dtype, dims, static_cast<size_t>(1 + random.below(9)));
    const Merged merged = merge(parts, result, random.one_of(kWritable), random);
    expect_by_formula(parts, merged, result, "case " + std::to_string(i));
    for (const double number : merged.log_sum_exp.values) num_empty_rows += number == -kInfinity ? 1 : 0;
  }
  EXPECT_GT(num_empty_rows, 100);
}

TEST(Merge, OfRowsThatNoPartSees) {
  Random random(1);
  Parts parts = random_parts(random, HEED_F32, {2, 3, 4, 5}, 3);
  for (Input& part : parts.log_sum_exps) part = make_input(filled({2, 3, 4}, -kInfinity));
  // The output of a part without visible keys is not read.
  parts.outputs[1] = make_input(filled({2, 3, 4, 5}, reference::kNaN));
  parts.sinks.reset();
  Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
  EXPECT_EQ(merged.output.values, filled({2, 3, 4, 5}, 0).values);
  EXPECT_EQ(merged.log_sum_exp.values, filled({2, 3, 4}, -kInfinity).values);
  // A sink contributes to log_sum_exp only.
  parts.sinks = make_input(Array{{3}, {0.5, -2, 7}});
  merged = merge(parts, HEED_F32, Layout::RowMajor, random);
  EXPECT_EQ(merged.output.values, filled({2, 3, 4, 5}, 0).values);
  for (size_t row = 0; row < merged.log_sum_exp.values.size(); ++row)
    EXPECT_EQ(merged.log_sum_exp.values[row], parts.sinks->contents.values[row / 4 % 3]);
  parts.sinks = make_input(filled({3}, reference::kNaN));
  merged = merge(parts, HEED_F32, Layout::RowMajor, random);
  EXPECT_EQ(merged.output.values, filled({2, 3, 4, 5}, 0).values);
  for (const double number : merged.log_sum_exp.values) EXPECT_TRUE(std::isnan(number));
}

TEST(Merge, OfOnePartIsThePart) {
  Random random(2);
  Parts parts = random_parts(random, HEED_F32, {2, 3, 4, 17}, 1);
  parts.log_sum_exps[0] = make_input(random_array({2, 3, 4}, random, 300));
  parts.sinks.reset();
  const Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
  EXPECT_EQ(merged.output.values, parts.outputs[0].contents.values);
  EXPECT_EQ(merged.log_sum_exp.values, parts.log_sum_exps[0].contents.values);
}

TEST(Merge, OfNumbersThatAreNoneIsNaNInTheirRowsAlone) {
  Random random(3);
  for (const double number : {reference::kNaN, kInfinity}) {
    Parts parts = random_parts(random, HEED_F32, {1, 2, 3, 9}, 3);
    for (Input& part : parts.log_sum_exps) part = make_input(random_array({1, 2, 3}, random, 5));
    parts.log_sum_exps[1].contents.values[4] = number;
    const Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
    for (size_t row = 0; row < 6; ++row) {
      EXPECT_EQ(std::isnan(merged.log_sum_exp.values[row]), row == 4) << number << ", row " << row;
      for (size_t d = 0; d < 9; ++d)
        EXPECT_EQ(std::isnan(merged.output.values[row * 9 + d]), row == 4) << number << ", row " << row;
    }
  }
}

// Log-sum-exps that exp would overflow or underflow by themselves.
TEST(Merge, OfLogSumExpsFarFromZero) {
  Random random(4);
  for (const double offset : {-3e4, -500.0, 500.0, 3e4, 1e30}) {
    Parts parts;
    parts.outputs = {make_input(Array{{1, 2}, {1, 2}}), make_input(Array{{1, 2}, {3, 5}})};
    parts.log_sum_exps = {make_input(filled({1}, offset)), make_input(filled({1}, offset))};
    const Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
    EXPECT_EQ(merged.output.values, (std::vector<double>{2, 3.5})) << offset;
    EXPECT_EQ(merged.log_sum_exp.values[0],
              static_cast<double>(static_cast<float>(static_cast<double>(static_cast<float>(offset)) + std::log(2.0))));
  }
}

// ---- every split of an attention ------------------------------------------------------------------------------------

// The call over keys first .. first + count - 1 alone.
Call over_keys(const Call& whole, int64_t first, int64_t count) {
  Call part = whole;
  part.keys = make_input(slice(whole.keys->contents, 2, first, count), whole.keys->dtype);
  part.values = make_input(slice(whole.values->contents, 2, first, count), whole.values->dtype);
  part.mask = make_input(slice(whole.mask->contents, 3, first, count), HEED_BOOL);
  return part;
}

// The largest difference between the merged output and that of the whole attention. The output of a part has an error
// of at most its bound e_n. Its log_sum_exp has an error of at most f_n, which changes its weight by a factor of at
// most exp(f_n): the mean of the outputs changes by at most (exp(2 max f) - 1) times twice the largest magnitude. The
// merge itself adds the error that expect_by_formula allows. A sink is one more weight, which is exact and has no
// output, so it makes no error larger.
void expect_merged(const Parts& parts, const std::vector<reference::AttentionResult>& solved,
                   const reference::AttentionResult& expected, const std::string& what) {
  Random random(5);
  const Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
  const auto size = static_cast<size_t>(parts.outputs[0].contents.dims.back());
  const auto num_parts = static_cast<double>(parts.outputs.size());
  for (size_t row = 0; row < merged.log_sum_exp.values.size(); ++row) {
    double exponent = 0;
    for (const reference::AttentionResult& part : solved) {
      if (part.log_sum_exp.values[row] == -kInfinity) continue;
      exponent =
          std::max(exponent, part.log_sum_exp.errors[row] + kUnitRoundoff * std::abs(part.log_sum_exp.values[row]));
    }
    const double total = expected.log_sum_exp.values[row];
    if (total == -kInfinity) {
      EXPECT_EQ(merged.log_sum_exp.values[row], -kInfinity) << what << ", row " << row;
    } else {
      EXPECT_TRUE(reference::accepts(reference::Format::F32, total, exponent + 1e-14, merged.log_sum_exp.values[row]))
          << what << ", row " << row << ": log_sum_exp " << merged.log_sum_exp.values[row] << ", expected " << total
          << " within " << exponent;
    }
    for (size_t d = 0; d < size; ++d) {
      const size_t index = row * size + d;
      double largest = 0;
      double error_of_parts = 0;
      for (size_t n = 0; n < parts.outputs.size(); ++n) {
        largest = std::max(largest, std::abs(parts.outputs[n].contents.values[index]));
        error_of_parts = std::max(
            error_of_parts, solved[n].output.errors[index] + kUnitRoundoff * std::abs(solved[n].output.values[index]));
      }
      const double error = error_of_parts + 2 * std::expm1(2 * exponent) * largest +
                           reference::kSecondOrder * (num_parts + 2) * kUnitRoundoff * largest;
      EXPECT_TRUE(
          reference::accepts(reference::Format::F32, expected.output.values[index], error, merged.output.values[index]))
          << what << ", row " << row << ", element " << d << ": " << merged.output.values[index] << ", expected "
          << expected.output.values[index] << " within " << error;
    }
  }
}

// Computes the parts of an attention, each without sinks, and merges them with the attention's sinks: in the order of their
// keys, and in the opposite order. Both must give the attention of all keys at once.
void expect_whole(const Call& whole, const std::vector<int64_t>& lengths) {
  std::vector<reference::AttentionResult> solved;
  Parts parts;
  parts.sinks = whole.sinks;
  int64_t first = 0;
  for (const int64_t length : lengths) {
    Call part = over_keys(whole, first, length);
    part.sinks.reset();
    const Results results = run(part);
    solved.push_back(solve(part));
    parts.outputs.push_back(make_input(results.output->contents));
    parts.log_sum_exps.push_back(make_input(results.log_sum_exp->contents));
    first += length;
  }
  const reference::AttentionResult expected = solve(whole);
  const std::string what = "parts of " + testing::PrintToString(lengths) + " keys";
  expect_merged(parts, solved, expected, what);
  std::reverse(solved.begin(), solved.end());
  std::reverse(parts.outputs.begin(), parts.outputs.end());
  std::reverse(parts.log_sum_exps.begin(), parts.log_sum_exps.end());
  expect_merged(parts, solved, expected, what + " in reversed order");
}

Call call_with_mask(const reference::AttentionSizes& sizes, Random& random) {
  Call call = dot_product_call(sizes, random);
  call.log_sum_exp = OutputRequest();
  Array mask = filled({sizes.batch, 1, sizes.num_queries, sizes.num_keys}, 1);
  for (double& element : mask.values) element = random.chance(0.7) ? 1 : 0;
  call.mask = make_input(std::move(mask), HEED_BOOL);
  return call;
}

// The lengths of the parts in every way to cut the keys, without parts that are empty.
std::vector<std::vector<int64_t>> every_split(int64_t num_keys) {
  std::vector<std::vector<int64_t>> splits;
  // Bit k of a composition means that a part ends after key k.
  for (uint64_t composition = 0; composition < uint64_t{1} << (num_keys - 1); ++composition) {
    std::vector<int64_t> lengths = {1};
    for (int64_t k = 0; k + 1 < num_keys; ++k) {
      if ((composition >> k & 1) != 0) {
        lengths.push_back(1);
      } else {
        ++lengths.back();
      }
    }
    splits.push_back(lengths);
  }
  return splits;
}

TEST(Merge, OfEverySplitOfAnAttentionIsTheWhole) {
  Random random(6);
  for (int64_t num_keys = 1; num_keys <= 6; ++num_keys) {
    const Call whole = call_with_mask({.batch = 2,
                                       .num_heads = 2,
                                       .num_kv_heads = 2,
                                       .num_queries = 3,
                                       .num_keys = num_keys,
                                       .head_size = 5,
                                       .value_head_size = 4},
                                      random);
    for (const std::vector<int64_t>& lengths : every_split(num_keys)) {
      if (!HasFailure()) expect_whole(whole, lengths);
    }
  }
}

TEST(Merge, OfAnAttentionOverManyKeysCutAnywhereIsTheWhole) {
  Random random(7);
  const int64_t num_keys = 700;
  const Call whole = call_with_mask({.batch = 1,
                                     .num_heads = 4,
                                     .num_kv_heads = 2,
                                     .num_queries = 2,
                                     .num_keys = num_keys,
                                     .head_size = 16,
                                     .value_head_size = 24},
                                    random);
  for (int i = 0; i < 12 && !HasFailure(); ++i) {
    std::vector<int64_t> ends = {0, num_keys};
    for (int64_t cut = random.below(6); cut >= 0; --cut) ends.push_back(random.below(num_keys + 1));
    std::sort(ends.begin(), ends.end());
    // Two equal ends give a part without keys.
    std::vector<int64_t> lengths;
    for (size_t n = 1; n < ends.size(); ++n) lengths.push_back(ends[n] - ends[n - 1]);
    expect_whole(whole, lengths);
  }
}

// No sink, sinks beside the scores, and one far above all of them.
Input sinks_of_four_heads() { return make_input(Array{{4}, {-kInfinity, 0.5, -3, 40}}); }

TEST(Merge, OfPartsWithoutSinksIsTheWholeWithSinks) {
  Random random(9);
  reference::AttentionSizes sizes = {.batch = 2,
                                     .num_heads = 4,
                                     .num_kv_heads = 2,
                                     .num_queries = 3,
                                     .num_keys = 5,
                                     .head_size = 5,
                                     .value_head_size = 4};
  Call whole = call_with_mask(sizes, random);
  whole.sinks = sinks_of_four_heads();
  // Rows that see no key, with a sink and without.
  for (double& element : whole.mask->contents.values) element = random.chance(0.3) ? 1 : 0;
  for (const std::vector<int64_t>& lengths : every_split(sizes.num_keys)) {
    if (!HasFailure()) expect_whole(whole, lengths);
  }
  sizes.num_keys = 700;
  whole = call_with_mask(sizes, random);
  whole.sinks = sinks_of_four_heads();
  expect_whole(whole, {700});
  expect_whole(whole, {1, 256, 300, 143});
}

TEST(Merge, OfPartsWithoutKeysIsTheWhole) {
  Random random(10);
  for (const bool has_sinks : {false, true}) {
    for (const std::vector<int64_t>& lengths :
         {std::vector<int64_t>{0, 5}, {5, 0}, {2, 0, 3}, {0, 1, 0, 0, 4, 0}, {0}, {0, 0}}) {
      Call whole = call_with_mask({.batch = 2,
                                   .num_heads = 4,
                                   .num_kv_heads = 2,
                                   .num_queries = 3,
                                   .num_keys = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}),
                                   .head_size = 5,
                                   .value_head_size = 4},
                                  random);
      if (has_sinks) whole.sinks = sinks_of_four_heads();
      expect_whole(whole, lengths);
    }
  }
}

// Whatever its output is.
TEST(Merge, OfOneMorePartThatSeesNoKeyChangesNothing) {
  Random random(11);
  const Dims dims = {2, 3, 4, 9};
  for (size_t at = 0; at < 4; ++at) {
    Parts parts = random_parts(random, HEED_F16, dims, 3);
    const Merged expected = merge(parts, HEED_F32, Layout::RowMajor, random);
    const auto place = static_cast<std::ptrdiff_t>(at);
    parts.outputs.insert(parts.outputs.begin() + place, make_input(filled(dims, reference::kNaN), HEED_F16));
    parts.log_sum_exps.insert(parts.log_sum_exps.begin() + place, make_input(filled(without_last(dims), -kInfinity)));
    const Merged merged = merge(parts, HEED_F32, Layout::RowMajor, random);
    EXPECT_EQ(merged.output.values, expected.output.values) << "as part " << at;
    EXPECT_EQ(merged.log_sum_exp.values, expected.log_sum_exp.values) << "as part " << at;
  }
}

TEST(Merge, IsTheSameOnAnyNumberOfThreads) {
  HEED_SKIP_ON_ASCEND("bitwise promises are the CPU's");
  Random random(8);
  const Dims dims = {3, 4, 200, 64};
  const Parts parts = random_parts(random, HEED_F32, dims, 5);
  std::vector<Array> outputs;
  for (const int32_t num_threads : {1, 2, 3}) {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = num_threads;
    heed_context* opened = nullptr;
    check(heed_context_create(&options, &opened));
    const Context context(opened);
    std::vector<HostTensor> tensors;
    tensors.reserve(10);
    std::vector<const heed_tensor*> part_outputs;
    std::vector<const heed_tensor*> log_sum_exps;
    for (size_t n = 0; n < 5; ++n) {
      part_outputs.push_back(tensors.emplace_back(context.get(), parts.outputs[n]).handle());
      log_sum_exps.push_back(tensors.emplace_back(context.get(), parts.log_sum_exps[n]).handle());
    }
    const HostTensor output(context.get(), HEED_F32, dims, row_major_strides(dims));
    check(heed_attention_merge(part_outputs.data(), log_sum_exps.data(), 5, nullptr, output.handle(), nullptr));
    outputs.push_back(output.read());
  }
  EXPECT_EQ(outputs[0].values, outputs[1].values);
  EXPECT_EQ(outputs[0].values, outputs[2].values);
}

}  // namespace
}  // namespace heed::property
