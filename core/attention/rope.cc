// SPDX-License-Identifier: Apache-2.0
#include "attention/rope.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <numbers>
#include <utility>

#include "base/decimal_text.h"
#include "base/error.h"
#include "ops/rotations.h"

namespace heed {
namespace {

void check_slice(const RopeOptions& options, int64_t head_size) {
  if (head_size < 2) {
    fail(Status::InvalidArgument,
         OPTION("rope") " is set, but a head has %" PRId64
                        " element: expected an " OPTION("head_size") " of at least 2",
         head_size);
  }
  if (options.rotary_offset < 0 || options.rotary_offset > head_size - 2) {
    fail(Status::InvalidArgument,
         OPTION("rope->rotary_offset") " is %" PRId64 ", expected 0 to %" PRId64
                                       ", which leaves at least a pair of a head of %" PRId64,
         options.rotary_offset, head_size - 2, head_size);
  }
  const int64_t rest = head_size - options.rotary_offset;
  if (options.rotary_size == 0) {
    if (rest % 2 == 0) return;
    fail(Status::InvalidArgument,
         OPTION("rope->rotary_size") " is 0, the %" PRId64 " elements of a head from " MEMBER(
             "rotary_offset") " on: expected an even number of them, or an even size",
         rest);
  }
  if (options.rotary_size < 2 || options.rotary_size > rest || options.rotary_size % 2 != 0) {
    fail(Status::InvalidArgument,
         OPTION("rope->rotary_size") " is %" PRId64 ", expected an even number from 2 to %" PRId64
                                     ", what " MEMBER("rotary_offset") " leaves of a head of %" PRId64,
         options.rotary_size, rest, head_size);
  }
}

// The table of rotations has 2 KiB for each pair.
void check_rotary_size(int64_t rotary_size, int64_t stated) {
  constexpr int64_t kMaxRotarySize = 65536;
  if (rotary_size <= kMaxRotarySize) return;
  fail(Status::InvalidArgument, OPTION("rope->rotary_size") " is %" PRId64 "%s, expected at most %" PRId64, rotary_size,
       stated == 0 ? " by default" : "", kMaxRotarySize);
}

// A number that has to be finite and above 0. `otherwise`: the end of the sentence.
void check_positive(const char* member, float value, const char* otherwise) {
  if (std::isfinite(value) && value > 0) return;
  fail(Status::InvalidArgument, OPTION("rope->%s") " is %s, expected a finite number above 0%s", member,
       DecimalText(value).c_str(), otherwise);
}

void check_factor(const RopeOptions& options) {
  if (std::isfinite(options.factor) && options.factor > 0) return;
  fail(Status::InvalidArgument, OPTION("rope->factor") " is %s, expected a finite number above 0 with %s",
       DecimalText(options.factor).c_str(), c_name_of(options.scaling));
}

// A member that only some scalings use.
struct Member {
  const char* name;
  bool is_set;
  bool is_used;
};

void check_unused(const RopeOptions& options) {
  const RopeScaling scaling = options.scaling;
  const bool is_yarn = scaling == RopeScaling::Yarn;
  const bool is_llama3 = scaling == RopeScaling::Llama3;
  const bool has_factors = scaling == RopeScaling::Factors;
  const Member members[] = {
      {"factor", options.factor != 0, scaling != RopeScaling::None},
      {"original_length", options.original_length != 0, is_yarn || is_llama3 || has_factors},
      {"num_factors", !options.factors.empty(), has_factors},
      {"short_factors", !options.short_factors.empty(), has_factors},
      {"beta_fast", options.beta_fast != 0, is_yarn},
      {"beta_slow", options.beta_slow != 0, is_yarn},
      {"no_rounding", options.no_rounding, is_yarn},
      {"low_freq_factor", options.low_freq_factor != 0, is_llama3},
      {"high_freq_factor", options.high_freq_factor != 0, is_llama3},
  };
  for (const Member& member : members) {
    if (!member.is_set || member.is_used) continue;
    const bool is_flag = std::string_view(member.name) == "no_rounding";
    fail(Status::InvalidArgument,
         OPTION("rope->%s") " is %s, but " OPTION("rope->scaling") " is %s, which does not use it: expected %s",
         member.name, is_flag ? FLAG("no_rounding", "set") : "set", c_name_of(scaling),
         is_flag ? FLAG("no_rounding", "0") : "0");
  }
}

void check_original_length(const RopeOptions& options) {
  if (options.original_length >= 1) return;
  fail(Status::InvalidArgument,
       OPTION("rope->original_length") " is %" PRId64
                                       ", expected the number of positions of the training, at least 1, with %s",
       options.original_length, c_name_of(options.scaling));
}

// The default of attention_factor.
float default_attention_factor(const RopeOptions& options) {
  const auto factor = static_cast<double>(options.factor);
  if (options.scaling == RopeScaling::Yarn && factor > 1) return static_cast<float>(0.1 * std::log(factor) + 1);
  if (options.scaling == RopeScaling::Factors && factor > 1) {
    const double original = std::log(static_cast<double>(options.original_length));
    return static_cast<float>(std::sqrt(1 + std::log(factor) / original));
  }
  return 1;
}

void check_factors(const RopeOptions& options) {
  const auto num_factors = static_cast<int64_t>(options.factors.size());
  if (num_factors != options.rotary_size / 2) {
    fail(Status::InvalidArgument,
         OPTION("rope->num_factors") " is %" PRId64
                                     ", expected one for each pair, " MEMBER("rotary_size") " / 2 = %" PRId64,
         num_factors, options.rotary_size / 2);
  }
  for (const auto& [name, factors] :
       {std::pair{"factors", options.factors}, {"short_factors", options.short_factors}}) {
    for (size_t i = 0; i < factors.size(); ++i) {
      if (std::isfinite(factors[i]) && factors[i] > 0) continue;
      fail(Status::InvalidArgument, OPTION("rope->%s") "[%zu] is %s, expected a finite number above 0", name, i,
           DecimalText(factors[i]).c_str());
    }
  }
  if (!options.short_factors.empty() && options.original_length < 1) {
    fail(Status::InvalidArgument,
         OPTION("rope->original_length") " is %" PRId64
                                         ", expected at least 1: calls with positions below it have " OPTION(
                                             "rope->short_factors"),
         options.original_length);
  }
  if (options.original_length < 0) {
    fail(Status::InvalidArgument,
         OPTION("rope->original_length") " is %" PRId64 ", expected the number of positions of the training, or 0",
         options.original_length);
  }
  if (options.attention_factor == 0 || options.factor != 0)
    check_positive("factor", options.factor,
                   ", or an " MEMBER("attention_factor") ", with " CONSTANT("HEED_ROPE_SCALING_FACTORS"));
  if (options.attention_factor == 0 && options.factor > 1 && options.original_length < 2) {
    fail(
        Status::InvalidArgument,
        OPTION("rope->original_length") " is %" PRId64
                                        ", expected the number of positions of the training, at least 2, or an " MEMBER(
                                            "attention_factor") ", with " CONSTANT("HEED_ROPE_SCALING_FACTORS"),
        options.original_length);
  }
}

// The ramp of YaRN: 0 where a frequency stays, 1 where it is divided by the factor.
class YarnRamp {
 public:
  explicit YarnRamp(const RopeOptions& options) {
    const auto size = static_cast<double>(options.rotary_size);
    const auto pair_of = [&](double rotations) {
      return size * std::log(static_cast<double>(options.original_length) / (rotations * 2 * std::numbers::pi)) /
             (2 * std::log(static_cast<double>(options.base)));
    };
    low_ = pair_of(options.beta_fast);
    high_ = pair_of(options.beta_slow);
    if (!options.no_rounding) {
      low_ = std::floor(low_);
      high_ = std::ceil(high_);
    }
    low_ = std::max(low_, 0.0);
    high_ = std::min(high_, size - 1);
    if (low_ == high_) high_ += 0.001;
  }
  double at(double pair) const { return std::clamp((pair - low_) / (high_ - low_), 0.0, 1.0); }

 private:
  double low_ = 0;
  double high_ = 0;
};

double llama3_frequency(const RopeOptions& options, double frequency) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  const auto original = static_cast<double>(options.original_length);
  const auto low = static_cast<double>(options.low_freq_factor);
  const auto high = static_cast<double>(options.high_freq_factor);
  if (wavelength < original / high) return frequency;
  const double stretched = frequency / static_cast<double>(options.factor);
  if (wavelength > original / low) return stretched;
  const double kept = (original / wavelength - low) / (high - low);
  return (1 - kept) * stretched + kept * frequency;
}

}  // namespace

const char* name_of(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::None: return "none";
    case RopeScaling::Linear: return "linear";
    case RopeScaling::Ntk: return "ntk";
    case RopeScaling::Yarn: return "yarn";
    case RopeScaling::Llama3: return "llama3";
    case RopeScaling::Factors: return "factors";
  }
  __builtin_unreachable();  // capi/src accepts no other value
}

const char* c_name_of(RopeScaling scaling) {
  switch (scaling) {
    case RopeScaling::None: return CONSTANT("HEED_ROPE_SCALING_NONE");
    case RopeScaling::Linear: return CONSTANT("HEED_ROPE_SCALING_LINEAR");
    case RopeScaling::Ntk: return CONSTANT("HEED_ROPE_SCALING_NTK");
    case RopeScaling::Yarn: return CONSTANT("HEED_ROPE_SCALING_YARN");
    case RopeScaling::Llama3: return CONSTANT("HEED_ROPE_SCALING_LLAMA3");
    case RopeScaling::Factors: return CONSTANT("HEED_ROPE_SCALING_FACTORS");
  }
  __builtin_unreachable();  // capi/src accepts no other value
}

RopeOptions with_defaults(const RopeOptions& given, int64_t head_size) {
  RopeOptions options = given;
  check_slice(options, head_size);
  if (options.rotary_size == 0) options.rotary_size = head_size - options.rotary_offset;
  check_rotary_size(options.rotary_size, given.rotary_size);
  check_unused(options);
  if (options.base == 0) options.base = 10000;
  check_positive("base", options.base, ", or 0 for 10000");
  if (options.attention_factor != 0) check_positive("attention_factor", options.attention_factor, ", or 0");
  switch (options.scaling) {
    case RopeScaling::None: break;
    case RopeScaling::Ntk:
      if (options.rotary_size == 2) {
        fail(Status::InvalidArgument, OPTION("rope->rotary_size") " is 2, expected at least 4 with " CONSTANT(
                                          "HEED_ROPE_SCALING_NTK") ", which divides by " MEMBER("rotary_size") " - 2");
      }
      [[fallthrough]];
    case RopeScaling::Linear: check_factor(options); break;
    case RopeScaling::Yarn:
      check_factor(options);
      check_original_length(options);
      if (options.base == 1) {
        fail(Status::InvalidArgument, OPTION("rope->base") " is 1, expected another number with " CONSTANT(
                                          "HEED_ROPE_SCALING_YARN") ", which divides by its logarithm");
      }
      if (options.beta_fast == 0) options.beta_fast = 32;
      if (options.beta_slow == 0) options.beta_slow = 1;
      check_positive("beta_fast", options.beta_fast, ", or 0 for 32");
      check_positive("beta_slow", options.beta_slow, ", or 0 for 1");
      break;
    case RopeScaling::Llama3:
      check_factor(options);
      check_original_length(options);
      if (options.low_freq_factor == 0) options.low_freq_factor = 1;
      if (options.high_freq_factor == 0) options.high_freq_factor = 4;
      check_positive("low_freq_factor", options.low_freq_factor, ", or 0 for 1");
      if (!(options.high_freq_factor > options.low_freq_factor) || !std::isfinite(options.high_freq_factor)) {
        fail(Status::InvalidArgument,
             OPTION("rope->high_freq_factor") " is %s%s, expected a finite number above " MEMBER(
                 "low_freq_factor") ", %s",
             DecimalText(options.high_freq_factor).c_str(), given.high_freq_factor == 0 ? " by default" : "",
             DecimalText(options.low_freq_factor).c_str());
      }
      break;
    case RopeScaling::Factors: check_factors(options); break;
  }
  if (options.attention_factor == 0) options.attention_factor = default_attention_factor(options);
  return options;
}

std::vector<double> rotary_frequencies(const RopeOptions& options) {
  const auto size = static_cast<double>(options.rotary_size);
  const auto factor = static_cast<double>(options.factor);
  auto base = static_cast<double>(options.base);
  if (options.scaling == RopeScaling::Ntk) base *= std::pow(factor, size / (size - 2));
  std::vector<double> frequencies(static_cast<size_t>(options.rotary_size / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    double frequency = std::pow(base, -2 * static_cast<double>(i) / size);
    switch (options.scaling) {
      case RopeScaling::None:
      case RopeScaling::Ntk: break;
      case RopeScaling::Linear: frequency /= factor; break;
      case RopeScaling::Yarn: {
        const double ramp = YarnRamp(options).at(static_cast<double>(i));
        frequency = frequency / factor * ramp + frequency * (1 - ramp);
        break;
      }
      case RopeScaling::Llama3: frequency = llama3_frequency(options, frequency); break;
      case RopeScaling::Factors: frequency /= static_cast<double>(options.factors[i]); break;
    }
    frequencies[i] = frequency;
  }
  return frequencies;
}

std::vector<double> rotary_digits(std::span<const double> frequencies) {
  const size_t num_pairs = frequencies.size();
  std::vector<double> table;
  table.reserve(static_cast<size_t>(kRotaryNumDigits * kRotaryRadix) * 2 * num_pairs);
  for (int64_t digit = 0, weight = 1; digit < kRotaryNumDigits; ++digit, weight *= kRotaryRadix) {
    for (int64_t value = 0; value < kRotaryRadix; ++value) {
      const auto position = static_cast<double>(value * weight);
      for (const double frequency : frequencies) table.push_back(std::cos(position * frequency));
      for (const double frequency : frequencies) table.push_back(std::sin(position * frequency));
    }
  }
  return table;
}

void write_options(const RopeOptions& options, JsonWriter& json) {
  json.member("layout", options.layout == RotaryLayout::Interleaved ? "interleaved" : "half");
  json.member("rotary_size", options.rotary_size);
  json.member("rotary_offset", options.rotary_offset);
  json.member("base", options.base);
  json.member("attention_factor", options.attention_factor);
  json.member("scaling", name_of(options.scaling));
  if (options.scaling == RopeScaling::None) return;
  json.member("factor", options.factor);
  json.member("original_length", options.original_length);
  json.member("beta_fast", options.beta_fast);
  json.member("beta_slow", options.beta_slow);
  json.member("no_rounding", options.no_rounding);
  json.member("low_freq_factor", options.low_freq_factor);
  json.member("high_freq_factor", options.high_freq_factor);
  if (options.factors.empty()) return;
  json.key("factors");
  json.begin_array();
  for (const float factor : options.factors) json.value(factor);
  json.end_array();
  if (options.short_factors.empty()) return;
  json.key("short_factors");
  json.begin_array();
  for (const float factor : options.short_factors) json.value(factor);
  json.end_array();
}

}  // namespace heed
