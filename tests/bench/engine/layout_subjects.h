// SPDX-License-Identifier: Apache-2.0
// What cases with another layout of keys and values are compared with: heed with dense ones.
#ifndef HEED_BENCH_LAYOUT_SUBJECTS_H
#define HEED_BENCH_LAYOUT_SUBJECTS_H

#include "data.h"
#include "subject.h"

namespace bench {

// "heed dense" has dense keys and values from the start; "copy and heed" copies them in each call.
Subjects make_layout_subjects(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_LAYOUT_SUBJECTS_H
