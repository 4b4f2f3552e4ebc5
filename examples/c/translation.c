/* SPDX-License-Identifier: Apache-2.0 */
/* Translates English sentences into French with a whole Transformer from its folder. The encoder reads a sentence once, and
 * the keys and values of its output are kept in one cache; the decoder adds one token after the other, and keeps those
 * of its own tokens in another. Greedy search has one sequence there, beam search four, which share pages.
 *
 *   translation examples/translation the cat sees a small green bird
 *   translation examples/translation
 *
 * Without words it translates sentences that the model was not trained with, and compares tokens, logits and scores with
 * those that PyTorch computed. examples/translation/README.md says which words the model knows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "example.h"
#include "translator.h"

/* Prints tokens up to the end, with a space between words, but not behind "l'" and the like. */
static void print_tokens(const Translator* translator, const int64_t* tokens, int64_t num_tokens) {
  const char* separator = "";
  for (int64_t i = 0; i < num_tokens && tokens[i] != translator->end; ++i) {
    const char* const token = translator->tokens[tokens[i]];
    printf("%s%s", separator, token);
    separator = token[strlen(token) - 1] == '\'' ? "" : " ";
  }
}

static void print_translation(const Translator* translator, const char* search, const Beam* beam) {
  printf("  %s: ", search);
  print_tokens(translator, beam->tokens, beam->num_tokens);
  printf(" (%.4f)\n", score_of(beam));
}

static int64_t id_of_word(const Translator* translator, const char* word, const char* folder) {
  const int64_t id = id_of(translator, word);
  if (id >= 0) return id;
  fprintf(stderr, "the model does not know the word \"%s\": %s has a list of its words\n", word,
          path_of(folder, "README.md"));
  exit(2);
}

/* Translates the words of the command line. */
static void translate(const Translator* translator, const char* folder, char** words, int num_words) {
  int64_t ids[kMaxTokens + 1], num_ids = 0;
  Beam greedy, best;
  if (num_words > kMaxTokens) {
    fprintf(stderr, "the sentence has %d words, expected up to %d\n", num_words, kMaxTokens);
    exit(2);
  }
  for (int i = 0; i < num_words; ++i) ids[num_ids++] = id_of_word(translator, words[i], folder);
  ids[num_ids++] = translator->end;
  read_sentence(translator, ids, num_ids);
  greedy = search_greedily(translator, NULL, 0);
  best = search_with_beams(translator);
  print_translation(translator, "greedy search", &greedy);
  print_translation(translator, "four beams", &best);
}

/* The largest difference to PyTorch's numbers. */
typedef struct Differences {
  double logits;
  double scores;
} Differences;

static void update(double* largest, double is, double expected) {
  const double difference = fabs(is - expected);
  if (!(difference <= *largest)) *largest = difference; /* also one that is NaN */
}

/* The number of ids before the padding. */
static int64_t length_of(const Translator* translator, const int64_t* ids, int64_t size) {
  int64_t length = 0;
  while (length < size && ids[length] != translator->start) ++length;
  return length;
}

static int has_tokens(const Translator* translator, const Beam* beam, const int64_t* expected, int64_t size) {
  const int64_t length = length_of(translator, expected, size);
  if (beam->num_tokens == length && memcmp(beam->tokens, expected, (size_t)length * sizeof *expected) == 0) return 1;
  printf("  PyTorch: ");
  print_tokens(translator, expected, length);
  printf("\n");
  return 0;
}

/* Reads the tensor `name` of expected.safetensors. Returns its elements, which the caller frees, and sets `dims` to the sizes
 * of its `rank` axes. */
static void* load(const Translator* translator, const char* folder, const char* name, size_t element_size, int32_t rank,
                  int64_t* dims) {
  heed_tensor* tensor = NULL;
  void* elements = NULL;
  CHECK(heed_tensor_load_safetensors(translator->context, path_of(folder, "expected.safetensors"), name, &tensor));
  if (heed_tensor_rank(tensor) != rank) {
    fprintf(stderr, "tensor \"%s\" has %d axes, expected %d\n", name, (int)heed_tensor_rank(tensor), (int)rank);
    exit(1);
  }
  for (int32_t axis = 0; axis < rank; ++axis) dims[axis] = heed_tensor_dim(tensor, axis);
  elements = elements_of(tensor, element_size);
  heed_tensor_destroy(tensor);
  return elements;
}

/* Translates the sentences of expected.safetensors. Returns whether the results are PyTorch's. */
static int compare_with_pytorch(const Translator* translator, const char* folder) {
  int64_t of_sources[2], of_greedy[2], of_beams[2], of_logits[3], of_scores[1];
  int64_t* const source_ids = load(translator, folder, "source_ids", sizeof *source_ids, 2, of_sources);
  int64_t* const greedy_ids = load(translator, folder, "greedy_ids", sizeof *greedy_ids, 2, of_greedy);
  int64_t* const beam_ids = load(translator, folder, "beam_ids", sizeof *beam_ids, 2, of_beams);
  float* const greedy_logits = load(translator, folder, "greedy_logits", sizeof *greedy_logits, 3, of_logits);
  float* const greedy_scores = load(translator, folder, "greedy_scores", sizeof *greedy_scores, 1, of_scores);
  float* const beam_scores = load(translator, folder, "beam_scores", sizeof *beam_scores, 1, of_scores);
  const int64_t num_sentences = of_sources[0], num_logits = of_logits[1] * of_logits[2];
  static float logits[kMaxTokens * kMaxVocabulary];
  Differences largest = {0.0, 0.0};
  double bound = 0;
  int64_t num_same = 0;

  if (of_logits[1] > kMaxTokens || of_logits[2] != translator->num_tokens) {
    fprintf(stderr, "greedy_logits has logits of %d steps and %d tokens, expected at most %d steps and %d tokens\n",
            (int)of_logits[1], (int)of_logits[2], kMaxTokens, (int)translator->num_tokens);
    exit(1);
  }
  for (int64_t i = 0; i < num_sentences; ++i) {
    const int64_t* const source = source_ids + i * of_sources[1];
    const int64_t num_ids = length_of(translator, source, of_sources[1]);
    const float* const expected = greedy_logits + i * num_logits;
    Beam greedy, best;
    int is_same = 0;
    print_tokens(translator, source, num_ids);
    printf("\n");
    read_sentence(translator, source, num_ids);
    greedy = search_greedily(translator, logits, of_logits[1]);
    print_translation(translator, "greedy search", &greedy);
    is_same = has_tokens(translator, &greedy, greedy_ids + i * of_greedy[1], of_greedy[1]);
    best = search_with_beams(translator);
    print_translation(translator, "four beams", &best);
    is_same = has_tokens(translator, &best, beam_ids + i * of_beams[1], of_beams[1]) && is_same;
    num_same += is_same;
    for (int64_t j = 0; j < num_logits; ++j) {
      update(&largest.logits, logits[j], expected[j]);
      bound = fabs((double)expected[j]) > bound ? fabs((double)expected[j]) : bound;
    }
    update(&largest.scores, score_of(&greedy), greedy_scores[i]);
    update(&largest.scores, score_of(&best), beam_scores[i]);
  }
  /* docs/models.md: logits of whole models agree to 1e-5 of the largest. The logarithm of a probability is a logit less
   * the logarithm of a sum, each of which differs by no more; a score is a mean of them. */
  bound *= 1e-5;
  printf("tokens of PyTorch: %d of %d sentences; largest difference of logits %.1e (bound %.1e), of scores %.1e\n",
         (int)num_same, (int)num_sentences, largest.logits, bound, largest.scores);

  free(beam_scores);
  free(greedy_scores);
  free(greedy_logits);
  free(beam_ids);
  free(greedy_ids);
  free(source_ids);
  return num_same == num_sentences && largest.logits <= bound && largest.scores <= 2 * bound;
}

int main(int argc, char** argv) {
  static Translator translator;
  int is_right = 1;
  if (argc < 2) {
    fprintf(stderr, "usage: %s FOLDER [WORD...]\n", argv[0]);
    return 2;
  }
  load_translator(&translator, argv[1]);
  if (argc > 2) {
    translate(&translator, argv[1], argv + 2, argc - 2);
  } else {
    is_right = compare_with_pytorch(&translator, argv[1]);
  }
  destroy_translator(&translator);
  return is_right ? 0 : 1;
}
