/* SPDX-License-Identifier: Apache-2.0 */
#include "translate.h"

#include <string.h>

/* The sentence that is being written. */
typedef struct Output {
  char* text;
  size_t capacity;
  size_t length;
} Output;

static void put(Output* output, char c) {
  if (output->length + 1 < output->capacity) output->text[output->length++] = c;
}

/* ASCII alone, in every locale. */
static int is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
static int is_word(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; }
static char to_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }

/* The end of the quotation that begins at `at`, or `at` itself if none does. An apostrophe behind a letter, as in
 * "heed's", begins none. */
static const char* end_of_quotation(const char* sentence, const char* at) {
  const char* end = NULL;
  if (*at == '"' || (*at == '\'' && (at == sentence || !is_word(at[-1])))) end = strchr(at + 1, *at);
  return end ? end + 1 : at;
}

/* The number of bytes of `phrase` if it stands at `at` in whole words, else 0. */
static size_t length_of_match(const char* phrase, const char* at) {
  const size_t length = strlen(phrase);
  if (strncmp(phrase, at, length) != 0) return 0;
  return is_word(phrase[length - 1]) && is_word(at[length]) ? 0 : length;
}

/* The same for a phrase that begins with options->, which is also that of a child: options->num_heads is also
 * options->layer->attention->num_heads. Where `at` is behind an index, as in options->layers[1]->attention, options-> is
 * left out there. */
static size_t length_of_path_match(const char* phrase, const char* at, int is_behind_index) {
  static const char kOptions[] = "options->";
  const size_t begin = sizeof kOptions - 1;
  size_t length = length_of_match(phrase, at);
  const char* member = is_behind_index ? at : at + begin;
  if (length || strncmp(phrase, kOptions, begin) != 0) return length;
  if (!is_behind_index && strncmp(at, kOptions, begin) != 0) return 0;
  for (;;) {
    length = length_of_match(phrase + begin, member);
    if (length) return (size_t)(member - at) + length;
    while (is_word(*member)) ++member;
    if (member[0] != '-' || member[1] != '>') return 0;
    member += 2;
  }
}

static const WordEntry* longest_match(const WordEntry* words, int is_of_file, const char* at, int is_behind_index,
                                      size_t* length) {
  const WordEntry* longest = NULL;
  *length = 0;
  for (; words->c; ++words) {
    const size_t found =
        is_of_file && words->scope == kNotOfFiles ? 0 : length_of_path_match(words->c, at, is_behind_index);
    if (found > *length) {
      *length = found;
      longest = words;
    }
  }
  return longest;
}

/* Where the last member begins in what stands at `at`, as num_heads in options->num_heads; NULL if there is none. Behind
 * an index it may be the first word. */
static const char* member_at(const char* at, int is_behind_index) {
  const char* member = is_behind_index ? at : NULL;
  if (!is_letter(*at)) return NULL;
  for (;;) {
    while (is_word(*at)) ++at;
    if (at[0] != '-' || at[1] != '>' || !is_letter(at[2])) return member;
    at += 2;
    member = at;
  }
}

/* The word of C that begins at `at`, in camel case; returns its end. */
static const char* put_member(Output* output, Language language, const char* at) {
  int is_start = language == kCsharp;
  for (; is_word(*at); ++at) {
    if (*at != '_') put(output, is_start ? to_upper(*at) : *at);
    is_start = *at == '_';
  }
  return at;
}

/* Where the path of a member of a stack's layer begins, as attention->num_heads in options->layer->attention->num_heads:
 * behind layer->. NULL if there is no such path at `at`. `of`: the member before, encoder or decoder of a Transformer. */
static const char* of_layer_at(const char* at, const char** of) {
  static const char kOptions[] = "options->";
  static const char kLayer[] = "layer->";
  if (strncmp(at, kOptions, sizeof kOptions - 1) != 0) return NULL;
  *of = NULL;
  for (at += sizeof kOptions - 1;;) {
    if (strncmp(at, kLayer, sizeof kLayer - 1) == 0) return at + sizeof kLayer - 1;
    const char* member = at;
    while (is_word(*at)) ++at;
    if (at[0] != '-' || at[1] != '>' || !is_letter(at[2])) return NULL;
    *of = member;
    at += 2;
  }
}

/* "layer.", which is what stands before the member of a layer of a stack, as layers[1]. does. */
static void put_layer(Output* output, Language language, const char* of) {
  const char* said = of && strncmp(of, "encoder->", 9) == 0   ? "the encoder's "
                     : of && strncmp(of, "decoder->", 9) == 0 ? "the decoder's "
                                                              : "";
  while (*said) put(output, *said++);
  put_member(output, language, "layer");
  put(output, '.');
}

void translate(const WordEntry* words, Language language, const char* sentence, char* translated, size_t capacity) {
  Output output = {translated, capacity, 0};
  const int is_of_file = sentence[0] == '"';
  const char* at = sentence;
  const char* of_layer = NULL; /* the path of a member of a layer, whose beginning has been said */
  while (*at) {
    const char* quotation_end = end_of_quotation(sentence, at);
    size_t length = 0;
    const WordEntry* word = NULL;
    const char* member = NULL;
    const int is_inside_word = is_word(*at) && at != sentence && is_word(at[-1]);
    const int is_behind_index = at == of_layer || (at - sentence > 2 && strncmp(at - 3, "]->", 3) == 0);
    const char* of = NULL;
    const char* const path = quotation_end == at && !is_inside_word ? of_layer_at(at, &of) : NULL;
    if (path) {
      /* Java says "no biases" for a member and its value. */
      word = longest_match(words, is_of_file, path, 1, &length);
      if (!word || strncmp(word->in_language[language], "no ", 3) != 0) put_layer(&output, language, of);
      at = of_layer = path;
      continue;
    }
    if (quotation_end == at && !is_inside_word) {
      word = longest_match(words, is_of_file, at, is_behind_index, &length);
      if (!word) member = member_at(at, is_behind_index);
    }
    if (word) {
      const char* said = word->in_language[language];
      while (*said) put(&output, *said++);
      at += length;
    } else if (member) {
      at = put_member(&output, language, member);
    } else if (strncmp(at, "]->", 3) == 0) {
      put(&output, ']');
      put(&output, '.');
      at += 3;
    } else {
      do put(&output, *at++);
      while (at < quotation_end);
    }
  }
  translated[output.length] = '\0';
}
