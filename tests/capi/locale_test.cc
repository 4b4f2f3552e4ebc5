// SPDX-License-Identifier: Apache-2.0
// A host that has set its user's locale: numbers in texts still have a decimal point.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "capi/support/attention_call.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"
#include "support/platform/environment.h"
#include "support/platform/locale.h"

// The C library keeps what it reads from LOCPATH, which a sanitizer would take for a leak of ours.
// NOLINTNEXTLINE(readability-identifier-naming): the sanitizer's name
extern "C" const char* __lsan_default_suppressions() { return "leak:__argz_add_sep"; }

namespace heed::capi_test {
namespace {

// On this thread numbers are written as 1,5, by a locale that is compiled here, since the machine may have none.
class DecimalComma {
 public:
  DecimalComma() {
    const std::string source = folder_.write("source",
                                             "LC_CTYPE\ncopy \"POSIX\"\nEND LC_CTYPE\n"
                                             "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \"\"\ngrouping -1\n"
                                             "END LC_NUMERIC\n");
    // localedef reports failure for categories that the source omits, but writes the others.
    const std::string command =
        "localedef --no-archive -c -i " + source + " " + folder_.path("comma") + " 2> /dev/null";
    if (std::system(command.c_str()) == -1) return;
    set_environment("LOCPATH", std::filesystem::absolute(folder_.path("")).c_str());
    comma_.emplace("comma");
  }
  DecimalComma(const DecimalComma&) = delete;
  DecimalComma& operator=(const DecimalComma&) = delete;

  bool is_set() const { return comma_ && comma_->is_set(); }

  static std::string shown(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
  }

 private:
  TemporaryFolder folder_;
  std::optional<NumericLocale> comma_;
};

class Locale : public testing::Test {
 protected:
  void SetUp() override {
    if (!comma_.is_set()) GTEST_SKIP() << "localedef, a program of the C library, could not compile a locale";
    ASSERT_EQ(DecimalComma::shown(1.5), "1,5");
  }
  // heed must not change the locale.
  void TearDown() override {
    if (comma_.is_set()) {
      EXPECT_EQ(DecimalComma::shown(1.5), "1,5");
    }
  }

  const DecimalComma comma_;
};

TEST_F(Locale, ErrorsHaveADecimalPoint) {
  AttentionCall call(Kind::DotProductRank3);
  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.dropout = 1.5F;
  heed_layer* layer = nullptr;
  EXPECT_EQ(heed_dot_product_attention_create(call.context.get(), &options, &layer), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error(), "options->dropout is 1.5, expected a probability from 0 to below 1");
  call.inputs.valid_lens = call.tensor_of<float>({2}, {2.5F, 1.0F});
  EXPECT_EQ(call.forward(), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_STREQ(heed_last_error(),
               "inputs->valid_lens[0] is 2.5, expected a whole number from 0 to the number of keys, 5");
}

TEST_F(Locale, ExplainedNumbersAreJson) {
  AttentionCall call(Kind::DotProductRank3);
  constexpr int64_t kLong = int64_t{1} << 31;
  call.inputs.queries = call.shape_only({1, kLong, 1});
  call.inputs.keys = call.inputs.values = nullptr;
  call.outputs = HEED_LAYER_OUTPUTS_INIT;
  call.outputs.output = call.shape_only({1, kLong, 1});
  std::string text(1 << 16, '\0');
  ASSERT_EQ(heed_layer_explain(call.layer.get(), &call.inputs, &call.outputs, text.data(), text.size(), nullptr),
            HEED_OK)
      << heed_last_error();
  // 2 for the score and 2 for the value, for each of 2^62 pairs.
  EXPECT_EQ(nlohmann::json::parse(text.c_str()).at("flops").get<double>(), 0x1p63);
}

}  // namespace
}  // namespace heed::capi_test
