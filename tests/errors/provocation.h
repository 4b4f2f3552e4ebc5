// SPDX-License-Identifier: Apache-2.0
// The list of all error sentences, each with a call that gets it. To add one is to add a line to the file of its topic:
//
//   PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor));
//   PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1);
//
// the call, and behind it what has to be done before, all in the names of scene.h; then scripts/errors.
#pragma once

#include <heed/heed.h>

#include <functional>
#include <string>
#include <vector>

#include "errors/scene.h"

namespace heed::errors_test {

struct Provocation {
  std::string before;  // as written here
  std::string call;
  std::function<heed_status()> run;
};

struct Topic {
  const char* title;
  const char* introduction;  // what its calls share; may be empty
  std::vector<Provocation> provocations;
};

// A sentence that no call gets, as its format stands in the sources.
struct Unprovoked {
  const char* format;
  const char* reason;
};

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
Topic layer_options();
Topic layer_parameters();
Topic layer_inputs();
Topic layer_outputs();
const std::vector<Unprovoked>& unprovoked();

// What a call came to: getters tell it by the last error alone.
inline heed_status outcome(heed_status status) { return status; }
template <typename Value>
heed_status outcome(Value) {
  return heed_last_status();
}

}  // namespace heed::errors_test

// A struct, whose members are the scene's, so that the call can be written as a caller writes it.
#define PROVOKE(attempted_call, ...)                             \
  {                                                              \
#__VA_ARGS__, #attempted_call, [] {                            \
     struct Attempt : Scene {                                     \
       heed_status run() {                                        \
         __VA_ARGS__;                                             \
         return outcome(attempted_call);                          \
       }                                                          \
     };                                                           \
     return Attempt().run();                                      \
   } \
  }
