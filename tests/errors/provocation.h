// SPDX-License-Identifier: Apache-2.0
// The topics of docs/errors.md.
#pragma once

#include <vector>

#include "errors/list.h"
#include "errors/scene.h"

namespace heed::errors_test {

Topic general();
Topic contexts();
Topic tensors();
Topic views();
Topic copies();
Topic fills();
Topic operations();
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
Topic caches();
Topic cache_calls();
Topic cache_files();
const std::vector<Unprovoked>& unprovoked();

}  // namespace heed::errors_test
