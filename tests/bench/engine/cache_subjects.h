// SPDX-License-Identifier: Apache-2.0
// What cases with a cache are compared with.
#ifndef HEED_BENCH_CACHE_SUBJECTS_H
#define HEED_BENCH_CACHE_SUBJECTS_H

#include <memory>

#include "data.h"
#include "subject.h"

namespace bench {

// Whether the case is compared with other libraries: one query over a contiguous cache of F32.
bool is_plain_cache(const BenchCase& bench_case);

// Such a case without its cache: the projected queries, and the keys and values of the cache.
std::shared_ptr<const Data> attention_over_cache(const BenchCase& bench_case, const Data& data);

// The subjects, which keep the data that they read.
Subjects with_data(Subjects subjects, const std::shared_ptr<const Data>& data);

// All other cases are compared with heed. The first of these that applies:
//   rows=    "heed apart"       calls apart: one for the sequences of each number of rows
//   fork     "heed apart"       sequences that share no memory
//   page=, ring  "heed contiguous"
//   a dtype  "heed F32"
//   Q > 1    "heed one row"     a call with one row
//   append   "heed read"        a call that appends no row
// A case with lengths alone is compared with nothing.
Subjects make_cache_subjects(const BenchCase& bench_case, int threads);

}  // namespace bench

#endif  // HEED_BENCH_CACHE_SUBJECTS_H
