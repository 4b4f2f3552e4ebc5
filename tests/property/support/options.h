// SPDX-License-Identifier: Apache-2.0
// Every option of a call with its tested values, and which pairs of values have been tested.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace heed::property {

// In the order of option_table().
enum Option : int32_t {
  kKind,
  kScoring,
  kInputDtype,
  kParameterDtype,
  kParameterLayout,
  kOutput,
  kWeights,
  kLogSumExp,
  kOutputLayout,
  kValidLens,
  kValidLensDtype,
  kMask,
  kBias,
  kBiasDtype,
  kBiasContents,
  kAlibiSlopes,
  kRelativeBias,
  kSinks,
  kConstantKeys,
  kPositions,
  kSequences,
  kRope,
  kRopeScaling,
  kRotarySlice,
  kQkNorm,
  kLimitsLayout,
  kCausal,
  kWindow,
  kWindowLeft,
  kWindowRight,
  kScale,
  kSoftCap,
  kDropout,
  kEmptyRows,
  kNumHeads,
  kGrouping,
  kHeadSizeGiven,
  kHeadSize,
  kValueHeadSize,
  kOutputProjection,
  kBiasQ,
  kBiasK,
  kBiasV,
  kBiasO,
  kQueries,
  kKeys,
  kValues,
  kWorkspace,
  kNumThreads,
  kBatch,
  kNumQueries,
  kNumKeys,
  kContents,
  kCache,
  kNumOptions
};

struct OptionDescription {
  const char* name;
  std::vector<const char*> values;
};

const std::vector<OptionDescription>& option_table();

// For each option the index of its value, or kAbsent if the option has no meaning (the dtype of lengths that are not
// given).
constexpr int32_t kAbsent = -1;
using Choice = std::array<int32_t, kNumOptions>;

std::string describe(const Choice& choice);

// Whether an option has a meaning depends on the value of another one: `option` needs one of the given values of
// `needs`.
struct Condition {
  Option option;
  std::vector<int32_t> values;  // the values of `option` that need it; empty: all
  Option needs;
  std::vector<int32_t> needed_values;
};
const std::vector<Condition>& conditions();

// Whether two values can occur together in a call.
bool is_possible(Option a, int32_t value_a, Option b, int32_t value_b);

struct OptionValue {
  Option option;
  int32_t value;
};

// Counts pairs of values of different options. A call whose B, Q or K is 0 computes nothing: it counts only for the
// pairs with that size.
class PairCoverage {
 public:
  // All pairs without the excluded values.
  explicit PairCoverage(const std::vector<OptionValue>& excluded = {});

  void add(const Choice& choice);
  // The number of pairs of this choice that occurred in no earlier choice.
  int64_t gain(const Choice& choice) const;

  struct Pair {
    Option a;
    int32_t value_a;
    Option b;
    int32_t value_b;
  };
  int64_t num_possible() const { return num_possible_; }
  int64_t num_impossible() const { return num_impossible_; }
  int64_t num_covered() const { return num_covered_; }
  std::vector<Pair> missing() const;

 private:
  enum class State : uint8_t { Impossible, Missing, Covered };
  size_t index_of(Option a, int32_t value_a, Option b, int32_t value_b) const;
  template <typename Visit>
  static void for_each_possible_value(Visit visit);
  template <typename Visit>
  static void for_each_pair_of(const Choice& choice, Visit visit);

  std::vector<int32_t> first_value_;  // for each option, the index of its first value among the values of all options
  int32_t num_values_ = 0;
  std::vector<State> states_;
  int64_t num_possible_ = 0;
  int64_t num_impossible_ = 0;
  int64_t num_covered_ = 0;
};

std::string describe(const PairCoverage::Pair& pair);

}  // namespace heed::property
