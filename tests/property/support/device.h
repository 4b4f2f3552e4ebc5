// SPDX-License-Identifier: Apache-2.0
// The device that a program of tests runs on: the CPU, or with HEED_TEST_DEVICE=ascend in the environment the Ascend NPU.
//
// On the NPU contexts are strict, so that what the CPU would do in its place is refused. A refused call is counted by
// its reason and made again in a context that is not strict, where its results are held to the same rules. At its end
// the program prints how many calls ran wholly on the device, and fails where a larger share was refused than
// HEED_TEST_MAX_REFUSED says. A test fails where the simulator has found a misuse in it, or that it left something on the
// device.
#pragma once

#include <heed/heed.h>

#include <cstdint>
#include <optional>
#include <type_traits>

#include "property/support/handles.h"
#include "reference/number_format.h"

namespace heed::property {

bool on_ascend();

// Whether the CPU may do what the device cannot. On the CPU contexts are never strict.
enum class Fallback { Refused, Allowed };

// With which a call is tried first.
inline Fallback first_fallback() { return on_ascend() ? Fallback::Refused : Fallback::Allowed; }

// What a context of the device is opened with, besides what the test itself asks for.
heed_context_options device_options(Fallback fallback = Fallback::Allowed);

Context make_context(Fallback fallback = Fallback::Allowed);

// The format that the device rounds to on its way when the inputs have this dtype; none where it computes in f32.
std::optional<reference::Format> compute_format(heed_dtype inputs);

// The number that the device reads an operand as where the inputs have this dtype.
double as_read_by_device(heed_dtype inputs, double number);

// The unit round-off of the device's arithmetic when the inputs have this dtype, in units of that of f32.
double coarseness(heed_dtype inputs = HEED_F32);

// How far a handful of operations on F32 may be off for numbers of this size: each loses at most half a unit.
double a_few_roundings(double magnitude);

// Counts a call that the device did.
void count_done();

// So far.
int64_t num_refused();

// Counts a failed call that the CPU has done since, by the reasons in its sentence.
void count_refused(const CallFailed& failure);

// Whether the call failed because the device cannot do it.
bool is_refusal(const CallFailed& failure);

// Calls attempt(Fallback), which makes one call of the device and returns its result: once where the device does it, or
// it is wrong, and once more with the CPU's help where the device cannot.
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

// For rules that are promised on the CPU alone.
#define HEED_SKIP_ON_ASCEND(why) \
  if (heed::property::on_ascend()) GTEST_SKIP() << (why)
