// SPDX-License-Identifier: Apache-2.0
// Functions of single elements of arrays, and the list of all of them.
#pragma once

#include <cstddef>
#include <cstdint>

// One row for each function that heed_elementwise computes: its name; NAME of HEED_ELEMENTWISE_NAME in heed.h, which has the
// number of the row, as capi/src asserts; which elements it takes and gives; its number of inputs; and the FLOPs that it counts
// for one element. heed.h has the formulas.
#define HEED_ELEMENTWISE(FUNCTION)               \
  FUNCTION(Add, ADD, Number, 2, 1)               \
  FUNCTION(Subtract, SUBTRACT, Number, 2, 1)     \
  FUNCTION(Multiply, MULTIPLY, Number, 2, 1)     \
  FUNCTION(Divide, DIVIDE, Float, 2, 1)          \
  FUNCTION(Power, POWER, Number, 2, 2)           \
  FUNCTION(Remainder, REMAINDER, Number, 2, 3)   \
  FUNCTION(Maximum, MAXIMUM, Number, 2, 1)       \
  FUNCTION(Minimum, MINIMUM, Number, 2, 1)       \
  FUNCTION(LogicalAnd, LOGICAL_AND, Truth, 2, 1) \
  FUNCTION(LogicalOr, LOGICAL_OR, Truth, 2, 1)   \
  FUNCTION(LogicalXor, LOGICAL_XOR, Truth, 2, 1) \
  FUNCTION(LogicalNot, LOGICAL_NOT, Truth, 1, 1) \
  FUNCTION(Negative, NEGATIVE, Number, 1, 1)     \
  FUNCTION(Absolute, ABSOLUTE, Number, 1, 1)     \
  FUNCTION(Sign, SIGN, Number, 1, 1)             \
  FUNCTION(Square, SQUARE, Number, 1, 1)         \
  FUNCTION(Round, ROUND, Number, 1, 1)           \
  FUNCTION(Floor, FLOOR, Number, 1, 1)           \
  FUNCTION(Ceil, CEIL, Number, 1, 1)             \
  FUNCTION(Truncate, TRUNCATE, Number, 1, 1)     \
  FUNCTION(Sqrt, SQRT, Real, 1, 1)               \
  FUNCTION(Exp, EXP, Real, 1, 1)                 \
  FUNCTION(Log, LOG, Real, 1, 1)                 \
  FUNCTION(Sin, SIN, Real, 1, 1)                 \
  FUNCTION(Cos, COS, Real, 1, 1)                 \
  FUNCTION(Tanh, TANH, Real, 1, 1)               \
  FUNCTION(Sigmoid, SIGMOID, Real, 1, 3)         \
  FUNCTION(Erf, ERF, Real, 1, 1)                 \
  FUNCTION(IsNan, IS_NAN, Property, 1, 1)        \
  FUNCTION(IsInfinite, IS_INFINITE, Property, 1, 1)

// The same for heed_compare and HEED_COMPARE_NAME.
#define HEED_COMPARISONS(FUNCTION)                  \
  FUNCTION(Equal, EQUAL, Comparison, 2, 1)          \
  FUNCTION(NotEqual, NOT_EQUAL, Comparison, 2, 1)   \
  FUNCTION(Less, LESS, Comparison, 2, 1)            \
  FUNCTION(LessEqual, LESS_EQUAL, Comparison, 2, 1) \
  FUNCTION(Greater, GREATER, Comparison, 2, 1)      \
  FUNCTION(GreaterEqual, GREATER_EQUAL, Comparison, 2, 1)

// The functions of heed_select and heed_clip.
#define HEED_CHOICES(FUNCTION)           \
  FUNCTION(Select, SELECT, Choice, 3, 0) \
  FUNCTION(Clip, CLIP, Number, 3, 2)

#define HEED_ALL_FUNCTIONS(FUNCTION) \
  HEED_ELEMENTWISE(FUNCTION)         \
  HEED_COMPARISONS(FUNCTION)         \
  HEED_CHOICES(FUNCTION)

namespace heed {

enum class ElementFunction : int32_t {
#define HEED_ENUMERATOR(name, upper, elements, num_inputs, flops) name,
  HEED_ALL_FUNCTIONS(HEED_ENUMERATOR)
#undef HEED_ENUMERATOR
};

// The dtypes that a function takes, and that of its result.
enum class FunctionElements : int32_t {
  Number,      // floats and integers; the result has their dtype
  Float,       // floats; the result has their dtype
  Real,        // floats, and integers as F32; the result has their dtype
  Truth,       // any, not 0 is true; BOOL
  Property,    // floats and integers; BOOL
  Comparison,  // floats and integers, or BOOL; BOOL
  Choice,      // BOOL, and two of any dtype; theirs
};

struct ElementFunctionRow {
  FunctionElements elements;
  int32_t num_inputs;
  double flops;
};
inline constexpr ElementFunctionRow kElementFunctions[] = {
#define HEED_ROW(name, upper, elements, num_inputs, flops) {FunctionElements::elements, num_inputs, flops},
    HEED_ALL_FUNCTIONS(HEED_ROW)
#undef HEED_ROW
};

inline constexpr auto kNumElementwise = static_cast<int32_t>(ElementFunction::Equal);
inline constexpr int32_t kNumComparisons = static_cast<int32_t>(ElementFunction::Select) - kNumElementwise;

constexpr const ElementFunctionRow& row_of(ElementFunction function) {
  return kElementFunctions[static_cast<size_t>(function)];
}

constexpr bool gives_truth(ElementFunction function) {
  const FunctionElements elements = row_of(function).elements;
  return elements == FunctionElements::Truth || elements == FunctionElements::Property ||
         elements == FunctionElements::Comparison;
}

}  // namespace heed
