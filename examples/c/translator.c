/* SPDX-License-Identifier: Apache-2.0 */
#include "translator.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"

enum { kMaxPath = 1024, kNumCandidates = 2 * kNumBeams };

const char* path_of(const char* folder, const char* file) {
  static char path[kMaxPath];
  if (snprintf(path, sizeof path, "%s/%s", folder, file) >= (int)sizeof path) {
    fprintf(stderr, "the path of the folder has more than %d characters\n", kMaxPath);
    exit(2);
  }
  return path;
}

static void load_vocabulary(Translator* translator, const char* path) {
  FILE* file = fopen(path, "r");
  if (file == NULL) {
    perror(path);
    exit(1);
  }
  while (translator->num_tokens < kMaxVocabulary &&
         fgets(translator->tokens[translator->num_tokens], sizeof translator->tokens[0], file) != NULL) {
    translator->tokens[translator->num_tokens][strcspn(translator->tokens[translator->num_tokens], "\n")] = '\0';
    ++translator->num_tokens;
  }
  fclose(file);
}

static heed_cache* create_cache(const Translator* translator, int64_t num_sequences) {
  const int64_t page_size = 16;
  heed_cache_options options = HEED_CACHE_OPTIONS_INIT;
  heed_cache* cache = NULL;
  CHECK(heed_layer_cache_options(translator->transformer, &options)); /* its layers, heads and their sizes */
  options.max_sequences = num_sequences;
  options.capacity = kMaxTokens + 1;
  options.layout = HEED_CACHE_PAGED;
  options.page_size = page_size;
  options.num_pages = num_sequences * (kMaxTokens + 1) / page_size;
  CHECK(heed_cache_create(translator->context, &options, &cache));
  return cache;
}

void load_translator(Translator* translator, const char* folder) {
  load_vocabulary(translator, path_of(folder, "vocabulary.txt"));
  translator->end = id_of(translator, "</s>");
  translator->start = id_of(translator, "<pad>");
  if (translator->end < 0 || translator->start < 0) {
    fprintf(stderr, "vocabulary.txt lacks </s> or <pad>, expected both\n");
    exit(1);
  }
  CHECK(heed_context_create(NULL, &translator->context));
  CHECK(heed_layer_create_from_folder(translator->context, folder, &translator->transformer));
  translator->memory = create_cache(translator, 1);
  translator->own = create_cache(translator, kNumBeams);
}

void destroy_translator(Translator* translator) {
  heed_cache_destroy(translator->own);
  heed_cache_destroy(translator->memory);
  heed_layer_destroy(translator->transformer);
  heed_context_destroy(translator->context);
}

int64_t id_of(const Translator* translator, const char* token) {
  for (int64_t id = 0; id < translator->num_tokens; ++id) {
    if (strcmp(translator->tokens[id], token) == 0) return id;
  }
  return -1;
}

void read_sentence(const Translator* translator, const int64_t* ids, int64_t num_ids) {
  const int64_t dims[] = {1, num_ids};
  heed_cache_inputs memory = HEED_CACHE_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_tensor* keys = NULL;
  CHECK(heed_tensor_create_from(translator->context, HEED_I64, 2, dims, ids, &keys));
  CHECK(heed_cache_rewind(translator->memory, 0, 0)); /* drops the sentence before */
  memory.cache = translator->memory;
  inputs.keys = keys;
  inputs.cache = &memory;
  CHECK(heed_layer_fill_cache(translator->transformer, &inputs, NULL));
  heed_tensor_destroy(keys);
}

/* Appends a token to each of the sequences 0 to num_sequences - 1, and returns the logits of those that may follow,
 * (num_sequences, num_tokens), which the caller frees. */
static float* append(const Translator* translator, int64_t num_sequences, const int64_t* tokens) {
  static const int64_t same_sentence[kNumBeams] = {0}; /* all sequences read sequence 0 of the memory */
  const int64_t dims[] = {num_sequences, 1};
  heed_cache_inputs memory = HEED_CACHE_INPUTS_INIT, own = HEED_CACHE_INPUTS_INIT;
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  heed_tensor *ids = NULL, *sentences = NULL;
  float* logits = NULL;
  CHECK(heed_tensor_create_from(translator->context, HEED_I64, 2, dims, tokens, &ids));
  CHECK(heed_tensor_create_from(translator->context, HEED_I64, 1, dims, same_sentence, &sentences));
  memory.cache = translator->memory;
  memory.use = HEED_CACHE_READ;
  memory.sequences = sentences;
  decoder.memory_cache = &memory;
  own.cache = translator->own;
  inputs.queries = ids;
  inputs.cache = &own;
  inputs.decoder = &decoder;
  CHECK(heed_layer_create_outputs(translator->transformer, &inputs, HEED_WANT_OUTPUT, &outputs));
  if (heed_tensor_dim(outputs.output, 2) != translator->num_tokens) {
    fprintf(stderr, "vocabulary.txt has %d tokens, the model %d\n", (int)translator->num_tokens,
            (int)heed_tensor_dim(outputs.output, 2));
    exit(1);
  }
  CHECK(heed_layer_forward(translator->transformer, &inputs, NULL, &outputs));
  logits = elements_of(outputs.output, sizeof *logits);
  heed_tensor_destroy(outputs.output);
  heed_tensor_destroy(sentences);
  heed_tensor_destroy(ids);
  return logits;
}

double score_of(const Beam* beam) { return beam->sum / (double)beam->num_tokens; }

static void extend(Beam* beam, int64_t token, double log_probability) {
  beam->tokens[beam->num_tokens++] = token;
  beam->sum += log_probability;
}

/* What to subtract from a logit to get the logarithm of its probability. */
static double log_of_sum(const float* logits, int64_t num_logits) {
  double largest = logits[0], sum = 0;
  for (int64_t i = 1; i < num_logits; ++i) largest = logits[i] > largest ? logits[i] : largest;
  for (int64_t i = 0; i < num_logits; ++i) sum += exp(logits[i] - largest);
  return largest + log(sum);
}

Beam search_greedily(const Translator* translator, float* first_logits, int64_t num_first) {
  Beam beam = {{0}, 0, 0.0};
  int64_t token = translator->start;
  CHECK(heed_cache_rewind(translator->own, 0, 0));
  do {
    float* logits = append(translator, 1, &token);
    if (beam.num_tokens < num_first)
      memcpy(first_logits + beam.num_tokens * translator->num_tokens, logits,
             (size_t)translator->num_tokens * sizeof *logits);
    token = 0;
    for (int64_t id = 1; id < translator->num_tokens; ++id) {
      if (logits[id] > logits[token]) token = id;
    }
    extend(&beam, token, logits[token] - log_of_sum(logits, translator->num_tokens));
    free(logits);
  } while (token != translator->end && beam.num_tokens < kMaxTokens);
  return beam;
}

/* A beam and one token more. */
typedef struct Candidate {
  int64_t beam;
  int64_t token;
  double log_probability;
  double sum;
} Candidate;

/* The candidates with the largest sums, the best one first. */
typedef struct Candidates {
  Candidate best[kNumCandidates];
  int64_t count;
} Candidates;

static void consider(Candidates* candidates, const Candidate* candidate) {
  int64_t i = candidates->count;
  if (i < kNumCandidates) {
    ++candidates->count;
  } else if (!(candidate->sum > candidates->best[--i].sum)) {
    return;
  }
  for (; i > 0 && candidate->sum > candidates->best[i - 1].sum; --i) candidates->best[i] = candidates->best[i - 1];
  candidates->best[i] = *candidate;
}

static Candidates find_candidates(const Translator* translator, const Beam* beams, int64_t num_beams) {
  Candidates candidates = {{{0, 0, 0.0, 0.0}}, 0};
  int64_t last[kNumBeams] = {0};
  float* logits = NULL;
  for (int64_t i = 0; i < num_beams; ++i)
    last[i] = beams[i].num_tokens == 0 ? translator->start : beams[i].tokens[beams[i].num_tokens - 1];
  logits = append(translator, num_beams, last);
  for (int64_t i = 0; i < num_beams; ++i) {
    const float* const of_beam = logits + i * translator->num_tokens;
    const double all = log_of_sum(of_beam, translator->num_tokens);
    for (int64_t id = 0; id < translator->num_tokens; ++id) {
      const double log_probability = of_beam[id] - all;
      const Candidate candidate = {i, id, log_probability, beams[i].sum + log_probability};
      consider(&candidates, &candidate);
    }
  }
  free(logits);
  return candidates;
}

/* Keeps the kNumBeams finished translations with the best scores, the best one first. */
static void finish(Beam* finished, int64_t* num_finished, const Beam* beam) {
  int64_t i = *num_finished;
  if (i < kNumBeams) {
    ++*num_finished;
  } else if (!(score_of(beam) > score_of(&finished[--i]))) {
    return;
  }
  for (; i > 0 && score_of(beam) > score_of(&finished[i - 1]); --i) finished[i] = finished[i - 1];
  finished[i] = *beam;
}

Beam search_with_beams(const Translator* translator) {
  Beam running[kNumBeams] = {{{0}, 0, 0.0}}, finished[kNumBeams];
  int64_t num_running = 1, num_finished = 0;
  CHECK(heed_cache_rewind(translator->own, 0, 0));
  do {
    const Candidates candidates = find_candidates(translator, running, num_running);
    Beam next[kNumBeams];
    int64_t sources[kNumBeams], num_next = 0;
    /* Of these candidates at least kNumBeams go on, since each beam has one end. */
    for (int64_t i = 0; i < candidates.count && num_next < kNumBeams; ++i) {
      const Candidate* const candidate = &candidates.best[i];
      Beam beam = running[candidate->beam];
      extend(&beam, candidate->token, candidate->log_probability);
      if (candidate->token != translator->end) {
        sources[num_next] = candidate->beam;
        next[num_next++] = beam;
      } else if (i < kNumBeams) {
        finish(finished, &num_finished, &beam);
      }
    }
    /* Each sequence of the cache becomes a copy of that of the beam which it extends. No row is copied. */
    CHECK(heed_cache_reorder(translator->own, sources, num_next));
    memcpy(running, next, sizeof running);
    num_running = num_next;
    if (num_finished == kNumBeams && !(score_of(&running[0]) > score_of(&finished[kNumBeams - 1]))) break;
  } while (running[0].num_tokens < kMaxTokens);
  return num_finished > 0 ? finished[0] : running[0];
}
