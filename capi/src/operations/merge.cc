// SPDX-License-Identifier: Apache-2.0
#include "tensor_functions/merge.h"

#include <heed/heed.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "handles.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_attention_merge(const heed_tensor* const* outputs, const heed_tensor* const* log_sum_exps,
                                 int64_t num_parts, const heed_tensor* sinks, heed_tensor* output,
                                 heed_tensor* log_sum_exp) noexcept {
  return guarded(__func__, output != nullptr ? output : log_sum_exp, [&] {
    require(outputs, "outputs");
    require(log_sum_exps, "log_sum_exps");
    if (num_parts < 1) fail(Status::InvalidArgument, "num_parts is %" PRId64 ", expected at least 1", num_parts);
    std::vector<AttentionPart> parts;
    for (int64_t i = 0; i < num_parts; ++i) {
      const auto tensor_at = [i](const heed_tensor* const* tensors, const char* array) -> const Tensor& {
        char name[40];
        std::snprintf(name, sizeof name, "%s[%" PRId64 "]", array, i);
        return require(tensors[i], name)->tensor;
      };
      parts.push_back({tensor_at(outputs, "outputs"), tensor_at(log_sum_exps, "log_sum_exps")});
    }
    merge_attention(parts, sinks == nullptr ? nullptr : &sinks->tensor, output == nullptr ? nullptr : &output->tensor,
                    log_sum_exp == nullptr ? nullptr : &log_sum_exp->tensor);
  });
}

}  // extern "C"
