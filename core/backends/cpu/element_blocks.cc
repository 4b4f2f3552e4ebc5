// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/element_blocks.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/cpu/kernels/rows/vector_functions.h"

// The iterations of the next loop do not depend on each other, even where an input is the output.
#if defined(__clang__)
#define HEED_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HEED_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace heed::cpu {
namespace {

template <typename T>
concept Float = std::floating_point<T>;
template <typename T>
concept Integer = std::same_as<T, int32_t> || std::same_as<T, int64_t>;
template <typename T>
concept Number = Float<T> || Integer<T>;
// 0 or 1; also any element of one byte, which Select moves.
using Truth = uint8_t;

// A function of one element that the C library has for double, rounded once.
#define HEED_OF_DOUBLE(name, expression)           \
  struct name {                                    \
    template <Float T>                             \
    T operator()(T element) const {                \
      const auto x = static_cast<double>(element); \
      return static_cast<T>(expression);           \
    }                                              \
  }
// A function that makes a float a whole number.
#define HEED_ROUNDING(name, function) \
  struct name {                       \
    template <Number T>               \
    T operator()(T x) const {         \
      if constexpr (Integer<T>) {     \
        return x;                     \
      } else {                        \
        return function(x);           \
      }                               \
    }                                 \
  }
// Sums and products of integers wrap around, as those of unsigned ones do.
#define HEED_WRAPPING(name, function)                                                        \
  struct name {                                                                              \
    template <Number T>                                                                      \
    T operator()(T a, T b) const {                                                           \
      if constexpr (Integer<T>) {                                                            \
        using Unsigned = std::make_unsigned_t<T>;                                            \
        return static_cast<T>(function(static_cast<Unsigned>(a), static_cast<Unsigned>(b))); \
      } else {                                                                               \
        return function(a, b);                                                               \
      }                                                                                      \
    }                                                                                        \
  }
#define HEED_LOGICAL(name, expression)   \
  struct name {                          \
    template <std::same_as<Truth> T>     \
    T operator()(T a, T b) const {       \
      return static_cast<T>(expression); \
    }                                    \
  }

// One struct for each function of ops/elementwise_functions.h, which can be called with the types that it has.
namespace functions {

HEED_WRAPPING(Add, std::plus<>());
HEED_WRAPPING(Subtract, std::minus<>());
HEED_WRAPPING(Multiply, std::multiplies<>());

struct Divide {
  template <Float T>
  T operator()(T a, T b) const {
    return a / b;
  }
};

struct Maximum {
  template <Number T>
  T operator()(T a, T b) const {
    return a >= b || a != a ? a : b;
  }
};
struct Minimum {
  template <Number T>
  T operator()(T a, T b) const {
    return a <= b || a != a ? a : b;
  }
};

struct Power {
  template <Float T>
  T operator()(T a, T b) const {
    return static_cast<T>(std::pow(static_cast<double>(a), static_cast<double>(b)));
  }
  template <Integer T>
  T operator()(T a, T b) const {
    T result = 1;
    for (T factor = a; b > 0; b >>= 1) {
      if ((b & 1) != 0) result = Multiply()(result, factor);
      factor = Multiply()(factor, factor);
    }
    return result;
  }
};

// The remainder of a division that truncates, which is exact for floats too, moved to the sign of b.
struct Remainder {
  template <Float T>
  T operator()(T a, T b) const {
    const T rest = std::fmod(a, b);
    if (rest == 0) return std::copysign(rest, b);
    return (rest < 0) != (b < 0) ? rest + b : rest;
  }
  template <Integer T>
  T operator()(T a, T b) const {
    // The caller has refused 0. The quotient of the smallest integer and -1 would overflow.
    if (b == 0 || b == -1) return 0;
    const T rest = a % b;
    return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
  }
};

HEED_LOGICAL(LogicalAnd, a& b);
HEED_LOGICAL(LogicalOr, a | b);
HEED_LOGICAL(LogicalXor, a ^ b);
struct LogicalNot {
  template <std::same_as<Truth> T>
  T operator()(T a) const {
    return static_cast<T>(a ^ 1);
  }
};

struct Negative {
  template <Number T>
  T operator()(T x) const {
    if constexpr (Integer<T>) {
      return Subtract()(T{}, x);
    } else {
      return -x;
    }
  }
};
struct Absolute {
  template <Number T>
  T operator()(T x) const {
    if constexpr (Integer<T>) {
      return x < 0 ? Subtract()(T{}, x) : x;
    } else {
      return std::abs(x);
    }
  }
};
struct Sign {
  template <Number T>
  T operator()(T x) const {
    return x != x ? x : static_cast<T>((x > 0 ? 1 : 0) - (x < 0 ? 1 : 0));
  }
};
struct Square {
  template <Number T>
  T operator()(T x) const {
    return Multiply()(x, x);
  }
};
HEED_ROUNDING(Round, std::rint);
HEED_ROUNDING(Floor, std::floor);
HEED_ROUNDING(Ceil, std::ceil);
HEED_ROUNDING(Truncate, std::trunc);

struct Sqrt {
  template <Float T>
  T operator()(T x) const {
    return std::sqrt(x);
  }
};
HEED_OF_DOUBLE(Exp, std::exp(x));
HEED_OF_DOUBLE(Log, std::log(x));
HEED_OF_DOUBLE(Sin, std::sin(x));
HEED_OF_DOUBLE(Cos, std::cos(x));
HEED_OF_DOUBLE(Tanh, std::tanh(x));
HEED_OF_DOUBLE(Erf, std::erf(x));
struct Sigmoid {
  template <Float T>
  T operator()(T x) const {
    const T power = std::exp(-std::abs(x));
    return (x < 0 ? power : 1) / (power + 1);
  }
};

struct IsNan {
  template <Float T>
  bool operator()(T x) const {
    return x != x;
  }
};
struct IsInfinite {
  template <Float T>
  bool operator()(T x) const {
    return std::abs(x) > std::numeric_limits<T>::max();
  }
};

struct Equal : std::equal_to<> {};
struct NotEqual : std::not_equal_to<> {};
struct Less : std::less<> {};
struct LessEqual : std::less_equal<> {};
struct Greater : std::greater<> {};
struct GreaterEqual : std::greater_equal<> {};

struct Select {
  template <typename T>
  T operator()(Truth condition, T a, T b) const {
    return condition != 0 ? a : b;
  }
};
struct Clip {
  template <Number T>
  T operator()(T x, T low, T high) const {
    return Minimum()(Maximum()(x, low), high);
  }
};

}  // namespace functions

#undef HEED_OF_DOUBLE
#undef HEED_ROUNDING
#undef HEED_WRAPPING
#undef HEED_LOGICAL

template <typename Result>
using Stored = std::conditional_t<std::is_same_v<Result, bool>, Truth, Result>;

// Calls a function for each element. The output may be an input, since element i depends on element i only: so the loops may
// be vectorized.
template <typename Function, typename... Inputs, size_t... numbers>
void map(const void* const* inputs, void* output, int64_t count, std::index_sequence<numbers...>) {
  using Result = Stored<std::invoke_result_t<Function, Inputs...>>;
  const std::tuple<const Inputs*...> from(static_cast<const Inputs*>(inputs[numbers])...);
  auto* to = static_cast<Result*>(output);
  HEED_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = Function()(std::get<numbers>(from)[i]...);
}
template <typename Function, typename... Inputs>
void map(const void* const* inputs, void* output, int64_t count) {
  map<Function, Inputs...>(inputs, output, count, std::index_sequence_for<Inputs...>());
}

// What a kernel does not compute of a function that does not take all floats.
bool is_left_out(ElementFunction function, float a, float b) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  // NaN makes comparisons false.
  if (function != ElementFunction::Power) return !(std::abs(a) <= kLargestAngle);
  return (static_cast<int>(std::abs(a) <= kLargest) & static_cast<int>(a != 0) &
          static_cast<int>(std::abs(b) <= kLargest)) == 0;
}

// Elements that the kernel leaves out are computed before, since the output may be an input.
template <ElementFunction function, typename Function>
void compute_some(const KernelTable& kernels, const void* const* inputs, void* output, int64_t count) {
  constexpr int64_t kTogether = 128;
  constexpr bool kHasTwo = std::invocable<Function, float, float>;
  for (int64_t first = 0; first < count; first += kTogether) {
    const int64_t part = std::min(kTogether, count - first);
    const float* a = static_cast<const float*>(inputs[0]) + first;
    const float* b = kHasTwo ? static_cast<const float*>(inputs[1]) + first : a;
    float* to = static_cast<float*>(output) + first;
    int64_t places[kTogether];
    float results[kTogether];
    int64_t found = 0;
    int num_left_out = 0;
    for (int64_t i = 0; i < part; ++i) num_left_out += is_left_out(function, a[i], b[i]) ? 1 : 0;
    for (int64_t i = 0; found < num_left_out; ++i) {
      if (!is_left_out(function, a[i], b[i])) continue;
      places[found] = i;
      if constexpr (kHasTwo) {
        results[found++] = Function()(a[i], b[i]);
      } else {
        results[found++] = Function()(a[i]);
      }
    }
    kernels.element_block(function, a, b, to, part);
    for (int64_t i = 0; i < found; ++i) to[places[i]] = results[i];
  }
}

template <typename T, ElementFunction function, typename Function>
void compute(const KernelTable& kernels, const void* const* inputs, void* output, int64_t count) {
  if constexpr (std::same_as<T, float> && !takes_all_floats(function)) {
    compute_some<function, Function>(kernels, inputs, output, count);
  } else if constexpr (std::same_as<T, float> && is_vector_function(function)) {
    kernels.element_block(function, static_cast<const float*>(inputs[0]), static_cast<const float*>(inputs[1]),
                          static_cast<float*>(output), count);
  } else if constexpr (std::invocable<Function, T>) {
    map<Function, T>(inputs, output, count);
  } else if constexpr (std::invocable<Function, T, T>) {
    map<Function, T, T>(inputs, output, count);
  } else if constexpr (std::same_as<Function, functions::Select>) {
    map<Function, Truth, T, T>(inputs, output, count);
  } else if constexpr (std::invocable<Function, T, T, T>) {
    map<Function, T, T, T>(inputs, output, count);
  } else {
    __builtin_unreachable();  // a problem has no function that does not exist for its dtype
  }
}

template <typename T>
void compute(const KernelTable& kernels, ElementFunction function, const void* const* inputs, void* output,
             int64_t count) {
  switch (function) {
#define HEED_CASE(name, ...) \
  case ElementFunction::name: return compute<T, ElementFunction::name, functions::name>(kernels, inputs, output, count);
    HEED_ALL_FUNCTIONS(HEED_CASE)
#undef HEED_CASE
  }
}

}  // namespace

void compute_block(const KernelTable& kernels, ElementFunction function, DType dtype, const void* const* inputs,
                   void* output, int64_t count) {
  switch (dtype) {
    case DType::F32: return compute<float>(kernels, function, inputs, output, count);
    case DType::F64: return compute<double>(kernels, function, inputs, output, count);
    case DType::I32: return compute<int32_t>(kernels, function, inputs, output, count);
    case DType::I64: return compute<int64_t>(kernels, function, inputs, output, count);
    case DType::I8:
    case DType::U8:
    case DType::Bool: return compute<Truth>(kernels, function, inputs, output, count);
    case DType::F16:
    case DType::BF16: break;
  }
  __builtin_unreachable();  // F16 and BF16 are computed in F32
}

}  // namespace heed::cpu
