// SPDX-License-Identifier: Apache-2.0
// A host's allocator: all memory that heed keeps comes from it and goes back to it, and no fault of it ends the
// process.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/dlpack_lender.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

using Trouble = CountingAllocator::Trouble;

// Far more allocations than Program makes.
constexpr int64_t kMaxAllocations = 2000;

// Calls every function that creates or changes something, one after the other. Its objects live until the destructor.
class Program {  // NOLINT(clang-analyzer-optin.performance.Padding): members in the order of the steps
 public:
  // A NULL allocator means the C library's.
  Program(CountingAllocator* allocator, const TemporaryFolder& folder)
      : allocator_(allocator), path_(folder.path("layer.safetensors")) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  ~Program() { destroy(); }

  // Starts with the step that failed, if one has failed.
  heed_status run() {
    for (; next_step_ < steps_.size(); ++next_step_) {
      const heed_status status = steps_[next_step_]();
      if (status != HEED_OK) return status;
    }
    return HEED_OK;
  }
  bool is_done() const { return next_step_ == steps_.size(); }

  std::vector<uint8_t> results() const {
    std::vector<uint8_t> all;
    for (const heed_tensor* tensor : {outputs_.output, outputs_.weights, outputs_.log_sum_exp, snapshot_, loaded_,
                                      loaded_npy_, imported_, decoded_}) {
      const std::vector<uint8_t> bytes = read_bytes(tensor);
      all.insert(all.end(), bytes.begin(), bytes.end());
    }
    return all;
  }

  // Destroys the objects in a random order instead of the order in which they were created.
  void shuffle(uint32_t seed) {
    std::mt19937 random(seed);
    std::shuffle(destroyers_.begin(), destroyers_.end(), random);
  }
  void reverse() { std::reverse(destroyers_.begin(), destroyers_.end()); }
  void destroy() {
    for (const auto& destroy_one : destroyers_) destroy_one();
    destroyers_.clear();
    EXPECT_EQ(lender_.num_deletions, imported_ == nullptr ? 0 : 1);
  }

 private:
  // The object is destroyed with the Program.
  template <typename Handle>
  heed_status keep(heed_status status, Handle*& handle, void (*destroy_handle)(Handle*)) {
    if (status == HEED_OK) destroyers_.emplace_back([handle, destroy_handle] { destroy_handle(handle); });
    EXPECT_EQ(handle != nullptr, status == HEED_OK);
    return status;
  }
  heed_status keep(heed_status status, heed_tensor*& tensor) { return keep(status, tensor, heed_tensor_destroy); }

  heed_status create_context() {
    const heed_allocator allocator = allocator_ == nullptr ? heed_allocator{} : allocator_->as_struct();
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    if (allocator_ != nullptr) options.allocator = &allocator;
    return keep(heed_context_create(&options, &context_), context_, heed_context_destroy);
  }
  heed_status create_tensor(const Dims& dims, heed_dtype dtype, heed_tensor*& tensor) {
    return keep(heed_tensor_create(context_, dtype, static_cast<int32_t>(dims.size()), dims.data(), &tensor), tensor);
  }
  heed_status wrap() {
    const int64_t dims[] = {2, 2};
    return keep(heed_tensor_wrap(context_, HEED_F32, 2, dims, nullptr, wrapped_memory_, nullptr, nullptr, &wrapped_),
                wrapped_);
  }
  heed_status import_dlpack() {
    return keep(heed_tensor_from_dlpack(context_, &lender_.managed, &imported_), imported_);
  }
  heed_status export_dlpack(heed_tensor* tensor, DLManagedTensor*& managed) {
    const auto delete_managed = [](DLManagedTensor* exported) { exported->deleter(exported); };
    return keep(heed_tensor_to_dlpack(tensor, &managed), managed, +delete_managed);
  }
  heed_status create_multi_head() {
    heed_multi_head_attention_options options = two_heads();
    options.biases = HEED_BIAS_ALL;
    return keep(heed_multi_head_attention_create(context_, &options, &layer_), layer_, heed_layer_destroy);
  }
  heed_status create_outputs() {
    const heed_status status = heed_layer_create_outputs(layer_, &inputs(), 7, &outputs_);
    for (heed_tensor** output : {&outputs_.output, &outputs_.weights, &outputs_.log_sum_exp}) keep(status, *output);
    return status;
  }
  heed_status create_workspace() {
    size_t num_bytes = 0;
    const heed_status status = heed_layer_workspace_size(layer_, &inputs(), &outputs_, &num_bytes);
    if (status != HEED_OK) return status;
    return keep(heed_workspace_create(context_, num_bytes, &workspace_), workspace_, heed_workspace_destroy);
  }
  heed_status explain() {
    size_t num_bytes = 0;
    return heed_layer_explain(layer_, &inputs(), &outputs_, nullptr, 0, &num_bytes);
  }
  heed_status forward_alone() {
    heed_layer_inputs alone = HEED_LAYER_INPUTS_INIT;
    alone.queries = queries_;
    heed_layer_outputs alone_outputs = HEED_LAYER_OUTPUTS_INIT;
    alone_outputs.output = alone_output_;
    return heed_layer_forward(dot_product_, &alone, nullptr, &alone_outputs);
  }
  const heed_layer_inputs& inputs() {
    inputs_.queries = queries_;
    return inputs_;
  }
  const heed_layer_inputs& decoder_inputs() {
    decoder_inputs_.queries = rows_;
    decoder_inputs_.keys = queries_;
    return decoder_inputs_;
  }

  CountingAllocator* allocator_;
  std::string path_;
  DlpackLender lender_{{2, 3}};
  float wrapped_memory_[4] = {};
  heed_context* context_ = nullptr;
  heed_tensor* queries_ = nullptr;
  heed_tensor* half_ = nullptr;
  heed_tensor* alone_output_ = nullptr;
  heed_tensor* wrapped_ = nullptr;
  std::array<heed_tensor*, 4> views_{};
  heed_tensor* snapshot_ = nullptr;
  heed_tensor* loaded_ = nullptr;
  heed_tensor* loaded_npy_ = nullptr;
  heed_tensor* imported_ = nullptr;
  DLManagedTensor* exported_ = nullptr;
  DLManagedTensor* exported_snapshot_ = nullptr;
  heed_layer* layer_ = nullptr;
  heed_layer* dot_product_ = nullptr;
  heed_layer* additive_ = nullptr;
  heed_layer* linear_ = nullptr;
  heed_layer* dropout_ = nullptr;
  BlockOptions blocks_;
  heed_layer* decoder_ = nullptr;
  heed_layer* cross_attention_ = nullptr;
  heed_tensor* rows_ = nullptr;
  heed_tensor* decoded_ = nullptr;
  heed_weights* weights_ = nullptr;
  heed_weights* memory_weights_ = nullptr;
  heed_workspace* workspace_ = nullptr;
  heed_workspace* wrapped_workspace_ = nullptr;
  heed_layer_inputs inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_inputs decoder_inputs_ = HEED_LAYER_INPUTS_INIT;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
  std::vector<std::function<void()>> destroyers_;

  static constexpr const char* kNpyPath = HEED_SOURCE_DIR "/tests/golden/data/npy/fortran.npy";
  static constexpr int64_t kViewDims[] = {6};
  // A .safetensors file without tensors.
  static constexpr char kBytes[] = {2, 0, 0, 0, 0, 0, 0, 0, '{', '}'};
  size_t next_step_ = 0;
  const std::vector<std::function<heed_status()>> steps_ = {
      [this] { return create_context(); },
      [this] {
        return create_tensor({2, 3, 6}, HEED_F32, queries_);
      },
      [this] { return heed_tensor_fill(queries_, 0.5); },
      [this] {
        return create_tensor({8, 6}, HEED_F16, half_);
      },
      [this] {
        return create_tensor({2, 3, 6}, HEED_F32, alone_output_);
      },
      [this] { return wrap(); },
      [this] { return keep(heed_tensor_view(queries_, 1, kViewDims, nullptr, 0, views_.data()), views_[0]); },
      [this] { return keep(heed_tensor_reshape(half_, 1, std::array<int64_t, 1>{48}.data(), &views_[1]), views_[1]); },
      [this] { return keep(heed_tensor_transpose(half_, nullptr, &views_[2]), views_[2]); },
      [this] { return keep(heed_tensor_slice(half_, 0, 1, 2, &views_[3]), views_[3]); },
      [this] { return create_multi_head(); },
      [this] {
        return keep(heed_dot_product_attention_create(context_, nullptr, &dot_product_), dot_product_,
                    heed_layer_destroy);
      },
      [this] {
        const heed_additive_attention_options options = five_hiddens();
        return keep(heed_additive_attention_create(context_, &options, &additive_), additive_, heed_layer_destroy);
      },
      [this] { return heed_layer_initialize(additive_, &inputs(), 1); },
      [this] {
        const heed_linear_options options = five_outputs();
        return keep(heed_linear_create(context_, &options, &linear_), linear_, heed_layer_destroy);
      },
      [this] { return heed_layer_initialize(linear_, &inputs(), 1); },
      [this] { return keep(heed_dropout_create(context_, nullptr, &dropout_), dropout_, heed_layer_destroy); },
      [this] { return keep(heed_decoder_create(context_, &blocks_.decoder, &decoder_), decoder_, heed_layer_destroy); },
      [this] {
        return keep(heed_layer_child(decoder_, "layers.0.cross_attention", &cross_attention_), cross_attention_,
                    heed_layer_destroy);
      },
      [this] {
        return create_tensor({2, 3, 8}, HEED_F32, rows_);
      },
      [this] {
        return create_tensor({2, 3, 8}, HEED_F32, decoded_);
      },
      [this] { return heed_layer_initialize(decoder_, &decoder_inputs(), 1); },
      [this] { return heed_layer_initialize(layer_, &inputs(), 42); },
      [this] { return keep(heed_layer_parameter(layer_, "W_k.weight", &snapshot_), snapshot_); },
      [this] { return heed_layer_set_parameter(layer_, "W_q.weight", half_); },
      [this] { return heed_layer_save(layer_, path_.c_str()); },
      [this] { return heed_layer_load(layer_, path_.c_str(), nullptr); },
      [this] { return keep(heed_tensor_load_safetensors(context_, path_.c_str(), "W_v.weight", &loaded_), loaded_); },
      [this] { return keep(heed_weights_open(context_, path_.c_str(), &weights_), weights_, heed_weights_destroy); },
      [this] {
        return keep(heed_weights_open_memory(context_, kBytes, sizeof kBytes, &memory_weights_), memory_weights_,
                    heed_weights_destroy);
      },
      [this] { return heed_layer_load_weights(layer_, weights_, nullptr, nullptr); },
      [this] { return keep(heed_tensor_load_npy(context_, kNpyPath, &loaded_npy_), loaded_npy_); },
      [this] { return import_dlpack(); },
      [this] { return export_dlpack(imported_, exported_); },
      [this] { return export_dlpack(snapshot_, exported_snapshot_); },
      [this] { return create_outputs(); },
      [this] { return explain(); },
      [this] { return create_workspace(); },
      [this] {
        return keep(heed_workspace_wrap(context_, wrapped_memory_, sizeof wrapped_memory_, &wrapped_workspace_),
                    wrapped_workspace_, heed_workspace_destroy);
      },
      [this] { return forward_alone(); },  // leaves a block in the pool that is too small for the next call
      [this] { return heed_layer_forward(layer_, &inputs(), nullptr, &outputs_); },
      [this] { return heed_layer_forward(layer_, &inputs(), workspace_, &outputs_); },
      [this] {
        heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
        outputs.output = decoded_;
        return heed_layer_forward(decoder_, &decoder_inputs(), nullptr, &outputs);
      },
  };
};

std::vector<uint8_t> results_with_the_c_library(const TemporaryFolder& folder) {
  Program program(nullptr, folder);
  check(program.run());
  return program.results();
}

TEST(Allocator, ChangesNoResult) {
  const TemporaryFolder folder;
  CountingAllocator allocator;
  Program program(&allocator, folder);
  ASSERT_EQ(program.run(), HEED_OK) << heed_last_error();
  EXPECT_EQ(program.results(), results_with_the_c_library(folder));
  EXPECT_GT(allocator.num_live_blocks(), 0);
}

TEST(Allocator, GetsAllMemoryBackInAnyOrder) {
  const TemporaryFolder folder;
  for (uint32_t order = 0; order < 12; ++order) {
    SCOPED_TRACE(order);
    CountingAllocator allocator;
    Program program(&allocator, folder);
    ASSERT_EQ(program.run(), HEED_OK) << heed_last_error();
    if (order == 1) program.reverse();
    if (order > 1) program.shuffle(order);
    program.destroy();
    EXPECT_EQ(allocator.num_live_blocks(), 0);
    EXPECT_EQ(allocator.num_live_bytes(), 0u);
  }
}

TEST(Allocator, GetsAllMemoryBackFromAnotherThread) {
  const TemporaryFolder folder;
  CountingAllocator allocator;
  Program program(&allocator, folder);
  ASSERT_EQ(program.run(), HEED_OK) << heed_last_error();
  std::thread([&program] { program.destroy(); }).join();
  EXPECT_EQ(allocator.num_live_blocks(), 0);
}

TEST(Allocator, ProvidesTheMemoryOfEveryObject) {
  CountingAllocator allocator;
  const Context context = allocator.make_context();
  // Calls `make`, which must allocate at least num_bytes and little more, since handles and objects are small.
  const auto expect_bytes = [&allocator](size_t num_bytes, const std::function<void()>& make) {
    const size_t before = allocator.num_live_bytes();
    make();
    const size_t taken = allocator.num_live_bytes() - before;
    EXPECT_GE(taken, num_bytes);
    EXPECT_LT(taken, num_bytes + 4096);
  };
  Tensor tensor;
  Tensor view;
  Layer layer;
  Workspace workspace;
  expect_bytes(400000, [&] { tensor = make_tensor(context.get(), {1, 100, 1000}); });
  expect_bytes(1, [&] { view = make_transposed(tensor.get(), {2, 1, 0}); });
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 64;
  options.num_heads = 2;
  expect_bytes(1, [&] { layer = make_multi_head(context.get(), options); });
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = tensor.get();
  // W_q, W_k and W_v are 64 x 1000, W_o is 64 x 64.
  expect_bytes(sizeof(float) * (3 * 64000 + 64 * 64), [&] { check(heed_layer_initialize(layer.get(), &inputs, 1)); });
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  expect_bytes(sizeof(float) * 100 * 64,
               [&] { check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs)); });
  const Tensor output(outputs.output);
  size_t num_bytes = 0;
  check(heed_layer_workspace_size(layer.get(), &inputs, &outputs, &num_bytes));
  expect_bytes(num_bytes, [&] { workspace = make_workspace(context.get(), num_bytes); });
  expect_bytes(num_bytes, [&] { check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs)); });
}

TEST(Allocator, MayReturnUninitializedMemory) {
  CountingAllocator allocator;
  const Context context = allocator.make_context();
  for (const heed_dtype dtype : {HEED_F32, HEED_I8, HEED_BOOL}) {
    const Tensor tensor = make_tensor(context.get(), {7, 9}, dtype);
    const std::vector<uint8_t> bytes = read_bytes(tensor.get());
    EXPECT_EQ(bytes, std::vector<uint8_t>(bytes.size(), 0)) << "a new tensor is not zero";
  }
  const AttentionCall call(allocator.make_context(), Kind::MultiHead);
  const std::vector<uint8_t> bytes = call.read_outputs();
  EXPECT_EQ(bytes, std::vector<uint8_t>(bytes.size(), 0)) << "a new output is not zero";
}

TEST(Allocator, IsCalledForEmptyTensorsToo) {
  CountingAllocator allocator;
  const Context context = allocator.make_context();
  const Tensor tensor = make_tensor(context.get(), {3, 0});
  EXPECT_NE(heed_tensor_data(tensor.get()), nullptr);
  const Workspace workspace = make_workspace(context.get(), 0);
  EXPECT_EQ(heed_workspace_num_bytes(workspace.get()), 0u);
}

TEST(Allocator, IsNotCalledByForwardWithAWorkspace) {
  CountingAllocator allocator;
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank3, Kind::DotProductRank4, Kind::Additive}) {
    const AttentionCall call(allocator.make_context(), kind, {.batch = 2, .num_queries = 30, .num_keys = 70});
    const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
    std::atomic<int> num_calls = 0;
    allocator.before_each = [&num_calls] { ++num_calls; };
    EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
    EXPECT_EQ(num_calls, 0);
    allocator.before_each = nullptr;
  }
}

TEST(Allocator, IsThatOfTheObjectsOwnContext) {
  CountingAllocator of_layer;
  CountingAllocator of_tensors;
  const Context layers_context = of_layer.make_context();
  const AttentionCall call(of_tensors.make_context(), Kind::MultiHead);
  const Layer layer = make_multi_head(layers_context.get(), two_heads());
  const int64_t num_of_tensors = of_tensors.num_allocations();
  const int64_t num_of_layer = of_layer.num_allocations();
  // Parameters, snapshots, outputs and the pool's workspaces come from the layer's context, whatever the contexts of
  // its inputs are.
  check(heed_layer_initialize(layer.get(), &call.inputs, 1));
  const Tensor weight = snapshot(layer.get(), "W_q.weight");
  check(heed_layer_set_parameter(layer.get(), "W_q.weight", snapshot(call.layer.get(), "W_q.weight").get()));
  check(heed_layer_forward(layer.get(), &call.inputs, nullptr, &call.outputs));
  const Tensor view = make_transposed(weight.get(), {1, 0});
  EXPECT_EQ(of_tensors.num_allocations(), num_of_tensors + 3);  // the snapshot of call.layer: handle, storage, elements
  EXPECT_GT(of_layer.num_allocations(), num_of_layer);
}

// Runs the program once for each of its allocations, and lets that allocation fail.
void expect_recovery(Trouble trouble, heed_status expected, bool later_too) {
  const TemporaryFolder folder;
  const std::vector<uint8_t> results = results_with_the_c_library(folder);
  for (int64_t first = 1; first < kMaxAllocations; ++first) {
    SCOPED_TRACE(first);
    CountingAllocator allocator;
    Program program(&allocator, folder);
    allocator.make_trouble(trouble, first, later_too);
    forget_last_error();
    const heed_status status = program.run();
    if (!allocator.trouble_happened()) {
      EXPECT_EQ(status, HEED_OK) << heed_last_error();
      EXPECT_GT(first, 40) << "the program makes too few allocations for this test";
      return;
    }
    ASSERT_TRUE(is_refused(status, {expected, {}}));
    EXPECT_FALSE(program.is_done());
    allocator.end_trouble();
    // Goes on in the same context.
    ASSERT_EQ(program.run(), HEED_OK) << heed_last_error();
    ASSERT_EQ(program.results(), results);
  }
  FAIL() << "every run failed";
}

TEST(BadAllocator, ThatGivesNullOnceMakesTheCallFail) {
  expect_recovery(Trouble::Null, HEED_ERROR_OUT_OF_MEMORY, false);
}

TEST(BadAllocator, ThatGivesNullFromThenOnMakesTheCallFail) {
  expect_recovery(Trouble::Null, HEED_ERROR_OUT_OF_MEMORY, true);
}

TEST(BadAllocator, ThatMisalignsIsRefusedAndGetsTheMemoryBack) {
  expect_recovery(Trouble::Misaligned, HEED_ERROR_INVALID_ARGUMENT, false);
  expect_recovery(Trouble::Misaligned, HEED_ERROR_INVALID_ARGUMENT, true);
}

TEST(BadAllocator, ThatThrowsIsStopped) {
  expect_recovery(Trouble::ThrowsBadAlloc, HEED_ERROR_OUT_OF_MEMORY, false);
  expect_recovery(Trouble::ThrowsAnInteger, HEED_ERROR_INTERNAL, false);
}

TEST(BadAllocator, IsNamedWithWhatItGaveAndWhatWasAsked) {
  // The tensor's elements, 4000 bytes, are the only allocation of this size; it gets this misaligned address.
  struct Fixed {
    alignas(64) char memory[8192];
    CountingAllocator rest;
    heed_allocator rest_struct = rest.as_struct();
    const void* given = nullptr;
    int num_released = 0;
  } fixed;
  const heed_allocator allocator = {sizeof(heed_allocator),
                                    [](void* user, size_t num_bytes, size_t alignment) -> void* {
                                      auto& self = *static_cast<Fixed*>(user);
                                      if (num_bytes != 4000)
                                        return self.rest_struct.allocate(&self.rest, num_bytes, alignment);
                                      self.given = self.memory + 32;
                                      return self.memory + 32;
                                    },
                                    [](void* user, void* memory, size_t num_bytes) {
                                      auto& self = *static_cast<Fixed*>(user);
                                      if (num_bytes != 4000)
                                        return self.rest_struct.release(&self.rest, memory, num_bytes);
                                      EXPECT_EQ(memory, self.given);
                                      ++self.num_released;
                                    },
                                    &fixed};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.allocator = &allocator;
  const Context context = make_context(&options);
  heed_tensor* tensor = nullptr;
  const int64_t dims[] = {1000};
  EXPECT_EQ(heed_tensor_create(context.get(), HEED_F32, 1, dims, &tensor), HEED_ERROR_INVALID_ARGUMENT);
  char expected[200];
  std::snprintf(expected, sizeof expected,
                "the context's allocator gave the address %p for 4000 bytes, expected one that is aligned to 64",
                fixed.given);
  EXPECT_STREQ(heed_last_error(), expected);
  EXPECT_EQ(tensor, nullptr);
  EXPECT_EQ(fixed.num_released, 1);
}

TEST(BadAllocator, WithoutItsFunctionsIsRefused) {
  CountingAllocator counting;
  const auto create_with = [&counting](const std::function<void(heed_allocator&)>& change) {
    return [&counting, change](OutParameters& out) {
      heed_allocator allocator = counting.as_struct();
      change(allocator);
      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
      options.allocator = &allocator;
      return heed_context_create(&options, &out.context);
    };
  };
  expect_refused({
      {"no allocate",
       create_with([](heed_allocator& allocator) { allocator.allocate = nullptr; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->allocator->allocate is NULL, expected a pointer"}}},
      {"no release",
       create_with([](heed_allocator& allocator) { allocator.release = nullptr; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->allocator->release is NULL, expected a pointer"}}},
      {"the macro alone",
       create_with([](heed_allocator& allocator) { allocator = HEED_ALLOCATOR_INIT; }),
       {HEED_ERROR_INVALID_ARGUMENT, {"options->allocator->allocate is NULL, expected a pointer"}}},
  });
}

// An allocator may call heed: these functions would deadlock if heed held a lock while it calls the allocator. They are
// those of the context, and a forward call that takes a block from the same pool.
TEST(Allocator, MayCallHeed) {
  CountingAllocator allocator;
  const AttentionCall call(allocator.make_context(), Kind::MultiHead);
  const AttentionCall large(allocator.make_context(), Kind::MultiHead, {.batch = 2, .num_queries = 40, .num_keys = 50});
  const Layer layer = make_multi_head(call.context.get(), two_heads());
  check(heed_layer_initialize(layer.get(), &call.inputs, 1));
  int num_nested = 0;
  bool is_nested = false;
  allocator.before_each = [&] {
    if (std::exchange(is_nested, true)) return;
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_context_synchronize(call.context.get()), HEED_OK);
    make_tensor(call.context.get(), {10});
    is_nested = false;
    ++num_nested;
  };
  // The pool gets its first block, then a larger one.
  EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
  EXPECT_EQ(heed_layer_forward(layer.get(), &large.inputs, nullptr, &large.outputs), HEED_OK);
  make_tensor(call.context.get(), {10});
  EXPECT_GT(num_nested, 5);
  allocator.before_each = nullptr;
}

TEST(Allocator, ServesManyThreads) {
  CountingAllocator allocator;
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  const AttentionCall shared(allocator.make_context(), Kind::MultiHead);
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        const AttentionCall call(allocator.make_context(), Kind::MultiHead, {.batch = round % 3 + 1});
        EXPECT_EQ(call.forward(), HEED_OK);
        heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
        EXPECT_EQ(heed_layer_create_outputs(shared.layer.get(), &shared.inputs, HEED_WANT_OUTPUT, &outputs), HEED_OK);
        EXPECT_EQ(heed_layer_forward(shared.layer.get(), &shared.inputs, nullptr, &outputs), HEED_OK);
        heed_tensor_destroy(outputs.output);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace heed::capi_test
