// SPDX-License-Identifier: Apache-2.0
// The locale for numbers on one thread.
#pragma once

#include <memory>

namespace heed {

// In its scope the calling thread formats numbers as in the locale of this name, if it exists.
class NumericLocale {
 public:
  explicit NumericLocale(const char* name);
  NumericLocale(const NumericLocale&) = delete;
  NumericLocale& operator=(const NumericLocale&) = delete;
  ~NumericLocale();

  bool is_set() const { return state_ != nullptr; }

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed
