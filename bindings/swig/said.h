/* SPDX-License-Identifier: Apache-2.0 */
/* heed's sentences with the names that callers in Java and C# write. heed_message_part splits a sentence into parts; those
 * that are terms, such as an option, get the language's name, and the others stay as they are. */
#ifndef HEED_SAID_H
#define HEED_SAID_H

#include <heed/heed.h>
#include <stddef.h>

/* The longest sentence of heed has 511 bytes; this is room for any of them in other words. */
#define SAID_CAPACITY 1024

#ifdef __cplusplus
extern "C" {
#endif

typedef enum Language { kJava, kCsharp } Language;

/* What a language calls a term whose name does not follow from its role (said.c). */
typedef struct Term {
  heed_role role;
  const char* name;
  const char* said[2]; /* by Language */
} Term;

/* The table, in terms.c. In the last entry `name` is NULL. An option also stands for those whose path ends with it: the
 * first entry counts. */
extern const Term kTerms[];

/* The enumeration of the constants that begin with a prefix; in the last entry `prefix` is NULL. */
typedef struct Enumeration {
  const char* prefix;
  const char* name;
} Enumeration;
extern const Enumeration kEnumerations[];

/* Writes a sentence, cut to capacity - 1 bytes, and a terminating zero; capacity is at least 1. `message` is what
 * heed_last_error returned or what the write of a heed_logger got. Allocates nothing. */
void say(Language language, const char* message, char* said, size_t capacity);

#ifdef __cplusplus
}
#endif

#endif
