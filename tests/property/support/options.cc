// SPDX-License-Identifier: Apache-2.0
#include "support/options.h"

#include <algorithm>

namespace heed::property {
namespace {

// The axes that a mask or bias has; a "-" is an axis of size 1.
const std::vector<const char*> kRepetitions = {"none", "QK",   "-K",   "Q-",   "--",   "BHQK", "BHQ-",
                                               "BH-K", "BH--", "B-QK", "B-Q-", "B--K", "B---", "-HQK",
                                               "-HQ-", "-H-K", "-H--", "--QK", "--Q-", "---K", "----"};

const std::vector<const char*> kLayouts = {"row-major", "transposed", "padded", "reversed", "repeated"};
const std::vector<const char*> kLayoutsOrNull = {"row-major", "transposed", "padded", "reversed", "repeated", "null"};
const std::vector<const char*> kOffOn = {"off", "on"};
const std::vector<const char*> kSizes = {"0", "1", "2", "odd", "about 16", "about 64", "130"};

}  // namespace

const std::vector<OptionDescription>& option_table() {
  static const std::vector<OptionDescription> table = {
      {"kind", {"rank 3", "rank 4", "multi-head", "additive", "general"}},
      {"scoring", {"dot product", "additive"}},
      {"input dtype", {"F32", "F16", "BF16"}},
      {"parameter dtype", {"F32", "F16", "BF16"}},
      {"parameter layout", kLayouts},
      {"output", {"none", "own dtype", "F32"}},
      {"weights", {"none", "own dtype", "F32"}},
      {"log_sum_exp", {"none", "wanted"}},
      {"output layout", {"row-major", "transposed", "padded"}},
      {"valid_lens", {"none", "B", "BQ"}},
      {"valid_lens dtype", {"F32", "I32", "I64"}},
      {"mask", kRepetitions},
      {"bias", kRepetitions},
      {"bias dtype", {"own", "F32"}},
      {"bias contents", {"finite", "some -inf"}},
      {"alibi_slopes", {"none", "of the paper", "any", "the layer's, added", "the layer's, scaled"}},
      {"relative bias", {"none", "both ways", "one way"}},
      {"sinks", {"none", "input", "parameter"}},
      {"constant keys", {"none", "bias_k", "zero", "bias_k and zero"}},
      {"positions", {"none", "in order", "any", "far"}},
      {"sequences", {"whole", "query_lens", "packed"}},
      {"rope", {"none", "half", "interleaved"}},
      {"rope scaling", {"none", "linear", "NTK", "YaRN", "Llama 3", "factors"}},
      {"rotary slice", {"whole head", "partial", "offset"}},
      {"norm of queries and keys", {"none", "RMS", "layer"}},
      {"layout of valid_lens, mask, bias and so on", kLayouts},
      {"causal", {"none", "top-left", "bottom-right"}},
      {"window", {"none", "top-left", "bottom-right"}},
      {"window left", {"negative", "0", "positive"}},
      {"window right", {"negative", "0", "positive"}},
      {"scale", {"default", "positive", "negative"}},
      {"soft cap", kOffOn},
      {"dropout", {"off", "on, not training", "on, training", "off, training"}},
      {"empty rows", {"zero", "mean"}},
      {"num_heads", {"1", "2", "3", "4"}},
      {"query heads per key head", {"1", "2", "all"}},
      {"head_size given", {"no", "yes"}},
      {"head size", {"1", "3", "8", "16", "17", "64"}},
      {"value head size", {"same", "other"}},
      {"output projection", {"to num_hiddens", "to output_size", "none"}},
      {"bias of W_q", kOffOn},
      {"bias of W_k", kOffOn},
      {"bias of W_v", kOffOn},
      {"bias of W_o", kOffOn},
      {"queries", kLayouts},
      {"keys", kLayoutsOrNull},
      {"values", kLayoutsOrNull},
      {"workspace", {"null", "given"}},
      {"num_threads", {"0", "1", "4"}},
      {"B", kSizes},
      {"Q", kSizes},
      {"K", kSizes},
      {"contents", {"moderate", "large", "tiny", "some NaN or infinite"}},
      {"cache", {"none", "contiguous", "pages"}},
  };
  return table;
}

std::string describe(const Choice& choice) {
  std::string text;
  for (size_t option = 0; option < choice.size(); ++option) {
    if (choice[option] == kAbsent) continue;
    const OptionDescription& description = option_table()[option];
    text += std::string(text.empty() ? "" : "; ") + description.name + ": " +
            description.values[static_cast<size_t>(choice[option])];
  }
  return text;
}

const std::vector<Condition>& conditions() {
  static const std::vector<int32_t> kNotNone = {1, 2};
  static const std::vector<int32_t> kAnyRepetition = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10,
                                                      11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  static const std::vector<Condition> all = {
      // Parameters exist for multi-head, additive and general attention; scoring and the shapes of projections for multi-head
      // attention; heads for multi-head attention and rank 4.
      {kParameterDtype, {}, kKind, {2, 3, 4}},
      {kParameterLayout, {}, kKind, {2, 3, 4}},
      {kScoring, {}, kKind, {2}},
      {kHeadSizeGiven, {}, kKind, {2}},
      {kOutputProjection, {}, kKind, {2}},
      {kBiasQ, {}, kKind, {2}},
      {kBiasK, {}, kKind, {2}},
      {kBiasV, {}, kKind, {2}},
      {kBiasO, {}, kKind, {2}},
      {kNumHeads, {}, kKind, {1, 2}},
      {kGrouping, {}, kKind, {1, 2}},
      // Two query heads per key head need an even number of them.
      {kGrouping, {1}, kNumHeads, {1, 3}},
      // The bias of an output projection needs that projection; otherwise it is an error.
      {kBiasO, {1}, kOutputProjection, {0, 1}},
      // Properties of an input need that input. The sizes of a window without a window are an error.
      {kValidLensDtype, {}, kValidLens, kNotNone},
      {kBiasDtype, {}, kBias, kAnyRepetition},
      {kBiasContents, {}, kBias, kAnyRepetition},
      {kWindowLeft, {}, kWindow, kNotNone},
      {kWindowRight, {}, kWindow, kNotNone},
      // What a layer can have by itself.
      {kAlibiSlopes, {3, 4}, kKind, {2}},
      {kRelativeBias, {1, 2}, kKind, {2}},
      {kSinks, {2}, kKind, {2}},
      {kConstantKeys, {1, 2, 3}, kKind, {2}},
      {kConstantKeys, {1, 2, 3}, kScoring, {0}},
      {kRope, {1, 2}, kKind, {2}},
      {kQkNorm, {1, 2}, kKind, {2}},
      // Head sizes are 1, 3, 8, 16, 17, 64. A rotated slice is even; NTK needs two pairs.
      {kRope, {1, 2}, kHeadSize, {1, 2, 3, 4, 5}},
      {kRopeScaling, {}, kRope, kNotNone},
      {kRopeScaling, {}, kKind, {2}},
      {kRopeScaling, {}, kHeadSize, {1, 2, 3, 4, 5}},
      {kRotarySlice, {}, kRope, kNotNone},
      {kRotarySlice, {}, kKind, {2}},
      {kRotarySlice, {}, kHeadSize, {1, 2, 3, 4, 5}},
      {kRotarySlice, {0}, kHeadSize, {2, 3, 5}},
      {kRopeScaling, {2}, kHeadSize, {2, 3, 4, 5}},
      // With ALiBi the scores of queries that are far away would be too large for a bound.
      {kPositions, {3}, kAlibiSlopes, {0}},
      // Packed batches have neither lengths nor pairs.
      {kSequences, {2}, kValidLens, {0}},
      {kValidLensDtype, {}, kSequences, {0, 1}},
      {kBiasDtype, {}, kSequences, {0, 1}},
      {kBiasContents, {}, kSequences, {0, 1}},
      {kSequences, {2}, kMask, {0}},
      {kSequences, {2}, kBias, {0}},
      {kSequences, {2}, kWeights, {0}},
      // Keys that are read from a cache: of multi-head attention with dot products, without lengths of keys and without
      // training. A call without keys would give its own rows.
      {kCache, {1, 2}, kKind, {2}},
      {kCache, {1, 2}, kScoring, {0}},
      {kCache, {1, 2}, kValidLens, {0}},
      {kValidLensDtype, {}, kCache, {0}},
      {kCache, {1, 2}, kDropout, {0, 1}},
      {kCache, {1, 2}, kSequences, {0, 1}},
      {kCache, {1, 2}, kKeys, {0, 1, 2, 3, 4}},
      // Without a sequence there are no keys.
      {kCache, {1, 2}, kBatch, {1, 2, 3, 4, 5, 6}},
  };
  return all;
}

bool is_possible(Option a, int32_t value_a, Option b, int32_t value_b) {
  const auto contains = [](const std::vector<int32_t>& values, int32_t value) {
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  const auto violates = [&](const Condition& condition, Option option, int32_t value, Option other,
                            int32_t other_value) {
    return condition.option == option && condition.needs == other &&
           (condition.values.empty() || contains(condition.values, value)) &&
           !contains(condition.needed_values, other_value);
  };
  for (const Condition& condition : conditions()) {
    if (violates(condition, a, value_a, b, value_b) || violates(condition, b, value_b, a, value_a)) return false;
  }
  return true;
}

PairCoverage::PairCoverage(const std::vector<OptionValue>& excluded) {
  for (const OptionDescription& description : option_table()) {
    first_value_.push_back(num_values_);
    num_values_ += static_cast<int32_t>(description.values.size());
  }
  states_.assign(static_cast<size_t>(num_values_) * static_cast<size_t>(num_values_), State::Impossible);
  for_each_possible_value([&](Option a, int32_t value_a, Option b, int32_t value_b) {
    const auto is_one = [&](const OptionValue& out) {
      return (out.option == a && out.value == value_a) || (out.option == b && out.value == value_b);
    };
    const bool possible = is_possible(a, value_a, b, value_b) && std::none_of(excluded.begin(), excluded.end(), is_one);
    states_[index_of(a, value_a, b, value_b)] = possible ? State::Missing : State::Impossible;
    ++(possible ? num_possible_ : num_impossible_);
  });
}

void PairCoverage::add(const Choice& choice) {
  num_covered_ += gain(choice);
  for_each_pair_of(choice, [&](Option a, Option b) { states_[index_of(a, choice[a], b, choice[b])] = State::Covered; });
}

int64_t PairCoverage::gain(const Choice& choice) const {
  int64_t count = 0;
  for_each_pair_of(
      choice, [&](Option a, Option b) { count += states_[index_of(a, choice[a], b, choice[b])] == State::Missing; });
  return count;
}

std::vector<PairCoverage::Pair> PairCoverage::missing() const {
  std::vector<Pair> pairs;
  if (num_covered_ == num_possible_) return pairs;
  for_each_possible_value([&](Option a, int32_t value_a, Option b, int32_t value_b) {
    if (states_[index_of(a, value_a, b, value_b)] == State::Missing) pairs.push_back({a, value_a, b, value_b});
  });
  return pairs;
}

size_t PairCoverage::index_of(Option a, int32_t value_a, Option b, int32_t value_b) const {
  const int32_t row = first_value_[a] + value_a;
  const int32_t column = first_value_[b] + value_b;
  return static_cast<size_t>(row) * static_cast<size_t>(num_values_) + static_cast<size_t>(column);
}

template <typename Visit>
void PairCoverage::for_each_possible_value(Visit visit) {
  const auto num_values = [](int32_t option) {
    return static_cast<int32_t>(option_table()[static_cast<size_t>(option)].values.size());
  };
  for (int32_t a = 0; a < kNumOptions; ++a) {
    for (int32_t b = a + 1; b < kNumOptions; ++b) {
      for (int32_t value_a = 0; value_a < num_values(a); ++value_a) {
        for (int32_t value_b = 0; value_b < num_values(b); ++value_b) {
          visit(static_cast<Option>(a), value_a, static_cast<Option>(b), value_b);
        }
      }
    }
  }
}

template <typename Visit>
void PairCoverage::for_each_pair_of(const Choice& choice, Visit visit) {
  const auto is_zero_size = [&](int32_t option) {
    return (option == kBatch || option == kNumQueries || option == kNumKeys) &&
           choice[static_cast<size_t>(option)] == 0;
  };
  const bool computes = !is_zero_size(kBatch) && !is_zero_size(kNumQueries) && !is_zero_size(kNumKeys);
  for (int32_t a = 0; a < kNumOptions; ++a) {
    if (choice[static_cast<size_t>(a)] == kAbsent) continue;
    for (int32_t b = a + 1; b < kNumOptions; ++b) {
      if (choice[static_cast<size_t>(b)] == kAbsent) continue;
      if (computes || is_zero_size(a) || is_zero_size(b)) visit(static_cast<Option>(a), static_cast<Option>(b));
    }
  }
}

std::string describe(const PairCoverage::Pair& pair) {
  const OptionDescription& a = option_table()[pair.a];
  const OptionDescription& b = option_table()[pair.b];
  return std::string(a.name) + ": " + a.values[static_cast<size_t>(pair.value_a)] + " with " + b.name + ": " +
         b.values[static_cast<size_t>(pair.value_b)];
}

}  // namespace heed::property
