/* SPDX-License-Identifier: Apache-2.0 */
/* The C contract of whole models, as a program like next.c. It compiles with -DSTAGE=n exactly when the header has all names up to stage n:
 * 1 machines (progress, cancelling, options of a folder, subnormal numbers), 2 masks and rows, 3 vectors and heads. Order of members, further members and functions, and the documentation are the
 * project's. What is not named here is the project's to name, in the same style. */
#include <heed/heed.h>

#ifndef STAGE
#define STAGE 3
#endif
#define TYPE_OF(type, expression) _Static_assert(_Generic((expression), type: 1, default: 0), #expression " must have type " #type)
#define VALUE(name, value) _Static_assert((name) == (value), #name " must be " #value)
#define MEMBER(type, structure, member) TYPE_OF(type, ((structure*)0)->member)
#define FUNCTION(result, name, ...) result (*const contract_##name)(__VA_ARGS__) = name; extern result (*const contract_##name)(__VA_ARGS__)
#define INITIALISER(structure, macro) const structure contract_of_##structure = macro; extern const structure contract_of_##structure

#if STAGE >= 1 /* ---- progress, cancelling, options of a folder, subnormal numbers ---- */
VALUE(HEED_ERROR_CANCELLED, 15);
typedef int32_t contract_report(void* user, int64_t done, int64_t total); /* non-zero: stop. On the calling thread; done and total are bytes of a load, tasks of a forward */
MEMBER(contract_report*, heed_progress, report);
MEMBER(void*, heed_progress, user);
INITIALISER(heed_progress, HEED_PROGRESS_INIT);
MEMBER(const heed_progress*, heed_load_options, progress);            /* NULL: none */
MEMBER(const heed_progress*, heed_layer_inputs, progress);            /* NULL: none */
MEMBER(const heed_load_options*, heed_model_options, load);           /* NULL: the macro's values */
INITIALISER(heed_model_options, HEED_MODEL_OPTIONS_INIT);
FUNCTION(heed_status, heed_model_create, heed_context*, const char* folder, const heed_model_options*, heed_layer**); /* options NULL: the macro's values */
MEMBER(int32_t, heed_context_options, flush_subnormals);              /* 1: subnormal numbers count as 0, read and written */
#endif

#if STAGE >= 2 /* ---- masks of tokenizers, rows that are wanted ---- */
MEMBER(const heed_tensor*, heed_layer_inputs, attention_mask);        /* (B, S), where valid_lens goes, or of the rows of a decoder without cross attention, as a tokenizer gives it: 1, or 0 for a row that is hidden; any integer or float type or BOOL */
MEMBER(const heed_tensor*, heed_decoder_inputs, self_attention_mask); /* (B, T): likewise, of a Transformer's or decoder's own rows */
MEMBER(const heed_tensor*, heed_sequence_inputs, key_positions);      /* (B, K) or packed: of keys that are an array of their own */
MEMBER(int64_t, heed_layer_inputs, num_last_rows);                    /* 0: all rows; n: the output has the last n rows of each sequence, (B, n, ...) */
MEMBER(const heed_tensor*, heed_layer_inputs, output_rows);           /* NULL, or (B, n) I32 or I64: which rows of each sequence the output has */
#endif

#if STAGE >= 3 /* ---- vectors and heads ---- */
VALUE(HEED_POOLING_MEAN, 0); VALUE(HEED_POOLING_FIRST, 1); VALUE(HEED_POOLING_LAST, 2); VALUE(HEED_POOLING_MAX, 3); VALUE(HEED_POOLING_MEAN_SQRT, 4); VALUE(HEED_POOLING_WEIGHTED_MEAN, 5);
MEMBER(const int32_t*, heed_pooling_options, poolings);               /* HEED_POOLING_..., one vector behind the other */
MEMBER(int64_t, heed_pooling_options, num_poolings);                  /* 0: one, HEED_POOLING_MEAN */
MEMBER(int32_t, heed_pooling_options, normalize);                     /* 1: L2 */
MEMBER(int64_t, heed_pooling_options, size);                          /* 0: all; n: the first n numbers, cut before they are normalized */
INITIALISER(heed_pooling_options, HEED_POOLING_OPTIONS_INIT);
FUNCTION(heed_status, heed_pooling_create, heed_context*, const heed_pooling_options*, heed_layer**); /* (B, S, E) to (B, n E); lengths, attention_mask or packed */
MEMBER(const heed_tensor*, heed_layer_inputs, prompt_lens);           /* NULL, or (B): so many first visible rows are seen by the model and not pooled */
VALUE(HEED_HEAD_AS_TRAINED, 0);                                       /* vectors of modules.json, labels, scores, answers; logits of decoders and Transformers; states if there is none of them */
VALUE(HEED_HEAD_NONE, 1);                                             /* hidden states */
VALUE(HEED_HEAD_PRETRAINING, 2);                                      /* the vocabulary's scores of an encoder's ...ForMaskedLM */
MEMBER(int32_t, heed_model_options, head);
FUNCTION(int64_t, heed_layer_label_count, const heed_layer*);         /* 0: it has none */
FUNCTION(const char*, heed_layer_label, const heed_layer*, int64_t index);
#endif

int main(void) { return 0; }
