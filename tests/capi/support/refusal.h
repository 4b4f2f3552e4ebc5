// SPDX-License-Identifier: Apache-2.0
// What a refused call must do: return its status, set its message, and change nothing.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heed::capi_test {

// A status, and words that the message must contain.
struct Refusal {
  heed_status status = HEED_ERROR_INVALID_ARGUMENT;
  std::vector<std::string> words;
};

inline Refusal invalid(std::vector<std::string> words) { return {HEED_ERROR_INVALID_ARGUMENT, std::move(words)}; }

// Replaces the thread's last error by one that no test expects, so that an earlier error is not mistaken for a new one.
void forget_last_error();

// Whether a call that returned this status was refused as expected, with a message of one ASCII line. For getters,
// which return no status, pass heed_last_status().
testing::AssertionResult is_refused(heed_status returned, const Refusal& expected);

// One of each out-parameter, with values that no call returns.
struct OutParameters {
  heed_context* context;
  heed_tensor* tensor;
  heed_layer* layer;
  heed_workspace* workspace;
  size_t num_bytes = 0x5EED;
  std::array<char, 16> text;

  OutParameters();
  bool operator==(const OutParameters& other) const = default;
};

// A call that must be refused.
struct RefusedCall {
  const char* what;
  std::function<heed_status(OutParameters& out)> call;
  Refusal expected;
};

// Makes each call, and checks its status, its message and the out-parameters.
void expect_refused(const std::vector<RefusedCall>& calls);

}  // namespace heed::capi_test
