// SPDX-License-Identifier: Apache-2.0
// The topics of docs/errors.md, and the names that their cases use.
#pragma once

#include <iterator>
#include <vector>

#include "errors/list.h"
#include "errors/scene.h"

// Further faults in the call of `layer`, as ALSO.
#define FAULT_AS(its_status, its_sentence, ...) \
  ALSO_AS(its_status, its_sentence, heed_layer_forward(layer, &inputs, NULL, &outputs), __VA_ARGS__)
#define FAULT(its_sentence, ...) FAULT_AS(INVALID_ARGUMENT, its_sentence, __VA_ARGS__)
// Further wrong options of multi-head attention, as ALSO.
#define MULTI_HEAD(its_sentence, ...) \
  ALSO(its_sentence, heed_multi_head_attention_create(context, &options, &new_layer), __VA_ARGS__)

namespace heed::errors_test {

using capi_test::check;
using capi_test::Dims;
using capi_test::dims_of;
using capi_test::Kind;

// The kinds of attention.
inline const std::vector<Kind> kKinds(std::begin(capi_test::kKinds), std::end(capi_test::kKinds));
// The layers that read only queries and have one output.
inline const std::vector<Kind> kKindsOfOneInput(std::begin(capi_test::kKindsOfOneInput),
                                                std::end(capi_test::kKindsOfOneInput));

// The cases of each of these kinds.
template <typename Make>
Cases each_of(const std::vector<Kind>& kinds, Make make) {
  Cases all = {};
  for (const Kind kind : kinds) all = {all, make(kind)};
  return all;
}

Topic general();
// NULL for every pointer; part of that topic.
Cases nulls();
Topic contexts();
Topic tensors();
Topic views();
Topic copies();
Topic fills();
Topic operations();
Topic arrays();
Topic files();
Topic npy_files();
Topic dlpack();
Topic weights();
Topic weight_files();
Topic layer_options();
Topic position_options();
Topic block_options();
Topic blocks();
Topic stack_options();
Topic stacks();
Topic transformers();
Topic memory_caches();
Topic model_folders();
Topic signals();
Topic layer_parameters();
Topic layer_inputs();
Topic sequences();
Topic layer_outputs();
Topic taps();
Topic training();
Topic backward();
Topic caches();
Topic cache_calls();
Topic cache_files();
const std::vector<Unprovoked>& unprovoked();

}  // namespace heed::errors_test
