/* SPDX-License-Identifier: Apache-2.0 */
/* What a program learns that copies or reverses: random sequences of symbols, and what shall become of them. */
#ifndef HEED_EXAMPLE_SEQUENCES_H
#define HEED_EXAMPLE_SEQUENCES_H

#include <heed/heed.h>

enum { kEnd = 0, kBegin = 1, kFirstSymbol = 2, kNumTokens = 12 }; /* tokens: two marks and ten symbols */
enum { kMinSymbols = 3, kMaxSymbols = 8, kMaxRows = kMaxSymbols + 1 /* of a target, with a mark */ };

typedef enum Task { kCopy, kReverse } Task;

/* Some sequences, each of which ends before its rows do, as sentences do. All tensors are of I64. */
typedef struct Batch {
  heed_tensor* source;      /* (sequences, kMaxSymbols): the symbols that are read */
  heed_tensor* source_lens; /* (sequences): how many of them count */
  heed_tensor* target;      /* (sequences, kMaxRows): kBegin, then the symbols to write */
  heed_tensor* labels;      /* (sequences, kMaxRows): what follows each row of the target: the symbols, then kEnd */
  heed_tensor* target_lens; /* (sequences): how many rows of target and labels count */
} Batch;

/* A batch of memory without sequences. The caller destroys it. */
Batch create_batch(heed_context* context, int64_t num_sequences);
void destroy_batch(const Batch* batch);

/* Fills the batch with sequences `first`, `first` + 1, ... of a step. The same numbers give the same sequences everywhere:
 * so processes can each draw their part of a step. */
void draw_batch(const Batch* batch, Task task, uint32_t step, uint32_t first);

/* How many labels count, and how many tokens are read and written. */
int64_t num_labels_of(const Batch* batch);
int64_t num_tokens_of(const Batch* batch);

#endif
