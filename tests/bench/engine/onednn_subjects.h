// SPDX-License-Identifier: Apache-2.0
// oneDNN's matmul with a weight in the layout that it chooses, for projections; and if it has the graph API, its
// attention.
#ifndef HEED_BENCH_ONEDNN_SUBJECTS_H
#define HEED_BENCH_ONEDNN_SUBJECTS_H

#include <memory>

#include "data.h"
#include "subject.h"

namespace bench {

// Throws dnnl::error if oneDNN cannot compute the case.
std::unique_ptr<Subject> make_onednn_matmul(const BenchCase& bench_case, const Data& data, int threads);
std::unique_ptr<Subject> make_onednn_attention(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_ONEDNN_SUBJECTS_H
