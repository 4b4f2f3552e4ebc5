// SPDX-License-Identifier: Apache-2.0
#include "layers/inputs.h"

#include <cinttypes>
#include <cstdio>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "tensor/device.h"
#include "tensor/dtype_term.h"
#include "tensor/overlap.h"

namespace heed {
namespace {

const Tensor& checked_queries(const LayerInputs& inputs, const char* what = nullptr) {
  if (inputs.queries == nullptr)
    fail(Status::InvalidArgument, INPUT("queries") " is " WORD("NULL") ", expected " WORD("a tensor"));
  check_rows(*inputs.queries, INPUT("queries"), what);
  return *inputs.queries;
}

// The keys of a call that fills a cache, which has no queries.
const Tensor& checked_keys(LayerInputs& inputs) {
  if (inputs.keys == nullptr) inputs.keys = inputs.queries;
  if (inputs.keys == nullptr)
    fail(Status::InvalidArgument,
         INPUT("keys") " is " WORD("NULL") " and so is " INPUT("queries") ", expected " WORD("a tensor"));
  check_rows(*inputs.keys, INPUT("keys"));
  inputs.queries = nullptr;
  return *inputs.keys;
}

// Sets keys and values that are not given, and returns the tensor whose dtype all have: queries, or keys without them.
const Tensor& complete_rows(LayerInputs& inputs) {
  const CacheInputs* cache = inputs.cache;
  const Tensor& rows = fills_cache(cache) ? checked_keys(inputs) : checked_queries(inputs);
  if (cache == nullptr || cache->appends()) {
    if (inputs.keys == nullptr) inputs.keys = inputs.queries;
    if (inputs.values == nullptr) inputs.values = inputs.keys;
    return rows;
  }
  for (const auto& [name, tensor] : {std::pair{INPUT("keys"), inputs.keys}, {INPUT("values"), inputs.values}}) {
    if (tensor == nullptr) continue;
    fail(Status::InvalidArgument,
         "%s is set, but " INPUT("cache->use") " is " CONSTANT("HEED_CACHE_READ") ": expected " WORD(
             "NULL") ", since the cache has them",
         name);
  }
  return rows;
}

}  // namespace

void GivenInputs::add(Input input, const char* name, const Tensor* tensor) {
  if (tensor != nullptr) inputs_[count_++] = {input, name, tensor};
}

void GivenInputs::add(Input input, const char* name, const CacheInputs* cache, Input of_sequences,
                      const char* name_of_sequences) {
  if (cache == nullptr) return;
  inputs_[count_++] = {input, name, nullptr};
  add(of_sequences, name_of_sequences, cache->sequences);
}

GivenInputs::GivenInputs(const LayerInputs& inputs) {
  // Names every member, so that a new one does not compile until it is handled here.
  const auto& [queries, keys, values, sequences, visibility, attention_mask, cache, decoder, token_types, wanted_output,
               training, progress] = inputs;
  add(Input::Cache, INPUT("cache"), cache, Input::CacheSequences, INPUT("cache->sequences"));
  add(Input::Queries, INPUT("queries"), queries);
  add(Input::Keys, INPUT("keys"), keys);
  add(Input::Values, INPUT("values"), values);
  const auto& [positions, query_lens, query_offsets, key_offsets, key_positions] = sequences;
  add(Input::Positions, INPUT("sequences->positions"), positions);
  add(Input::QueryLens, INPUT("sequences->query_lens"), query_lens);
  add(Input::QueryOffsets, INPUT("sequences->query_offsets"), query_offsets);
  add(Input::KeyOffsets, INPUT("sequences->key_offsets"), key_offsets);
  add(Input::KeyPositions, INPUT("sequences->key_positions"), key_positions);
  const auto& [valid_lens, mask, bias, alibi_slopes, sinks, names] = visibility;
  add(Input::ValidLens, names->valid_lens, valid_lens);
  add(Input::Mask, names->mask, mask);
  add(Input::Bias, names->bias, bias);
  add(Input::AlibiSlopes, INPUT("alibi_slopes"), alibi_slopes);
  add(Input::Sinks, INPUT("sinks"), sinks);
  add(Input::AttentionMask, kAttentionMask, attention_mask);
  const auto& [self_valid_lens, self_mask, self_bias, self_attention_mask, memory, memory_cache] = decoder;
  add(Input::SelfValidLens, kSelfAttentionNames.valid_lens, self_valid_lens);
  add(Input::SelfMask, kSelfAttentionNames.mask, self_mask);
  add(Input::SelfBias, kSelfAttentionNames.bias, self_bias);
  add(Input::SelfAttentionMask, kSelfAttentionMask, self_attention_mask);
  add(Input::Memory, INPUT("decoder->memory"), memory);
  add(Input::MemoryCache, INPUT("decoder->memory_cache"), memory_cache, Input::MemoryCacheSequences,
      INPUT("decoder->memory_cache->sequences"));
  add(Input::TokenTypes, INPUT("token_types"), token_types);
  add(Input::OutputRows, INPUT("output_rows"), wanted_output.rows);
}

void check_rows(const Tensor& rows, const char* name, const char* what) {
  const DType dtype = rows.dtype();
  if (dtype == DType::F32 || dtype == DType::F16 || dtype == DType::BF16) return;
  if (what == nullptr)
    fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") " or " DTYPE("BF16"), name,
         term_of(dtype));
  fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32") ", " DTYPE("F16") " or " DTYPE("BF16") ": %s", name,
       term_of(dtype), what);
}

LayerInputs complete_inputs(const LayerInputs& inputs) {
  LayerInputs complete = inputs;
  const DType dtype = complete_rows(complete).dtype();
  const bool has_queries = complete.queries != nullptr;
  for (const auto& [name, tensor] : {std::pair{INPUT("keys"), complete.keys}, {INPUT("values"), complete.values}}) {
    if (tensor != nullptr && tensor->dtype() != dtype) {
      fail(Status::InvalidArgument, "%s is %s, but %s is %s: expected the same " WORD("dtype"), name,
           term_of(tensor->dtype()), has_queries ? INPUT("queries") : INPUT("keys"), term_of(dtype));
    }
  }
  return complete;
}

void check_devices(const GivenInputs& inputs, const char* owner, const char* device_name) {
  for (const auto& [input, name, tensor] : inputs) {
    if (tensor != nullptr) check_same_device(name, tensor->device_name(), owner, device_name);
  }
}

const char* article_of(const char* noun) {
  return std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a" : "an";
}

void check_queries(const LayerInputs& inputs, const char* what) { checked_queries(inputs, what); }

void check_one_input(const LayerInputs& inputs) {
  checked_queries(inputs);
  if (inputs.queries->rank() == 0)
    fail(Status::InvalidArgument, INPUT("queries") " has " ARGUMENT("dims") " () of rank 0, expected rank 1 to %d",
         kMaxRank);
}

void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name) {
  check_same_device(name, tensor.device_name(), owner, device_name);
  if (!(tensor.shape() == expected)) {
    fail(Status::InvalidArgument, "%s has " ARGUMENT("dims") " %s, expected %s", name,
         to_string(tensor.shape()).c_str(), to_string(expected).c_str());
  }
  if (tensor.dtype() == DType::F32) return;
  if (f32_only) fail(Status::InvalidArgument, "%s is %s, expected " DTYPE("F32"), name, term_of(tensor.dtype()));
  if (tensor.dtype() != input_dtype) {
    fail(Status::InvalidArgument, "%s is %s, expected %s%s", name, term_of(tensor.dtype()),
         input_dtype == DType::F32 ? "" : "the inputs' " WORD("dtype") " or ", DTYPE("F32"));
  }
}

TapName::TapName(size_t tap, const char* member) {
  std::snprintf(text, sizeof text, OUTPUT("taps[%zu]->%s"), tap, member);
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
    require_separate_from_workspace(tensor, name, workspace, num_bytes);
  };
  for (const auto& [input, name, tensor] : GivenInputs(inputs)) {
    if (tensor != nullptr) check(name, *tensor);
  }
  for_each_output(outputs, [&](const char* name, const Tensor& tensor, size_t) { check(name, tensor); });
}

void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs) {
  const GivenInputs given(inputs);
  for (const auto& [input, name, tensor] : given) {
    if (tensor != nullptr) tensor->require_data(name);
  }
  for_each_output(outputs, [&](const char* name, const Tensor& tensor, size_t number) {
    tensor.require_writable(name);
    for (const auto& [input, other_name, other] : given) {
      if (other != nullptr) require_separate(tensor, name, *other, other_name);
    }
    for_each_output(outputs, [&](const char* other_name, const Tensor& other, size_t other_number) {
      if (other_number < number) require_separate(tensor, name, other, other_name);
    });
  });
}

}  // namespace heed
