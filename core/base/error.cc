// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <cstdarg>
#include <cstdio>

namespace heed {
namespace {

void say_for_c(Error& error) noexcept {
  cut_for_c(error.marked, sizeof error.text - 1);
  write_for_c(error.marked, error.text, sizeof error.text);
}

}  // namespace

Status Error::say(Status said_status, const char* format, ...) noexcept {
  status = said_status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(marked, sizeof marked, format, arguments);
  va_end(arguments);
  say_for_c(*this);
  return status;
}

void Error::add_to_options(const char* member) noexcept {
  heed::add_to_options(marked, sizeof marked, member);
  say_for_c(*this);
}

void fail(Status status, const char* format, ...) {
  Error error;
  error.status = status;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(error.marked, sizeof error.marked, format, arguments);
  va_end(arguments);
  say_for_c(error);
  throw error;
}

}  // namespace heed
