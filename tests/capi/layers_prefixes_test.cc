// SPDX-License-Identifier: Apache-2.0
// A prefix may end with the separator of the names after it.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "capi/support/attention_call.h"
#include "capi/support/cut_model.h"
#include "capi/support/files.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

class Prefixes : public testing::Test {
 protected:
  // A file with the weights of a layer under these names, in the order of its parameters.
  std::string file_of(const std::vector<std::string>& names, bool transposed = false) {
    std::vector<NamedFloats> tensors = parameters_of(AttentionCall(Kind::MultiHead, {}).layer.get());
    for (size_t i = 0; i < tensors.size(); ++i) {
      tensors[i].name = names[i];
      if (!transposed) continue;
      // Keras stores (in, heads, size), and for the output (heads, size, out).
      const int64_t out = tensors[i].dims[0];
      const int64_t in = tensors[i].dims[1];
      tensors[i].dims = i == 3 ? Dims{2, in / 2, out} : Dims{in, 2, out / 2};
    }
    return safetensors_of(tensors);
  }

  heed_status load(const std::string& bytes, const char* prefix) {
    const AttentionCall call(Kind::MultiHead);
    return heed_layer_load_memory(call.layer.get(), bytes.data(), bytes.size(), prefix);
  }
};

TEST_F(Prefixes, MayEndWithTheSeparatorOfTheirStyle) {
  const std::string own = file_of({"a.b.W_q.weight", "a.b.W_k.weight", "a.b.W_v.weight", "a.b.W_o.weight"});
  EXPECT_EQ(load(own, "a.b"), HEED_OK) << heed_last_error();
  EXPECT_EQ(load(own, "a.b."), HEED_OK) << heed_last_error();
  const std::string keras =
      file_of({"a/query/kernel", "a/key/kernel", "a/value/kernel", "a/attention_output/kernel"}, true);
  EXPECT_EQ(load(keras, "a"), HEED_OK) << heed_last_error();
  EXPECT_EQ(load(keras, "a/"), HEED_OK) << heed_last_error();
  const std::string djl = file_of({"01a_02queryProjection_weight", "01a_01keyProjection_weight",
                                   "01a_03valueProjection_weight", "01a_04resultProjection_weight"});
  EXPECT_EQ(load(djl, "01a"), HEED_OK) << heed_last_error();
  EXPECT_EQ(load(djl, "01a_"), HEED_OK) << heed_last_error();
}

// A name may end with a character that is a separator in another style.
TEST_F(Prefixes, MayEndWithAnotherStylesSeparator) {
  const std::string file = file_of({"a_.W_q.weight", "a_.W_k.weight", "a_.W_v.weight", "a_.W_o.weight"});
  EXPECT_EQ(load(file, "a_"), HEED_OK) << heed_last_error();
  EXPECT_EQ(load(file, "a_."), HEED_OK) << heed_last_error();
  EXPECT_TRUE(is_refused(load(file, "a"), {HEED_ERROR_NOT_FOUND, {"\"a_\""}}));
  const std::string dots = file_of({"a..W_q.weight", "a..W_k.weight", "a..W_v.weight", "a..W_o.weight"});
  EXPECT_EQ(load(dots, "a."), HEED_OK) << heed_last_error();
  EXPECT_EQ(load(dots, "a.."), HEED_OK) << heed_last_error();
}

TEST_F(Prefixes, AreReportedAsGivenIfNoNameBeginsWithThem) {
  const std::string file = file_of({"a.W_q.weight", "a.W_k.weight", "a.W_v.weight", "a.W_o.weight"});
  for (const char* prefix : {"b.", "a/", "a_", ".", "/", "a..", "a.W_q.weight."})
    EXPECT_TRUE(is_refused(load(file, prefix), {HEED_ERROR_NOT_FOUND, {std::string("\"") + prefix}})) << prefix;
}

}  // namespace
}  // namespace heed::capi_test
