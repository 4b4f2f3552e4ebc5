// SPDX-License-Identifier: Apache-2.0
// The encoders of cases of that kind: layers as BERT's, with a norm after each part, exact GELU, biases, and an epsilon of
// 1e-12.
#ifndef HEED_BENCH_ENCODER_DATA_H
#define HEED_BENCH_ENCODER_DATA_H

#include <heed/heed.h>

#include <string>
#include <vector>

#include "bench_case.h"
#include "data.h"
#include "subject.h"

namespace bench {

// An encoder of the case with random parameters, the same in each call.
Layer make_encoder(heed_context* context, const BenchCase& bench_case);

// A parameter of a layer as numbers.
std::vector<float> parameter_floats(const heed_layer* layer, const std::string& name);

// heed's products and attention of the same encoder as separate calls without norms, activations, biases and residuals: what
// these take is the difference.
Subjects make_encoder_subjects(const BenchCase& bench_case, const Data& data, int threads);

}  // namespace bench

#endif  // HEED_BENCH_ENCODER_DATA_H
