// SPDX-License-Identifier: Apache-2.0
// A host's logger: which messages it gets, and that it changes no result.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

struct Message {
  int32_t level;
  std::string text;
  std::thread::id thread;
};

class Recorder {
 public:
  Recorder() = default;
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;

  heed_logger as_struct() { return {sizeof(heed_logger), write, this}; }
  Context make_context() {
    // A local variable, since heed copies the struct.
    const heed_logger logger = as_struct();
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.logger = &logger;
    return capi_test::make_context(&options);
  }

  // Called with each message, after it has been recorded.
  std::function<void()> then;

  // The messages since the last call.
  std::vector<Message> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(messages_, {});
  }

 private:
  static void write(void* user, int32_t level, const char* text) {
    auto& self = *static_cast<Recorder*>(user);
    {
      const std::lock_guard lock(self.mutex_);
      self.messages_.push_back({level, text, std::this_thread::get_id()});
    }
    if (self.then) self.then();
  }

  std::mutex mutex_;
  std::vector<Message> messages_;
};

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

// Whether the last call logged exactly one message: an error, with the function's name and the text of heed_last_error.
testing::AssertionResult is_told(Recorder& recorder, const std::string& function) {
  const std::vector<Message> messages = recorder.take();
  if (messages.size() != 1) return testing::AssertionFailure() << messages.size() << " messages, expected one";
  if (messages[0].level != HEED_LOG_ERROR) return testing::AssertionFailure() << "level " << messages[0].level;
  const std::string expected = function + ": " + heed_last_error();
  if (messages[0].text != expected)
    return testing::AssertionFailure() << "\"" << messages[0].text << "\", expected \"" << expected << "\"";
  return testing::AssertionSuccess();
}

TEST(Logger, IsToldThatAContextWasCreated) {
  Recorder recorder;
  const Context context = recorder.make_context();
  const std::vector<Message> messages = recorder.take();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].level, HEED_LOG_INFO);
  const std::string start = std::string("heed_context_create: heed ") + heed_version_string() + " on cpu:0 (CPU, ";
  EXPECT_TRUE(starts_with(messages[0].text, start)) << messages[0].text;
  EXPECT_NE(messages[0].text.find("), threads: "), std::string::npos) << messages[0].text;
}

TEST(Logger, IsToldOfEveryFailedCall) {
  Recorder recorder;
  AttentionCall call(recorder.make_context(), Kind::MultiHead);
  const Workspace workspace = make_workspace(call.context.get(), 1);
  heed_context* context = call.context.get();
  heed_layer* layer = call.layer.get();
  heed_tensor* tensor = call.outputs.output;
  heed_tensor* made = nullptr;
  heed_layer* made_layer = nullptr;
  heed_workspace* made_workspace = nullptr;
  size_t num_bytes = 0;
  heed_layer_inputs no_inputs = HEED_LAYER_INPUTS_INIT;
  heed_multi_head_attention_options bad_heads = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  heed_dot_product_attention_options bad_cap = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  bad_cap.soft_cap = -1.0f;
  const int64_t dims[] = {-3};
  float element = 0;
  const struct {
    const char* function;
    std::function<void()> call;
  } rows[] = {
      {"heed_context_describe", [&] { heed_context_describe(context, nullptr, 0, nullptr); }},
      {"heed_tensor_create", [&] { heed_tensor_create(context, HEED_F32, 1, dims, &made); }},
      {"heed_tensor_wrap",
       [&] { heed_tensor_wrap(context, HEED_F32, 1, dims, nullptr, &element, nullptr, nullptr, &made); }},
      {"heed_tensor_dim", [&] { heed_tensor_dim(tensor, 3); }},
      {"heed_tensor_stride", [&] { heed_tensor_stride(tensor, 3); }},
      {"heed_tensor_data", [&] { heed_tensor_data(snapshot(layer, "W_q.weight").get()); }},
      {"heed_tensor_write", [&] { heed_tensor_write(tensor, &element, 3); }},
      {"heed_tensor_read", [&] { heed_tensor_read(tensor, &element, 3); }},
      {"heed_tensor_fill", [&] { heed_tensor_fill(snapshot(layer, "W_q.weight").get(), 1.0); }},
      {"heed_tensor_copy", [&] { heed_tensor_copy(tensor, tensor); }},
      {"heed_tensor_view", [&] { heed_tensor_view(tensor, 9, dims, nullptr, 0, &made); }},
      {"heed_tensor_reshape", [&] { heed_tensor_reshape(tensor, 1, dims, &made); }},
      {"heed_tensor_transpose", [&] { heed_tensor_transpose(tensor, nullptr, nullptr); }},
      {"heed_tensor_slice", [&] { heed_tensor_slice(tensor, 0, 0, 100, &made); }},
      {"heed_tensor_load_safetensors", [&] { heed_tensor_load_safetensors(context, "none\n\xC3\xA4", "a", &made); }},
      {"heed_dot_product_attention_create", [&] { heed_dot_product_attention_create(context, &bad_cap, &made_layer); }},
      {"heed_additive_attention_create", [&] { heed_additive_attention_create(context, nullptr, &made_layer); }},
      {"heed_multi_head_attention_create", [&] { heed_multi_head_attention_create(context, &bad_heads, &made_layer); }},
      {"heed_linear_create", [&] { heed_linear_create(context, nullptr, &made_layer); }},
      {"heed_dropout_create", [&] { heed_dropout_create(context, nullptr, nullptr); }},
      {"heed_layer_initialize", [&] { heed_layer_initialize(layer, &no_inputs, 1); }},
      {"heed_layer_parameter_name", [&] { heed_layer_parameter_name(layer, 99); }},
      {"heed_layer_parameter", [&] { heed_layer_parameter(layer, "no\nsuch", &made); }},
      {"heed_layer_parameter_shape", [&] { heed_layer_parameter_shape(layer, "none", &made); }},
      {"heed_layer_set_parameter", [&] { heed_layer_set_parameter(layer, "W_q.weight", tensor); }},
      {"heed_layer_load", [&] { heed_layer_load(layer, "none", nullptr); }},
      {"heed_layer_save", [&] { heed_layer_save(layer, "no such folder/file"); }},
      {"heed_layer_create_outputs", [&] { heed_layer_create_outputs(layer, &call.inputs, 0, &call.outputs); }},
      {"heed_layer_workspace_size", [&] { heed_layer_workspace_size(layer, &no_inputs, &call.outputs, &num_bytes); }},
      {"heed_layer_forward", [&] { call.forward(workspace.get()); }},
      {"heed_layer_explain", [&] { heed_layer_explain(layer, &call.inputs, &call.outputs, nullptr, 0, nullptr); }},
      {"heed_workspace_create", [&] { heed_workspace_create(context, SIZE_MAX, &made_workspace); }},
      {"heed_workspace_wrap", [&] { heed_workspace_wrap(context, nullptr, 5, &made_workspace); }},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.function);
    recorder.take();
    forget_last_error();
    row.call();
    std::vector<Message> messages = recorder.take();
    // A forward call logs its kernels before it fails.
    messages.erase(std::remove_if(messages.begin(), messages.end(),
                                  [](const Message& message) { return message.level == HEED_LOG_DEBUG; }),
                   messages.end());
    ASSERT_EQ(messages.size(), 1u);
    EXPECT_EQ(messages[0].level, HEED_LOG_ERROR);
    EXPECT_EQ(messages[0].text, std::string(row.function) + ": " + heed_last_error());
    EXPECT_TRUE(std::all_of(messages[0].text.begin(), messages[0].text.end(), [](char c) {
      return c >= ' ' && c <= '~';
    })) << messages[0].text;
  }
}

TEST(Logger, IsNotToldOfCallsWithoutAnObject) {
  Recorder recorder;
  const heed_logger logger = recorder.as_struct();
  const Context context = recorder.make_context();
  recorder.take();
  heed_tensor_rank(nullptr);
  heed_layer_forward(nullptr, nullptr, nullptr, nullptr);
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  options.num_threads = -1;
  heed_context* none = nullptr;
  EXPECT_EQ(heed_context_create(&options, &none), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(recorder.take().empty());
}

TEST(Logger, IsNotToldOfOtherContexts) {
  Recorder recorder;
  const Context context = recorder.make_context();
  const Context silent = make_context();
  recorder.take();
  const Tensor mine = make_tensor(context.get(), {2});
  const Tensor others = make_tensor(silent.get(), {3});
  // The context of the first argument gets the message.
  EXPECT_EQ(heed_tensor_copy(others.get(), mine.get()), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(recorder.take().empty());
  EXPECT_EQ(heed_tensor_copy(mine.get(), others.get()), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_TRUE(is_told(recorder, "heed_tensor_copy"));
}

TEST(Logger, IsUsedAsLongAsThereAreObjects) {
  Recorder recorder;
  Context context = recorder.make_context();
  const Tensor tensor = make_tensor(context.get(), {2});
  context.reset();
  recorder.take();
  EXPECT_EQ(heed_tensor_dim(tensor.get(), 1), -1);
  EXPECT_TRUE(is_told(recorder, "heed_tensor_dim"));
}

TEST(Logger, IsToldWhereALayersParametersComeFrom) {
  Recorder recorder;
  const TemporaryFolder folder;
  const std::string path = folder.path("layer.safetensors");
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  check(heed_layer_save(call.layer.get(), path.c_str()));
  recorder.take();
  check(heed_layer_load(call.layer.get(), path.c_str(), nullptr));
  const std::vector<Message> messages = recorder.take();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].level, HEED_LOG_INFO);
  EXPECT_TRUE(starts_with(messages[0].text, "heed_layer_load: multi_head_attention has its 4 parameters from \""))
      << messages[0].text;
  EXPECT_TRUE(messages[0].text.ends_with("layer.safetensors\" by the names of heed")) << messages[0].text;

  const std::string model = std::string(HEED_SOURCE_DIR "/tests/golden/data/weights/pytorch_no_bias.safetensors");
  const std::string bytes = read_file(model);
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 12;
  options.num_heads = 3;
  const Layer fresh = make_multi_head(call.context.get(), options);
  recorder.take();
  check(heed_layer_load_memory(fresh.get(), bytes.data(), bytes.size(), nullptr));
  const std::vector<Message> from_memory = recorder.take();
  ASSERT_EQ(from_memory.size(), 1u);
  EXPECT_EQ(from_memory[0].text,
            "heed_layer_load_memory: multi_head_attention has its 4 parameters from \"memory\" by the names of PyTorch "
            "nn.MultiheadAttention");
}

TEST(Logger, IsToldWhichKernelsAForwardUses) {
  Recorder recorder;
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  recorder.take();
  check(call.forward());
  const std::vector<Message> messages = recorder.take();
  const char* const operations[] = {"project queries", "project keys", "project values", "attention", "project output"};
  ASSERT_EQ(messages.size(), std::size(operations));
  for (size_t i = 0; i < messages.size(); ++i) {
    EXPECT_EQ(messages[i].level, HEED_LOG_DEBUG);
    EXPECT_TRUE(
        starts_with(messages[i].text, std::string("heed_layer_forward: \"") + operations[i] + "\" by kernel \""))
        << messages[i].text;
  }
}

TEST(Logger, IsNotToldOfOtherSuccessfulCalls) {
  Recorder recorder;
  AttentionCall call(recorder.make_context(), Kind::MultiHead);
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  recorder.take();
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 1));
  const Tensor weight = snapshot(call.layer.get(), "W_q.weight");
  check(heed_layer_set_parameter(call.layer.get(), "W_q.weight", weight.get()));
  const Tensor view = make_transposed(weight.get(), {1, 0});
  call.zeros({3});
  EXPECT_TRUE(recorder.take().empty());
}

TEST(Logger, MayBeAbsentAndThenNothingIsPrinted) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    const AttentionCall call(Kind::MultiHead);
    EXPECT_EQ(call.forward(), HEED_OK);
    EXPECT_EQ(heed_tensor_dim(call.outputs.output, 9), -1);
    EXPECT_EQ(heed_layer_load(call.layer.get(), "none", nullptr), HEED_ERROR_IO);
    EXPECT_EQ(heed_context_create(nullptr, nullptr), HEED_ERROR_INVALID_ARGUMENT);
  }
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(Logger, MayCallHeedAndFailThere) {
  Recorder recorder;
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  int num_calls = 0;
  recorder.then = [&] {
    ++num_calls;
    EXPECT_EQ(call.forward(), HEED_OK) << heed_last_error();
    EXPECT_EQ(heed_layer_load(call.layer.get(), "none", nullptr), HEED_ERROR_IO);
    EXPECT_EQ(heed_last_status(), HEED_ERROR_IO);
    EXPECT_EQ(heed_tensor_rank(nullptr), -1);
    EXPECT_EQ(heed_last_status(), HEED_ERROR_INVALID_ARGUMENT);
  };
  recorder.take();
  // The caller's last error is that of its own call; calls inside the logger are not logged.
  EXPECT_EQ(heed_tensor_dim(call.outputs.output, 9), -1);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_INVALID_ARGUMENT, {"axis is 9"}}));
  EXPECT_EQ(num_calls, 1);
  EXPECT_TRUE(is_told(recorder, "heed_tensor_dim"));
  // A successful call does not change the last error.
  EXPECT_EQ(call.forward(), HEED_OK);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_INVALID_ARGUMENT, {"axis is 9"}}));
  EXPECT_EQ(num_calls, 6);
  EXPECT_EQ(recorder.take().size(), 5u);
}

TEST(Logger, MayUseTheWorkspaceOfTheLoggedCall) {
  Recorder recorder;
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  recorder.then = [&] { EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error(); };
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK);
  EXPECT_EQ(heed_tensor_dim(call.outputs.output, 9), -1);
}

TEST(Logger, ThatThrowsLosesItsMessageOnly) {
  Recorder recorder;
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  recorder.then = [] { throw std::runtime_error("a logger must not"); };
  EXPECT_EQ(call.forward(), HEED_OK);
  EXPECT_EQ(heed_tensor_dim(call.outputs.output, 9), -1);
  EXPECT_TRUE(is_refused(heed_last_status(), {HEED_ERROR_INVALID_ARGUMENT, {"axis is 9"}}));
  recorder.then = nullptr;
  recorder.take();
  EXPECT_EQ(heed_tensor_dim(call.outputs.output, 9), -1);
  EXPECT_TRUE(is_told(recorder, "heed_tensor_dim")) << "the thread is marked as being inside its logger";
}

TEST(Logger, IsCalledOnTheThreadOfTheCall) {
  constexpr int kNumThreads = 6;
  constexpr int kNumCalls = 50;
  Recorder recorder;
  const Context context = recorder.make_context();
  const Tensor tensor = make_tensor(context.get(), {2});
  recorder.take();
  std::vector<std::thread> threads;
  for (int i = 0; i < kNumThreads; ++i) {
    threads.emplace_back([&tensor, i] {
      for (int j = 0; j < kNumCalls; ++j) heed_tensor_dim(tensor.get(), 100 + i);
      EXPECT_EQ(std::string(heed_last_error()).find("axis is " + std::to_string(100 + i)), 0u);
    });
  }
  std::vector<std::thread::id> ids;
  for (const std::thread& thread : threads) ids.push_back(thread.get_id());
  for (std::thread& thread : threads) thread.join();
  const std::vector<Message> messages = recorder.take();
  EXPECT_EQ(messages.size(), static_cast<size_t>(kNumThreads * kNumCalls));
  for (const Message& message : messages) {
    const auto index = std::find(ids.begin(), ids.end(), message.thread) - ids.begin();
    EXPECT_TRUE(starts_with(message.text, "heed_tensor_dim: axis is " + std::to_string(100 + index) + ","))
        << message.text;
  }
}

TEST(Logger, WithoutItsFunctionIsRefused) {
  const heed_logger logger = HEED_LOGGER_INIT;
  expect_refused({
      {"no write",
       [&logger](OutParameters& out) {
         heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
         options.logger = &logger;
         return heed_context_create(&options, &out.context);
       },
       {HEED_ERROR_INVALID_ARGUMENT, {"options->logger->write is NULL, expected a pointer"}}},
  });
}

// The layer may have tensors in the other files, which are not searched.
TEST(Logger, IsWarnedOfOneOfSeveralFilesWithoutAnIndex) {
  Recorder recorder;
  const AttentionCall call(recorder.make_context(), Kind::MultiHead);
  const TemporaryFolder folder;
  const std::string bytes = safetensors_of(parameters_of(call.layer.get()));
  const auto warnings = [&](const std::string& name) {
    recorder.take();
    check(heed_layer_load(call.layer.get(), folder.path(name).c_str(), nullptr));
    std::vector<std::string> texts;
    for (const Message& message : recorder.take()) {
      if (message.level == HEED_LOG_WARNING) texts.push_back(message.text);
    }
    return texts;
  };
  folder.write(part_name(2, 3), bytes);
  folder.write(part_name(1, 1), bytes);
  folder.write("model.safetensors", bytes);
  EXPECT_EQ(warnings(part_name(2, 3)),
            std::vector<std::string>{"heed_layer_load: \"" + folder.path(part_name(2, 3)) +
                                     "\" is part 2 of 3, whose index, \"" + folder.path(kIndexName) +
                                     "\", is not there: what the other files hold of this layer is not known"});
  EXPECT_TRUE(warnings(part_name(1, 1)).empty());
  EXPECT_TRUE(warnings("model.safetensors").empty());
  write_cut_model(folder, parameters_of(call.layer.get()), 3);
  EXPECT_TRUE(warnings(part_name(2, 3)).empty());
}

}  // namespace
}  // namespace heed::capi_test
