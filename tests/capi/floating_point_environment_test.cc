// SPDX-License-Identifier: Apache-2.0
// Calls from threads with a floating-point environment other than the default: the results have the same bits, no
// exception traps, and after the call the thread's environment and exception flags are what they were before.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/floating_point_state.h"
#include "capi/support/large_softmax.h"
#include "support/platform/child_process.h"

namespace heed::capi_test {
namespace {

using Bytes = std::vector<uint8_t>;
using Work = std::function<Bytes()>;

// Runs the work in each state. The work calls heed and computes nothing itself.
void expect_the_same_in_every_state(const std::string& name, const Work& work) {
  const Bytes expected = work();
  for (const NamedState& host : states_of_hosts()) {
    Bytes result;
    FloatingPointState after;
    {
      const InState scope(host.state);
      result = work();
      after = FloatingPointState::of_this_thread();
    }
    EXPECT_TRUE(result == expected) << name << " in " << host.name;
    EXPECT_TRUE(after == host.state) << name << " in " << host.name;
  }
}

void expect_the_same_of(const std::string& name, const AttentionCall& call) {
  expect_the_same_in_every_state(name, [&] {
    check(call.forward());
    return call.read_outputs();
  });
}

Bytes bytes_of(const char* text, size_t size) { return {text, text + size}; }

Bytes explained(const AttentionCall& call) {
  size_t num_bytes = 0;
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, nullptr, 0, &num_bytes));
  Bytes text(num_bytes);
  check(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, reinterpret_cast<char*>(text.data()),
                           text.size(), nullptr));
  return text;
}

// NaNs, infinities and subnormal numbers, and numbers close to them.
std::vector<float> extremes(size_t count) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSubnormal = std::numeric_limits<float>::denorm_min();
  const float some[] = {1e-40f,     -kSubnormal, kLargest, 0.1f,      -kLargest, 3e-39f,  std::ldexp(1.0f, -126),
                        0.0f,       -0.0f,       1e20f,    -3.5e-20f, 88.7f,     -104.0f, 1e-7f,
                        kSubnormal, -1e30f,      1.0f / 3};
  std::vector<float> result(count);
  for (size_t i = 0; i < count; ++i) result[i] = some[i % std::size(some)];
  return result;
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoLayer) {
  for (const Kind kind : kEveryKind) {
    for (const heed_dtype dtype : {HEED_F32, HEED_F16, HEED_BF16}) {
      const AttentionCall call(kind, {.batch = 2, .num_queries = 7, .num_keys = 37}, dtype);
      expect_the_same_of("kind " + std::to_string(static_cast<int>(kind)) + ", dtype " + std::to_string(dtype), call);
      expect_the_same_in_every_state("explain", [&] { return explained(call); });
    }
  }
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoSmallCall) {
  for (const Kind kind : kKinds) {
    for (const int64_t num_queries : {1, 2, 4, 16}) {
      for (const int64_t num_keys : {1, 3, 16, 100}) {
        const AttentionCall call(kind, {.batch = 1, .num_queries = num_queries, .num_keys = num_keys});
        expect_the_same_of(std::to_string(num_queries) + " queries, " + std::to_string(num_keys) + " keys", call);
      }
    }
  }
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoOption) {
  const auto of_options = [](const char* name, auto change_options, auto change_inputs) {
    heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
    change_options(options);
    AttentionCall call(Kind::DotProductRank3, {.batch = 2, .num_queries = 9, .num_keys = 21});
    call.layer = make_dot_product(call.context.get(), options);
    change_inputs(call);
    expect_the_same_of(name, call);
    expect_the_same_in_every_state(name, [&] { return explained(call); });
  };
  const auto same = [](auto&) {};
  of_options(
      "scale", [](auto& options) { options.scale = 0.3f; }, same);
  of_options(
      "soft cap", [](auto& options) { options.soft_cap = 1.7f; }, same);
  of_options(
      "causal window",
      [](auto& options) {
        options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        options.window = HEED_WINDOW_BOTTOM_RIGHT;
        options.window_left = 3;
      },
      same);
  of_options(
      "dropout", [](auto& options) { options.dropout = 0.3f; },
      [](AttentionCall& call) {
        call.inputs.training = 1;
        call.inputs.dropout_seed = 7;
      });
  of_options(
      "means of empty rows", [](auto& options) { options.empty_rows = HEED_EMPTY_ROWS_MEAN; },
      [](AttentionCall& call) {
        call.inputs.valid_lens = call.tensor_of<float>({2}, {0.0f, 13.0f});
      });
  of_options("lengths in F32", same, [](AttentionCall& call) {
    call.inputs.valid_lens = call.tensor_of<float>({2}, {21.0f, 1.0f});
  });
  of_options("bias", same, [](AttentionCall& call) { call.inputs.bias = call.random({9, 21}, 5); });
  of_options("bias of extremes", same, [](AttentionCall& call) {
    call.inputs.bias = call.tensor_of({9, 21}, extremes(189));
  });
}

TEST(FloatingPointEnvironment, OfTheHostChangesNothingOfExtremeInputs) {
  for (const Kind kind : kEveryKind) {
    if (kind == Kind::Embedding) continue;  // ids have no extremes
    AttentionCall call(kind, {.batch = 1, .num_queries = 5, .num_keys = 19});
    for (heed_tensor* input :
         {const_cast<heed_tensor*>(call.inputs.queries), const_cast<heed_tensor*>(call.inputs.keys),
          const_cast<heed_tensor*>(call.inputs.values)}) {
      if (input == nullptr) continue;
      const std::vector<float> elements = extremes(static_cast<size_t>(heed_tensor_num_elements(input)));
      check(heed_tensor_write(input, elements.data(), elements.size() * sizeof(float)));
    }
    expect_the_same_of("finite extremes", call);
    auto* values = const_cast<heed_tensor*>(call.inputs.values == nullptr ? call.inputs.queries : call.inputs.values);
    std::vector<float> elements = read_elements<float>(values);
    elements[0] = std::numeric_limits<float>::quiet_NaN();
    elements[1] = std::numeric_limits<float>::infinity();
    elements[2] = -std::numeric_limits<float>::infinity();
    check(heed_tensor_write(values, elements.data(), elements.size() * sizeof(float)));
    expect_the_same_of("NaN and infinities", call);
  }
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoOperation) {
  const Context context = make_context();
  const Tensor a = make_random(context.get(), {2, 5, 33}, 1);
  const Tensor b = make_random(context.get(), {2, 33, 6}, 2);
  const Tensor extreme = make_tensor_of(context.get(), {2, 5, 33}, extremes(330));
  const Tensor lens = make_tensor_of<float>(context.get(), {2}, {30.0f, 7.0f});
  const Tensor product = make_tensor(context.get(), {2, 5, 6});
  const Tensor weights = make_tensor(context.get(), {2, 5, 33});
  for (const heed_tensor* scores : {a.get(), extreme.get()}) {
    expect_the_same_in_every_state("heed_matmul", [&] {
      check(heed_matmul(scores, b.get(), product.get()));
      return read_bytes(product.get());
    });
    expect_the_same_in_every_state("heed_softmax", [&] {
      check(heed_softmax(scores, 1, weights.get()));
      return read_bytes(weights.get());
    });
    expect_the_same_in_every_state("heed_activation", [&] {
      check(heed_activation(scores, HEED_ACTIVATION_GELU, weights.get()));
      return read_bytes(weights.get());
    });
    expect_the_same_in_every_state("heed_masked_softmax", [&] {
      check(heed_masked_softmax(scores, lens.get(), weights.get()));
      return read_bytes(weights.get());
    });
  }
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoFillAndNoConversion) {
  const Context context = make_context();
  std::vector<double> numbers = {0.1, 1e300, -1e-310, 5e-324, 65519.9, 1e-7, 3.0000001, -2.5, 1e38, 4e-46, 127.4, -0.0};
  const Tensor source = make_tensor_of(context.get(), {12}, numbers);
  for (const heed_dtype dtype :
       {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32, HEED_I64, HEED_I8, HEED_U8, HEED_BOOL}) {
    const Tensor tensor = make_tensor(context.get(), {12}, dtype);
    const Tensor back = make_tensor(context.get(), {12}, HEED_F32);
    const auto of = [&](const char* name, const std::function<heed_status()>& call) {
      expect_the_same_in_every_state(name + std::string(", dtype ") + std::to_string(dtype), [&] {
        check(call());
        return read_bytes(tensor.get());
      });
    };
    of("heed_tensor_copy", [&] { return heed_tensor_copy(tensor.get(), source.get()); });
    of("heed_tensor_fill", [&] { return heed_tensor_fill(tensor.get(), numbers[0]); });
    of("heed_tensor_fill of a subnormal", [&] { return heed_tensor_fill(tensor.get(), numbers[2]); });
    of("heed_tensor_fill_arange", [&] { return heed_tensor_fill_arange(tensor.get(), numbers[0], numbers[6]); });
    of("heed_tensor_fill_uniform", [&] { return heed_tensor_fill_uniform(tensor.get(), numbers[0], numbers[10], 3); });
    of("heed_tensor_fill_normal", [&] { return heed_tensor_fill_normal(tensor.get(), numbers[0], numbers[6], 3); });
    expect_the_same_in_every_state("heed_tensor_copy to F32", [&] {
      check(heed_tensor_copy(back.get(), tensor.get()));
      return read_bytes(back.get());
    });
  }
}

TEST(FloatingPointEnvironment, OfTheHostChangesNoParameterAndNoFile) {
  const TemporaryFolder folder;
  const std::string npy = folder.path("numbers.npy");
  const std::string weights = folder.path("weights.safetensors");
  for (const Kind kind : {Kind::MultiHead, Kind::Additive, Kind::Linear}) {
    const AttentionCall call(kind);
    expect_the_same_in_every_state("heed_layer_initialize, _save and _load", [&] {
      check(heed_layer_initialize(call.layer.get(), &call.inputs, 11));
      check(heed_layer_save(call.layer.get(), weights.c_str()));
      check(heed_layer_load(call.layer.get(), weights.c_str(), nullptr));
      size_t num_bytes = 0;
      check(heed_layer_save_memory(call.layer.get(), nullptr, 0, &num_bytes));
      Bytes saved(num_bytes);
      check(heed_layer_save_memory(call.layer.get(), saved.data(), saved.size(), nullptr));
      check(call.forward());
      const Bytes outputs = call.read_outputs();
      saved.insert(saved.end(), outputs.begin(), outputs.end());
      return saved;
    });
    const char* name = heed_layer_parameter_name(call.layer.get(), 0);
    const Tensor parameter = snapshot(call.layer.get(), name);
    const std::vector<double> numbers(static_cast<size_t>(heed_tensor_num_elements(parameter.get())), 0.1);
    const Tensor value = make_tensor_of(call.context.get(), dims_of(parameter.get()), numbers);
    expect_the_same_in_every_state("heed_layer_set_parameter", [&] {
      check(heed_layer_set_parameter(call.layer.get(), name, value.get()));
      return read_bytes(snapshot(call.layer.get(), name).get());
    });
    expect_the_same_in_every_state("heed_tensor_save_npy and _load_npy", [&] {
      check(heed_tensor_save_npy(value.get(), npy.c_str()));
      heed_tensor* loaded = nullptr;
      check(heed_tensor_load_npy(call.context.get(), npy.c_str(), &loaded));
      return read_bytes(Tensor(loaded).get());
    });
  }
}

// Messages with numbers, and all ways in which a call can fail.
TEST(FloatingPointEnvironment, IsRestoredAfterAFailure) {
  const Context context = make_context();
  const Tensor lens = make_tensor_of<float>(context.get(), {2}, {2.7f, 1.0f});
  AttentionCall call(Kind::DotProductRank3);
  call.inputs.valid_lens = lens.get();
  const Tensor tensor = make_tensor(context.get(), {2});
  const double infinity = std::numeric_limits<double>::infinity();
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.soft_cap = -0.1f;
  options.dropout = 1.3f;
  const auto of = [](const char* name, const std::function<heed_status()>& fails) {
    expect_the_same_in_every_state(name, [&] {
      if (fails() != HEED_ERROR_INVALID_ARGUMENT) return Bytes();
      return bytes_of(heed_last_error(), std::strlen(heed_last_error()));
    });
  };
  of("a length that is not whole", [&] { return call.forward(); });
  of("an infinite step", [&] { return heed_tensor_fill_arange(tensor.get(), 0, infinity); });
  of("a soft cap below 0", [&] {
    heed_layer* none = nullptr;
    return heed_dot_product_attention_create(context.get(), &options, &none);
  });
  of("NULL", [&] { return heed_tensor_fill(nullptr, 1); });
  of("a getter", [&] { return heed_tensor_rank(nullptr) == -1 ? heed_last_status() : HEED_OK; });
}

heed_context_options with_threads(int32_t num_threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  return options;
}

// The first call makes the threads, and new threads inherit the state of their creator.
TEST(FloatingPointEnvironment, OfTheHostIsNotInheritedByHeedsThreads) {
  const Sizes sizes{.batch = 4, .num_queries = 90, .num_keys = 300};
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank4, Kind::Additive}) {
    const heed_context_options one = with_threads(1);
    const AttentionCall alone(make_context(&one), kind, sizes);
    check(alone.forward());
    const Bytes expected = alone.read_outputs();
    for (const NamedState& host : states_of_hosts()) {
      const heed_context_options four = with_threads(4);
      const AttentionCall call(make_context(&four), kind, sizes);
      Bytes result;
      FloatingPointState after;
      {
        const InState scope(host.state);
        check(call.forward());
        check(call.forward());
        result = call.read_outputs();
        after = FloatingPointState::of_this_thread();
      }
      EXPECT_TRUE(result == expected) << host.name;
      EXPECT_TRUE(after == host.state) << host.name;
    }
  }
}

Context flushing_context() {
  heed_context_options options = with_threads(4);
  options.flush_subnormals = 1;
  return make_context(&options);
}

TEST(FloatingPointEnvironment, OfTheHostChangesNothingWhereSubnormalNumbersAreFlushed) {
  for (const Kind kind : kEveryKind) {
    AttentionCall call(flushing_context(), kind, {.batch = 2, .num_queries = 90, .num_keys = 100});
    heed_tensor* const queries = const_cast<heed_tensor*>(call.inputs.queries);
    if (kind != Kind::Embedding) {
      const std::vector<float> elements = extremes(static_cast<size_t>(heed_tensor_num_elements(queries)));
      check(heed_tensor_write(queries, elements.data(), elements.size() * sizeof(float)));
    }
    expect_the_same_of("kind " + std::to_string(static_cast<int>(kind)), call);
  }
  AttentionCall call(flushing_context(), Kind::DotProductRank3, {.batch = 2, .num_queries = 3, .num_keys = 5});
  call.inputs.valid_lens = call.tensor_of<float>({2}, {2.7f, 1.0f});
  expect_the_same_in_every_state("a length that is not whole", [&] {
    return call.forward() == HEED_ERROR_INVALID_ARGUMENT ? bytes_of(heed_last_error(), 1) : Bytes();
  });
}

using RunItem = void(void* task, int64_t item);

// Each of its threads has a different state, and must have it after each item.
struct HostOfThreads {
  std::vector<NamedState> states = states_of_hosts();
  std::atomic<size_t> num_runs = 0;
  std::atomic<int> num_changed = 0;

  Context make_context(int64_t num_threads, bool flush_subnormals = false) {
    heed_executor executor = HEED_EXECUTOR_INIT;
    executor.num_threads = num_threads;
    executor.user = this;
    executor.parallel_for = [](void* user, int64_t num_items, RunItem* run, void* task) {
      auto* self = static_cast<HostOfThreads*>(user);
      std::vector<std::thread> threads;
      for (int64_t item = 0; item < num_items; ++item) {
        const FloatingPointState state = self->states[self->num_runs++ % self->states.size()].state;
        threads.emplace_back([=] {
          const InState scope(state);
          run(task, item);
          if (!(FloatingPointState::of_this_thread() == state)) ++self->num_changed;
        });
      }
      for (std::thread& thread : threads) thread.join();
      // Also set on the thread that calls heed, and left to it.
      self->states[self->num_runs % self->states.size()].state.set_for_this_thread();
    };
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.executor = &executor;
    options.flush_subnormals = flush_subnormals ? 1 : 0;
    return capi_test::make_context(&options);
  }
};

TEST(FloatingPointEnvironment, OfTheHostsThreadsIsRestored) {
  const Sizes sizes{.batch = 4, .num_queries = 90, .num_keys = 300};
  for (const Kind kind : {Kind::MultiHead, Kind::DotProductRank4, Kind::Additive}) {
    const heed_context_options one = with_threads(1);
    const AttentionCall alone(make_context(&one), kind, sizes);
    check(alone.forward());
    HostOfThreads host;
    const AttentionCall call(host.make_context(4), kind, sizes);
    for (int i = 0; i < 20; ++i) {
      check(call.forward());
      EXPECT_TRUE(FloatingPointState::of_this_thread().control() == FloatingPointState{}.control());
      EXPECT_TRUE(call.read_outputs() == alone.read_outputs());
    }
    EXPECT_GT(host.num_runs, 0u);
    EXPECT_EQ(host.num_changed, 0);
  }
}

// The values, and so the results, are subnormal.
TEST(FloatingPointEnvironment, OfTheHostsThreadsIsRestoredWhereSubnormalNumbersAreFlushed) {
  const auto forward = [](Context context) {
    const AttentionCall call(std::move(context), Kind::DotProductRank4,
                             {.batch = 4, .num_queries = 90, .num_keys = 300});
    check(heed_tensor_fill_uniform(const_cast<heed_tensor*>(call.inputs.values), -4e-38, 4e-38, 3));
    for (int i = 0; i < 5; ++i) {
      check(call.forward());
      EXPECT_TRUE(FloatingPointState::of_this_thread().control() == FloatingPointState{}.control());
    }
    return call.read_outputs();
  };
  HostOfThreads host;
  EXPECT_TRUE(forward(host.make_context(4, true)) == forward(flushing_context()));
  EXPECT_FALSE(forward(host.make_context(4, true)) == forward(host.make_context(4)));
  EXPECT_GT(host.num_runs, 0u);
  EXPECT_EQ(host.num_changed, 0);
}

TEST(FloatingPointEnvironment, OfTheHostChangesNothingInAForkedChild) {
  const heed_context_options four = with_threads(4);
  const Context context = make_context(&four);
  const LargeSoftmax softmax(context.get());
  check(softmax.run());
  const std::vector<float> expected = softmax.result();
  for (const NamedState& host : states_of_hosts()) {
    EXPECT_TRUE(succeeds_in_a_child([&] {
      FloatingPointState after;
      {
        const InState scope(host.state);
        check(softmax.run());
        after = FloatingPointState::of_this_thread();
      }
      EXPECT_TRUE(softmax.result() == expected);
      EXPECT_TRUE(after == host.state);
    })) << host.name;
  }
}

// Callbacks of the host run in the default state, whichever call runs them.
struct HostOfFunctions {
  int num_calls = 0;
  int num_wrong = 0;

  static void look(void* user) {
    auto* self = static_cast<HostOfFunctions*>(user);
    ++self->num_calls;
    if (!(FloatingPointState::of_this_thread().control() == FloatingPointState{}.control())) ++self->num_wrong;
  }

  Context make_context(bool flush_subnormals = false) {
    heed_allocator allocator = HEED_ALLOCATOR_INIT;
    allocator.user = this;
    allocator.allocate = [](void* user, size_t num_bytes, size_t alignment) {
      look(user);
      return std::aligned_alloc(alignment, (num_bytes + alignment - 1) / alignment * alignment);
    };
    allocator.release = [](void* user, void* memory, size_t) {
      look(user);
      std::free(memory);
    };
    heed_logger logger = HEED_LOGGER_INIT;
    logger.user = this;
    logger.write = [](void* user, int32_t, const char*) { look(user); };
    heed_executor executor = HEED_EXECUTOR_INIT;
    executor.user = this;
    executor.num_threads = 2;
    executor.parallel_for = [](void* user, int64_t num_items, RunItem* run, void* task) {
      look(user);
      for (int64_t item = 0; item < num_items; ++item) run(task, item);
      look(user);
    };
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.allocator = &allocator;
    options.logger = &logger;
    options.executor = &executor;
    options.flush_subnormals = flush_subnormals ? 1 : 0;
    return capi_test::make_context(&options);
  }
};

void expect_the_default_in_functions(bool flush_subnormals) {
  HostOfFunctions host;
  FloatingPointState state;
#if defined(__x86_64__)
  state.mxcsr |= 0x8040 | 3u << 13;
  state.x87_control = 0x27f;
#else
  state.fpcr = 3u << 22;
#endif
  float element = 1;
  const int64_t one = 1;
  FloatingPointState after;
  {
    const InState scope(state);
    const Context context = host.make_context(flush_subnormals);
    heed_tensor* wrapped = nullptr;
    check(heed_tensor_wrap(
        context.get(), HEED_F32, 1, &one, nullptr, &element, [](void* user, void*) { HostOfFunctions::look(user); },
        &host, &wrapped));
    EXPECT_EQ(heed_tensor_dim(wrapped, 7), -1);  // logged
    EXPECT_EQ(heed_tensor_fill_arange(wrapped, 2, std::numeric_limits<double>::infinity()),
              HEED_ERROR_INVALID_ARGUMENT);
    const Tensor scores = make_tensor(context.get(), {256, 1000});
    const Tensor weights = make_tensor(context.get(), {256, 1000});
    check(heed_softmax(scores.get(), 1, weights.get()));
    heed_tensor_destroy(wrapped);
    after = FloatingPointState::of_this_thread();
  }
  EXPECT_TRUE(after == state);
  EXPECT_GT(host.num_calls, 10);
  EXPECT_EQ(host.num_wrong, 0);
}

TEST(FloatingPointEnvironment, IsTheDefaultInFunctionsOfTheHost) {
  for (const bool flush_subnormals : {false, true}) expect_the_default_in_functions(flush_subnormals);
}

}  // namespace
}  // namespace heed::capi_test
