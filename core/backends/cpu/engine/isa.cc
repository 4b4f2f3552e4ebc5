// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/engine/isa.h"

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
  char available[kErrorCapacity] = "";
  const char* separator = " ";
  for (const Isa& isa : isas()) {
    if (!isa.is_available()) continue;
    append_text(available, separator);
    append_text(available, isa.name());
    separator = ", ";
  }
  return failure->say(Status::InvalidArgument,
                      "the environment variable HEED_ISA is \"%s\", expected one of those that this processor has:%s",
                      printable, available);
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
