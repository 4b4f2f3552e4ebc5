// SPDX-License-Identifier: Apache-2.0
// The caches of a case, and the layer that reads them: multi-head attention without an output projection. Its inputs have
// few numbers, so that its projections take next to no time.
#ifndef HEED_BENCH_CACHE_DATA_H
#define HEED_BENCH_CACHE_DATA_H

#include <vector>

#include "bench_case.h"
#include "data.h"

namespace bench {

// W_q, W_k, W_v.
std::vector<Tensor> cache_weights(heed_context* context, const BenchCase& bench_case);

Layer cache_layer(heed_context* context, const BenchCase& bench_case, const std::vector<Tensor>& weights);

// All sequences have the same rows, up to their lengths. Pages lie in memory in a random order, as in a cache that has
// been in use. A ring has dropped rows.
Cache filled_cache(heed_context* context, const BenchCase& bench_case, const std::vector<Tensor>& weights);

}  // namespace bench

#endif  // HEED_BENCH_CACHE_DATA_H
