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

void say_formatted(Error& error, Status status, const char* format, va_list arguments) noexcept {
  error.status = status;
  std::vsnprintf(error.marked, sizeof error.marked, format, arguments);
  say_for_c(error);
}

}  // namespace

Status Error::say(Status said_status, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  say_formatted(*this, said_status, format, arguments);
  va_end(arguments);
  return status;
}

void Error::add_to_options(const char* member) noexcept {
  heed::add_to_options(marked, sizeof marked, member);
  say_for_c(*this);
}

void fail(Status status, const char* format, ...) {
  Error error;
  va_list arguments;
  va_start(arguments, format);
  say_formatted(error, status, format, arguments);
  va_end(arguments);
  throw error;
}

}  // namespace heed
