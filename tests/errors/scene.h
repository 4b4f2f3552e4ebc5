// SPDX-License-Identifier: Apache-2.0
// The objects that a provoking call may need, all of them valid. Each call has its own scene, and changes one thing in
// it. The names are those of a typical caller, so that the calls in the documentation look like a caller's code.
#pragma once

#include <dlpack/dlpack.h>
#include <heed/heed.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "support/platform/environment.h"

namespace heed::errors_test {

class Scene : protected capi_test::BlockOptions {
 public:
  Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  ~Scene();

 protected:
  // A tensor of this call, destroyed with the scene.
  heed_tensor* tensor_of(heed_dtype dtype, std::initializer_list<int64_t> sizes);
  heed_tensor* shape_of(heed_dtype dtype, std::initializer_list<int64_t> sizes);
  heed_tensor* lengths(std::initializer_list<float> values);
  // Of I32.
  heed_tensor* numbers(std::initializer_list<int32_t> values);
  // Makes inputs and outputs those of a packed batch, with 5 queries and 9 keys in all and these offsets.
  void pack(std::initializer_list<int32_t> query_offsets, std::initializer_list<int32_t> key_offsets);
  heed_layer* layer_with(const heed_multi_head_attention_options& options);
  heed_tensor* snapshot(const char* name);
  // `layer`, `inputs` and `outputs` become those of this kind.
  void use_encoder_layer();
  void use_encoder();
  void use_decoder();
  void use_transformer();
  void use_embedding();
  void use_images();
  void use_audio();
  void use_tap();
  // A whole model of a family with 40 ids and 32 positions.
  void use_model(const char* family);
  heed_workspace* workspace_of(size_t size);

  // Makes `cache`, and inputs those of a call that appends 3 rows to each of its sequences.
  void use_cache();
  // Makes another one, for the encoder's rows of decoders with 2 layers, and `self_attention` what reads it.
  void use_memory_cache();
  // The rotary positions of whole heads of 4 elements, as a cache's file has them.
  const char* rotary =
      R"({"layout":"half","rotary_size":4,"rotary_offset":0,"base":10000,"attention_factor":1,"scaling":"none"})";
  // A file of one sequence with 2 rows of one layer, 2 key heads of 4 elements in F32, as heed_cache_save writes it, but for
  // these texts. The numbers are those of "rows".
  static const char* cache_file(const std::string& rope, std::initializer_list<int64_t> numbers,
                                const std::string& position_dtype, int32_t last_position);

  // Writes a .safetensors file with this header, in which ' stands for ", and data_size zeros. Returns its name.
  static const char* file(const std::string& header, size_t data_size);
  // A .safetensors file with empty tensors of these names.
  static const char* names(std::initializer_list<const char*> all);
  // The same in a folder of its own, beside a config.json with this text, in which ' stands for ", too.
  static const char* model(const std::string& config, const std::string& header, size_t data_size);
  // The same with the four projections of heed's layers, (8, 8).
  static const char* model(const std::string& config);
  // The same of a Phi-3 with both lists of rotary factors.
  static const char* model_of_phi3();
  // Saves `layer` in that folder, and an empty tensor `more` if it has a name.
  const char* saved_model(const std::string& config, const std::string& more = "") const;
  // A folder with a config.json with this text, in which ' stands for ", and a model.safetensors with these tensors of zeros
  // in F32, unless there are none.
  struct NamedDims {
    const char* name;
    std::vector<int64_t> dims;
  };
  static const char* folder(const std::string& config, std::initializer_list<NamedDims> tensors);
  // "0,0,0" with this number of zeros.
  static std::string many_zeros(size_t count);
  // Writes a .npy file with this header and data_size zeros.
  static const char* npy(const std::string& header, size_t data_size);
  // Writes a file with this name and these bytes.
  static const char* bytes(const char* name, const std::string& contents);

 private:
  const Variable isa_{"HEED_ISA"};
  capi_test::AttentionCall call_;
  capi_test::AttentionCall dot_product_call_;
  void use_layer(capi_test::Layer made);
  // The rows of a stack, or ids if it has an embedding.
  heed_tensor* read_by(const heed_embedding_options* ids_of, int64_t num_rows);

  std::vector<capi_test::Layer> layers_;
  std::vector<capi_test::Workspace> workspaces_;

 protected:
  heed_context* context;
  heed_context_options context_options = HEED_CONTEXT_OPTIONS_INIT;
  heed_allocator allocator = HEED_ALLOCATOR_INIT;
  heed_executor executor = HEED_EXECUTOR_INIT;

  // F32 of dims (2, 3, 4).
  heed_tensor* tensor;
  heed_tensor* shape_only;
  int64_t dims[9] = {2, 3, 4, 1, 1, 1, 1, 1, 1};
  int64_t strides[9] = {12, 4, 1, 1, 1, 1, 1, 1, 1};
  int32_t axes[3] = {0, 1, 2};
  alignas(64) float memory[24] = {};
  static void release(void*, void*) {}
  // Exports that memory as F32 of dims (2, 3, 4).
  DLManagedTensor managed{};
  // For a heed_allocator. For the elements of tensors give_none returns NULL, and give_odd the misaligned address
  // 0x1001.
  static void* give_none(void*, size_t size, size_t alignment);
  static void* give_odd(void*, size_t size, size_t alignment);
  static void take(void*, void* given, size_t size);

  // For a heed_executor with 2 threads.
  using Run = void(void* task, int64_t item);
  static void run_none(void*, int64_t num_items, Run* run, void* task);
  static void run_one_twice(void*, int64_t num_items, Run* run, void* task);
  static void run_one_more(void*, int64_t num_items, Run* run, void* task);
  static void throw_exception(void*, int64_t num_items, Run* run, void* task);
  // An F32 tensor of dims (64, 1000), in a context whose executor has this parallel_for.
  heed_tensor* result_by(void (*parallel_for)(void*, int64_t, Run*, void*));

  heed_progress progress = HEED_PROGRESS_INIT;
  // Reports that end a call.
  static int32_t stop(void*, int64_t, int64_t) { return 1; }
  static int32_t throw_number(void*, int64_t, int64_t) { throw 1; }

  // Outputs (2, 3, 4) and log_sum_exps (2, 3) of two parts of an attention, in F32, and a tensor for the merged output.
  const heed_tensor* part_outputs[2];
  const heed_tensor* part_log_sum_exps[2];
  heed_tensor* merged;

  // An initialized multi-head attention layer with these options, and a valid call of it.
  heed_layer* layer;
  heed_multi_head_attention_options options;
  heed_rope_options rope = capi_test::whole_heads();
  heed_layer_inputs inputs;
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_layer_outputs outputs;
  heed_layer_tap tap = HEED_LAYER_TAP_INIT;
  const heed_layer_tap* tap_list[1] = {&tap};
  // The same for dot-product attention of rank 4.
  heed_layer* dot_product;
  heed_dot_product_attention_options dot_product_options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  heed_layer_inputs heads;
  heed_layer_outputs head_outputs;

  // Of a decoder.
  heed_decoder_inputs self_attention = HEED_DECODER_INPUTS_INIT;
  heed_embedding_options embedding = capi_test::ten_rows();
  heed_patch_embedding_options patches = capi_test::six_pixels();
  heed_audio_embedding_options audio = capi_test::four_mels();

  // A cache for the layer with 2 sequences of at most 8 rows, and a call with it.
  heed_cache_options cache_options = HEED_CACHE_OPTIONS_INIT;
  heed_cache* cache = nullptr;
  heed_cache_inputs with_cache = HEED_CACHE_INPUTS_INIT;
  heed_cache* memory_cache = nullptr;
  heed_cache_inputs with_memory = HEED_CACHE_INPUTS_INIT;
  int64_t list[4] = {};

  heed_linear_options linear_options = capi_test::five_outputs();
  // Queries of 6 elements.
  heed_general_attention_options general = capi_test::six_in_queries();
  // Ten learned positions of 6 elements.
  heed_positional_encoding_options encoding = capi_test::ten_positions();

  // Loads four projections of heed's layers, with options->accept set to `accept`.
  heed_status load_accepting(const char* accept);

  // Out-parameters. Handles that calls store here are destroyed with the scene.
  heed_context* new_context = nullptr;
  heed_tensor* new_tensor = nullptr;
  heed_tensor* new_product = nullptr;
  heed_layer* new_layer = nullptr;
  heed_workspace* new_workspace = nullptr;
  heed_weights* new_weights = nullptr;
  heed_cache* new_cache = nullptr;
  heed_layer_outputs new_outputs = HEED_LAYER_OUTPUTS_INIT;
  char text[64] = "";
  size_t num_bytes = 0;
};

}  // namespace heed::errors_test
