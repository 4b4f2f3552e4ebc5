// SPDX-License-Identifier: Apache-2.0
// The terms of a sentence: what C, Java and C# call by different names, such as an option. A format of fail() or log()
// marks each term with its role, and every language says it in its own way (base/sentence.h):
//   fail(Status::InvalidArgument, OPTION("num_heads") " is %d, expected at least 1", num_heads);
//   C:     options->num_heads is 0, expected at least 1
//   Java:  numHeads is 0, expected at least 1
// The text around terms is the same in every language. tests/bindings/check_words.py fails where it has a word of C.
// What a term names may be a conversion, such as OPTION("%s"), for which the caller passes plain text.
#pragma once

// In a text a term begins with the byte 1 and the letter of its role, and ends with the byte 2.
#define TERM(letter, text) "\x01" letter text "\x02"

// A member of options by its path, such as "feed_forward->no_bias".
#define OPTION(path) TERM("o", path)
// An option with its value, as in SETTING("no_bias", "0"), which Java calls "bias true".
#define SETTING(path, value) TERM("s", path " " value)
// The value of an option that is a flag, as in OPTION("sinks") " is " FLAG("sinks", "0"). C says the
// value alone. The name tells a language that has the opposite option, such as bias for no_bias, to say the opposite value.
#define FLAG(option, value) TERM("f", option " " value)
// A member of inputs or outputs by its path, such as "decoder->self_mask".
#define INPUT(path) TERM("i", path)
#define OUTPUT(path) TERM("u", path)
// The name of a member alone, such as "rotary_size" behind one that was said with its path.
#define MEMBER(name) TERM("m", name)
// An argument of a C function.
#define ARGUMENT(name) TERM("a", name)
// An enumerator of heed.h, such as "HEED_CAUSAL_NONE".
#define CONSTANT(name) TERM("c", name)
#define FUNCTION(name) TERM("n", name)
// A kind of layer, with the article before it and "layer" behind it if the sentence has them: "a linear layer".
#define KIND(text) TERM("k", text)
// The type of an element, such as "F32".
#define DTYPE(name) TERM("t", name)
// Another word that the languages have for something in C, such as "NULL" and "tensor".
#define WORD(word) TERM("w", word)
