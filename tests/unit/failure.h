// SPDX-License-Identifier: Apache-2.0
// What core throws, as a value to compare.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace heed {

struct ThrownError {
  Status status = Status::Ok;
  std::string text;
};

// Ok when nothing is thrown.
inline ThrownError failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.status, error.text};
  }
  return {};
}

}  // namespace heed
