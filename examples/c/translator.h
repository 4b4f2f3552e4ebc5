/* SPDX-License-Identifier: Apache-2.0 */
/* A whole Transformer that translates: its encoder reads a sentence once, and the keys and values of its output are kept in
 * one cache; its decoder adds one token after the other, and keeps those of its own tokens in another. Greedy search has
 * one sequence there, beam search kNumBeams, which share pages. */
#ifndef HEED_EXAMPLE_TRANSLATOR_H
#define HEED_EXAMPLE_TRANSLATOR_H

#include <heed/heed.h>

/* The decoder has positions for 64 tokens, the first of which is the start: a search stops after 63. */
enum { kNumBeams = 4, kMaxTokens = 63, kMaxVocabulary = 256 };

typedef struct Translator {
  char tokens[kMaxVocabulary][32]; /* lines of vocabulary.txt; a token's id is its line, from 0 */
  int64_t num_tokens;
  int64_t start; /* Marian's decoder starts with the id that pads */
  int64_t end;
  heed_context* context;
  heed_layer* transformer;
  heed_cache* memory; /* keys and values of the encoder's output, of one sentence */
  heed_cache* own;    /* keys and values of the decoder's own tokens, a sequence for each beam */
} Translator;

/* A translation, or its beginning. */
typedef struct Beam {
  int64_t tokens[kMaxTokens]; /* the end among them */
  int64_t num_tokens;
  double sum; /* of the logarithms of their probabilities */
} Beam;

/* The mean of the logarithms, by which translations of different lengths are compared, as Hugging Face's are. */
double score_of(const Beam* beam);

/* Loads config.json, model.safetensors and vocabulary.txt of a folder into a translator of zeros. Ends the program if that
 * fails. */
void load_translator(Translator* translator, const char* folder);
void destroy_translator(Translator* translator);

/* The id of a token, or -1 if the vocabulary lacks it. */
int64_t id_of(const Translator* translator, const char* token);

/* Runs the encoder, and projects its output to the keys and values of all the decoder's layers. The searches below are for
 * this sentence. `ids` has the end. */
void read_sentence(const Translator* translator, const int64_t* ids, int64_t num_ids);

/* Takes the most probable token, again and again. The logits of the first num_first steps are written to first_logits,
 * (num_first, num_tokens). */
Beam search_greedily(const Translator* translator, float* first_logits, int64_t num_first);

/* Goes on with the best kNumBeams beginnings in each step. A beam that takes the end is a translation. The search ends
 * when it has kNumBeams translations, and none of the beams has a better score than the worst of them. */
Beam search_with_beams(const Translator* translator);

/* "folder/file", valid until the next call. */
const char* path_of(const char* folder, const char* file);

#endif
