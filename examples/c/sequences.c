/* SPDX-License-Identifier: Apache-2.0 */
#include "sequences.h"

#include "example.h"

static heed_tensor* create_tensor(heed_context* context, int32_t rank, int64_t num_sequences, int64_t num_rows) {
  const int64_t dims[] = {num_sequences, num_rows};
  heed_tensor* tensor = NULL;
  CHECK(heed_tensor_create(context, HEED_I64, rank, dims, &tensor));
  return tensor;
}

Batch create_batch(heed_context* context, int64_t num_sequences) {
  Batch batch;
  batch.source = create_tensor(context, 2, num_sequences, kMaxSymbols);
  batch.source_lens = create_tensor(context, 1, num_sequences, 0);
  batch.target = create_tensor(context, 2, num_sequences, kMaxRows);
  batch.labels = create_tensor(context, 2, num_sequences, kMaxRows);
  batch.target_lens = create_tensor(context, 1, num_sequences, 0);
  return batch;
}

void destroy_batch(const Batch* batch) {
  heed_tensor_destroy(batch->target_lens);
  heed_tensor_destroy(batch->labels);
  heed_tensor_destroy(batch->target);
  heed_tensor_destroy(batch->source_lens);
  heed_tensor_destroy(batch->source);
}

/* The next number of a generator with 64 bits of state (SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom
 * Number Generators", 2014). */
static uint64_t next_random(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

void draw_batch(const Batch* batch, Task task, uint32_t step, uint32_t first) {
  const int64_t num_sequences = heed_tensor_dim(batch->source_lens, 0);
  int64_t* source = heed_tensor_data(batch->source);
  int64_t* source_lens = heed_tensor_data(batch->source_lens);
  int64_t* target = heed_tensor_data(batch->target);
  int64_t* labels = heed_tensor_data(batch->labels);
  int64_t* target_lens = heed_tensor_data(batch->target_lens);
  for (int64_t n = 0; n < num_sequences; ++n, source += kMaxSymbols, target += kMaxRows, labels += kMaxRows) {
    uint64_t state = ((uint64_t)step << 32) + first + (uint64_t)n;
    const int64_t num_symbols = kMinSymbols + (int64_t)(next_random(&state) % (kMaxSymbols - kMinSymbols + 1));
    source_lens[n] = num_symbols;
    target_lens[n] = num_symbols + 1;
    for (int64_t i = 0; i < kMaxSymbols; ++i) {
      source[i] = i < num_symbols ? kFirstSymbol + (int64_t)(next_random(&state) % (kNumTokens - kFirstSymbol)) : kEnd;
    }
    target[0] = kBegin;
    for (int64_t i = 0; i < kMaxRows; ++i) {
      labels[i] = i >= num_symbols ? kEnd : task == kCopy ? source[i] : source[num_symbols - 1 - i];
      if (i + 1 < kMaxRows) target[i + 1] = labels[i];
    }
  }
}

static int64_t sum_of(heed_tensor* lens) {
  const int64_t* elements = heed_tensor_data(lens);
  int64_t sum = 0;
  for (int64_t i = 0; i < heed_tensor_dim(lens, 0); ++i) sum += elements[i];
  return sum;
}

int64_t num_labels_of(const Batch* batch) { return sum_of(batch->target_lens); }

int64_t num_tokens_of(const Batch* batch) { return sum_of(batch->source_lens) + sum_of(batch->target_lens); }
