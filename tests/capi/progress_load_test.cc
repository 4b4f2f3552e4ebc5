// SPDX-License-Identifier: Apache-2.0
// Reports of loading and initializing parameters, and stopping these calls by them.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/counting_allocator.h"
#include "capi/support/cut_model.h"
#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/refusal.h"
#include "capi/support/reports.h"

namespace heed::capi_test {
namespace {

using Weights = std::unique_ptr<heed_weights, property::Destroyer<heed_weights_destroy>>;

Weights open_weights(heed_context* context, const std::string& path) {
  heed_weights* weights = nullptr;
  check(heed_weights_open(context, path.c_str(), &weights));
  return Weights(weights);
}

std::vector<std::vector<uint8_t>> parameter_bytes(const heed_layer* layer) {
  std::vector<std::vector<uint8_t>> all;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i)
    all.push_back(read_bytes(snapshot(layer, heed_layer_parameter_name(layer, i)).get()));
  return all;
}

// heed_model_create with reports.
heed_status create_model(heed_context* context, const std::string& folder, const Reports& reports, heed_layer** layer) {
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  load.progress = &reports.progress;
  heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  options.load = &load;
  return heed_model_create(context, folder.c_str(), &options, layer);
}

const Refusal kCancelledModel = {HEED_ERROR_CANCELLED,
                                 {"options->load->progress->report returned -7 after ", " bytes"}};

// ---- models ---------------------------------------------------------------------------------------------------------

TEST(ProgressOfModels, IsReportedForEachFamilyInOneFileAndInSeveral) {
  for (const std::string& family : every_model_of_any_input()) {
    SCOPED_TRACE(family);
    const ModelCopy copy(family);
    const Context context = make_context();
    const Layer expected = make_model(context.get(), golden_model(family));
    for (const size_t num_files : {1u, 3u}) {
      const std::string folder = copy.write(num_files);
      Reports reports;
      heed_layer* made = nullptr;
      ASSERT_EQ(create_model(context.get(), folder, reports, &made), HEED_OK) << heed_last_error();
      const Layer model(made);
      EXPECT_TRUE(reports.are_whole());
      EXPECT_GT(reports.done.size(), static_cast<size_t>(heed_layer_parameter_count(made)));
      EXPECT_EQ(parameter_bytes(made), parameter_bytes(expected.get()));
    }
  }
}

TEST(ProgressOfModels, MayDestroyTheHandleOfTheContext) {
  const std::string folder = golden_model("gpt2");
  Context context = make_context();
  Reports reports;
  reports.during = [&] { context.reset(); };
  heed_layer* made = nullptr;
  ASSERT_EQ(create_model(context.get(), folder, reports, &made), HEED_OK) << heed_last_error();
  const Layer model(made);
  EXPECT_TRUE(reports.are_whole());
}

TEST(ProgressOfModels, StopsAtEachReport) {
  for (const char* family : {"bert", "gpt2", "phi3", "gemma", "whisper"}) {
    const std::string folder = ModelCopy(family).write(2);
    SCOPED_TRACE(family);
    const ModelCopy copy(family);
    const std::string cut = copy.write(2);
    for (const int32_t num_threads : {1, 4, 16}) {
      CountingAllocator allocator;
      const heed_allocator counted = allocator.as_struct();
      heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
      options.allocator = &counted;
      options.num_threads = num_threads;
      const Context context = make_context(&options);
      Reports whole;
      heed_layer* made = nullptr;
      check(create_model(context.get(), cut, whole, &made));
      const Layer expected(made);
      const int64_t num_blocks = allocator.num_live_blocks();
      for (size_t k = 0; k < whole.done.size(); ++k) {
        Reports reports(k);
        heed_layer* none = nullptr;
        forget_last_error();
        ASSERT_TRUE(is_refused(create_model(context.get(), cut, reports, &none), kCancelledModel)) << k;
        EXPECT_EQ(none, nullptr);
        ASSERT_EQ(reports.done.size(), k + 1);
        EXPECT_EQ(allocator.num_live_blocks(), num_blocks) << k;
      }
      Reports again;
      check(create_model(context.get(), cut, again, &made));
      const Layer model(made);
      EXPECT_EQ(parameter_bytes(made), parameter_bytes(expected.get()));
    }
  }
}

TEST(ProgressOfModels, WithoutOptionsIsTheFolderFunction) {
  const Context context = make_context();
  const std::string folder = golden_model("llama");
  const Layer expected = make_model(context.get(), folder);
  const heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  const heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  heed_model_options with_load = HEED_MODEL_OPTIONS_INIT;
  with_load.load = &load;
  for (const heed_model_options* each : {static_cast<const heed_model_options*>(nullptr), &options,
                                         static_cast<const heed_model_options*>(&with_load)}) {
    heed_layer* made = nullptr;
    ASSERT_EQ(heed_model_create(context.get(), folder.c_str(), each, &made), HEED_OK) << heed_last_error();
    const Layer model(made);
    EXPECT_EQ(parameter_bytes(made), parameter_bytes(expected.get()));
  }
}

TEST(ProgressOfModels, PointersMayNotBeNull) {
  const Context context = make_context();
  const std::string folder = golden_model("bert");
  heed_layer* made = nullptr;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_model_create(nullptr, folder.c_str(), nullptr, &made), invalid({"context is NULL"})));
  EXPECT_TRUE(is_refused(heed_model_create(context.get(), nullptr, nullptr, &made), invalid({"folder is NULL"})));
  EXPECT_TRUE(
      is_refused(heed_model_create(context.get(), folder.c_str(), nullptr, nullptr), invalid({"layer is NULL"})));
  heed_progress progress = HEED_PROGRESS_INIT;
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  load.progress = &progress;
  heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  options.load = &load;
  EXPECT_TRUE(is_refused(heed_model_create(context.get(), folder.c_str(), &options, &made),
                         invalid({"options->load->progress->report is NULL"})));
  EXPECT_EQ(made, nullptr);
}

TEST(ProgressOfModels, OptionsAcceptTensorsByName) {
  const Context context = make_context();
  ModelCopy copy("llama");
  copy.tensors.push_back({"model.layers.0.self_attn.extra", {2}, {1, 2}});
  const std::string folder = copy.write();
  heed_load_options load = HEED_LOAD_OPTIONS_INIT;
  heed_model_options options = HEED_MODEL_OPTIONS_INIT;
  options.load = &load;
  heed_layer* made = nullptr;
  EXPECT_NE(heed_model_create(context.get(), folder.c_str(), &options, &made), HEED_OK);
  load.accept = "model.layers.0.self_attn.extra";
  ASSERT_EQ(heed_model_create(context.get(), folder.c_str(), &options, &made), HEED_OK) << heed_last_error();
  heed_layer_destroy(std::exchange(made, nullptr));
  load.accept = "unheard of";
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_model_create(context.get(), folder.c_str(), &options, &made),
                         invalid({"accept has \"unheard of\""})));
  EXPECT_EQ(made, nullptr);
}

// ---- layers ---------------------------------------------------------------------------------------------------------

TEST(ProgressOfLoading, KeepsTheOldParametersWhenStopped) {
  const TemporaryFolder folder;
  AttentionCall call(Kind::Encoder);
  write_cut_model(folder, parameters_of(call.layer.get(), "m."), 3);
  const std::vector<std::vector<uint8_t>> stored = parameter_bytes(call.layer.get());
  check(heed_layer_initialize(call.layer.get(), &call.inputs, 77));
  const std::vector<std::vector<uint8_t>> before = parameter_bytes(call.layer.get());
  ASSERT_NE(before, stored);
  const Weights weights = open_weights(call.context.get(), folder.path(kIndexName));
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  const auto load = [&](const Reports& reports) {
    options.progress = &reports.progress;
    return heed_layer_load_weights(call.layer.get(), weights.get(), "m", &options);
  };
  size_t k = 0;
  for (;; ++k) {
    Reports reports(k);
    const heed_status status = load(reports);
    if (status == HEED_OK) {
      EXPECT_TRUE(reports.are_whole());
      break;
    }
    ASSERT_TRUE(is_refused(status, {HEED_ERROR_CANCELLED, {"options->progress->report returned -7"}}));
    ASSERT_EQ(reports.done.size(), k + 1);
    EXPECT_EQ(parameter_bytes(call.layer.get()), before);
  }
  EXPECT_GT(k, stored.size());
  EXPECT_EQ(parameter_bytes(call.layer.get()), stored);
  heed_progress progress = HEED_PROGRESS_INIT;
  options.progress = &progress;
  forget_last_error();
  EXPECT_TRUE(is_refused(heed_layer_load_weights(call.layer.get(), weights.get(), "m", &options),
                         invalid({"options->progress->report is NULL"})));
}

TEST(ProgressOfLoading, IsReportedWithinALargeTensor) {
  const TemporaryFolder folder;
  for (const int32_t num_threads : {1, 3}) {
    heed_context_options context_options = HEED_CONTEXT_OPTIONS_INIT;
    context_options.num_threads = num_threads;
    const Context context = make_context(&context_options);
    heed_linear_options size = HEED_LINEAR_OPTIONS_INIT;
    size.output_size = 2048;
    const Layer layer = make_linear(context.get(), size);
    const Tensor rows = make_shape_only(context.get(), {1, 2048});
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = rows.get();
    Reports drawn;
    inputs.progress = &drawn.progress;
    check(heed_layer_initialize(layer.get(), &inputs, 5));
    EXPECT_TRUE(drawn.are_whole());
    EXPECT_EQ(drawn.totals[0], 4 * (2048 * 2048 + 2048));
    const std::vector<std::vector<uint8_t>> expected = parameter_bytes(layer.get());
    check(heed_layer_save(layer.get(), folder.path("large.safetensors").c_str()));
    const Weights weights = open_weights(context.get(), folder.path("large.safetensors"));
    heed_load_options options = HEED_LOAD_OPTIONS_INIT;
    Reports loaded;
    options.progress = &loaded.progress;
    check(heed_layer_load_weights(layer.get(), weights.get(), nullptr, &options));
    EXPECT_TRUE(loaded.are_whole());
    EXPECT_EQ(loaded.totals[0], drawn.totals[0]);
    // 16 MiB; of each 1 MiB there is a report if this thread reads all.
    if (num_threads == 1) {
      EXPECT_GT(loaded.done.size(), 14u);
      EXPECT_GT(drawn.done.size(), 14u);
    }
    for (const size_t k : {0u, 1u, 2u}) {
      Reports stopped(k);
      options.progress = inputs.progress = &stopped.progress;
      const heed_status load_status = heed_layer_load_weights(layer.get(), weights.get(), nullptr, &options);
      EXPECT_EQ(load_status, HEED_ERROR_CANCELLED);
      stopped.done.clear();
      EXPECT_EQ(heed_layer_initialize(layer.get(), &inputs, 6), HEED_ERROR_CANCELLED);
      EXPECT_EQ(parameter_bytes(layer.get()), expected);
    }
  }
}

TEST(ProgressOfInitializing, KeepsTheOldParametersWhenStopped) {
  AttentionCall call(Kind::Decoder);
  const std::vector<std::vector<uint8_t>> before = parameter_bytes(call.layer.get());
  size_t k = 0;
  for (;; ++k) {
    Reports reports(k);
    call.inputs.progress = &reports.progress;
    const heed_status status = heed_layer_initialize(call.layer.get(), &call.inputs, 77);
    if (status == HEED_OK) break;
    ASSERT_TRUE(is_refused(status, {HEED_ERROR_CANCELLED, {"inputs->progress->report returned -7", " bytes"}}));
    EXPECT_EQ(parameter_bytes(call.layer.get()), before);
  }
  EXPECT_GT(k, before.size());
  EXPECT_NE(parameter_bytes(call.layer.get()), before);
}

// What the report computes with heed is another call, also if the report stops the load.
TEST(ProgressOfLoading, ReportsMayCallHeed) {
  const Context context = make_context();
  const std::string folder = golden_model("bert");
  const Layer expected = make_model(context.get(), folder);
  const auto make_another = [&] {
    const Layer another = make_model(context.get(), folder);
    EXPECT_EQ(parameter_bytes(another.get()), parameter_bytes(expected.get()));
  };
  Reports reports;
  reports.during = make_another;
  heed_layer* made = nullptr;
  check(create_model(context.get(), folder, reports, &made));
  const Layer model(made);
  EXPECT_TRUE(reports.are_whole());
  EXPECT_EQ(parameter_bytes(made), parameter_bytes(expected.get()));
  Reports stopped(3);
  stopped.during = make_another;
  EXPECT_EQ(create_model(context.get(), folder, stopped, &made), HEED_ERROR_CANCELLED);
}

}  // namespace
}  // namespace heed::capi_test
