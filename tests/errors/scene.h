// SPDX-License-Identifier: Apache-2.0
// The objects that a case may need, all of them valid. Each case has its own scene, and changes one thing in it. The names
// are those of a typical caller, so that the calls in the documentation look like a caller's code.
#pragma once

#include <dlpack/dlpack.h>
#include <heed/heed.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "errors/list.h"
#include "support/platform/environment.h"

namespace heed::errors_test {

// A tensor of zeros in a file.
struct NamedDims {
  std::string name;
  std::vector<int64_t> dims;
  const char* dtype = "F32";
};

class Scene : public Stage, protected capi_test::BlockOptions {
 public:
  Scene();
  ~Scene() override;

 protected:
  void arrange(const Setting& setting) override;
  void begin() override;
  // Checks that no tensor was written, no out-parameter touched and no layer initialized or not any more.
  Refused end(heed_status status) override;

  // A tensor of this call, destroyed with the scene: of ones if it is F32, F16, BF16 or F64, otherwise of zeros.
  heed_tensor* tensor_of(heed_dtype dtype, const capi_test::Dims& sizes);
  heed_tensor* shape_of(heed_dtype dtype, const capi_test::Dims& sizes);
  template <typename T>
  heed_tensor* tensor_with(const capi_test::Dims& sizes, const std::vector<T>& elements) {
    return remember(call_.tensor_of<T>(sizes, elements));
  }
  // All elements are in one place.
  heed_tensor* repeated(heed_dtype dtype, const capi_test::Dims& sizes);
  heed_tensor* view_of(heed_tensor* whole, const capi_test::Dims& sizes, const capi_test::Dims& steps,
                       int64_t offset = 0);
  // Row-major, in the memory of `whole` from this byte on.
  heed_tensor* bytes_of(heed_tensor* whole, heed_dtype dtype, const capi_test::Dims& sizes, size_t first_byte = 0);
  heed_tensor* lengths(std::initializer_list<float> values);
  // Of I32.
  heed_tensor* numbers(std::initializer_list<int32_t> values);
  // Makes inputs and outputs those of a packed batch, with 5 queries and 9 keys in all and these offsets.
  void pack(std::initializer_list<int32_t> query_offsets, std::initializer_list<int32_t> key_offsets);
  heed_layer* layer_with(const heed_multi_head_attention_options& options);
  heed_tensor* snapshot(const char* name);
  // `layer`, `inputs` and `outputs` become those of this kind.
  void use(capi_test::Kind kind);
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
  // Make `gradients`, a set of those of `layer`, and `optimizer`.
  heed_gradients* use_gradients();
  heed_optimizer* use_optimizer();

  // Makes `cache`, and inputs those of a call that appends 3 rows to each of its sequences.
  void use_cache();
  // The same for a layer whose rows see `rows` rows, and a cache that keeps those.
  void use_window(int64_t rows);
  // Makes another one, for the encoder's rows of decoders with 2 layers, and `self_attention` what reads it.
  void use_memory_cache();
  // The rotary positions of whole heads of 4 elements, as a cache's file has them.
  const char* rotary =
      R"({"layout":"half","rotary_size":4,"rotary_offset":0,"base":10000,"attention_factor":1,"scaling":"none"})";
  // A file of one sequence with 2 rows of one layer, 2 key heads of 4 elements in F32, as heed_cache_save writes it, but for
  // these texts. The numbers are those of "rows" and, if there are any, of "layers".
  static const char* cache_file(const std::string& rope, std::initializer_list<int64_t> numbers,
                                const std::string& position_dtype, int32_t last_position,
                                std::initializer_list<int64_t> of_layers = {});

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
  // Writes a .safetensors file with these tensors. Returns its name.
  static const char* file_of(const std::vector<NamedDims>& tensors);
  // A folder with a config.json with this text, in which ' stands for ", and a model.safetensors with these tensors, unless
  // there are none.
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
  std::optional<capi_test::AttentionCall> call_of_kind_;
  std::optional<Reach> reach_;
  // What the call must not change.
  struct Written {
    const heed_tensor* tensor;
    std::vector<uint8_t> bytes;
  };
  std::vector<Written> written_;
  struct State {
    std::array<const void*, 17> handles;
    std::array<int32_t, 2> initialized;
    std::array<char, 64> text;
    std::array<float, 24> memory;
    size_t num_bytes;
    bool operator==(const State& other) const = default;
  };
  State state_;
  State state() const;
  // An out-parameter that is NULL points here during the call, which must not even set it to NULL.
  static inline char untouched;
  template <typename Change>
  void change_out_parameters(Change change) {
    change(new_context);
    change(new_tensor);
    change(new_product);
    change(new_layer);
    change(new_workspace);
    change(new_weights);
    change(new_cache);
    change(new_saved);
  }
  // The scene remembers what is in the tensor now.
  heed_tensor* remember(heed_tensor* made);
  void remember_tensors_of(const heed_layer_inputs& its_inputs, const heed_layer_outputs& its_outputs);
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
  static void release(void*, void*) { ADD_FAILURE() << "released"; }
  // Exports that memory as F32 of dims (2, 3, 4).
  DLManagedTensor managed{};
  DLManagedTensor* exported = nullptr;
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

  heed_gradients* gradients = nullptr;
  heed_optimizer* optimizer = nullptr;
  // Of a call of `layer`: the gradient by its output, and a tensor for that by its queries.
  heed_layer_gradients wanted_gradients = HEED_LAYER_GRADIENTS_INIT;

  // An initialized multi-head attention layer with these options, and a valid call of it.
  heed_layer* layer;
  heed_multi_head_attention_options options;
  heed_rope_options rope = capi_test::whole_heads();
  float two_factors[2] = {1, 2};
  // `rope` has this number of `two_factors`.
  void use_factors(int64_t count);
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

  // Options of the layers of a decoder, the second of which are its own.
  heed_multi_head_attention_options second_attention = causal;
  heed_decoder_layer_options second_layer = decoder_layer;
  const heed_decoder_layer_options* each_layer[2] = {&decoder_layer, &second_layer};
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
  heed_dropout_options dropout_options = capi_test::one_half();
  heed_additive_attention_options additive = capi_test::five_hiddens();
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
  heed_saved* new_saved = nullptr;
  heed_layer_outputs new_outputs = HEED_LAYER_OUTPUTS_INIT;
  char text[64] = "#";
  size_t num_bytes = 0x5EED;
};

}  // namespace heed::errors_test
