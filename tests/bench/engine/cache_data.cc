// SPDX-License-Identifier: Apache-2.0
#include "cache_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "fail.h"

namespace bench {
namespace {

heed_cache_options options_of(const BenchCase& bench_case) {
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  options.max_sequences = bench_case.batch;
  options.num_kv_heads = bench_case.kv_heads;
  options.head_size = bench_case.head_size;
  options.value_head_size = bench_case.value_size;
  options.layout = bench_case.cache_layout;
  options.dtype = bench_case.dtype;
  for (int64_t b = 0; b < bench_case.batch; ++b) {
    options.capacity = std::max(options.capacity, bench_case.rows_seen(b) + bench_case.room);
  }
  if (options.layout == HEED_CACHE_RING) options.capacity = bench_case.keys;
  if (options.layout != HEED_CACHE_PAGED) return options;
  options.page_size = bench_case.page_size;
  for (int64_t b = 0; b < bench_case.batch; ++b) {
    // A fork that appends has a copy of the page that it writes to, and the pages after it.
    const int64_t shared = bench_case.forked && b > 0 ? bench_case.rows_before(b) : 0;
    options.num_pages += (bench_case.rows_seen(b) - shared + bench_case.room) / options.page_size + 2;
  }
  // Each page is once the only one of a sequence, by which their order is made random.
  options.max_sequences = std::max(options.max_sequences, options.num_pages);
  return options;
}

// Takes all pages and gives them back in a random order, in which they are taken later.
void mix_pages(heed_cache* cache, int64_t num_pages, int64_t rows_of_page) {
  std::vector<int64_t> order(num_pages);
  std::iota(order.begin(), order.end(), int64_t{0});
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  for (const int64_t sequence : order) check(heed_cache_reserve(cache, sequence, rows_of_page));
  for (int64_t sequence = 0; sequence < num_pages; ++sequence) check(heed_cache_rewind(cache, sequence, 0));
}

void append(const Layer& layer, heed_cache* cache, int32_t sequence, const heed_tensor* rows) {
  const Context context = make_context(1);
  const Tensor numbers = make_tensor(context.get(), HEED_I32, {1});
  check(heed_tensor_write(numbers.get(), &sequence, sizeof sequence));
  heed_cache_inputs inputs_of_cache = HEED_CACHE_INPUTS_INIT;
  inputs_of_cache.cache = cache;
  inputs_of_cache.sequences = numbers.get();
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.keys = rows;
  inputs.cache = &inputs_of_cache;
  check(heed_layer_fill_cache(layer.get(), &inputs, nullptr));
}

}  // namespace

std::vector<Tensor> cache_weights(heed_context* context, const BenchCase& bench_case) {
  const int64_t outputs[] = {bench_case.heads * bench_case.head_size, bench_case.kv_heads * bench_case.head_size,
                             bench_case.kv_heads * bench_case.value_size};
  const double deviation = 1 / std::sqrt(static_cast<double>(bench_case.embedding));
  std::vector<Tensor> weights;
  for (uint64_t i = 0; i < 3; ++i) {
    weights.push_back(random_tensor(context, HEED_F32, {outputs[i], bench_case.embedding}, 2 + i, deviation));
  }
  return weights;
}

Layer cache_layer(heed_context* context, const BenchCase& bench_case, const std::vector<Tensor>& weights) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = bench_case.heads;
  options.num_kv_heads = bench_case.kv_heads;
  options.head_size = bench_case.head_size;
  options.value_head_size = bench_case.value_size;
  options.no_output_projection = 1;
  options.causal = bench_case.causal ? HEED_CAUSAL_BOTTOM_RIGHT : HEED_CAUSAL_NONE;
  heed_layer* layer = nullptr;
  check(heed_multi_head_attention_create(context, &options, &layer));
  const char* const names[] = {"W_q.weight", "W_k.weight", "W_v.weight"};
  for (int i = 0; i < 3; ++i) check(heed_layer_set_parameter(layer, names[i], weights[i].get()));
  return Layer(layer);
}

Cache filled_cache(heed_context* context, const BenchCase& bench_case, const std::vector<Tensor>& weights) {
  const heed_cache_options options = options_of(bench_case);
  heed_cache* made = nullptr;
  check(heed_cache_create(context, &options, &made));
  Cache cache(made);
  if (options.layout == HEED_CACHE_PAGED)
    mix_pages(made, options.num_pages, std::min(options.page_size, options.capacity));
  const Layer layer = cache_layer(context, bench_case, weights);
  const Tensor rows = random_tensor(context, HEED_F32, {1, bench_case.keys, bench_case.embedding}, 10, 1);
  const int64_t num_filled = bench_case.forked ? 1 : bench_case.batch;
  for (int64_t b = 0; b < num_filled; ++b) {
    const auto sequence = static_cast<int32_t>(b);
    const int64_t length = bench_case.rows_before(b);
    if (length == 0) continue;
    heed_tensor* view = nullptr;
    if (options.layout == HEED_CACHE_RING) {
      // These are dropped. Some tens of rows later the end of its memory comes.
      check(heed_tensor_slice(rows.get(), 1, 0, std::max(length - 64, length / 2), &view));
      append(layer, made, sequence, Tensor(view).get());
    }
    check(heed_tensor_slice(rows.get(), 1, 0, length, &view));
    append(layer, made, sequence, Tensor(view).get());
  }
  for (int64_t b = num_filled; b < bench_case.batch; ++b) check(heed_cache_fork(made, 0, bench_case.keys, b));
  return cache;
}

}  // namespace bench
