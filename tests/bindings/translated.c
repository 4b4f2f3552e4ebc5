/* SPDX-License-Identifier: Apache-2.0 */
/* translated java|csharp [entry]: each line of the standard input as an exception of that language says it; `entry` is the number of
 * one that is left out of the table. For check_words.py. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bindings/swig/translate.h"

int main(int argc, char** argv) {
  static WordEntry words[1024];
  static char line[4096];
  static char translated[TRANSLATED_CAPACITY];
  const Language language = argc > 1 && strcmp(argv[1], "csharp") == 0 ? kCsharp : kJava;
  const size_t left_out = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : SIZE_MAX;
  size_t num_words = 0;
  for (size_t i = 0; kWords[i].c; ++i) {
    if (i != left_out) words[num_words++] = kWords[i];
  }
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = '\0';
    translate(words, language, line, translated, sizeof translated);
    puts(translated);
  }
  return 0;
}
