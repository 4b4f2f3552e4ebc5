// SPDX-License-Identifier: Apache-2.0
// oneDNN's matmul on a weight in the form that it chooses itself, for projections; and where it has the graph API, its
// attention.
#ifndef HEED_BENCH_ONEDNN_SUBJECTS_H
#define HEED_BENCH_ONEDNN_SUBJECTS_H

#include <memory>

#include "data.h"
#include "subject.h"

namespace bench {

// Throws dnnl::error where it cannot do the case.
std::unique_ptr<Subject> make_onednn_matmul(const BenchCase& bench_case, const Data& data, int threads);
std::unique_ptr<Subject> make_onednn_attention(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_ONEDNN_SUBJECTS_H
