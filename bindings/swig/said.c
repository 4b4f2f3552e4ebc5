/* SPDX-License-Identifier: Apache-2.0 */
#include "said.h"

#include <string.h>

/* The sentence that is being written. */
typedef struct Output {
  Language language;
  char* text;
  size_t capacity;
  size_t length;
} Output;

/* A part of a term's text. */
typedef struct Name {
  const char* begin;
  size_t length;
} Name;

static Name name_of(const char* text) {
  const Name name = {text, strlen(text)};
  return name;
}

static Name behind(Name name, size_t length) {
  const Name rest = {name.begin + length, name.length - length};
  return rest;
}

static int is(Name name, const char* text) {
  return strlen(text) == name.length && memcmp(name.begin, text, name.length) == 0;
}

static int begins_with(Name name, const char* text) {
  const size_t length = strlen(text);
  return length <= name.length && memcmp(name.begin, text, length) == 0;
}

static int ends_with(Name name, const char* text) {
  const size_t length = strlen(text);
  return length <= name.length && memcmp(name.begin + name.length - length, text, length) == 0;
}

static void put_char(Output* output, char c) {
  if (output->length + 1 < output->capacity) output->text[output->length++] = c;
}

static void put_name(Output* output, Name name) {
  for (size_t i = 0; i < name.length; ++i) put_char(output, name.begin[i]);
}

static void put(Output* output, const char* text) { put_name(output, name_of(text)); }

/* ASCII alone, in every locale. */
static char to_upper(char c) { return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c; }
static char to_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }
static int is_digit(char c) { return c >= '0' && c <= '9'; }

/* The table's entry of a term; NULL if it has none. */
static const char* found(const Output* output, heed_role role, Name name) {
  for (const Term* term = kTerms; term->name; ++term) {
    if (term->role == role && is(name, term->name)) return term->said[output->language];
  }
  return NULL;
}

/* The same for an option, of which the entry may be the end of the path. */
static const char* found_option(const Output* output, Name path) {
  for (const Term* term = kTerms; term->name; ++term) {
    const size_t length = strlen(term->name);
    if (term->role != HEED_ROLE_OPTION || !ends_with(path, term->name)) continue;
    if (path.length == length || path.begin[path.length - length - 1] == '>') return term->said[output->language];
  }
  return NULL;
}

/* The same for an argument that is one of an array, as parts[0]->layer, which is found as parts->layer. */
static const char* found_of_array(const Output* output, Name name) {
  char text[64];
  const char* const begin = memchr(name.begin, '[', name.length);
  const char* const end = memchr(name.begin, ']', name.length);
  if (!begin || !end || end < begin || name.length >= sizeof text) return NULL;
  const size_t before = (size_t)(begin - name.begin);
  const size_t after = name.length - (size_t)(end + 1 - name.begin);
  memcpy(text, name.begin, before);
  memcpy(text + before, end + 1, after);
  const Name without = {text, before + after};
  return found(output, HEED_ROLE_ARGUMENT, without);
}

/* num_heads becomes numHeads, or NumHeads. */
static void put_camel(Output* output, Name name, int is_start) {
  for (size_t i = 0; i < name.length; ++i) {
    if (name.begin[i] != '_') put_char(output, is_start ? to_upper(name.begin[i]) : name.begin[i]);
    is_start = name.begin[i] == '_';
  }
}

static void put_member(Output* output, Name name) { put_camel(output, name, output->language == kCsharp); }

/* The length of the path's first member with the arrow behind it, 0 if it has one member. */
static size_t length_of_first(Name path) {
  for (size_t i = 0; i + 1 < path.length; ++i) {
    if (path.begin[i] == '-' && path.begin[i + 1] == '>') return i + 2;
  }
  return 0;
}

/* Writes the layer of a stack or the tap that a path is of, as "layers[1]." and "the encoder's layer.", and removes it from
 * the path. */
static Name put_layer(Output* output, Name path) {
  const char* of_stack = "";
  Name rest = path;
  for (size_t length; (length = length_of_first(rest)) != 0; rest = behind(rest, length)) {
    const Name layer = {rest.begin, length - 2};
    if (is(layer, "layer") || ends_with(layer, "]")) {
      if (is(layer, "layer")) put(output, of_stack);
      put_member(output, layer);
      put_char(output, '.');
      return behind(rest, length);
    }
    of_stack = begins_with(rest, "encoder->")   ? "the encoder's "
               : begins_with(rest, "decoder->") ? "the decoder's "
                                                : "";
  }
  return path;
}

/* Of a path the last member says enough, as numHeads of cross_attention->num_heads. */
static void put_path(Output* output, heed_role role, Name path) {
  path = put_layer(output, path);
  const char* said = role == HEED_ROLE_OPTION ? found_option(output, path) : found(output, role, path);
  if (said) {
    put(output, said);
    return;
  }
  for (size_t length; (length = length_of_first(path)) != 0;) path = behind(path, length);
  put_member(output, path);
}

/* HEED_CAUSAL_TOP_LEFT is Causal.TOP_LEFT in Java, and Causal.TopLeft in C#. */
static void put_constant(Output* output, Name name) {
  const char* said = found(output, HEED_ROLE_CONSTANT, name);
  const Enumeration* of = kEnumerations;
  if (said) {
    put(output, said);
    return;
  }
  while (of->prefix && !begins_with(name, of->prefix)) ++of;
  if (!of->prefix) {
    put_name(output, name);
    return;
  }
  put(output, of->name);
  put_char(output, '.');
  name = behind(name, strlen(of->prefix));
  if (output->language == kJava) {
    put_name(output, name);
    return;
  }
  for (size_t i = 0; i < name.length; ++i) {
    const int is_start = i == 0 || name.begin[i - 1] == '_' || is_digit(name.begin[i - 1]);
    if (name.begin[i] != '_') put_char(output, is_start ? name.begin[i] : to_lower(name.begin[i]));
  }
}

/* The value of an option: a constant, or 0 or 1 of a flag. */
static void put_value(Output* output, Name option, Name value) {
  if (begins_with(value, "HEED_")) {
    put_constant(output, value);
    return;
  }
  const int is_opposite = found(output, HEED_ROLE_FLAG, option) != NULL;
  put(output, is(value, "0") == is_opposite ? "true" : "false");
}

/* What stands before the first space, with which a value begins. */
static Name before_value(Name text) {
  const char* space = memchr(text.begin, ' ', text.length);
  const Name before = {text.begin, space ? (size_t)(space - text.begin) : text.length};
  return before;
}

static Name value_behind(Name text, Name before) {
  return behind(text, before.length < text.length ? before.length + 1 : before.length);
}

static void put_flag(Output* output, Name text) {
  const Name option = before_value(text);
  put_value(output, option, value_behind(text, option));
}

static void put_setting(Output* output, Name text) {
  const Name path = before_value(text);
  Name last = text;
  Name option = path;
  for (size_t length; (length = length_of_first(option)) != 0; option = behind(option, length))
    last = behind(last, length);
  const char* said = found(output, HEED_ROLE_SETTING, last);
  if (said) {
    put(output, said);
    return;
  }
  put_path(output, HEED_ROLE_OPTION, path);
  put_char(output, ' ');
  put_value(output, option, value_behind(text, path));
}

/* "an encoder layer" is "a TransformerEncoder", and "a layer_norm layer" "a LayerNorm block". */
static void put_kind(Output* output, Name text) {
  const size_t length_of_article = begins_with(text, "a ") ? 2 : begins_with(text, "an ") ? 3 : 0;
  const Name article = {text.begin, length_of_article};
  Name kind = behind(text, length_of_article);
  const char* said = found(output, HEED_ROLE_KIND, kind);
  const int is_layer = !said && ends_with(kind, " layer");
  if (is_layer) {
    kind.length -= strlen(" layer");
    said = found(output, HEED_ROLE_KIND, kind);
  }
  if (article.length > 0 && said)
    put(output, strchr("AEIOU", *said) ? "an " : "a ");
  else
    put_name(output, article);
  if (said)
    put(output, said);
  else
    put_name(output, kind);
  if (is_layer) put(output, " block");
}

static void put_part(Output* output, heed_role role, Name text) {
  const char* said = NULL;
  switch (role) {
    case HEED_ROLE_OPTION:
    case HEED_ROLE_INPUT:
    case HEED_ROLE_OUTPUT: put_path(output, role, text); return;
    case HEED_ROLE_MEMBER: put_path(output, HEED_ROLE_OPTION, text); return;
    case HEED_ROLE_SETTING: put_setting(output, text); return;
    case HEED_ROLE_FLAG: put_flag(output, text); return;
    case HEED_ROLE_CONSTANT: put_constant(output, text); return;
    case HEED_ROLE_KIND: put_kind(output, text); return;
    case HEED_ROLE_TEXT:
    case HEED_ROLE_ARGUMENT:
    case HEED_ROLE_FUNCTION:
    case HEED_ROLE_DTYPE:
    case HEED_ROLE_WORD: break;
  }
  said = found(output, role, text);
  if (!said && role == HEED_ROLE_ARGUMENT) said = found_of_array(output, text);
  if (said)
    put(output, said);
  else if (role == HEED_ROLE_ARGUMENT)
    put_camel(output, text, 0);
  else
    put_name(output, text);
}

void say(Language language, const char* message, char* said, size_t capacity) {
  Output output = {language, said, capacity, 0};
  heed_role role = HEED_ROLE_TEXT;
  Name part = {NULL, 0};
  for (int32_t i = 0; (part.begin = heed_message_part(message, i, &role, &part.length)) != NULL; ++i)
    put_part(&output, role, part);
  said[output.length] = '\0';
}
