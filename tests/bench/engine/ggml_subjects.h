// SPDX-License-Identifier: Apache-2.0
// ggml's two ways to attend: its fused operator, and two products around a softmax.
#ifndef HEED_BENCH_GGML_SUBJECTS_H
#define HEED_BENCH_GGML_SUBJECTS_H

#include <string>

#include "data.h"
#include "subject.h"

namespace bench {

// For attention alone. Storage other than F32 is that of keys and values: its queries and results are F32.
Subjects make_ggml_subjects(const BenchCase& bench_case, const Data& data, int threads);
std::string ggml_version_text();

}  // namespace bench

#endif  // HEED_BENCH_GGML_SUBJECTS_H
