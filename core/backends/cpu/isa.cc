// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/isa.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/shown_text.h"

namespace heed::cpu {
namespace {

// Allocates nothing, since it must not throw: opening a backend reports failures by status.
Status refuse(const char* wish, Error* failure) {
  char printable[kMaxShownText + 1];
  copy_printable(printable, sizeof printable, wish);
  char* const text = failure->text;
  constexpr size_t kSize = sizeof failure->text;
  // Each snprintf returns how long its text is without the limit of the array.
  const auto written = [](size_t length) { return length < kSize ? length : kSize - 1; };
  size_t length = written(static_cast<size_t>(std::snprintf(
      text, kSize,
      "the environment variable HEED_ISA is \"%s\", expected one of those that this processor has:", printable)));
  const char* separator = " ";
  for (const Isa& isa : isas()) {
    if (!isa.is_available()) continue;
    length = written(length +
                     static_cast<size_t>(std::snprintf(text + length, kSize - length, "%s%s", separator, isa.name())));
    separator = ", ";
  }
  failure->status = Status::InvalidArgument;
  return failure->status;
}

}  // namespace

const Isa& widest_isa() {
  const Isa* widest = &isas().front();
  for (const Isa& isa : isas()) {
    if (isa.is_available()) widest = &isa;
  }
  return *widest;
}

Status choose_kernels(const KernelTable** kernels, Error* failure) {
  const char* wish = std::getenv("HEED_ISA");
  if (wish == nullptr || wish[0] == '\0') {
    *kernels = widest_isa().kernels;
    return Status::Ok;
  }
  for (const Isa& isa : isas()) {
    if (std::strcmp(wish, isa.name()) != 0 || !isa.is_available()) continue;
    *kernels = isa.kernels;
    return Status::Ok;
  }
  return refuse(wish, failure);
}

}  // namespace heed::cpu
