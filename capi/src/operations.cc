// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include <cinttypes>
#include <cstdio>
#include <optional>
#include <vector>

#include "arguments.h"
#include "errors.h"
#include "handles.h"
#include "tensor_functions/activation.h"
#include "tensor_functions/matmul.h"
#include "tensor_functions/merge.h"
#include "tensor_functions/softmax.h"

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_matmul(const heed_tensor* a, const heed_tensor* b, heed_tensor* product) noexcept {
  return guarded(__func__, a, [&] {
    const Tensor left = require(a, "a")->tensor;
    const Tensor right = require(b, "b")->tensor;
    const Tensor result = require(product, "product")->tensor;
    matmul(left, right, result);
  });
}

heed_status heed_softmax(const heed_tensor* tensor, int32_t axis, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor scores = require(tensor, "tensor")->tensor;
    const Tensor weights = require(result, "result")->tensor;
    softmax(scores, axis, weights);
  });
}

heed_status heed_masked_softmax(const heed_tensor* scores, const heed_tensor* valid_lens,
                                heed_tensor* result) noexcept {
  return guarded(__func__, scores, [&] {
    const Tensor given = require(scores, "scores")->tensor;
    const std::optional<Tensor> lens = valid_lens == nullptr ? std::nullopt : std::optional(valid_lens->tensor);
    const Tensor weights = require(result, "result")->tensor;
    masked_softmax(given, lens ? &*lens : nullptr, weights);
  });
}

heed_status heed_activation(const heed_tensor* tensor, int32_t activation, heed_tensor* result) noexcept {
  return guarded(__func__, tensor, [&] {
    const Tensor input = require(tensor, "tensor")->tensor;
    const Tensor output = require(result, "result")->tensor;
    activate(input, read_activation(activation, "activation"), output);
  });
}

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
