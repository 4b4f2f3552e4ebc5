// SPDX-License-Identifier: Apache-2.0
// Eigen's matrix product, for projections.
#ifndef HEED_BENCH_EIGEN_SUBJECT_H
#define HEED_BENCH_EIGEN_SUBJECT_H

#include <memory>

#include "data.h"
#include "subject.h"

namespace bench {

std::unique_ptr<Subject> make_eigen_subject(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_EIGEN_SUBJECT_H
