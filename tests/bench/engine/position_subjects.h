// SPDX-License-Identifier: Apache-2.0
// What cases with positions are compared with: heed without them.
#ifndef HEED_BENCH_POSITION_SUBJECTS_H
#define HEED_BENCH_POSITION_SUBJECTS_H

#include "bench_case.h"
#include "subject.h"

namespace bench {

// "heed plain" computes the case without ALiBi, sinks, relative bias, rotary positions and norms. For a packed layer "heed
// padded" computes the padded batch, in which a mask hides the padded keys, and "heed lengths" the padded batch with
// valid_lens, which leaves out the projections of padded keys. For packed attention "heed apart" computes the batch
// elements of each length by a call of its own.
Subjects make_position_subjects(const BenchCase& bench_case, int threads);

}  // namespace bench

#endif  // HEED_BENCH_POSITION_SUBJECTS_H
