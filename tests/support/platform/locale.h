// SPDX-License-Identifier: Apache-2.0
// A language for the numbers of one thread.
#pragma once

#include <memory>

namespace heed {

// In its scope the calling thread writes numbers as in the locale of that name, if there is one.
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
