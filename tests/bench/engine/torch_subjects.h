// SPDX-License-Identifier: Apache-2.0
// PyTorch's forward and backward of a case of training, composed as its own modules are.
#ifndef HEED_BENCH_TORCH_SUBJECTS_H
#define HEED_BENCH_TORCH_SUBJECTS_H

#include "data.h"
#include "subject.h"

namespace bench {

// None if PyTorch's libraries are absent, or where attention has lengths or a mask.
Subjects make_torch_subjects(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_TORCH_SUBJECTS_H
