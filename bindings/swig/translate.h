/* SPDX-License-Identifier: Apache-2.0 */
/* heed's sentences name what a caller in C wrote: options->num_heads, heed_layer_load, HEED_F16. An exception of Java or
 * C# says the same sentence with what a caller wrote there. */
#ifndef HEED_TRANSLATE_H
#define HEED_TRANSLATE_H

#include <stddef.h>

/* The longest sentence of heed has 511 bytes; this is room for any of them in other words. */
#define HEED_TRANSLATED_CAPACITY 1024

typedef enum HeedLanguage { kHeedJava, kHeedCsharp } HeedLanguage;

/* Where the words of an entry stand for what they say in the table. */
typedef enum HeedWordPlace {
  kHeedAnywhere,
  kHeedNotOfFiles /* not in a sentence about a file, which begins with its name in quotes and speaks of its format */
} HeedWordPlace;

/* One or more words. */
typedef struct heed_word {
  HeedWordPlace place;
  const char* c;
  const char* in_language[2]; /* by HeedLanguage */
} heed_word;

/* The table, in words.c. Entries end with one whose `c` is NULL. */
extern const heed_word kHeedWords[];

/* Writes the sentence, cut to fit, with its zero; capacity is at least 1. What stands in quotes is somebody's own name,
 * and stays. Elsewhere the longest entry that fits whole words is taken; a member of a struct that no entry names, as
 * options->num_heads, becomes numHeads in Java and NumHeads in C#. Allocates nothing. */
void heed_translate(const heed_word* words, HeedLanguage language, const char* sentence, char* translated,
                    size_t capacity);

#endif
