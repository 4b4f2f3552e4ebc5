// SPDX-License-Identifier: Apache-2.0
// Layers project only the keys and values that some query sees. The results must have the same bits as those of a device
// that projects all keys and values, and must not depend on what the workspace contained before the call.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "backends/context.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/workspace.h"
#include "base/error.h"
#include "base/half.h"
#include "layers/kinds/additive_attention.h"
#include "layers/kinds/multi_head_attention.h"
#include "ops/attention.h"
#include "ops/sequence.h"
#include "tensor/tensor.h"

namespace heed {
namespace {

// The CPU's backend, which reports that it reads all rows.
Backend reader_of_all_rows() {
  Backend backend = cpu_backend();
  backend.intermediate_form = [](const BackendDevice* device, DType inputs) {
    IntermediateForm form = cpu_backend().intermediate_form(device, inputs);
    form.all_rows = 1;
    return form;
  };
  return backend;
}

class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  int64_t pick(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(engine_); }
  // True with probability 1 / count.
  bool once_in(int64_t count) { return pick(1, count) == 1; }
  float uniform() { return std::uniform_real_distribution<float>(-1, 1)(engine_); }

 private:
  std::mt19937 engine_;
};

void fill(const Tensor& tensor, Random& random) {
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const float value = random.uniform();
    switch (tensor.dtype()) {
      case DType::F16: reinterpret_cast<Half*>(tensor.data())[i] = narrow_to_half(value); break;
      case DType::BF16: reinterpret_cast<BFloat16*>(tensor.data())[i] = narrow_to_bfloat16(value); break;
      case DType::Bool: reinterpret_cast<uint8_t*>(tensor.data())[i] = value > -0.3F ? 1 : 0; break;
      default: reinterpret_cast<float*>(tensor.data())[i] = value;
    }
  }
}

// A random call. Everything that affects the visible keys varies, and so do the requested outputs.
struct Case {
  explicit Case(uint32_t seed) {
    Random random(seed);
    is_additive_layer = random.once_in(5);
    batch = random.pick(1, 4);
    num_queries = random.once_in(3) ? random.pick(1, 3) : random.pick(1, 60);
    num_keys = random.once_in(3) ? random.pick(200, 600) : random.pick(1, 60);
    is_self_attention = random.once_in(4);
    if (is_self_attention) num_queries = num_keys;
    constexpr DType kTypes[] = {DType::F32, DType::F32, DType::F16, DType::BF16};
    dtype = kTypes[random.pick(0, 3)];

    AttentionOptions& attention = options.attention;
    if (random.once_in(3)) attention.causal = random.once_in(2) ? Alignment::TopLeft : Alignment::BottomRight;
    if (random.once_in(3)) {
      attention.window = random.once_in(2) ? Alignment::TopLeft : Alignment::BottomRight;
      attention.window_left = random.pick(-1, 20);
      attention.window_right = random.pick(-1, 20);
    }
    attention.empty_rows = random.once_in(2) ? EmptyRows::Mean : EmptyRows::Zero;
    if (random.once_in(4)) attention.soft_cap = 3.0F;
    is_training = random.once_in(3);
    attention.dropout = 0.3F;
    options.num_heads = 4;
    options.num_kv_heads = random.once_in(2) ? 2 : 4;
    options.head_size = random.once_in(2) ? 8 : 5;
    options.value_head_size = random.once_in(2) ? 16 : 7;
    options.output_size = 9;
    options.biases = random.once_in(2) ? kBiasAll : 0;
    if (random.once_in(4)) options.scoring = Scoring::Additive;

    lengths = random.pick(0, 3);  // 0: none, 1 and 2: per batch element, 3: per query
    for (int64_t i = 0; i < batch * num_queries; ++i) {
      const bool is_short = random.once_in(2);
      lens.push_back(is_short ? random.pick(0, std::min<int64_t>(5, num_keys)) : random.pick(0, num_keys));
    }
    mask = random.pick(0, 3);
    bias = random.pick(0, 3);
    wants_weights = random.once_in(3);
    wants_log_sum_exp = random.once_in(3);
    wants_output = !random.once_in(8) || !(wants_weights || wants_log_sum_exp);
    num_threads = random.once_in(2) ? 1 : 3;
    data_seed = seed + 1;
  }

  bool is_additive_layer = false;
  int64_t batch = 1;
  int64_t num_queries = 1;
  int64_t num_keys = 1;
  bool is_self_attention = false;
  DType dtype = DType::F32;
  MultiHeadAttentionOptions options;
  bool is_training = false;
  int64_t lengths = 0;
  std::vector<int64_t> lens;
  int64_t mask = 0;  // 1: per head, 2: per batch element
  int64_t bias = 0;
  bool wants_output = true;
  bool wants_weights = false;
  bool wants_log_sum_exp = false;
  int32_t num_threads = 1;
  uint32_t data_seed = 0;
};

// The bytes of all outputs that a case requests. With `poison` the call gets a workspace that is filled with this
// value; otherwise it has no workspace.
std::vector<std::byte> outputs_of(const Case& given, const Backend& backend, std::optional<uint32_t> poison) {
  ContextOptions context_options;
  context_options.num_threads = given.num_threads;
  const std::shared_ptr<Context> context = Context::open(context_options, backend);
  Random random(given.data_seed);
  const auto make = [&](DType dtype, const Shape& shape) {
    Tensor tensor = Tensor::zeros(context, dtype, shape);
    fill(tensor, random);
    return tensor;
  };
  const int64_t b = given.batch;
  const int64_t q = given.num_queries;
  const int64_t k = given.num_keys;
  const Tensor queries = make(given.dtype, {b, q, 12});
  const Tensor keys = make(given.dtype, {b, k, 10});
  const Tensor values = make(given.dtype, {b, k, 11});
  const int64_t heads = given.is_additive_layer ? 1 : given.options.num_heads;
  const auto pairs = [&](int64_t kind) {
    return kind == 1 ? Shape{1, heads, q, k} : kind == 2 ? Shape{b, 1, 1, k} : Shape{q, k};
  };
  const Tensor mask = make(DType::Bool, pairs(given.mask));
  const Tensor bias = make(DType::F32, pairs(given.bias));
  const Tensor lens = Tensor::zeros(context, DType::I64, given.lengths == 3 ? Shape{b, q} : Shape{b});
  std::copy_n(given.lens.data(), lens.num_elements(), reinterpret_cast<int64_t*>(lens.data()));
  LayerInputs inputs;
  inputs.queries = &queries;
  if (!given.is_self_attention) {
    inputs.keys = &keys;
    inputs.values = &values;
  }
  if (given.lengths != 0) inputs.valid_lens = &lens;
  if (given.mask != 0) inputs.mask = &mask;
  if (given.bias != 0) inputs.bias = &bias;
  inputs.training = given.is_training;
  inputs.dropout_seed = 5;

  std::unique_ptr<Layer> layer;
  if (given.is_additive_layer) {
    layer = std::make_unique<AdditiveAttention>(context, AdditiveAttentionOptions{9, given.options.attention});
  } else {
    layer = std::make_unique<MultiHeadAttention>(context, given.options);
  }
  layer->initialize(inputs, 3);
  const OutputShapes shapes = layer->output_shapes(inputs);
  const Tensor output = Tensor::zeros(context, given.dtype, shapes.output);
  const Tensor weights = Tensor::zeros(context, DType::F32, shapes.weights.value());
  const Tensor log_sum_exp = Tensor::zeros(context, DType::F32, shapes.log_sum_exp.value());
  LayerOutputs outputs;
  if (given.wants_output) outputs.output = &output;
  if (given.wants_weights) outputs.weights = &weights;
  if (given.wants_log_sum_exp) outputs.log_sum_exp = &log_sum_exp;
  if (poison) {
    const size_t num_bytes = layer->workspace_size(inputs, outputs);
    std::vector<uint32_t> words(num_bytes / sizeof(uint32_t) + 1, *poison);
    const std::shared_ptr<Workspace> workspace = Workspace::wrap(context, words.data(), num_bytes);
    layer->forward(inputs, workspace.get(), outputs);
  } else {
    layer->forward(inputs, nullptr, outputs);
  }
  std::vector<std::byte> bytes;
  for (const Tensor* tensor : {outputs.output, outputs.weights, outputs.log_sum_exp}) {
    if (tensor != nullptr) bytes.insert(bytes.end(), tensor->data(), tensor->data() + tensor->num_bytes());
  }
  return bytes;
}

TEST(WantedRowsOfALayer, LeaveTheBitsOfAllRowsWhateverTheWorkspaceHeld) {
  const Backend all_rows = reader_of_all_rows();
  // A quiet NaN, a signalling NaN, infinity, and the largest number.
  constexpr uint32_t kPoisons[] = {0x7fc00001, 0x7fa00001, 0xff800000, 0x7f7fffff};
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Case given(seed);
    const std::vector<std::byte> expected = outputs_of(given, all_rows, 0);
    ASSERT_EQ(outputs_of(given, cpu_backend(), kPoisons[seed % 4]), expected) << "case " << seed;
    ASSERT_EQ(outputs_of(given, cpu_backend(), std::nullopt), expected) << "case " << seed << " without a workspace";
  }
}

// The C library's allocator, which counts the allocated bytes and its calls.
struct Counter {
  HostAllocator allocator() {
    HostAllocator result;
    result.allocate = [](void* user, size_t num_bytes, size_t alignment) {
      auto& counter = *static_cast<Counter*>(user);
      counter.bytes_out += num_bytes;
      ++counter.num_calls;
      return HostAllocator().allocate(nullptr, num_bytes, alignment);
    };
    result.release = [](void* user, void* memory, size_t num_bytes) {
      static_cast<Counter*>(user)->bytes_out -= num_bytes;
      HostAllocator().release(nullptr, memory, num_bytes);
    };
    result.user = this;
    return result;
  }
  size_t bytes_out = 0;
  size_t num_calls = 0;
};

// Multi-head or additive attention over arrays of keys and values with a capacity; set_lengths sets how many keys are
// valid.
struct Decoder {
  Decoder(int64_t num_queries, int64_t capacity, bool is_additive = false)
      : context(Context::open(context_options())),
        queries(Tensor::zeros(context, DType::F32, {2, num_queries, 24})),
        keys(Tensor::zeros(context, DType::F32, {2, capacity, 24})),
        lens(Tensor::zeros(context, DType::I32, {2})),
        output(Tensor::zeros(context, DType::F32, {2, num_queries, 24})) {
    if (is_additive) {
      layer = std::make_unique<AdditiveAttention>(context, AdditiveAttentionOptions{24, {}});
    } else {
      MultiHeadAttentionOptions options;
      options.num_hiddens = 24;
      options.num_heads = 4;
      layer = std::make_unique<MultiHeadAttention>(context, options);
    }
    inputs.queries = &queries;
    inputs.keys = &keys;
    inputs.valid_lens = &lens;
    outputs.output = &output;
    layer->initialize(inputs, 1);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  void set_lengths(int32_t first, int32_t second) const {
    reinterpret_cast<int32_t*>(lens.data())[0] = first;
    reinterpret_cast<int32_t*>(lens.data())[1] = second;
  }
  double flops() const { return nlohmann::json::parse(layer->explain(inputs, outputs)).at("flops"); }

  ContextOptions context_options() {
    ContextOptions options;
    options.num_threads = 1;
    options.allocator = counter.allocator();
    return options;
  }

  Counter counter;
  std::shared_ptr<Context> context;
  Tensor queries;
  Tensor keys;
  Tensor lens;
  Tensor output;
  std::unique_ptr<Layer> layer;
  LayerInputs inputs;
  LayerOutputs outputs;
};

TEST(WantedRowsOfALayer, AreWhatExplainCounts) {
  for (const bool is_additive : {false, true}) {
    Decoder large(3, 8192, is_additive);
    Decoder small(3, 128, is_additive);
    large.set_lengths(8192, 8192);
    const double of_all = large.flops();
    large.set_lengths(128, 128);
    small.set_lengths(128, 128);
    EXPECT_EQ(large.flops(), small.flops());
    EXPECT_LT(large.flops(), of_all / 10);
    large.set_lengths(128, 64);
    EXPECT_LT(large.flops(), small.flops());
  }
}

TEST(WantedRowsOfALayer, AreWhatACallWithoutAWorkspaceHolds) {
  const auto pooled_bytes = [](Decoder& decoder) {
    const size_t before = decoder.counter.bytes_out;
    decoder.layer->forward(decoder.inputs, nullptr, decoder.outputs);
    return decoder.counter.bytes_out - before;
  };
  Decoder large(40, 8192);
  Decoder small(40, 128);
  const size_t bound = large.layer->workspace_size(large.inputs, large.outputs);
  large.set_lengths(128, 100);
  small.set_lengths(128, 100);
  EXPECT_EQ(large.layer->workspace_size(large.inputs, large.outputs), bound) << "whatever the lengths";
  const size_t of_large = pooled_bytes(large);
  EXPECT_LT(of_large, bound / 2);
  // The part of the scratch that depends on the capacity is far smaller than the keys and values.
  const size_t of_projections = size_t{2} * 2 * 128 * 24 * sizeof(float);
  EXPECT_LT(of_large, pooled_bytes(small) + of_projections / 4 + (size_t{1} << 20));
}

// As in text generation, each call has a longer sequence.
TEST(WantedRowsOfALayer, MakeThePoolGrowSeldom) {
  constexpr int32_t kCapacity = 4096;
  Decoder decoder(1, kCapacity);
  decoder.set_lengths(1, 1);
  decoder.layer->forward(decoder.inputs, nullptr, decoder.outputs);
  const size_t before = decoder.counter.num_calls;
  for (int32_t length = 1; length <= kCapacity; length += 8) {
    decoder.set_lengths(length, length);
    decoder.layer->forward(decoder.inputs, nullptr, decoder.outputs);
  }
  EXPECT_LE(decoder.counter.num_calls - before, 4u * 12) << "a quarter more at a time, over 12 doublings";
}

// As without lengths, a workspace for the largest call suffices for all others.
TEST(WantedRowsOfALayer, NeedAWorkspaceThatDependsOnSizesAlone) {
  Decoder decoder(3, 500);
  decoder.set_lengths(1, 0);
  const size_t needed = decoder.layer->workspace_size(decoder.inputs, decoder.outputs);
  const std::shared_ptr<Workspace> small = Workspace::create(decoder.context, needed - 1);
  EXPECT_THROW(decoder.layer->forward(decoder.inputs, small.get(), decoder.outputs), Error);
  const std::shared_ptr<Workspace> exact = Workspace::create(decoder.context, needed);
  decoder.layer->forward(decoder.inputs, exact.get(), decoder.outputs);
  decoder.set_lengths(500, 500);
  decoder.layer->forward(decoder.inputs, exact.get(), decoder.outputs);
}

}  // namespace
}  // namespace heed
