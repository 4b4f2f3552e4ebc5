// SPDX-License-Identifier: Apache-2.0
// with_isa ISA PROGRAM [ARGUMENT...]: runs a program with HEED_ISA set. If this would not test another ISA, prints the
// reason and exits with 77, which CTest counts as "skipped".
#include <cstdio>
#include <cstring>

#include "backends/cpu/engine/isa.h"
#include "support/platform/child_process.h"
#include "support/platform/environment.h"

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: with_isa ISA PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  constexpr int kSkipped = 77;
  const char* wish = argv[1];
  const heed::cpu::Isa* found = nullptr;
  for (const heed::cpu::Isa& isa : heed::cpu::isas()) {
    if (std::strcmp(isa.name(), wish) == 0) found = &isa;
  }
  if (found == nullptr) {
    std::fprintf(stderr, "with_isa: this build has no kernels named \"%s\"\n", wish);
    return 2;
  }
  if (!found->is_available()) {
    std::printf("skipped: this processor has no %s\n", wish);
    return kSkipped;
  }
  const heed::cpu::Isa& widest = heed::cpu::widest_isa();
  if (found->kernels->flash_attention == widest.kernels->flash_attention) {
    std::printf("skipped: the kernels of %s run on this processor anyway, as %s\n", wish, widest.name());
    return kSkipped;
  }
  heed::set_environment("HEED_ISA", wish);
  heed::become_program(argv + 2);
  std::perror(argv[2]);
  return 2;
}
