// SPDX-License-Identifier: Apache-2.0
#include "runtime/errors.h"

#include <string>

namespace {

struct RecentError {
  bool is_set = false;
  std::string pending;
  // The text that the last call of aclGetRecentErrMsg returned a pointer to.
  std::string handed_out;
};

RecentError& recent_error() {
  thread_local RecentError recent;
  return recent;
}

}  // namespace

namespace ascend_sim {

aclError fail(aclError code, const std::string& sentence) {
  recent_error().is_set = true;
  recent_error().pending = std::to_string(code) + ": " + sentence;
  return code;
}

}  // namespace ascend_sim

const char* aclGetRecentErrMsg() {
  RecentError& recent = recent_error();
  if (!recent.is_set) return nullptr;
  recent.is_set = false;
  recent.handed_out.swap(recent.pending);
  return recent.handed_out.c_str();
}
