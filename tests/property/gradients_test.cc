// SPDX-License-Identifier: Apache-2.0
// The gradients of random calls of every kind of attention against the f64 reference. That they have the same bits with any number
// of threads, saved or recomputed, with whichever others are wanted, and added to sums.
//
// A failing case prints its seed and number. To run it alone:
//   HEED_PROPERTY_SEED=<seed> HEED_PROPERTY_CASE=<number> property_gradients --gtest_filter='Gradients.*'
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "support/batch_part.h"
#include "support/gradients.h"
#include "support/numbers.h"
#include "support/packing.h"
#include "support/random_block.h"
#include "support/random_case.h"

namespace heed::property {
namespace {

constexpr int64_t kDefaultSeed = 20250611;
// Of attention, and of layers and stacks: as many as there are to be compared with the reference, and to the bit.
constexpr int64_t kCalls = 1200;
constexpr int64_t kBlockCalls = 500;
constexpr int64_t kCallsToTheBit = 400;
constexpr int64_t kBlockCallsToTheBit = 200;

// Calls check(call, random) for each random call. Stops after five that fail.
template <typename MakeCall, typename Check>
void for_each_call(int64_t num_calls, const MakeCall& make, const Check& check) {
  const int64_t seed = from_environment("HEED_PROPERTY_SEED", kDefaultSeed);
  const int64_t only = from_environment("HEED_PROPERTY_CASE", -1);
  int num_failures = 0;
  for (int64_t number = 0; number < num_rounds(num_calls) && num_failures < 5; ++number) {
    auto [call, story] = make(static_cast<uint64_t>(seed * 1000003 + number));
    if (only >= 0 && number != only) continue;
    Random random(static_cast<uint64_t>(number));
    testing::AssertionResult verdict = testing::AssertionSuccess();
    try {
      verdict = check(training_form(std::move(call)), random);
    } catch (const std::exception& failure) {
      verdict = testing::AssertionFailure() << failure.what();
    }
    EXPECT_TRUE(verdict) << "HEED_PROPERTY_SEED=" << seed << " HEED_PROPERTY_CASE=" << number << "\n  " << story;
    num_failures += !verdict;
  }
}

template <typename Check>
void for_each_attention(int64_t num_calls, const Check& check) {
  ChoiceSampler sampler(static_cast<uint64_t>(from_environment("HEED_PROPERTY_SEED", kDefaultSeed)));
  for_each_call(
      num_calls,
      [&](uint64_t seed) {
        const Choice choice = sampler.next();
        return std::pair(make_call(choice, seed), describe(choice));
      },
      check);
}

template <typename Check>
void for_each_block(int64_t num_calls, const Check& check) {
  for_each_call(
      num_calls, [](uint64_t seed) { return std::pair(make_block_call(seed), std::string("block")); }, check);
}

// All gradients, in memory that depends on `random`.
GradientRequest random_request(const Call& call, Random& random) {
  GradientRequest request;
  request.of_output = random_output_gradient(call, random);
  request.of_output_layout = random.one_of(kReadable);
  if (request.of_output_layout == Layout::Repeated) request.of_output_layout = Layout::RowMajor;
  for (const auto& [name, dims] : differentiable_inputs(call)) request.inputs.insert(name);
  request.layout = random.one_of(kWritable);
  request.saved = random.chance(0.5);
  request.with_workspace = random.chance(0.5);
  return request;
}

class Agreement {
 public:
  testing::AssertionResult operator()(const Call& call, Random& random) {
    const GradientRequest request = random_request(call, random);
    return agree(backward(Runner(call), call, request), solve_gradients(call, request.of_output), &statistics_);
  }

  // The bound is not much wider than errors are. Of one call alone that says nothing.
  void expect_tight() const {
    std::printf("largest used fraction of the bound: %.3g (%s) in %lld elements, without a bound %lld\n",
                statistics_.largest_fraction, statistics_.where.c_str(), static_cast<long long>(statistics_.elements),
                static_cast<long long>(statistics_.without_bound));
    if (from_environment("HEED_PROPERTY_CASE", -1) >= 0) return;
    EXPECT_GT(statistics_.largest_fraction, 0.02);
  }

 private:
  AccuracyStatistics statistics_;
};

TEST(Gradients, OfAttentionAgreeWithTheReference) {
  Agreement agreement;
  for_each_attention(kCalls, [&](const Call& call, Random& random) { return agreement(call, random); });
  agreement.expect_tight();
}

TEST(Gradients, OfBlocksAgreeWithTheReference) {
  Agreement agreement;
  for_each_block(kBlockCalls, [&](const Call& call, Random& random) { return agreement(call, random); });
  agreement.expect_tight();
}

template <typename Check>
void for_each_kind(const Check& check) {
  for_each_attention(kCallsToTheBit, check);
  for_each_block(kBlockCallsToTheBit, check);
}

TEST(Gradients, ThreadsSavedArraysAndWorkspaceChangeNoBit) {
  for_each_kind([](const Call& call, Random& random) {
    GradientRequest request = random_request(call, random);
    const NamedResults expected = backward(Runner(call), call, request);
    testing::AssertionResult verdict = testing::AssertionSuccess();
    for (const int32_t num_threads : {1, 2, 3, 4 + static_cast<int32_t>(random.below(13))}) {
      if (!verdict) break;
      Call other = call;
      other.num_threads = num_threads;
      request.saved = num_threads % 2 == 0;
      request.with_workspace = num_threads <= 2;
      verdict = same_bits(backward(Runner(other), other, request), expected);
      if (!verdict) verdict << "; with " << num_threads << " threads";
    }
    return verdict;
  });
}

// The gradients that both have.
testing::AssertionResult same_bits_of(const NamedResults& some, NamedResults all) {
  std::erase_if(all, [&](const auto& gradient) { return !some.contains(gradient.first); });
  return same_bits(some, all);
}

TEST(Gradients, HaveTheSameBitsWhicheverAreWanted) {
  for_each_kind([](const Call& call, Random& random) {
    GradientRequest request = random_request(call, random);
    const Runner runner(call);
    const NamedResults all = backward(runner, call, request);
    std::erase_if(request.inputs, [&](const std::string&) { return random.chance(0.5); });
    request.parameters = random.chance(0.5);
    return same_bits_of(backward(runner, call, request), all);
  });
}

TEST(Gradients, OfTheOutputHaveTheBitsOfACallThatSavesNothing) {
  HEED_SKIP_ON_ASCEND("the NPU computes a call that saves nothing");
  for_each_kind([](const Call& call, Random&) {
    const Runner runner(call);
    return same_bits(forward_that_saves(runner, call), runner.forward(call));
  });
}

// Rows of a tensor along an axis.
struct Rows {
  size_t axis;
  int64_t first;
  int64_t count;

  Array of(const Array& array) const { return slice(array, axis, first, count); }
};

// Those of batch elements first .. first + count - 1 in the queries, keys or output of a call, with dims of this rank.
Rows rows_of_elements(const Call& call, bool of_keys, size_t rank, int64_t first, int64_t count) {
  if (!is_packed(call)) return {0, first, count};
  const std::vector<double>& starts = (of_keys ? key_offsets_of(call) : *call.query_offsets).contents.values;
  const auto begin = static_cast<int64_t>(starts[static_cast<size_t>(first)]);
  return {rank - 2, begin, static_cast<int64_t>(starts[static_cast<size_t>(first + count)]) - begin};
}

bool drops(const Call& call) {
  if (call.training == 0) return false;
  if (!call.block) return call.options.dropout != 0.0F;
  const Block& block = *call.block;
  const float of_cross_attention = block.cross_attention ? block.cross_attention->options.dropout : 0.0F;
  return block.self_attention.options.dropout + of_cross_attention + block.feed_forward.dropout + block.dropout != 0.0F;
}

// Of inputs those of the parts of a batch, and of everything else their sums.
TEST(Gradients, OfABatchInPartsHaveTheBitsOfTheWholeBatch) {
  int64_t num_compared = 0;
  for_each_kind([&](const Call& call, Random& random) -> testing::AssertionResult {
    const int64_t batch = sizes_of(call).batch;
    if (batch < 2 || drops(call)) return testing::AssertionSuccess();
    ++num_compared;
    GradientRequest request = random_request(call, random);
    const NamedResults whole = backward(Runner(call), call, request);
    const int64_t cut = 1 + random.below(batch - 1);
    GradientRequest of_part = request;
    for (const auto& [first, count] : {std::pair(int64_t{0}, cut), std::pair(cut, batch - cut)}) {
      const Call part = part_of_batch(call, first, count);
      of_part.of_output =
          rows_of_elements(call, false, request.of_output.dims.size(), first, count).of(request.of_output);
      NamedResults gradients;
      const std::map<std::string, Dims> dims = differentiable_inputs(part);
      for (auto& [name, sum] : of_part.sums) {
        const auto input = dims.find(name);
        if (input != dims.end() && sum.dims != input->second) sum = filled(input->second, 0.0);
      }
      gradients = backward(Runner(part), part, of_part);
      for (const auto& [name, gradient] : gradients) {
        of_part.sums[name] = gradient.contents;
        const Dims& of_whole = whole.at(name).contents.dims;
        const bool is_of_rows = name == "queries" || name == "keys" || name == "values";
        if (!is_of_rows && gradient.contents.dims == of_whole) continue;
        const Rows rows = is_of_rows ? rows_of_elements(call, name != "queries", of_whole.size(), first, count)
                                     : Rows{0, first, count};
        NamedResults expected;
        expected[name].contents = rows.of(whole.at(name).contents);
        const testing::AssertionResult verdict = same_bits(NamedResults{{name, gradient}}, expected);
        if (!verdict) return testing::AssertionResult(verdict) << "; in batch elements " << first << " and on";
        of_part.sums[name] = filled(of_whole, 0.0);
      }
      if (first == 0) continue;
      for (const auto& [name, gradient] : gradients) {
        if (gradient.contents.dims != whole.at(name).contents.dims) continue;
        if (name == "queries" || name == "keys" || name == "values") continue;
        // Each layer of a stack adds to those of inputs.
        const bool is_used_often = call.block && call.block->num_layers > 1;
        if (is_used_often && dims.contains(name)) continue;
        const testing::AssertionResult verdict =
            same_bits(NamedResults{{name, gradient}}, NamedResults{{name, whole.at(name)}});
        if (!verdict) return testing::AssertionResult(verdict) << "; of two parts, cut at " << cut;
      }
    }
    return testing::AssertionSuccess();
  });
  EXPECT_GT(num_compared, num_rounds(kCallsToTheBit) / 4);
}

// The rows that lengths hide, of (..., S, E).
void fill_hidden(const Input& lens, Array& rows, double number) {
  for_each_index(rows.dims, [&](const Dims& index, size_t i) {
    const double row = static_cast<double>(index[index.size() - 2]);
    if (row >= lens.contents.values[static_cast<size_t>(index[0])]) rows.values[i] = number;
  });
}

bool averages_hidden_values(const Call& call) {
  return call.options.empty_rows == HEED_EMPTY_ROWS_MEAN ||
         (call.block && call.block->cross_attention &&
          call.block->cross_attention->options.empty_rows == HEED_EMPTY_ROWS_MEAN);
}

// Rows that are no keys have an output, whose gradient is 0 here, so that they may hold anything.
TEST(Gradients, RowsThatLengthsHideChangeNoBitWhateverTheyHold) {
  HEED_SKIP_ON_ASCEND("the CPU computes gradients");
  int64_t num_compared = 0;
  for_each_kind([&](const Call& call, Random& random) -> testing::AssertionResult {
    if (is_packed(call) || averages_hidden_values(call)) return testing::AssertionSuccess();
    const bool is_decoder = call.block && call.block->is_decoder;
    const auto of_elements = [](const std::optional<Input>& lens) {
      return lens && lens->contents.dims.size() == 1 ? &*lens : nullptr;
    };
    const Input* const of_keys = call.keys ? of_elements(call.valid_lens) : nullptr;
    const Input* const of_rows = is_decoder                 ? of_elements(call.self_valid_lens)
                                 : call.keys || call.values ? nullptr
                                                            : of_elements(call.valid_lens);
    if (of_keys == nullptr && of_rows == nullptr && !call.query_lens) return testing::AssertionSuccess();
    ++num_compared;
    GradientRequest request = random_request(call, random);
    if (of_rows != nullptr) fill_hidden(*of_rows, request.of_output, 0.0);
    const NamedResults expected = backward(Runner(call), call, request);
    Call spoiled = call;
    const double spoiler = random.one_of<double>({kNaN, kInfinity, -kInfinity});
    const auto spoil = [&](const Input& lens, Input& input) {
      fill_hidden(lens, input.contents, spoiler);
      input = make_input(input.contents, input.dtype);  // no row shares memory with a hidden one
    };
    for (const Input* const lens : {of_rows, call.query_lens ? &*call.query_lens : nullptr}) {
      if (lens != nullptr) spoil(*lens, spoiled.queries);
    }
    for (std::optional<Input>* const input : {&spoiled.keys, &spoiled.values}) {
      if (of_keys != nullptr && *input) spoil(*of_keys, **input);
    }
    return same_bits(backward(Runner(spoiled), spoiled, request), expected);
  });
  EXPECT_GT(num_compared, num_rounds(kCallsToTheBit) / 4);
}

// What gradients are added to, and the sums of both, with their bounds: of any number of terms in f32.
TEST(Gradients, AreAddedToWhatTheirTensorsHold) {
  for_each_kind([](const Call& call, Random& random) {
    GradientRequest request = random_request(call, random);
    const Runner runner(call);
    const NamedResults replaced = backward(runner, call, request);
    for (const auto& [name, gradient] : replaced) request.sums[name] = filled(gradient.contents.dims, 0.0);
    const testing::AssertionResult to_zero = same_bits(backward(runner, call, request), replaced);
    if (!to_zero) return testing::AssertionResult(to_zero) << "; added to 0";
    reference::NamedBounds bounds = solve_gradients(call, request.of_output);
    // No element is the sum of more terms than there are pairs.
    const double terms = 8.0 + static_cast<double>(num_elements(call.queries.contents.dims)) *
                                   static_cast<double>(1 + sizes_of(call).num_keys);
    for (auto& [name, sum] : request.sums) {
      reference::Bounded& bound = bounds.at(name);
      for (size_t i = 0; i < sum.values.size(); ++i) {
        sum.values[i] = static_cast<double>(static_cast<float>(random.uniform(-1.0, 1.0)));
        if (!std::isfinite(bound.values[i])) continue;
        bound.values[i] += sum.values[i];
        bound.errors[i] += reference::kUnitRoundoff * (terms * std::fabs(sum.values[i]) + std::fabs(bound.values[i]));
      }
    }
    return agree(backward(runner, call, request), bounds);
  });
}

}  // namespace
}  // namespace heed::property
