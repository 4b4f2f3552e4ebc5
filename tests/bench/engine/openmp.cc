// SPDX-License-Identifier: Apache-2.0
#include "openmp.h"

#include "processors.h"

// Declared here, since other compilers and tools do not find GCC's omp.h.
extern "C" {
void omp_set_num_threads(int num_threads);
int omp_get_thread_num();
}

namespace bench {

void use_openmp_threads(int threads) {
#if defined(_OPENMP)
  omp_set_num_threads(threads);
#pragma omp parallel
  stay_on_processor(omp_get_thread_num());
#else
  (void)threads;
#endif
}

}  // namespace bench
