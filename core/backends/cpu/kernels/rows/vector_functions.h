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
  FUNCTION(Tanh)                               \
  FUNCTION(Sigmoid)                            \
  FUNCTION(Erf)

#define HEED_VECTOR_FUNCTIONS_OF_TWO(FUNCTION) \
  FUNCTION(Add)                                \
  FUNCTION(Subtract)                           \
  FUNCTION(Multiply)                           \
  FUNCTION(Divide)                             \
  FUNCTION(Maximum)                            \
  FUNCTION(Minimum)

namespace heed::cpu {

constexpr bool is_vector_function(ElementFunction function) {
#define HEED_OR(name) || function == ElementFunction::name
  return false HEED_VECTOR_FUNCTIONS_OF_ONE(HEED_OR) HEED_VECTOR_FUNCTIONS_OF_TWO(HEED_OR);
#undef HEED_OR
}

}  // namespace heed::cpu
