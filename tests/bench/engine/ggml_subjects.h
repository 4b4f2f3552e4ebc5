// SPDX-License-Identifier: Apache-2.0
// ggml's two forms of attention: its fused operator, and two matrix products with a softmax between them.
#ifndef HEED_BENCH_GGML_SUBJECTS_H
#define HEED_BENCH_GGML_SUBJECTS_H

#include <string>

#include "data.h"
#include "subject.h"

namespace bench {

// For attention only. A storage type other than F32 applies to keys and values; ggml's queries and results are F32.
Subjects make_ggml_subjects(const BenchCase& bench_case, const Data& data, int threads);
std::string ggml_version_text();

}  // namespace bench

#endif  // HEED_BENCH_GGML_SUBJECTS_H
