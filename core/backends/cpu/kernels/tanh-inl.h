#pragma once
#include <math.h>
#include "backends/cpu/kernels/simd.h"
namespace heed::cpu::HEED_ISA_NAMESPACE {
namespace {
static Vec tanh(Vec x) {
  for (int i = 0; i < kLanes; ++i) x[i] = ::tanhf(x[i]);
  return x;
}
}  // namespace
}  // namespace heed::cpu::HEED_ISA_NAMESPACE
