/* SPDX-License-Identifier: Apache-2.0 */
/* heed's sentences name what a caller in C wrote: options->num_heads, heed_layer_load, HEED_F16. An exception of Java or
 * C# says the same sentence with what a caller wrote there. */
#ifndef HEED_TRANSLATE_H
#define HEED_TRANSLATE_H

#include <stddef.h>

/* The longest sentence of heed has 511 bytes; this is room for any of them in other words. */
#define TRANSLATED_CAPACITY 1024

typedef enum Language { kJava, kCsharp } Language;

/* The sentences in which an entry is replaced. */
typedef enum WordScope {
  kAnywhere,
  kNotOfFiles /* not in a sentence about a file, which begins with its name in quotes and speaks of its format */
} WordScope;

/* One or more words. */
typedef struct WordEntry {
  WordScope scope;
  const char* c;
  const char* in_language[2]; /* by Language */
} WordEntry;

/* The table, in words.c. In the last entry `c` is NULL. */
extern const WordEntry kWords[];

/* Writes the translated sentence, cut to capacity - 1 bytes, and a terminating zero; capacity is at least 1. Text in
 * quotes is a name of the caller's, and is not translated. Elsewhere the longest entry that fits whole words is taken; an
 * entry of a member of options is also one of the options of a child, as options->layer->attention->num_heads, also
 * behind an index: options->layers[1]->attention->num_heads becomes layers[1].numHeads. A member of a struct that no
 * entry names, as options->num_heads, becomes numHeads in Java and NumHeads in C#. Allocates nothing. */
void translate(const WordEntry* words, Language language, const char* sentence, char* translated, size_t capacity);

#endif
