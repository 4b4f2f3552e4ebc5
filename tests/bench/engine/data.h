// SPDX-License-Identifier: Apache-2.0
// The data of a case. All subjects read the same numbers, and the same memory if they take the same layout.
#ifndef HEED_BENCH_DATA_H
#define HEED_BENCH_DATA_H

#include <heed/heed.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "bench_case.h"

namespace bench {

struct Destroy {
  void operator()(heed_cache* cache) const { heed_cache_destroy(cache); }
  void operator()(heed_context* context) const { heed_context_destroy(context); }
  void operator()(heed_gradients* gradients) const { heed_gradients_destroy(gradients); }
  void operator()(heed_optimizer* optimizer) const { heed_optimizer_destroy(optimizer); }
  void operator()(heed_saved* saved) const { heed_saved_destroy(saved); }
  void operator()(heed_tensor* tensor) const { heed_tensor_destroy(tensor); }
  void operator()(heed_layer* layer) const { heed_layer_destroy(layer); }
  void operator()(heed_workspace* workspace) const { heed_workspace_destroy(workspace); }
};
using Cache = std::unique_ptr<heed_cache, Destroy>;
using Context = std::unique_ptr<heed_context, Destroy>;
using GradientSet = std::unique_ptr<heed_gradients, Destroy>;
using Optimizer = std::unique_ptr<heed_optimizer, Destroy>;
using Saved = std::unique_ptr<heed_saved, Destroy>;
using Tensor = std::unique_ptr<heed_tensor, Destroy>;
using Layer = std::unique_ptr<heed_layer, Destroy>;
using Workspace = std::unique_ptr<heed_workspace, Destroy>;
using Dims = std::vector<int64_t>;

Context make_context(int threads);
Tensor make_tensor(heed_context* context, heed_dtype dtype, const Dims& dims);
// Numbers with this standard deviation; the same seed gives the same ones.
Tensor random_tensor(heed_context* context, heed_dtype dtype, const Dims& dims, uint64_t seed, double deviation);
std::vector<float> read_floats(const heed_tensor* tensor);
// Swaps the first two axes of (first, second, row).
std::vector<float> swap_axes(const std::vector<float>& from, int64_t first, int64_t second, int64_t row);

// A result (B, Q, H * Dv) in the order (B, H, Q, Dv).
std::vector<float> heads_first(const BenchCase& bench_case, const std::vector<float>& result);

struct Data {
  explicit Data(const BenchCase& bench_case);

  Context context;
  // Attention: (B, H, Q, D), (B, Hkv, K, D), (B, Hkv, K, Dv), the last two in the case's layout. Layer, encoder: queries is
  // (B, Q, E); keys and values, if present, are (B, K, E). Linear: queries is (M, K).
  Tensor queries;
  std::vector<Tensor> keys;
  std::vector<Tensor> values;
  Tensor lengths;  // I32 (B), or none
  Tensor mask;     // BOOL (B, 1, 1, K), or none
  Tensor offsets;  // packed: I32 (B + 1). queries, keys and values are then (H, total, D), of a layer (total, E)
  Tensor slopes;   // ALiBi's, (H), or none
  Tensor sinks;    // (H), or none
  Tensor bias;     // (1, H, Q, K), or none
  // Merge: outputs (B, H, Q, D) and log_sum_exps (B, H, Q) in F32, one of each for each part.
  std::vector<Tensor> parts;
  std::vector<Tensor> log_sum_exps;
  // Layer: W_q, W_k, W_v, W_o of (E, E), in this order. Linear: copies of one weight (N, K). Cache: W_q (H * D, E), W_k
  // (Hkv * D, E), W_v (Hkv * Dv, E).
  std::vector<Tensor> weights;
  std::vector<Tensor> biases;
  // Encoder: the encoder, whose parameters other libraries copy.
  Layer encoder;
  // Cache: copies of one, filled. queries is (B, Q, E), with rows_of_call (total, E); there are no keys and values.
  std::vector<Cache> caches;

 private:
  void add_layer_weights(const BenchCase& bench_case);
  void add_head_numbers(const BenchCase& bench_case);
  void pack(const BenchCase& bench_case);
  void set_offsets(const std::vector<int32_t>& counts);
};

}  // namespace bench

#endif  // HEED_BENCH_DATA_H
