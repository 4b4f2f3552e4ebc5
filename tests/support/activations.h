// SPDX-License-Identifier: Apache-2.0
// The list of all activations of heed.h, for tests of C.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <iterator>

// One row for each activation, in the order of their numbers: NAME of HEED_ACTIVATION_NAME, and its name in tests/reference.
#define HEED_TEST_ACTIVATIONS(ACTIVATION) \
  ACTIVATION(RELU, Relu)                  \
  ACTIVATION(GELU, Gelu)                  \
  ACTIVATION(GELU_TANH, GeluTanh)         \
  ACTIVATION(GELU_QUICK, GeluQuick)       \
  ACTIVATION(SILU, Silu)

namespace heed {

inline constexpr int32_t kActivationsOfC[] = {
#define HEED_ITEM(upper, name) HEED_ACTIVATION_##upper,
    HEED_TEST_ACTIVATIONS(HEED_ITEM)
#undef HEED_ITEM
};
inline constexpr int32_t kNumActivationsOfC = std::size(kActivationsOfC);

// The compiler refuses an enumerator of heed.h that the list lacks.
constexpr bool is_listed(decltype(HEED_ACTIVATION_RELU) activation) {
  switch (activation) {
#define HEED_CASE(upper, name) case HEED_ACTIVATION_##upper:
    HEED_TEST_ACTIVATIONS(HEED_CASE)
#undef HEED_CASE
    return true;
  }
  return false;
}
static_assert(is_listed(static_cast<decltype(HEED_ACTIVATION_RELU)>(kNumActivationsOfC - 1)));

}  // namespace heed
