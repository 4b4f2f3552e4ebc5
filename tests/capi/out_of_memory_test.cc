// SPDX-License-Identifier: Apache-2.0
// Every allocation of every function fails once, alone and with all later ones: the call reports it, leaks nothing, and
// leaves the objects unchanged.
#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/dlpack_lender.h"
#include "capi/support/failing_allocations.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/allocation_hook.h"

namespace heed::capi_test {
namespace {

struct CreateContext final : Scenario {
  heed_status run() override {
    heed_context* context = nullptr;
    const heed_status status = heed_context_create(nullptr, &context);
    EXPECT_EQ(context != nullptr, status == HEED_OK);
    heed_context_destroy(context);
    return status;
  }
};

template <int64_t rows, int64_t columns>
struct CreateTensor final : Scenario {
  Context context = make_context();
  heed_status run() override {
    const int64_t dims[] = {rows, columns};
    heed_tensor* tensor = nullptr;
    const heed_status status = heed_tensor_create(context.get(), HEED_F32, 2, dims, &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    heed_tensor_destroy(tensor);
    return status;
  }
};

struct CreateTensorFrom final : Scenario {
  Context context = make_context();
  heed_status run() override {
    const int64_t dims[] = {2, 3};
    const float data[6] = {};
    heed_tensor* tensor = nullptr;
    const heed_status status = heed_tensor_create_from(context.get(), HEED_F32, 2, dims, data, &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    heed_tensor_destroy(tensor);
    return status;
  }
};

struct WrapTensor final : Scenario {
  Context context = make_context();
  float memory[6] = {};
  int num_releases = 0;
  heed_status run() override {
    const int64_t dims[] = {2, 3};
    const auto release = [](void* user, void*) { ++static_cast<WrapTensor*>(user)->num_releases; };
    heed_tensor* tensor = nullptr;
    const heed_status status =
        heed_tensor_wrap(context.get(), HEED_F32, 2, dims, nullptr, memory, release, this, &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    EXPECT_EQ(num_releases, 0);
    heed_tensor_destroy(tensor);
    EXPECT_EQ(num_releases, status == HEED_OK ? 1 : 0);
    num_releases = 0;
    return status;
  }
};

struct MakeViews final : Scenario {
  Context context = make_context();
  Tensor tensor = make_tensor(context.get(), {2, 3});
  heed_status run() override {
    const int64_t dims[] = {6};
    heed_tensor* view = nullptr;
    const auto is_made = [&view](heed_status status) {
      EXPECT_EQ(view != nullptr, status == HEED_OK);
      heed_tensor_destroy(view);
      view = nullptr;
      return status;
    };
    heed_status status = is_made(heed_tensor_view(tensor.get(), 1, dims, nullptr, 0, &view));
    if (status == HEED_OK) status = is_made(heed_tensor_reshape(tensor.get(), 1, dims, &view));
    if (status == HEED_OK) status = is_made(heed_tensor_transpose(tensor.get(), nullptr, &view));
    if (status == HEED_OK) status = is_made(heed_tensor_slice(tensor.get(), 0, 0, 1, &view));
    return status;
  }
};

struct FromDlpack final : Scenario {
  Context context = make_context();
  DlpackLender lender{{4, 6}};
  heed_status run() override {
    heed_tensor* tensor = nullptr;
    const heed_status status = heed_tensor_from_dlpack(context.get(), &lender.managed, &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    EXPECT_EQ(lender.num_deletions, 0);
    heed_tensor_destroy(tensor);
    EXPECT_EQ(lender.num_deletions, status == HEED_OK ? 1 : 0);
    lender.num_deletions = 0;
    return status;
  }
};

heed_status export_once(heed_tensor* tensor) {
  DLManagedTensor* managed = nullptr;
  const heed_status status = heed_tensor_to_dlpack(tensor, &managed);
  EXPECT_EQ(managed != nullptr, status == HEED_OK);
  if (managed != nullptr) managed->deleter(managed);
  return status;
}

struct ToDlpack final : Scenario {
  Context context = make_context();
  Tensor tensor = make_tensor(context.get(), {2, 3});
  heed_status run() override { return export_once(tensor.get()); }
};

// Makes a layer, and destroys it.
template <typename Options>
heed_status create_once(const Context& context, const Options* options,
                        heed_status (*create)(heed_context*, const Options*, heed_layer**)) {
  heed_layer* layer = nullptr;
  const heed_status status = create(context.get(), options, &layer);
  EXPECT_EQ(layer != nullptr, status == HEED_OK);
  heed_layer_destroy(layer);
  return status;
}

struct CreateLayers final : Scenario {
  Context context = make_context();
  heed_status run() override {
    heed_multi_head_attention_options biased = two_heads();
    biased.biases = HEED_BIAS_ALL;
    const heed_additive_attention_options additive = five_hiddens();
    const heed_general_attention_options general = six_in_queries();
    const heed_linear_options linear = five_outputs();
    constexpr float kFactors[] = {1, 2};
    heed_rope_options rope = whole_heads();
    rope.scaling = HEED_ROPE_SCALING_FACTORS;
    rope.num_factors = 2;
    rope.factors = kFactors;
    rope.attention_factor = 1;
    const heed_multi_head_attention_options rotary = rotary_heads(rope);
    heed_positional_encoding_options positions = ten_positions();
    positions.kind = HEED_POSITIONS_SINUSOIDAL;
    heed_status status = create_once(context, &biased, heed_multi_head_attention_create);
    if (status == HEED_OK)
      status = create_once<heed_dot_product_attention_options>(context, nullptr, heed_dot_product_attention_create);
    if (status == HEED_OK) status = create_once(context, &additive, heed_additive_attention_create);
    if (status == HEED_OK) status = create_once(context, &general, heed_general_attention_create);
    if (status == HEED_OK) status = create_once(context, &linear, heed_linear_create);
    if (status == HEED_OK) status = create_once<heed_dropout_options>(context, nullptr, heed_dropout_create);
    if (status == HEED_OK) status = create_once(context, &rotary, heed_multi_head_attention_create);
    if (status == HEED_OK) status = create_once(context, &positions, heed_positional_encoding_create);
    return status;
  }
};

// The parts of layers that are made of others.
struct CreateParts final : Scenario {
  Context context = make_context();
  BlockOptions blocks;
  heed_embedding_options rows = ten_rows();
  heed_patch_embedding_options pixels = six_pixels();
  heed_audio_embedding_options mels = four_mels();
  heed_status run() override {
    heed_status status = create_once(context, &blocks.norm, heed_layer_norm_create);
    if (status == HEED_OK) status = create_once(context, &blocks.feed_forward, heed_feed_forward_create);
    if (status == HEED_OK) status = create_once(context, &rows, heed_embedding_create);
    if (status == HEED_OK) status = create_once(context, &pixels, heed_patch_embedding_create);
    if (status == HEED_OK) status = create_once(context, &mels, heed_audio_embedding_create);
    if (status == HEED_OK) status = create_once(context, &blocks.encoder_layer, heed_encoder_layer_create);
    if (status == HEED_OK) status = create_once(context, &blocks.decoder_layer, heed_decoder_layer_create);
    return status;
  }
};

// Layers that are made of others, and one of these by its name.
struct CreateBlocks final : Scenario {
  Context context = make_context();
  BlockOptions blocks;
  heed_status run() override {
    heed_status status = create_once(context, &blocks.encoder, heed_encoder_create);
    if (status != HEED_OK) return status;
    heed_layer* decoder = nullptr;
    heed_layer* child = nullptr;
    status = heed_decoder_create(context.get(), &blocks.decoder, &decoder);
    EXPECT_EQ(decoder != nullptr, status == HEED_OK);
    if (status == HEED_OK) status = heed_layer_child(decoder, "layers.1.cross_attention", &child);
    EXPECT_EQ(child != nullptr, status == HEED_OK);
    heed_layer_destroy(decoder);
    heed_layer_destroy(child);
    if (status != HEED_OK) return status;
    heed_embedding_options embedding = ten_rows();
    embedding.embedding_size = 0;
    heed_output_options tied = HEED_OUTPUT_OPTIONS_INIT;
    tied.tied = 1;
    blocks.transformer.embedding = &embedding;
    blocks.transformer.output = &tied;
    return create_once(context, &blocks.transformer, heed_transformer_create);
  }
};

struct CreateWorkspaces final : Scenario {
  Context context = make_context();
  char memory[64] = {};
  heed_status run() override {
    heed_workspace* workspace = nullptr;
    heed_status status = heed_workspace_create(context.get(), 64, &workspace);
    EXPECT_EQ(workspace != nullptr, status == HEED_OK);
    heed_workspace_destroy(workspace);
    workspace = nullptr;
    if (status != HEED_OK) return status;
    status = heed_workspace_wrap(context.get(), memory, sizeof memory, &workspace);
    EXPECT_EQ(workspace != nullptr, status == HEED_OK);
    heed_workspace_destroy(workspace);
    return status;
  }
};

// Scenarios with a layer check that its results are unchanged.
struct OfALayer : Scenario {
  OfALayer() {
    check(call.forward());
    before = call.read_outputs();
  }
  void expect_unchanged() override {
    check(heed_tensor_fill(call.outputs.output, 0.0));
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(call.read_outputs(), before) << "the layer changed";
  }
  AttentionCall call{Kind::MultiHead};
  std::vector<uint8_t> before;
};

struct Initialize final : OfALayer {
  heed_status run() override { return heed_layer_initialize(call.layer.get(), &call.inputs, 99); }
};

struct InitializeInF16 final : OfALayer {
  InitializeInF16() {
    inputs.queries = call.shape_only({2, 3, 6}, HEED_F16);
    inputs.keys = call.shape_only({2, 5, 7}, HEED_F16);
    inputs.values = call.shape_only({2, 5, 9}, HEED_F16);
  }
  heed_status run() override { return heed_layer_initialize(call.layer.get(), &inputs, 99); }
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
};

// With the seed of its previous initialization.
template <Kind kind>
struct InitializeAgain final : Scenario {
  heed_status run() override { return heed_layer_initialize(call.layer.get(), &call.inputs, 4); }
  void expect_unchanged() override {
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(call.read_outputs(), before) << "the layer changed";
  }
  InitializeAgain() {
    check(call.forward());
    before = call.read_outputs();
  }
  AttentionCall call{kind};
  std::vector<uint8_t> before;
};

struct SetParameter final : OfALayer {
  heed_status run() override { return heed_layer_set_parameter(call.layer.get(), "W_q.weight", value); }
  heed_tensor* value = call.random({8, 6}, 5, HEED_F16);
};

template <auto get>
struct GetParameter final : OfALayer {
  heed_status run() override {
    heed_tensor* made = nullptr;
    const heed_status status = get(call.layer.get(), "W_q.weight", &made);
    EXPECT_EQ(made != nullptr, status == HEED_OK);
    heed_tensor_destroy(made);
    return status;
  }
};

struct SnapshotToDlpack final : OfALayer {
  heed_status run() override { return export_once(weight.get()); }
  Tensor weight = snapshot(call.layer.get(), "W_q.weight");
};

template <Kind kind>
struct ForwardWithoutWorkspace final : Scenario {
  heed_status run() override { return call.forward(); }
  void expect_unchanged() override { EXPECT_EQ(call.read_outputs(), before) << "an output was written"; }
  AttentionCall call{kind};
  std::vector<uint8_t> before = call.read_outputs();
};

struct OneCallAttention final : Scenario {
  heed_status run() override {
    return heed_scaled_dot_product_attention(call.context.get(), nullptr, &call.inputs, &call.outputs);
  }
  void expect_unchanged() override { EXPECT_EQ(call.read_outputs(), before) << "an output was written"; }
  AttentionCall call{Kind::DotProductRank4};
  std::vector<uint8_t> before = call.read_outputs();
};

// The pool has a block that is too small.
struct ForwardThatGrowsThePool final : OfALayer {
  heed_status run() override { return heed_layer_forward(call.layer.get(), &large.inputs, nullptr, &large.outputs); }
  AttentionCall large{Kind::MultiHead, {.batch = 3, .num_queries = 20, .num_keys = 30}};
};

// Each operation in a new context with an empty pool.
template <typename Operation>
struct Operate final : Scenario {
  heed_status run() override { return Operation::run(a.get(), result.get()); }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  Tensor a = make_random(context.get(), {2, 3, 3}, 1);
  Tensor result = make_tensor(context.get(), {2, 3, 3});
  std::vector<uint8_t> before = read_bytes(result.get());
};

struct Matmul {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_matmul(a, a, result); }
};

struct Softmax {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_softmax(a, 1, result); }
};

struct MaskedSoftmax {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_masked_softmax(a, nullptr, result); }
};

struct Activate {
  static heed_status run(const heed_tensor* a, heed_tensor* result) {
    return heed_activation(a, HEED_ACTIVATION_SILU, result);
  }
};

struct Add {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_add(a, a, result); }
};

struct LogSoftmax {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_log_softmax(a, 1, result); }
};

struct Sort {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_sort(a, 1, 0, result, nullptr); }
};

struct CumulativeSum {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_cumulative_sum(a, 1, result); }
};

struct Concatenate {
  static heed_status run(const heed_tensor* a, heed_tensor* result) { return heed_concatenate(&a, 1, 0, result); }
};

struct SumOfAll final : Scenario {
  heed_status run() override { return heed_reduce(HEED_REDUCE_SUM, a.get(), 0, result.get()); }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  // More elements than are summed without partial results.
  Tensor a = make_random(context.get(), {40000}, 1);
  Tensor result = make_tensor(context.get(), {});
  std::vector<uint8_t> before = read_bytes(result.get());
};

struct Take final : Scenario {
  heed_status run() override { return heed_take(a.get(), indices.get(), 0, result.get()); }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  Tensor a = make_random(context.get(), {4, 3}, 1);
  Tensor indices = make_tensor_of<int32_t>(context.get(), {2}, {3, 0});
  Tensor result = make_tensor(context.get(), {2, 3});
  std::vector<uint8_t> before = read_bytes(result.get());
};

struct WideProduct final : Scenario {
  heed_status run() override { return heed_matmul(a.get(), b.get(), result.get()); }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  Tensor a = make_tensor_of<double>(context.get(), {1, 2}, {3, 4});
  Tensor b = make_tensor_of<double>(context.get(), {2, 1}, {5, 6});
  Tensor result = make_tensor(context.get(), {1, 1}, HEED_F64);
  std::vector<uint8_t> before = read_bytes(result.get());
};

struct Rotation final : Scenario {
  heed_status run() override {
    return heed_rotary_embedding(a.get(), table.get(), table.get(), positions.get(), HEED_ROPE_HALF, result.get());
  }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  Tensor a = make_random(context.get(), {2, 4}, 1);
  Tensor table = make_random(context.get(), {4, 2}, 2);
  Tensor positions = make_tensor_of<int32_t>(context.get(), {2}, {3, 0});
  Tensor result = make_tensor(context.get(), {2, 4});
  std::vector<uint8_t> before = read_bytes(result.get());
};

struct Merge final : Scenario {
  heed_status run() override {
    const heed_tensor* const outputs[] = {a.get(), a.get()};
    const heed_tensor* const log_sum_exps[] = {rows.get(), rows.get()};
    return heed_attention_merge(outputs, log_sum_exps, 2, nullptr, result.get(), nullptr);
  }
  void expect_unchanged() override { EXPECT_EQ(read_bytes(result.get()), before) << "the result was written"; }
  Context context = make_context();
  Tensor a = make_random(context.get(), {2, 3, 3}, 1);
  Tensor rows = make_random(context.get(), {2, 3}, 2);
  Tensor result = make_tensor(context.get(), {2, 3, 3});
  std::vector<uint8_t> before = read_bytes(result.get());
};

// Messages with shapes allocate strings.
struct RefuseAProduct final : Scenario {
  heed_status run() override {
    const heed_status status = heed_matmul(a.get(), b.get(), result.get());
    return status == HEED_ERROR_INVALID_ARGUMENT ? HEED_OK : status;
  }
  bool can_do_without() const override { return true; }
  Context context = make_context();
  Tensor a = make_tensor(context.get(), {1, 1, 1, 1, 1, 2, 3});
  Tensor b = make_tensor(context.get(), {1, 1, 1, 1, 1, 4, 5});
  Tensor result = make_tensor(context.get(), {2, 5});
};

struct CreateOutputs final : OfALayer {
  heed_status run() override {
    heed_layer_outputs made = HEED_LAYER_OUTPUTS_INIT;
    const heed_status status = heed_layer_create_outputs(call.layer.get(), &call.inputs, 7, &made);
    for (heed_tensor* tensor : {made.output, made.weights, made.log_sum_exp}) {
      EXPECT_EQ(tensor != nullptr, status == HEED_OK);
      heed_tensor_destroy(tensor);
    }
    return status;
  }
};

struct DescribeAndExplain final : OfALayer {
  heed_status run() override {
    OutParameters out;
    OutParameters of_tensor;
    heed_status status =
        heed_tensor_to_text(call.inputs.queries, of_tensor.text.data(), of_tensor.text.size(), &of_tensor.num_bytes);
    EXPECT_EQ(of_tensor == OutParameters(), status != HEED_OK);
    if (status != HEED_OK) return status;
    status = heed_context_describe(call.context.get(), out.text.data(), out.text.size(), &out.num_bytes);
    if (status != HEED_OK) {
      EXPECT_TRUE(out == OutParameters());
      return status;
    }
    OutParameters explained;
    status = heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, explained.text.data(),
                                explained.text.size(), &explained.num_bytes);
    EXPECT_EQ(explained == OutParameters(), status != HEED_OK);
    if (status != HEED_OK) return status;
    OutParameters of_options;
    status =
        heed_layer_options(call.layer.get(), of_options.text.data(), of_options.text.size(), &of_options.num_bytes);
    EXPECT_EQ(of_options == OutParameters(), status != HEED_OK);
    return status;
  }
};

struct OfAFile : OfALayer {
  OfAFile() { check(heed_layer_save(other.layer.get(), path.c_str())); }
  AttentionCall other{Kind::MultiHead, {}, HEED_F16};  // so that loading must convert
  TemporaryFolder folder;
  std::string path = folder.path("layer.safetensors");
};

struct Load final : OfAFile {
  heed_status run() override { return heed_layer_load(call.layer.get(), path.c_str(), ""); }
};

// Loads a model in two files.
struct LoadByTheIndex final : OfALayer {
  LoadByTheIndex() { write_cut_model(folder, parameters_of(other.layer.get()), 2); }
  heed_status run() override { return heed_layer_load(call.layer.get(), path.c_str(), ""); }
  AttentionCall other{Kind::MultiHead};
  TemporaryFolder folder;
  std::string path = folder.path(part_name(1, 2));
};

struct OpenWeights final : OfALayer {
  OpenWeights() { write_cut_model(folder, parameters_of(call.layer.get()), 2); }
  heed_status run() override {
    heed_weights* weights = nullptr;
    const heed_status status = heed_weights_open(call.context.get(), path.c_str(), &weights);
    EXPECT_EQ(weights != nullptr, status == HEED_OK);
    heed_weights_destroy(weights);
    return status;
  }
  TemporaryFolder folder;
  std::string path = folder.path(kIndexName);
};

struct OpenWeightsFromMemory final : OfAFile {
  heed_status run() override {
    heed_weights* weights = nullptr;
    const heed_status status = heed_weights_open_memory(call.context.get(), file.data(), file.size(), &weights);
    EXPECT_EQ(weights != nullptr, status == HEED_OK);
    heed_weights_destroy(weights);
    return status;
  }
  std::string file = read_file(path);
};

struct LoadWeights final : OfAFile {
  LoadWeights() { check(heed_weights_open(call.context.get(), path.c_str(), &weights)); }
  ~LoadWeights() override { heed_weights_destroy(weights); }
  heed_status run() override { return heed_layer_load_weights(call.layer.get(), weights, "", nullptr); }
  heed_weights* weights = nullptr;
};

struct LoadIntoAnEmptyLayer final : OfAFile {
  LoadIntoAnEmptyLayer() { call.replace_layer(two_heads()); }
  heed_status run() override { return heed_layer_load(call.layer.get(), path.c_str(), nullptr); }
  void expect_unchanged() override {
    heed_tensor* weight = nullptr;
    EXPECT_EQ(heed_layer_parameter(call.layer.get(), "W_q.weight", &weight), HEED_ERROR_NOT_INITIALIZED);
  }
};

struct LoadTensor final : OfAFile {
  heed_status run() override {
    heed_tensor* tensor = nullptr;
    const heed_status status = heed_tensor_load_safetensors(call.context.get(), path.c_str(), "W_o.weight", &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    heed_tensor_destroy(tensor);
    return status;
  }
};

// An array in Fortran order that is larger than the buffer.
struct LoadNpy final : Scenario {
  LoadNpy() {
    std::string bytes("\x93NUMPY\1\0\x76\0", 10);
    bytes += "{'descr': '<f4', 'fortran_order': True, 'shape': (300, 301), }";
    bytes.resize(128, ' ');
    path = folder.write("array.npy", bytes + std::string(size_t{4} * 300 * 301, '\0'));
  }
  heed_status run() override {
    heed_tensor* tensor = nullptr;
    const heed_status status = heed_tensor_load_npy(context.get(), path.c_str(), &tensor);
    EXPECT_EQ(tensor != nullptr, status == HEED_OK);
    heed_tensor_destroy(tensor);
    return status;
  }
  Context context = make_context();
  TemporaryFolder folder;
  std::string path;
};

struct SaveNpy final : Scenario {
  heed_status run() override { return heed_tensor_save_npy(turned.get(), path.c_str()); }
  void expect_unchanged() override {
    EXPECT_EQ(read_file(path), "old contents");
    EXPECT_EQ(folder.file_names(), std::vector<std::string>{"array.npy"});
  }
  // As in Save.
  bool can_do_without() const override { return true; }
  Context context = make_context();
  Tensor tensor = make_tensor(context.get(), {2, 3});
  Tensor turned = make_transposed(tensor.get(), {1, 0});
  TemporaryFolder folder;
  std::string path = folder.write("array.npy", "old contents");
};

struct Save final : OfAFile {
  heed_status run() override { return heed_layer_save(call.layer.get(), path.c_str()); }
  void expect_unchanged() override {
    EXPECT_TRUE(read_file(path) == old_file) << "the file was replaced";
    EXPECT_EQ(folder.file_names(), std::vector<std::string>{"layer.safetensors"});
    OfAFile::expect_unchanged();
  }
  // If the path's links cannot be resolved, it is used as it is.
  bool can_do_without() const override { return true; }
  std::string old_file = read_file(path);
};

struct LoadFromMemory final : OfAFile {
  heed_status run() override { return heed_layer_load_memory(call.layer.get(), file.data(), file.size(), ""); }
  std::string file = read_file(path);
};

struct SaveToMemory final : OfAFile {
  heed_status run() override {
    OutParameters out;
    const heed_status status = heed_layer_save_memory(other.layer.get(), memory.data(), memory.size(), &out.num_bytes);
    EXPECT_EQ(out == OutParameters(), status != HEED_OK);
    return status;
  }
  void expect_unchanged() override { EXPECT_TRUE(memory == unwritten) << "the memory was partly written"; }
  // Without memory the C++ library sorts without a buffer.
  bool can_do_without() const override { return true; }
  const std::string unwritten = std::string(read_file(path).size(), '~');
  std::string memory = unwritten;
};

// Weights in the layouts of other frameworks: tensors are split, transposed and converted.
struct LoadAFrameworksFile : Scenario {
  LoadAFrameworksFile(const char* file, const char* given_prefix, heed_multi_head_attention_options options)
      : path(std::string(HEED_SOURCE_DIR "/tests/golden/data/weights/") + file + ".safetensors"), prefix(given_prefix) {
    options.num_hiddens = 12;
    options.biases = HEED_BIAS_ALL;
    layer = make_multi_head(context.get(), options);
  }
  heed_status run() override { return heed_layer_load(layer.get(), path.c_str(), prefix); }
  void expect_unchanged() override { EXPECT_EQ(heed_layer_is_initialized(layer.get()), 0); }
  std::string path;
  const char* prefix;
  Context context = make_context();
  Layer layer;
};

heed_multi_head_attention_options with_heads(int64_t num_heads, int64_t num_kv_heads, int64_t head_size) {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_heads = num_heads;
  options.num_kv_heads = num_kv_heads;
  options.head_size = head_size;
  return options;
}

struct LoadPyTorch final : LoadAFrameworksFile {
  LoadPyTorch() : LoadAFrameworksFile("pytorch_f64", nullptr, with_heads(3, 0, 0)) {}
};

struct LoadKeras final : LoadAFrameworksFile {
  LoadKeras() : LoadAFrameworksFile("keras_grouped", "attention", with_heads(4, 2, 3)) {}
};

// Messages contain text from the file; building them must not fail in another way.
struct RefuseAFile final : OfAFile {
  heed_status run() override {
    const heed_status status = heed_layer_load(call.layer.get(), path.c_str(), "none");
    return status == HEED_ERROR_NOT_FOUND ? HEED_OK : status;
  }
  // The C++ library keeps an emergency pool for exceptions.
  bool can_do_without() const override { return true; }
};

TEST(OutOfMemory, InContexts) { expect_recovery("create", scenario<CreateContext>()); }

TEST(OutOfMemory, InTensors) {
  expect_recovery("create", scenario<CreateTensor<2, 3>>());
  // So large that it is mapped, and not on the C library's heap.
  expect_recovery("create a large one", scenario<CreateTensor<1000, 1000>>());
  expect_recovery("create from", scenario<CreateTensorFrom>());
  expect_recovery("wrap", scenario<WrapTensor>());
  expect_recovery("views", scenario<MakeViews>());
  expect_recovery("from DLPack", scenario<FromDlpack>());
  expect_recovery("to DLPack", scenario<ToDlpack>());
}

// Before a call fails, freed blocks that are kept for reuse are released.
TEST(OutOfMemory, IsReportedOnlyAfterKeptBlocksAreReleased) {
  const Context context = make_context();
  const Tensor large = make_tensor(context.get(), {1000, 1000});
  make_tensor(context.get(), {500, 500}).reset();
  heed_tensor* made = nullptr;
  const int64_t dims[] = {2000, 1000};
  const int64_t live = num_live_blocks();
  heed_status status = HEED_OK;
  {
    // The first allocation is the object that owns the elements, the second the elements.
    const FailAllocations fail(2, false);
    status = heed_tensor_create(context.get(), HEED_F32, 2, dims, &made);
    EXPECT_TRUE(fail.happened());
  }
  EXPECT_EQ(status, HEED_OK) << heed_last_error();
  EXPECT_LE(num_live_blocks(), live + 2) << "the kept block was not released";
  heed_tensor_destroy(made);
}

TEST(OutOfMemory, InLayers) {
  expect_recovery("create", scenario<CreateLayers>());
  expect_recovery("initialize", scenario<Initialize>());
  expect_recovery("initialize in F16", scenario<InitializeInF16>());
  expect_recovery("initialize additive attention", scenario<InitializeAgain<Kind::Additive>>());
  expect_recovery("initialize general attention", scenario<InitializeAgain<Kind::General>>());
  expect_recovery("initialize a linear layer", scenario<InitializeAgain<Kind::Linear>>());
  expect_recovery("initialize a layer with rotary positions", scenario<InitializeAgain<Kind::Rotary>>());
  expect_recovery("initialize a positional encoding", scenario<InitializeAgain<Kind::Positions>>());
  expect_recovery("create parts of layers", scenario<CreateParts>());
  expect_recovery("create layers that are made of others", scenario<CreateBlocks>());
  for (const auto& [what, make] : {std::pair{"a norm", scenario<InitializeAgain<Kind::Norm>>()},
                                   {"a feed-forward network", scenario<InitializeAgain<Kind::FeedForward>>()},
                                   {"an embedding", scenario<InitializeAgain<Kind::Embedding>>()},
                                   {"an encoder layer", scenario<InitializeAgain<Kind::EncoderLayer>>()}})
    expect_recovery(what, make);
  expect_recovery("set_parameter", scenario<SetParameter>());
  expect_recovery("parameter", scenario<GetParameter<heed_layer_parameter>>());
  expect_recovery("parameter's shape", scenario<GetParameter<heed_layer_parameter_shape>>());
  expect_recovery("parameter to DLPack", scenario<SnapshotToDlpack>());
}

TEST(OutOfMemory, InCalls) {
  expect_recovery("forward", scenario<ForwardWithoutWorkspace<Kind::MultiHead>>());
  expect_recovery("forward of a linear layer", scenario<ForwardWithoutWorkspace<Kind::Linear>>());
  expect_recovery("forward of dropout", scenario<ForwardWithoutWorkspace<Kind::Dropout>>());
  expect_recovery("forward with rotary positions", scenario<ForwardWithoutWorkspace<Kind::Rotary>>());
  expect_recovery("forward of a packed batch", scenario<ForwardWithoutWorkspace<Kind::Packed>>());
  expect_recovery("forward of a positional encoding", scenario<ForwardWithoutWorkspace<Kind::Positions>>());
  for (const auto& [what, make] :
       {std::pair{"forward of a norm", scenario<ForwardWithoutWorkspace<Kind::Norm>>()},
        {"forward of a feed-forward network", scenario<ForwardWithoutWorkspace<Kind::FeedForward>>()},
        {"forward of an embedding", scenario<ForwardWithoutWorkspace<Kind::Embedding>>()},
        {"forward of an encoder", scenario<ForwardWithoutWorkspace<Kind::Encoder>>()},
        {"forward of a decoder", scenario<ForwardWithoutWorkspace<Kind::Decoder>>()}})
    expect_recovery(what, make);
  expect_recovery("attention in one call", scenario<OneCallAttention>());
  expect_recovery("forward that grows the pool", scenario<ForwardThatGrowsThePool>());
  expect_recovery("create_outputs", scenario<CreateOutputs>());
  expect_recovery("workspaces", scenario<CreateWorkspaces>());
}

TEST(OutOfMemory, InOperations) {
  expect_recovery("matmul", scenario<Operate<Matmul>>());
  expect_recovery("softmax", scenario<Operate<Softmax>>());
  expect_recovery("masked softmax", scenario<Operate<MaskedSoftmax>>());
  expect_recovery("activation", scenario<Operate<Activate>>());
  expect_recovery("add", scenario<Operate<Add>>());
  expect_recovery("log_softmax", scenario<Operate<LogSoftmax>>());
  expect_recovery("sum", scenario<SumOfAll>());
  expect_recovery("cumulative sum", scenario<Operate<CumulativeSum>>());
  expect_recovery("sort", scenario<Operate<Sort>>());
  expect_recovery("take", scenario<Take>());
  expect_recovery("product of F64", scenario<WideProduct>());
  expect_recovery("rotation", scenario<Rotation>());
  expect_recovery("concatenate", scenario<Operate<Concatenate>>());
  expect_recovery("merge", scenario<Merge>());
  expect_recovery("shapes that do not fit", scenario<RefuseAProduct>());
}

TEST(OutOfMemory, InFiles) {
  expect_recovery("load", scenario<Load>());
  expect_recovery("load a model in two files", scenario<LoadByTheIndex>());
  expect_recovery("open weights", scenario<OpenWeights>());
  expect_recovery("open weights from memory", scenario<OpenWeightsFromMemory>());
  expect_recovery("load opened weights", scenario<LoadWeights>());
  expect_recovery("load into an empty layer", scenario<LoadIntoAnEmptyLayer>());
  expect_recovery("load a tensor", scenario<LoadTensor>());
  expect_recovery("save", scenario<Save>());
  expect_recovery("load PyTorch's layout", scenario<LoadPyTorch>());
  expect_recovery("load Keras' layout", scenario<LoadKeras>());
  expect_recovery("load from memory", scenario<LoadFromMemory>());
  expect_recovery("save to memory", scenario<SaveToMemory>());
  expect_recovery("load .npy", scenario<LoadNpy>());
  expect_recovery("save .npy", scenario<SaveNpy>());
  expect_recovery("a file without the parameters", scenario<RefuseAFile>());
}

TEST(OutOfMemory, InTextResults) { expect_recovery("describe and explain", scenario<DescribeAndExplain>()); }

}  // namespace
}  // namespace heed::capi_test
