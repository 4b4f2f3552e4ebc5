// SPDX-License-Identifier: Apache-2.0
// What a call gives to a layer, as one struct for each reader, and checks that all kinds of layers share. All checks throw
// InvalidArgument with the argument's name, its value and what was expected.
//
// To add an input, add a member to the struct of those who read it: Visibility or SequenceInputs if attention does. The
// functions that read or pass on a struct name its members, so that they do not compile until they say what becomes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "attention/sequences.h"
#include "attention/validate.h"
#include "base/call_progress.h"
#include "layers/input_set.h"
#include "tensor/tensor.h"

namespace heed {

class Cache;
class Saved;

// The words for the masks of tokenizers in messages.
inline constexpr const char* kAttentionMask = INPUT("attention_mask");
inline constexpr const char* kSelfAttentionMask = INPUT("decoder->self_attention_mask");

// The numbers of HEED_CACHE_APPEND and HEED_CACHE_READ; capi/src asserts it.
enum class CacheUse : int32_t { Append = 0, Read = 1 };

// heed_cache_inputs. Attention and positions read them.
struct CacheInputs {
  std::shared_ptr<Cache> cache;
  // The sequence of each batch element; null if not given.
  const Tensor* sequences = nullptr;
  int64_t layer = 0;
  CacheUse use = CacheUse::Append;
  // heed_layer_fill_cache: the rows are stored, and nothing attends to them.
  bool fills = false;
  // Its path in inputs, for messages.
  const char* path = "cache";

  bool appends() const { return use == CacheUse::Append; }
};

// heed_decoder_inputs; null if not given. Decoder layers and what is made of them read them.
struct DecoderInputs {
  const Tensor* self_valid_lens = nullptr;
  const Tensor* self_mask = nullptr;
  const Tensor* self_bias = nullptr;
  // Of the rows of queries.
  const Tensor* self_attention_mask = nullptr;
  // The encoder's output, in a call of a Transformer; only these read it.
  const Tensor* memory = nullptr;
  // What cross attention reads in place of keys.
  const CacheInputs* memory_cache = nullptr;
};

// Every kind with dropout reads it.
struct Training {
  bool is_on = false;
  uint64_t dropout_seed = 0;
};

// Which rows of a stack's output are wanted: all, if neither is given.
struct WantedOutput {
  int64_t num_last_rows = 0;
  const Tensor* rows = nullptr;  // (B, n)

  bool is_given() const { return num_last_rows != 0 || rows != nullptr; }
};

// heed_layer_inputs; null if not given.
struct LayerInputs {
  const Tensor* queries = nullptr;
  const Tensor* keys = nullptr;
  const Tensor* values = nullptr;
  SequenceInputs sequences = {};
  Visibility visibility = {};
  // (B, S), as a tokenizer gives it, of the rows that visibility.valid_lens is of.
  const Tensor* attention_mask = nullptr;
  const CacheInputs* cache = nullptr;
  DecoderInputs decoder = {};
  // Only layers with an embedding read them.
  const Tensor* token_types = nullptr;
  // Only stacks of layers read it.
  WantedOutput wanted_output = {};
  Training training = {};
  Progress progress = {};
};

// Whether the call stores rows in a cache without attending to them. Then queries are not given.
inline bool fills_cache(const CacheInputs* cache) { return cache != nullptr && cache->fills; }

// One input of a call.
struct GivenInput {
  Input input;
  const char* name;
  const Tensor* tensor;  // null: a cache
};

// The inputs that a call has, in the order of Input. The checks of devices, data, shared memory and unread inputs loop over
// them.
class GivenInputs {
 public:
  explicit GivenInputs(const LayerInputs& inputs);

  const GivenInput* begin() const { return inputs_; }
  const GivenInput* end() const { return inputs_ + count_; }

 private:
  void add(Input input, const char* name, const Tensor* tensor);
  void add(Input input, const char* name, const CacheInputs* cache, Input of_sequences, const char* name_of_sequences);

  GivenInput inputs_[kNumInputs];
  size_t count_ = 0;
};

// heed_layer_tap: outputs of an attention in the called layer; null if not requested.
struct LayerTap {
  std::string_view child;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
};

// heed_layer_outputs as tensors; null if not requested.
struct LayerOutputs {
  const Tensor* output = nullptr;
  const Tensor* weights = nullptr;
  const Tensor* log_sum_exp = nullptr;
  std::span<const LayerTap> taps = {};
  // Gets what a backward of the call reads.
  Saved* saved = nullptr;
};

// A tensor that a call writes: its name in messages and its member.
struct OutputMember {
  const char* name;
  const Tensor* LayerOutputs::*tensor;
};
// All tensors of LayerOutputs but the taps.
inline constexpr OutputMember kLayerOutputs[] = {
    {OUTPUT("output"), &LayerOutputs::output},
    {OUTPUT("weights"), &LayerOutputs::weights},
    {OUTPUT("log_sum_exp"), &LayerOutputs::log_sum_exp},
};

// The words for a tensor of a tap in messages.
struct TapName {
  TapName(size_t tap, const char* member);
  char text[64];
};

// What a call is for, which decides what is required of its tensors.
enum class Purpose {
  Shapes,   // only sizes and dtypes are read
  Explain,  // lengths are also read if they have data
  Run,      // all tensors must have data, and outputs must be writable
};

// Fills in the defaults (keys: queries, values: keys). Checks that queries are given, and that queries, keys and values share
// one floating dtype.
LayerInputs complete_inputs(const LayerInputs& inputs);

// Checks that every tensor is on `device_name`, the device of `owner`. `owner`: the words for it in messages, such as "the
// layer".
void check_devices(const GivenInputs& inputs, const char* owner, const char* device_name);

// "an" before "encoder", "a" before "linear".
const char* article_of(const char* noun);

// Checks that queries are given and floating. `what`: as in check_rows.
void check_queries(const LayerInputs& inputs, const char* what = nullptr);

// Checks that rows are floating. `what`: the words for them, if they are not rows of any meaning.
void check_rows(const Tensor& rows, const char* name, const char* what = nullptr);

// For layers that read one array: checks that queries are given, floating and of rank 1 to 8.
void check_one_input(const LayerInputs& inputs);

// Checks one output against its expected shape, its dtype (that of the inputs, or F32) and the device of `owner`.
void check_output(const Tensor& tensor, const char* name, const Shape& expected, DType input_dtype, bool f32_only,
                  const char* owner, const char* device_name);

// For Purpose::Run: checks that all tensors have data, that outputs are writable, and that no output shares memory with
// another tensor of the call.
void check_memory(const LayerInputs& inputs, const LayerOutputs& outputs);

// Checks that no tensor shares memory with the workspace, which is written while inputs are still read.
void check_workspace_memory(const LayerInputs& inputs, const LayerOutputs& outputs, const void* workspace,
                            size_t num_bytes);

}  // namespace heed
