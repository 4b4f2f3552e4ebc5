// SPDX-License-Identifier: Apache-2.0
#include "layers/inputs.h"

#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "layers/cache_call.h"
#include "tensor/device.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

const Tensor& checked_queries(const LayerInputs& inputs, const char* what = nullptr) {
  if (inputs.queries == nullptr) fail(Status::InvalidArgument, "inputs->queries is NULL, expected a tensor");
  check_rows(*inputs.queries, "inputs->queries", what);
  return *inputs.queries;
}

// The keys of a call that fills a cache, which has no queries.
const Tensor& checked_keys(LayerInputs& inputs) {
  if (inputs.keys == nullptr) inputs.keys = inputs.queries;
  if (inputs.keys == nullptr)
    fail(Status::InvalidArgument, "inputs->keys is NULL and so is inputs->queries, expected a tensor");
  check_rows(*inputs.keys, "inputs->keys");
  inputs.queries = nullptr;
  return *inputs.keys;
}

// Sets keys and values that are not given, and returns the tensor whose dtype all have: queries, or keys without them.
const Tensor& complete_rows(LayerInputs& inputs) {
  const CacheInputs* cache = inputs.cache;
  const Tensor& rows = cache != nullptr && cache->fills ? checked_keys(inputs) : checked_queries(inputs);
  if (cache == nullptr || cache->appends()) {
    if (inputs.keys == nullptr) inputs.keys = inputs.queries;
    if (inputs.values == nullptr) inputs.values = inputs.keys;
    return rows;
  }
  for (const auto& [name, tensor] : {std::pair{"inputs->keys", inputs.keys}, {"inputs->values", inputs.values}}) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument,
         "%s is set, but inputs->cache->use is HEED_CACHE_READ: expected NULL, since the cache has them", name);
  }
  return rows;
}

}  // namespace

void check_rows(const Tensor& rows, const char* name, const char* what) {
  const DType dtype = rows.dtype();
  if (dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16) return;
  if (what == nullptr) fail(Status::InvalidArgument, "%s is %s, expected F32, F16 or BF16", name, name_of(dtype));
  fail(Status::InvalidArgument, "%s is %s, expected F32, F16 or BF16: %s", name, name_of(dtype), what);
}

void check_no_token_types(const LayerInputs& inputs, const char* kind) {
  if (inputs.token_types == nullptr) return;
  fail(Status::InvalidArgument, "inputs->token_types is set, but %s %s layer has no embedding: expected NULL",
       article_of(kind), kind);
}

LayerInputs complete_inputs(const LayerInputs& inputs, const char* owner, const char* device_name) {
  LayerInputs complete = inputs;
  const DType dtype = complete_rows(complete).dtype();
  const bool has_queries = complete.queries != nullptr;
  for (const auto& [name, tensor] : {std::pair{"inputs->keys", complete.keys}, {"inputs->values", complete.values}}) {
    if (tensor != nullptr && tensor->dtype() != dtype) {
      fail(Status::InvalidArgument, "%s is %s, but %s is %s: expected the same dtype", name, name_of(tensor->dtype()),
           has_queries ? "inputs->queries" : "inputs->keys", name_of(dtype));
    }
  }
  check_devices(complete, owner, device_name);
  return complete;
}

void check_devices(const LayerInputs& inputs, const char* owner, const char* device_name) {
  for (const auto& [name, member] : kLayerInputs) {
    const Tensor* tensor = inputs.*member;
    if (tensor != nullptr) check_same_device(name, tensor->device_name(), owner, device_name);
  }
}

const char* article_of(const char* noun) {
  return std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a" : "an";
}

void check_queries(const LayerInputs& inputs, const char* what) { checked_queries(inputs, what); }

void check_no_other_inputs(const LayerInputs& inputs, const char* kind, const char* reads) {
  if (inputs.cache != nullptr)
    fail(Status::InvalidArgument, "inputs->cache is set, but %s %s layer reads %s alone, expected NULL",
         article_of(kind), kind, reads);
  for (const auto& [name, member] : kLayerInputs) {
    const Tensor* tensor = inputs.*member;
    if (tensor == nullptr || member == &LayerInputs::queries) continue;
    fail(Status::InvalidArgument, "%s is set, but %s %s layer reads %s alone, expected NULL", name, article_of(kind),
         kind, reads);
  }
}

void check_no_decoder_inputs(const LayerInputs& inputs, const char* kind) {
  for (const auto& [name, tensor] : {std::pair{kSelfAttentionNames.valid_lens, inputs.self_valid_lens},
                                     {kSelfAttentionNames.mask, inputs.self_mask},
                                     {kSelfAttentionNames.bias, inputs.self_bias},
                                     {"inputs->decoder->memory", inputs.memory}}) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument, "%s is set, but %s %s layer is no decoder: expected NULL", name, article_of(kind),
         kind);
  }
  if (inputs.memory_cache != nullptr) {
    fail(Status::InvalidArgument, "%s is set, but %s %s layer is no decoder: expected NULL", inputs.memory_cache->name,
         article_of(kind), kind);
  }
}

void check_one_input(const LayerInputs& inputs, const char* kind, const char* device_name, const char* reads) {
  checked_queries(inputs);
  check_no_other_inputs(inputs, kind, reads);
  if (inputs.queries->rank() == 0)
    fail(Status::InvalidArgument, "inputs->queries has dims () of rank 0, expected rank 1 to %d", kMaxRank);
  check_same_device("inputs->queries", inputs.queries->device_name(), "the layer", device_name);
}

void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name) {
  check_same_device(name, tensor.device_name(), owner, device_name);
  if (!(tensor.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has dims %s, expected %s", name, to_string(tensor.shape()).c_str(),
         to_string(expected).c_str());
  }
  if (tensor.dtype() == DType::F32) return;
  if (f32_only) fail(Status::InvalidArgument, "%s is %s, expected F32", name, name_of(tensor.dtype()));
  if (tensor.dtype() != input_dtype) {
    fail(Status::InvalidArgument, "%s is %s, expected %s%s", name, name_of(tensor.dtype()),
         input_dtype == DType::F32 ? "" : "the inputs' dtype or ", "F32");
  }
}

TapName::TapName(size_t tap, const char* member) {
  std::snprintf(text, sizeof text, "outputs->taps[%zu]->%s", tap, member);
}

namespace {

// Calls visit(name, tensor) for each output that is requested, and with them the number of the output.
template <typename Visit>
void for_each_output(const LayerOutputs& outputs, const Visit& visit) {
  size_t number = 0;
  for (const auto& [name, member] : kLayerOutputs) {
    if (outputs.*member != nullptr) visit(name, *(outputs.*member), number);
    ++number;
  }
  for (size_t i = 0; i < outputs.taps.size(); ++i) {
    const LayerTap& tap = outputs.taps[i];
    if (tap.weights != nullptr) visit(TapName(i, "weights").text, *tap.weights, number);
    if (tap.log_sum_exp != nullptr) visit(TapName(i, "log_sum_exp").text, *tap.log_sum_exp, number + 1);
    number += 2;
  }
}

}  // namespace

void check_workspace_memory(const LayerInputs& inputs, const LayerOutputs& outputs, const void* workspace,
                            size_t num_bytes) {
  const auto check = [&](const char* name, const Tensor& tensor) {
    if (overlaps(tensor, workspace, num_bytes))
      fail(Status::InvalidArgument, "workspace shares memory with %s, expected separate memory", name);
  };
  for (const auto& [name, member] : kLayerInputs) {
    if (inputs.*member != nullptr) check(name, *(inputs.*member));
  }
  for_each_output(outputs, [&](const char* name, const Tensor& tensor, size_t) { check(name, tensor); });
}

void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs) {
  for (const auto& [name, member] : kLayerInputs) {
    const Tensor* tensor = inputs.*member;
    if (tensor != nullptr) tensor->require_data(name);
  }
  for_each_output(outputs, [&](const char* name, const Tensor& tensor, size_t number) {
    tensor.require_writable(name);
    const auto require_separate = [&](const char* other_name, const Tensor& other) {
      if (overlaps(tensor, other)) {
        fail(Status::InvalidArgument, "%s shares memory with %s, expected separate memory", name, other_name);
      }
    };
    for (const auto& [other_name, member] : kLayerInputs) {
      if (inputs.*member != nullptr) require_separate(other_name, *(inputs.*member));
    }
    for_each_output(outputs, [&](const char* other_name, const Tensor& other, size_t other_number) {
      if (other_number < number) require_separate(other_name, other);
    });
  });
}

}  // namespace heed
