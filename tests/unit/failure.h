// SPDX-License-Identifier: Apache-2.0
// An exception of core as a value that can be compared.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"

namespace heed {

struct ThrownError {
  Status status = Status::Ok;
  std::string text;
};

// Status::Ok if nothing is thrown.
inline ThrownError failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.status, error.text};
  }
  return {};
}

}  // namespace heed
