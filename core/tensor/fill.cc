// SPDX-License-Identifier: Apache-2.0
#include "tensor/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <type_traits>

#include "base/decimal_text.h"
#include "base/error.h"
#include "base/normal.h"
#include "base/philox.h"
#include "tensor/convert.h"
#include "tensor/copy.h"
#include "tensor/dtype_term.h"
#include "tensor/host_image.h"
#include "tensor/walk.h"

namespace heed {
namespace {

// The random words 0, 1, 2, ... of a seed.
class Words {
 public:
  Words(uint64_t seed, uint32_t use) : seed_(seed), use_(use) {}

  uint32_t next() {
    if (next_word_ == block_.size()) {
      block_ =
          philox4x32({static_cast<uint32_t>(num_blocks_), static_cast<uint32_t>(num_blocks_ >> 32), 0, use_}, seed_);
      ++num_blocks_;
      next_word_ = 0;
    }
    return block_[next_word_++];
  }

 private:
  uint64_t seed_;
  uint32_t use_;
  uint64_t num_blocks_ = 0;
  PhiloxCounter block_{};
  size_t next_word_ = block_.size();
};

// Sets the elements, in row-major order, to the results of next(), one call for each.
template <typename Next>
void fill_in_order(const Tensor& filled, Next next) {
  // Some numbers at a time, so that the code for the dtypes exists once.
  constexpr int64_t kNumbers = 256;
  const HostImage written(filled);
  const Tensor& tensor = written.image();
  const int32_t last = tensor.rank() - 1;
  const int64_t count = last < 0 ? 1 : tensor.dim(last);
  if (count == 0) return;
  const int64_t step = last < 0 ? 0 : tensor.stride(last) * static_cast<int64_t>(size_of(tensor.dtype()));
  walk<1>(leading_axes(tensor.shape(), last), {tensor.strides()}, [&](const auto& offsets) {
    std::byte* row = tensor.element(offsets[0]);
    double numbers[kNumbers];
    for (int64_t first = 0; first < count; first += kNumbers) {
      const int64_t end = std::min(count, first + kNumbers);
      for (int64_t i = first; i < end; ++i) numbers[i - first] = static_cast<double>(next());
      convert_elements(tensor.dtype(), row + first * step, step, DType::F64, numbers, sizeof(double), end - first);
    }
  });
  written.commit();
}

void require_finite(double value, const char* name) {
  if (!std::isfinite(value))
    fail(Status::InvalidArgument, "%s is %s, expected a finite number", name, DecimalText(value).c_str());
}

// The next smaller number of a float type; for infinity the largest finite one.
template <typename Float, typename Bits>
Float step_down(Float value) {
  static_assert(sizeof(Float) == sizeof(Bits));
  constexpr auto kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
  const auto bits = std::bit_cast<Bits>(value);
  if ((bits & ~kSign) == 0) return std::bit_cast<Float>(static_cast<Bits>(kSign | 1));
  return std::bit_cast<Float>(static_cast<Bits>((bits & kSign) != 0 ? bits + 1 : bits - 1));
}

double below(double value) { return step_down<double, uint64_t>(value); }

// The largest number of a dtype that is less than `limit`, as a double; -infinity if a float type has none.
template <typename To>
double largest_below(double limit) {
  if constexpr (std::is_same_v<To, Boolean> || std::is_same_v<To, double>) {
    // A boolean is made by comparing the double with zero, without narrowing it first.
    return below(limit);
  } else if constexpr (std::is_integral_v<To>) {
    return std::min(std::floor(below(limit)), static_cast<double>(std::numeric_limits<To>::max()));
  } else {
    using Bits = std::conditional_t<sizeof(To) == 4, uint32_t, uint16_t>;
    const To nearest = convert<To>(limit);
    const double wide = detail::carry(nearest);
    return wide < limit ? wide : detail::carry(step_down<To, Bits>(nearest));
  }
}

// The smallest number of a dtype that is at least `limit`, as a double; infinity if it has none.
template <typename To>
double smallest_from(double limit) {
  if constexpr (std::is_same_v<To, Boolean>) {
    return limit;
  } else if constexpr (std::is_integral_v<To>) {
    // The largest number of a type plus one is a power of two, which a double represents exactly. The largest number of
    // I64 itself has no exact double.
    const double past_largest = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const double number = std::max(std::ceil(limit), static_cast<double>(std::numeric_limits<To>::lowest()));
    return number < past_largest ? number : std::numeric_limits<double>::infinity();
  } else {
    // x >= limit iff -x < the next number above -limit.
    return -largest_below<To>(-below(limit));
  }
}

}  // namespace

void fill_tensor(const Tensor& tensor, double value) {
  tensor.require_writable(ARGUMENT("tensor"));
  fill_in_order(tensor, [value] { return value; });
}

void fill_arange(const Tensor& tensor, double start, double step) {
  require_finite(start, "start");
  require_finite(step, "step");
  tensor.require_writable(ARGUMENT("tensor"));
  fill_in_order(tensor, [start, step, i = int64_t{0}]() mutable { return start + static_cast<double>(i++) * step; });
}

void fill_alibi_slopes(const Tensor& tensor) {
  if (tensor.rank() != 1) {
    fail(Status::InvalidArgument, ARGUMENT("tensor") " has " ARGUMENT("dims") " %s of rank %d, expected rank 1, (H)",
         to_string(tensor.shape()).c_str(), tensor.rank());
  }
  tensor.require_writable(ARGUMENT("tensor"));
  const auto heads = static_cast<uint64_t>(tensor.dim(0));
  if (heads == 0) return;
  // With n heads, n a power of two, head i has the slope 2^(-8 (i + 1) / n). For another number of heads, n is the
  // largest power of two below it, and the heads from n on take the slopes of heads 0, 2, 4, ... of 2n heads.
  const uint64_t power = std::bit_floor(heads);
  fill_in_order(tensor, [power, i = uint64_t{0}]() mutable {
    const double numerator = i < power ? static_cast<double>(i + 1) : static_cast<double>(i - power) + 0.5;
    ++i;
    return std::exp2(-8.0 * numerator / static_cast<double>(power));
  });
}

void fill_uniform(const Tensor& tensor, double low, double high, uint64_t seed) {
  require_finite(low, "low");
  require_finite(high, "high");
  if (low > high)
    fail(Status::InvalidArgument, "low is %s and high is %s, expected low <= high", DecimalText(low).c_str(),
         DecimalText(high).c_str());
  const double range = high - low;
  if (!std::isfinite(range)) {
    fail(Status::InvalidArgument, "low is %s and high is %s, expected a difference that a double can hold",
         DecimalText(low).c_str(), DecimalText(high).c_str());
  }
  tensor.require_writable(ARGUMENT("tensor"));
  if (low == high) {
    fill_in_order(tensor, [low] { return low; });
    return;
  }
  double first = 0;
  double last = 0;
  visit_dtype(tensor.dtype(), [&](auto* type) {
    using To = std::remove_pointer_t<decltype(type)>;
    first = smallest_from<To>(low);
    last = largest_below<To>(high);
  });
  if (first > last) {
    fail(Status::InvalidArgument,
         "low is %s and high is %s, between which %s, the " WORD("dtype") " of " ARGUMENT(
             "tensor") ", has no number: expected a wider range",
         DecimalText(low).c_str(), DecimalText(high).c_str(), term_of(tensor.dtype()));
  }
  fill_in_order(tensor, [=, words = Words(seed, kUniformUse)]() mutable {
    // 32 bits of one word and 21 of the next make a multiple of 2^-53 in [0, 1).
    const auto upper = static_cast<uint64_t>(words.next());
    const double fraction = static_cast<double>(upper << 21 | words.next() >> 11) * 0x1p-53;
    return std::clamp(low + fraction * range, first, last);
  });
}

void fill_normal(const Tensor& tensor, double mean, double standard_deviation, uint64_t seed) {
  require_finite(mean, ARGUMENT("mean"));
  require_finite(standard_deviation, ARGUMENT("standard_deviation"));
  if (standard_deviation < 0)
    fail(Status::InvalidArgument, ARGUMENT("standard_deviation") " is %s, expected at least 0",
         DecimalText(standard_deviation).c_str());
  tensor.require_writable(ARGUMENT("tensor"));
  fill_in_order(tensor, [=, words = Words(seed, kNormalUse)]() mutable {
    return mean + standard_deviation * normal_of(words.next());
  });
}

}  // namespace heed
