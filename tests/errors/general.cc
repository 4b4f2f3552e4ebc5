// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic general() {
  return {"Any function",
          "All functions refuse invalid pointers, structs, enumerations and text results in the same words.",
          {
              PROVOKE(heed_tensor_fill(NULL, 1.0)),
              PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), inputs.struct_size = 8),
              PROVOKE(
                  heed_context_create(&newer.known, &new_context),
                  struct {
                    heed_context_options known;
                    int64_t later;
                  } newer = {context_options, 1};
                  newer.known.struct_size = sizeof newer),
              PROVOKE(heed_linear_create(context, &linear_options, &new_layer), linear_options.reserved = 1),
              PROVOKE(heed_context_create(&context_options, &new_context), context_options.strict = 2),
              PROVOKE(heed_context_describe(context, NULL, 0, NULL)),
              PROVOKE(heed_context_describe(context, text, 0, &num_bytes)),
              PROVOKE(heed_workspace_create(context, SIZE_MAX / 2, &new_workspace)),
              nulls(),
          }};
}

const std::vector<Unprovoked>& unprovoked() {
  static constexpr const char* kWriter =
      "Only heed_layer_save writes such files, and it chooses their names and tensors.";
  static const std::vector<Unprovoked> all = {
      {"memory for heed's own objects could not be allocated",
       "The process has no memory left, not even a few hundred bytes."},
      {"an internal check failed (%s): please report this as a defect of heed",
       "A last check for exceptions that no code throws intentionally."},
      {"an exception of unknown type was stopped: please report this as a defect of heed",
       "A last check for exceptions that no code throws intentionally."},
      {"backend %s has interface version %d, expected %d: it was built for another heed",
       "The version of a plugin's backend is checked when it is loaded, and the CPU's backend is part of the library."},
      {"the CPU's own plan says that the device cannot do it", "A check for a plan that the CPU never makes."},
      {"%s is in use by another call, expected one for each call at a time",
       "Two threads call heed_layer_forward at the same time with one workspace, or with one heed_saved."},
      {"cache is in use by another call, expected one call at a time that changes it",
       "Two threads call functions that change one cache at the same time."},
      {"cache is changed by another call, expected no call at the same time that changes it",
       "A thread reads a cache while another one appends to it."},
      {"cannot %s \"%s\": unknown reason", "The system gives no reason."},
      {"cannot read \"%s\": it ended at byte %llu although it had %llu bytes when it was opened",
       "Another program truncates the file while it is read."},
      {"cannot write \"%s\": tensor \"%s\" has a negative size", kWriter},
      {"cannot write \"%s\": tensor \"%s\" has sizes that overflow", kWriter},
      {"cannot write \"%s\": tensor \"%s\" has no data", kWriter},
      {"cannot write \"%s\": tensor \"%s\" has a name that is not UTF-8", kWriter},
      {"cannot write \"%s\": tensor \"%s\" has the name of the file's metadata", kWriter},
      {"cannot write \"%s\": tensor \"%s\" is given twice", kWriter},
      {"cannot write \"%s\": tensor \"%s\" makes the file's size overflow", kWriter},
      {"cannot write \"%s\": the header would have %zu bytes, expected at most %llu", kWriter},
      {"the input size of a projection or the inner size of a product is %d, expected at most %d: its scratch memory "
       "could not be addressed",
       "Needs a tensor of more than 4 TiB."},
      {"the size of a normalized row is %d, expected at most %d: its scratch memory could not be addressed",
       "Needs a weight of more than 4 TiB."},
      {"the length of a softmax is %d, expected at most %d: its scratch memory could not be addressed",
       "Needs a tensor of more than 4 TiB."},
      {"\"%s\": the header's length is %llu, expected at most %llu", "Needs a file of more than 100 MB."},
      {"\"%s\": the header is %s, expected a JSON object", "A header that does not begin with '{' is refused earlier."},
  };
  return all;
}

}  // namespace heed::errors_test
