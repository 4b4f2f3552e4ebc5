// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic caches() {
  return {"Caches",
          "`cache_options` are those of a cache with 2 sequences, 2 key heads of 4 elements and a capacity of 8 rows. "
          "`use_cache()` makes `cache` with them, and `inputs` those of a call of `layer` that appends 3 rows to each "
          "sequence. `use_window(n)` does so with a capacity of 200 rows for a layer whose rows see n rows, which it "
          "keeps.",
          {
              PROVOKE(heed_cache_create(context, NULL, &new_cache)),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.num_kv_heads = 0),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.layout = 3),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.dtype = 9),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.dtype = HEED_F64),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.num_sinks = 4),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.layout = HEED_CACHE_PAGED;
                      cache_options.num_pages = 8; cache_options.page_size = 24),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), cache_options.layout = HEED_CACHE_RING;
                      cache_options.unrotated_keys = 1),
              PROVOKE(heed_cache_create(context, &cache_options, &new_cache), list[0] = -1;
                      cache_options.layer_capacities = list),
              PROVOKE(heed_cache_size(&cache_options, &num_bytes), cache_options.max_sequences = 2147483647;
                      cache_options.capacity = 2147483647; cache_options.num_layers = 2147483647),
              PROVOKE(heed_cache_reserve(cache, 2, 4), use_cache()),
              PROVOKE(heed_cache_reserve(cache, 0, -1), use_cache()),
              PROVOKE(heed_cache_reserve(cache, 0, 9), use_cache()),
              PROVOKE(heed_cache_reserve(cache, 0, 8), cache_options.layout = HEED_CACHE_PAGED;
                      cache_options.num_pages = 1; use_cache(); heed_cache_reserve(cache, 1, 8)),
              PROVOKE(heed_cache_rewind(cache, 0, 4), use_cache(); heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_rewind(cache, 0, 20), cache_options.layout = HEED_CACHE_RING; use_cache();
                      for (int i = 0; i < 60; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_reorder(cache, list, 2), use_cache(); list[1] = 2),
              PROVOKE(heed_cache_reorder(cache, list, 3), use_cache()),
              PROVOKE(heed_cache_accept(cache, 0, 4, list, 1), use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_accept(cache, 0, 0, list, 2), use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_accept(cache, 0, 20, list, 1), cache_options.layout = HEED_CACHE_RING; use_cache();
                      for (int i = 0; i < 60; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_accept(cache, 0, 0, list, 1), cache_options.num_layers = 2; use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 4, 1, 0), use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 2, 2, 0), use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 20, 1, 0), cache_options.layout = HEED_CACHE_RING; use_cache();
                      for (int i = 0; i < 60; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 0, 1, 1), options.rope = &rope; layer = layer_with(options);
                      heed_layer_initialize(layer, &inputs, 42); cache_options.dtype = HEED_I8; use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 0, 1, 1), use_cache();
                      heed_cache_load(cache, 0, cache_file(rotary, {1, 2, 0, 0, 0}, "I32", 1))),
              PROVOKE(heed_cache_discard(cache, 0, 0, 2, 1), use_cache();
                      heed_tensor_reshape(numbers({7, 8, 1, 7, 8, 1}), 2, dims, &new_tensor);
                      sequences.positions = new_tensor; heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_discard(cache, 0, 101, 79, 0), use_window(4);
                      for (int i = 0; i < 60; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs)),
              PROVOKE(heed_cache_read(cache, 0, 0, NULL, NULL), use_cache()),
              PROVOKE(heed_cache_read(cache, 1, 0, tensor, NULL), use_cache()),
              PROVOKE(heed_cache_read(cache, 0, 0, tensor, NULL), use_cache()),
              PROVOKE(heed_cache_read(cache, 0, 0, tensor_of(HEED_I32, {2, 0, 4}), NULL), use_cache()),
              PROVOKE(heed_cache_read(cache, 0, 0, tensor, tensor), use_cache();
                      heed_layer_forward(layer, &inputs, NULL, &outputs)),
          }};
}

Topic cache_calls() {
  return {
      "Calls with a cache",
      "`use_cache()` makes `inputs` those of a call that appends 3 rows to each of the 2 sequences of a cache. "
      "`use_window(n)` does so "
      "with a layer whose rows see n rows, which the cache keeps.",
      {
          PROVOKE(heed_layer_forward(dot_product, &heads, NULL, &head_outputs), use_cache(); heads.cache = &with_cache),
          PROVOKE(heed_layer_create_outputs(new_layer, &inputs, HEED_WANT_OUTPUT, &new_outputs),
                  heed_linear_create(context, &linear_options, &new_layer);
                  use_cache()),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.cache = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.use = 2),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.layer = 1),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                  use_decoder(); use_cache(); inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), decoder_layer.cross_attention = NULL;
                  use_decoder(); cache_options.num_layers = 2; use_cache(); with_cache.layer = 1;
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), cache_options.head_size = 8; use_cache()),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  with_cache.sequences = tensor_of(HEED_F32, {2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.sequences = numbers({0})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  with_cache.sequences = numbers({0, 2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  with_cache.sequences = numbers({1, 1})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), cache_options.max_sequences = 1; use_cache()),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  inputs.keys = tensor_of(HEED_F32, {2, 5, 7}); inputs.values = tensor_of(HEED_F32, {2, 5, 9})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); with_cache.use = HEED_CACHE_READ),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), cache_options.capacity = 200; list[0] = 4;
                  cache_options.layer_capacities = list; use_cache()),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_window(4); with_cache.use = HEED_CACHE_READ;
                  inputs.keys = inputs.values = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_window(4);
                  for (int i = 0; i < 60; ++i) heed_layer_forward(layer, &inputs, NULL, &outputs);
                  heed_tensor_reshape(numbers({50, 51, 52, 50, 51, 52}), 2, dims, &new_tensor);
                  sequences.positions = new_tensor),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); inputs.valid_lens = lengths({3, 2})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  sequences.key_offsets = numbers({0, 3, 5})),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache(); inputs.training = 1),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  heed_tensor_reshape(numbers({0, 1, 2147483647, 0, 1, 2}), 2, dims, &new_tensor);
                  sequences.positions = new_tensor; heed_layer_forward(layer, &inputs, NULL, &outputs);
                  sequences.positions = NULL),
          PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_cache();
                  heed_layer_forward(layer, &inputs, NULL, &outputs); options.rope = &rope; layer = layer_with(options);
                  heed_layer_initialize(layer, &inputs, 42)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); options.rope = &rope;
                  heed_multi_head_attention_create(new_context, &options, &new_layer); cache_options.unrotated_keys = 1;
                  use_cache(); heed_layer_initialize(new_layer, &inputs, 42)),
          PROVOKE(heed_layer_forward(new_layer, &inputs, NULL, &outputs), context_options.strict = 1;
                  heed_context_create(&context_options, &new_context); options.window = HEED_WINDOW_BOTTOM_RIGHT;
                  options.window_left = 4; heed_multi_head_attention_create(new_context, &options, &new_layer);
                  use_cache(); heed_layer_initialize(new_layer, &inputs, 42);
                  heed_tensor_reshape(numbers({0, 1, 7, 0, 1, 7}), 2, dims, &new_tensor);
                  sequences.positions = new_tensor),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL)),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), use_cache(); with_cache.use = HEED_CACHE_READ),
          PROVOKE(heed_layer_fill_cache(layer, &inputs, NULL), use_cache(); inputs.queries = inputs.keys = NULL),
      }};
}

Topic cache_files() {
  return {
      "Files of caches",
      "`use_cache()` makes a cache with one layer of 2 key heads of 4 elements in F32. `cache_file(rope, rows, "
      "dtype, last, layers)` "
      "is a file of 2 rows for it, with these rotary positions, these numbers in \"rows\", and positions of this "
      "dtype, the "
      "last one with this number, and these numbers in \"layers\"; `rotary` are the rotary positions of whole heads.",
      {
          PROVOKE(heed_cache_load(cache, 0, names({"a"})), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, names({"rows"})), use_cache()),
          PROVOKE(heed_cache_load(cache, 0,
                                  file("{'rows':{'dtype':'I64','shape':[5],'data_offsets':[0,40]},"
                                       "'rope':{'dtype':'F32','shape':[1],'data_offsets':[40,44]}}",
                                       44)),
                  use_cache()),
          PROVOKE(heed_cache_load(cache, 0,
                                  file("{'rows':{'dtype':'I64','shape':[5],'data_offsets':[0,40]},"
                                       "'rope':{'dtype':'U8','shape':[0],'data_offsets':[40,40]},"
                                       "'layers.1.keys':{'dtype':'F32','shape':[0],'data_offsets':[40,40]}}",
                                       40)),
                  use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {3, 2, 0, 0, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {2, 2, 0, 1, 0}, "I32", 1, {4, 0, 1})), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {2, 2, 0, 1, 0}, "I32", 1, {4, 0, 3, 1})), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {2, 2, 0, 1, 0}, "I32", 1, {4, 0, 1, 1})), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, -2, 0, 0, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 3, 0, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 2, 1, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 0, 0, 2}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 0, 0, 1}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("half", {1, 2, 0, 0, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 0, 0, 0}, "F32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none\nnone", {1, 2, 0, 0, 0}, "I32", 1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file("none", {1, 2, 0, 0, 0}, "I32", -1)), use_cache()),
          PROVOKE(heed_cache_load(cache, 0, cache_file(rotary, {1, 2, 0, 0, 0}, "I32", 1)), use_cache();
                  heed_layer_forward(layer, &inputs, NULL, &outputs)),
      }};
}

}  // namespace heed::errors_test
