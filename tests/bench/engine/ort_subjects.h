// SPDX-License-Identifier: Apache-2.0
// Every operator of ONNX Runtime that can compute a case, each with its fastest layout.
#ifndef HEED_BENCH_ORT_SUBJECTS_H
#define HEED_BENCH_ORT_SUBJECTS_H

#include <string>
#include <vector>

#include "data.h"
#include "subject.h"

namespace bench {

// Operators that refuse the case are left out. The reasons are appended to *refusals, as "name: reason".
Subjects make_ort_subjects(const BenchCase& bench_case, const Data& data, int threads,
                           std::vector<std::string>* refusals);

}  // namespace bench

#endif  // HEED_BENCH_ORT_SUBJECTS_H
