// SPDX-License-Identifier: Apache-2.0
// The element functions that kernels compute in f32. The others are computed by the C library (element_blocks.cc).
#pragma once

#include "ops/elementwise_functions.h"

#define HEED_VECTOR_FUNCTIONS_OF_ONE(FUNCTION) \
  FUNCTION(Negative)                           \
  FUNCTION(Absolute)                           \
  FUNCTION(Sign)                               \
  FUNCTION(Square)                             \
  FUNCTION(Round)                              \
  FUNCTION(Floor)                              \
  FUNCTION(Ceil)                               \
  FUNCTION(Truncate)                           \
  FUNCTION(Exp)                                \
  FUNCTION(Log)                                \
  FUNCTION(Sin)                                \
  FUNCTION(Cos)                                \
  FUNCTION(Tanh)                               \
  FUNCTION(Sigmoid)                            \
  FUNCTION(Erf)

#define HEED_VECTOR_FUNCTIONS_OF_TWO(FUNCTION) \
  FUNCTION(Add)                                \
  FUNCTION(Subtract)                           \
  FUNCTION(Multiply)                           \
  FUNCTION(Divide)                             \
  FUNCTION(Maximum)                            \
  FUNCTION(Minimum)                            \
  FUNCTION(Power)

namespace heed::cpu {

constexpr bool is_vector_function(ElementFunction function) {
#define HEED_OR(name) || function == ElementFunction::name
  return false HEED_VECTOR_FUNCTIONS_OF_ONE(HEED_OR) HEED_VECTOR_FUNCTIONS_OF_TWO(HEED_OR);
#undef HEED_OR
}

// Larger angles have too few digits left in the kernels' reduction.
inline constexpr float kLargestAngle = 0x1p20f;

// Whether the kernels compute these functions for all floats. The others are not computed for angles beyond kLargestAngle, and powers
// not for numbers that are not finite and for a base of 0.
constexpr bool takes_all_floats(ElementFunction function) {
  return function != ElementFunction::Sin && function != ElementFunction::Cos && function != ElementFunction::Power;
}

}  // namespace heed::cpu
