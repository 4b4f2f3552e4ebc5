// SPDX-License-Identifier: Apache-2.0
// The device that a test program runs on: the CPU, or the Ascend NPU with HEED_TEST_DEVICE=ascend in the environment.
//
// On the NPU calls are first made in a strict context, which refuses what the CPU would have to compute. A refused call
// is counted by its reason and repeated in a context that is not strict, and its results must follow the same rules. At
// its end the program prints how many calls ran wholly on the device. It fails if a larger share than
// HEED_TEST_MAX_REFUSED was refused. A test fails if the simulator found a misuse in it, or if it leaked something on
// the device.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <type_traits>

#include "property/support/handles.h"
#include "reference/number_format.h"

namespace heed::property {

bool on_ascend();

// The number in an environment variable; `fallback` if it is not set or empty.
int64_t from_environment(const char* name, int64_t fallback);

// The number of random calls that a test makes: `all`, divided by the environment variable HEED_PROPERTY_DIVISOR if it
// is set. The test presets of sanitizers set it, because a call takes several times as long with a sanitizer.
int64_t num_rounds(int64_t all);

// Whether the CPU may compute what the device cannot. On the CPU contexts are never strict.
enum class Fallback { Refused, Allowed };

// The value for the first attempt of a call.
inline Fallback first_fallback() { return on_ascend() ? Fallback::Refused : Fallback::Allowed; }

// Options for a context on the device; the test may set further members.
heed_context_options device_options(Fallback fallback = Fallback::Allowed);

Context make_context(Fallback fallback = Fallback::Allowed);

// The format to which the device rounds intermediate results for inputs of this dtype; none if it computes in f32.
std::optional<reference::Format> compute_format(heed_dtype inputs);

// The number after the device has rounded it as an operand, for inputs of this dtype.
double as_read_by_device(heed_dtype inputs, double number);

// The unit round-off of the device's arithmetic for inputs of this dtype, divided by that of f32.
double coarseness(heed_dtype inputs = HEED_F32);

// A tolerance for a handful of operations in F32 on numbers of this magnitude: 20 roundings of half a unit each.
double a_few_roundings(double magnitude);

// Counts a call that ran on the device.
void count_done();

// The number of refused calls so far.
int64_t num_refused();

// Counts a call that the device refused and the CPU then computed, for each reason in the refusal.
void count_refused(const CallFailed& failure);

// Whether the call failed because the device cannot do it.
bool is_refusal(const CallFailed& failure);

// Calls attempt(Fallback), which makes one call on the device and returns its result. If the device refuses it, calls
// it again with the CPU's help allowed. Other failures are thrown at once.
template <typename Attempt>
auto on_device(Attempt attempt) {
  if constexpr (std::is_void_v<decltype(attempt(Fallback::Allowed))>) {
    on_device([&](Fallback fallback) {
      attempt(fallback);
      return true;
    });
  } else {
    if (first_fallback() == Fallback::Allowed) return attempt(Fallback::Allowed);
    std::optional<CallFailed> refusal;
    try {
      auto result = attempt(Fallback::Refused);
      count_done();
      return result;
    } catch (const CallFailed& failure) {
      if (!is_refusal(failure)) throw;
      refusal = failure;
    }
    auto result = attempt(Fallback::Allowed);
    count_refused(*refusal);
    return result;
  }
}

}  // namespace heed::property

// For rules that are guaranteed on the CPU only.
#define HEED_SKIP_ON_ASCEND(why) \
  if (heed::property::on_ascend()) GTEST_SKIP() << (why)
