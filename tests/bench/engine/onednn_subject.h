// SPDX-License-Identifier: Apache-2.0
// oneDNN's matmul on a weight in the form that it chooses itself, for projections.
#ifndef HEED_BENCH_ONEDNN_SUBJECT_H
#define HEED_BENCH_ONEDNN_SUBJECT_H

#include <memory>

#include "data.h"
#include "subject.h"

namespace bench {

std::unique_ptr<Subject> make_onednn_subject(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_ONEDNN_SUBJECT_H
