// SPDX-License-Identifier: Apache-2.0
// The two models in data/model_inputs, whose logits of two texts are known in F64: a model gives them however a call says what
// counts of its ids, and by whatever names and settings its folder says what it is. What else it says is refused.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "capi/support/model_call.h"
#include "capi/support/model_copy.h"
#include "capi/support/objects.h"
#include "capi/support/refusal.h"
#include "golden/support/derived_bound.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Cache;
using capi_test::Context;
using capi_test::Dims;
using capi_test::invalid;
using capi_test::is_refused;
using capi_test::ModelCopy;
using capi_test::Refusal;
using capi_test::Tensor;

constexpr int64_t kNumIds = 29;
constexpr const char* kGpt2 = "gpt2-tied";
constexpr const char* kLlama = "llama-tied";

struct Text {
  std::vector<int64_t> ids;
  std::vector<double> logits;  // (ids, kNumIds), of the text alone

  int64_t size() const { return static_cast<int64_t>(ids.size()); }
  // Its first ids: no row sees a later one, so that their logits are the first ones, too.
  Text beginning(size_t count) const {
    const auto num_logits = static_cast<std::ptrdiff_t>(count) * kNumIds;
    return {{ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count)},
            {logits.begin(), logits.begin() + num_logits}};
  }
};

// "long", of 7 ids, or "short", of 4. `logits`: what the case with other settings is called; none: that of the text.
Text text_of(const char* model, const std::string& name, const std::string& logits = "") {
  const Context context = capi_test::make_context();
  return {capi_test::read_elements<int64_t>(load_case(context, model, name + ".input_ids").get()),
          numbers_of(load_case(context, model, (logits.empty() ? name : logits) + ".logits").get())};
}

// A call with ids of I64 in which `counts` says which of them have logits of their own.
class CallOfTexts {
 public:
  CallOfTexts(capi_test::ModelCall& call, const Dims& dims, const std::vector<int64_t>& ids,
              std::vector<uint8_t> counts)
      : call_(call), counts_(std::move(counts)) {
    call.inputs.queries = keep(dims, ids);
    call.inputs.decoder = &call.decoder;
  }

  template <typename T>
  heed_tensor* keep(const Dims& dims, const std::vector<T>& elements, heed_dtype dtype = capi_test::kDTypeOf<T>) {
    return call_.keep(capi_test::make_tensor_of(call_.context.get(), dims, elements, dtype));
  }

  // Expects the rows that count to be those of the texts, one after another: without a cache, and with an empty one.
  void expect(const std::vector<Text>& texts) {
    std::vector<double> expected;
    for (const Text& text : texts) expected.insert(expected.end(), text.logits.begin(), text.logits.end());
    for (const bool with_cache : {false, true}) {
      SCOPED_TRACE(with_cache ? "with a cache" : "without a cache");
      const Cache cache = capi_test::make_cache_of(call_.context.get(), call_.layer.get(), 2, 16);
      heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
      cached.cache = cache.get();
      call_.inputs.cache = with_cache ? &cached : nullptr;
      call_.run();
      call_.inputs.cache = nullptr;
      const std::vector<double> all = numbers_of(call_.outputs.output);
      std::vector<double> is;
      for (size_t row = 0; row < counts_.size(); ++row) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(row) * kNumIds;
        if (counts_[row] != 0) is.insert(is.end(), first, first + kNumIds);
      }
      expect_numbers_of_model(is, expected, nullptr);
    }
  }

 private:
  capi_test::ModelCall& call_;
  std::vector<uint8_t> counts_;
};

// Expects the model to have the logits of a text alone.
void expect_alone(capi_test::ModelCall& call, const Text& text) {
  CallOfTexts(call, {1, text.size()}, text.ids, std::vector<uint8_t>(text.ids.size(), 1)).expect({text});
}
void expect_alone(const std::string& folder, const Text& text) {
  capi_test::ModelCall call(folder);
  expect_alone(call, text);
}

class OnTheCpu : public testing::Test {
 protected:
  void SetUp() override {
    if (property::on_ascend()) GTEST_SKIP() << "no bound on the device";
  }
};
class EveryTiedModel : public OnTheCpu, public testing::WithParamInterface<const char*> {};
class TiedLlama : public OnTheCpu {};

// ---- inputs ---------------------------------------------------------------------------------------------------------

TEST_P(EveryTiedModel, GivesTheLogitsOfEachTextAlone) {
  for (const char* const name : {"long", "short"}) expect_alone(folder_of(GetParam()), text_of(GetParam(), name));
}

// The second text is padded on the left, as tokenizers of decoders do.
TEST_P(EveryTiedModel, GivesThemWithPaddingOnTheLeft) {
  const std::vector<Text> texts = {text_of(GetParam(), "long"), text_of(GetParam(), "short")};
  const std::vector<uint8_t> counts = {1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1};
  std::vector<int64_t> ids = texts[0].ids;
  ids.insert(ids.end(), 3, 0);
  ids.insert(ids.end(), texts[1].ids.begin(), texts[1].ids.end());
  capi_test::ModelCall call(folder_of(GetParam()));
  CallOfTexts batch(call, {2, 7}, ids, counts);
  {
    SCOPED_TRACE("by a mask and positions");
    call.decoder.self_mask = batch.keep({2, 1, 1, 7}, counts, HEED_BOOL);
    call.sequences.positions = batch.keep<int64_t>({2, 7}, {0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 0, 1, 2, 3});
    batch.expect(texts);
  }
  {
    SCOPED_TRACE("by a tokenizer's mask");
    call.decoder.self_mask = nullptr;
    call.sequences.positions = nullptr;
    call.decoder.self_attention_mask = batch.keep({2, 7}, counts);
    batch.expect(texts);
  }
}

// Two texts in one row: a mask separates them, and the positions of each begin at 0.
TEST_P(EveryTiedModel, GivesThemWithBothTextsInOneRow) {
  const std::vector<Text> texts = {text_of(GetParam(), "long"), text_of(GetParam(), "short")};
  std::vector<int64_t> ids = texts[0].ids;
  ids.insert(ids.end(), texts[1].ids.begin(), texts[1].ids.end());
  std::vector<uint8_t> mask;
  for (int row = 0; row < 11; ++row) {
    for (int other = 0; other < 11; ++other) mask.push_back((row < 7) == (other < 7) ? 1 : 0);
  }
  capi_test::ModelCall call(folder_of(GetParam()));
  CallOfTexts batch(call, {1, 11}, ids, std::vector<uint8_t>(11, 1));
  call.decoder.self_mask = batch.keep({11, 11}, mask, HEED_BOOL);
  call.sequences.positions = batch.keep<int64_t>({1, 11}, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3});
  batch.expect(texts);
}

// What lies behind the lengths is not read: files say -1 or -100 for padding, or an id that only the tokenizer has.
TEST_P(EveryTiedModel, GivesThemWhateverIdsPad) {
  const std::vector<Text> texts = {text_of(GetParam(), "long").beginning(3), text_of(GetParam(), "short").beginning(2)};
  for (const int64_t padding : {int64_t{0}, int64_t{-1}, int64_t{-100}, kNumIds, int64_t{32000}, INT64_MIN}) {
    SCOPED_TRACE(padding);
    std::vector<int64_t> ids = texts[0].ids;
    ids.insert(ids.end(), {texts[1].ids[0], texts[1].ids[1], padding});
    ModelCopy copy(GetParam());
    copy.set("pad_token_id", "-1");
    capi_test::ModelCall call(copy.write());
    CallOfTexts batch(call, {2, 3}, ids, {1, 1, 1, 1, 1, 0});
    call.sequences.query_lens = batch.keep<int64_t>({2}, {3, 2});
    batch.expect(texts);
  }
}

// ---- names of the table -----------------------------------------------------------------------------------------------

TEST_P(EveryTiedModel, GivesThemWithItsTableByTheHeadsName) {
  const std::string table = GetParam() == std::string(kGpt2) ? "transformer.wte.weight" : "model.embed_tokens.weight";
  ModelCopy copy(GetParam());
  copy.tensor(table).name = "lm_head.weight";
  for (const std::string& metadata :
       {std::string(), std::string(R"({"format":"pt"})"), R"({"format":"pt",")" + table + R"(":"lm_head.weight"})"}) {
    SCOPED_TRACE(metadata);
    copy.metadata = metadata;
    expect_alone(copy.write(), text_of(GetParam(), "long"));
  }
}

std::string name_of_model(const testing::TestParamInfo<const char*>& tested) {
  const std::string folder = tested.param;
  return folder.substr(0, folder.find('-'));
}
INSTANTIATE_TEST_SUITE_P(Models, EveryTiedModel, testing::Values(kGpt2, kLlama), name_of_model);

// ---- settings -------------------------------------------------------------------------------------------------------

TEST_F(TiedLlama, HasTheNumbersOfItsSettingsAndTheDefaultsOfThoseThatItLacks) {
  const struct {
    const char* setting;
    const char* json;  // none: the file lacks the setting
    const char* logits;
  } cases[] = {{"rope_theta", "700", ""},
               {"rope_theta", "1e4", "rope_theta.10000"},
               {"rope_theta", "", "rope_theta.10000"},
               {"rms_norm_eps", "0.00001", ""},
               {"rms_norm_eps", "0.5", "rms_norm_eps.0.5"},
               {"rms_norm_eps", "", "rms_norm_eps.1e-6"}};
  for (const auto& [setting, json, logits] : cases) {
    SCOPED_TRACE(testing::Message() << setting << ": " << json);
    ModelCopy copy(kLlama);
    if (*json == '\0')
      copy.remove_setting(setting);
    else
      copy.set(setting, json);
    expect_alone(copy.write(), text_of(kLlama, "long", logits));
  }
  ModelCopy copy(kLlama);
  copy.remove_setting("rope_theta");
  copy.set("rope_parameters", R"({"rope_type": "default", "rope_theta": 700.0})");
  expect_alone(copy.write(), text_of(kLlama, "long"));
}

TEST_F(TiedLlama, WithNumbersInOtherJsonIsRefused) {
  const struct {
    const char* setting;
    const char* json;
    Refusal expected;
  } cases[] = {
      {"rope_theta", R"("700.0")", invalid({"\"rope_theta\"", "expected a number above 0"})},
      {"rope_theta", "0", invalid({"\"rope_theta\"", "expected a number above 0"})},
      {"rms_norm_eps", R"("0.5")", invalid({"\"rms_norm_eps\"", "expected a number"})},
      {"rope_parameters", R"({"rope_type": "default", "rope_theta": "700.0"})",
       invalid({"\"rope_parameters.rope_theta\"", "expected a number above 0"})},
      {"rope_parameters", R"({"rope_type": "default", "rope_theta": null})",
       invalid({"\"rope_parameters.rope_theta\"", "null"})},
      {"rope_parameters",
       R"({"full_attention": {"rope_type": "default", "rope_theta": 700.0}})",
       {HEED_ERROR_UNSUPPORTED, {"\"rope_parameters.full_attention\""}}},
      {"rope_parameters", R"([{"rope_type": "default", "rope_theta": 700.0}])",
       invalid({"\"rope_parameters\"", "expected an object"})},
  };
  for (const auto& [setting, json, expected] : cases) {
    SCOPED_TRACE(testing::Message() << setting << ": " << json);
    ModelCopy copy(kLlama);
    copy.remove_setting("rope_theta");
    copy.set(setting, json);
    EXPECT_TRUE(is_refused(capi_test::try_model_folder(copy.write()), expected));
  }
}

// transformers 4.36 wrote the first; none of them changes a number.
TEST_F(TiedLlama, GivesItsLogitsWithSettingsThatChangeNothing) {
  const std::pair<const char*, const char*> settings[] = {{"_flash_attn_2_enabled", "true"},
                                                          {"attn_implementation", "\"eager\""},
                                                          {"generator_size", "\"0.25\""},
                                                          {"onnx", "{\"opset\": 17}"},
                                                          {"xla_device", "true"},
                                                          {"alignment_heads", "[[1, 2]]"},
                                                          {"matryoshka_dimensions", "[8]"},
                                                          {"an_unknown_setting", "{}"}};
  ModelCopy copy(kLlama);
  for (const auto& [setting, json] : settings) copy.set(setting, json);
  expect_alone(copy.write(), text_of(kLlama, "long"));
}

// ---- accept -----------------------------------------------------------------------------------------------------------

TEST_F(TiedLlama, GivesItsLogitsWithWhatACallerAccepts) {
  const Text text = text_of(kLlama, "long");
  const auto add = [](const char* tensor) {
    return [tensor](ModelCopy& copy) { copy.tensors.push_back({tensor, {1}, {1}}); };
  };
  const struct {
    const char* accept;
    std::function<void(ModelCopy& copy)> change;
  } cases[] = {
      {"k_proj.k_scale", add("model.layers.0.self_attn.k_proj.k_scale")},
      {"rotary_emb.cos_cached", add("model.layers.0.self_attn.rotary_emb.cos_cached")},
      {"model.layers.2.input_layernorm.weight", add("model.layers.2.input_layernorm.weight")},
      {"an_unknown_setting", [](ModelCopy& copy) { copy.set("an_unknown_setting", "true"); }},
  };
  for (const auto& [accept, change] : cases) {
    SCOPED_TRACE(accept);
    ModelCopy copy(kLlama);
    change(copy);
    const std::string folder = copy.write();
    // By a function that takes no accept the folder is refused, and accept is not offered.
    EXPECT_NE(capi_test::try_model_folder(folder), HEED_OK);
    EXPECT_EQ(std::string(heed_last_error()).find("accept"), std::string::npos) << heed_last_error();
    heed_load_options load = HEED_LOAD_OPTIONS_INIT;
    load.accept = accept;
    heed_model_options options = HEED_MODEL_OPTIONS_INIT;
    options.load = &load;
    capi_test::ModelCall call(folder, nullptr, &options);
    expect_alone(call, text);
  }
}

}  // namespace
}  // namespace heed::golden
