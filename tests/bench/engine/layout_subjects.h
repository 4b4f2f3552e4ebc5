// SPDX-License-Identifier: Apache-2.0
// What a case whose keys and values lie in another layout is measured against: heed on dense ones.
#ifndef HEED_BENCH_LAYOUT_SUBJECTS_H
#define HEED_BENCH_LAYOUT_SUBJECTS_H

#include "data.h"
#include "subject.h"

namespace bench {

// "heed dense", whose keys and values are dense from the start, and "copy and heed", which copies them in each call.
Subjects make_layout_subjects(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_LAYOUT_SUBJECTS_H
