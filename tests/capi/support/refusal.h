// SPDX-License-Identifier: Apache-2.0
// What a refused call must look like: its status, its sentence, and everything as it was.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <array>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heed::capi_test {

// A status, and what the sentence must contain.
struct Refusal {
  heed_status status = HEED_ERROR_INVALID_ARGUMENT;
  std::vector<std::string> words;
};

inline Refusal invalid(std::vector<std::string> words) { return {HEED_ERROR_INVALID_ARGUMENT, std::move(words)}; }

// Makes the thread's last error one that no test expects, so that an old error is not taken for a new one.
void forget_last_error();

// Whether a call that returned this was refused so, with one sentence in ASCII. For getters, which return no status,
// pass heed_last_status().
testing::AssertionResult is_refused(heed_status returned, const Refusal& expected);

// One of each out-parameter, holding what no call gives.
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

// A row of a table of calls that must be refused.
struct RefusedCall {
  const char* what;
  std::function<heed_status(OutParameters& out)> call;
  Refusal expected;
};

// Makes every call and looks at its status, its sentence and the out-parameters.
void expect_refused(const std::vector<RefusedCall>& calls);

}  // namespace heed::capi_test
