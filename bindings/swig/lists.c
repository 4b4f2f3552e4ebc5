/* SPDX-License-Identifier: Apache-2.0 */
#include "lists.h"

#include <string.h>

static int has_child(const heed_layer* layer, const char* name) {
  const int64_t count = heed_layer_child_count(layer);
  for (int64_t i = 0; i < count; ++i)
    if (strcmp(heed_layer_child_name(layer, i), name) == 0) return 1;
  return 0;
}

/* Whether a child of the layer has a child of that name. */
static int child_has(const heed_layer* layer, const char* child, const char* name) {
  heed_layer* inside = NULL;
  const int has = heed_layer_child(layer, child, &inside) == HEED_OK && has_child(inside, name);
  heed_layer_destroy(inside);
  return has;
}

static int reads_ids(const heed_layer* layer) { return has_child(layer, "embedding"); }

static const char* of_encoder(const heed_layer* layer) {
  return reads_ids(layer) ? "ids=queries# validLens=valid_lens? tokenTypes=token_types#?"
                          : "x=queries validLens=valid_lens?";
}

static const char* of_decoder(const heed_layer* layer) {
  if (!reads_ids(layer)) return "x=queries memory=keys? memoryValidLens=valid_lens?";
  return child_has(layer, "layers.0", "cross_attention") ? "ids=queries# memory=keys memoryValidLens=valid_lens?"
                                                         : "ids=queries# selfValidLens=self_valid_lens?";
}

static const char* of_transformer(const heed_layer* layer) {
  const int decoder = reads_ids(layer) || child_has(layer, "decoder", "embedding");
  const int encoder = reads_ids(layer) || child_has(layer, "encoder", "embedding");
  if (decoder) {
    return encoder ? "decoderInput=queries# encoderInput=keys# validLens=valid_lens?"
                   : "decoderInput=queries# encoderInput=keys validLens=valid_lens?";
  }
  return encoder ? "decoderInput=queries encoderInput=keys# validLens=valid_lens?"
                 : "decoderInput=queries encoderInput=keys validLens=valid_lens?";
}

const char* list_of_inputs(const heed_layer* layer) {
  const char* const kind = heed_layer_kind(layer);
  if (strstr(kind, "attention")) return "queries=queries keys=keys values=values validLens=valid_lens?";
  if (strcmp(kind, "encoder_layer") == 0) return "x=queries validLens=valid_lens?";
  if (strcmp(kind, "decoder_layer") == 0) return "x=queries memory=keys? memoryValidLens=valid_lens?";
  if (strcmp(kind, "encoder") == 0) return of_encoder(layer);
  if (strcmp(kind, "decoder") == 0) return of_decoder(layer);
  if (strcmp(kind, "transformer") == 0) return of_transformer(layer);
  return strcmp(kind, "embedding") == 0 ? "input=queries#" : "input=queries";
}
