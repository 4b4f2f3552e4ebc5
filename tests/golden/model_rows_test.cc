// SPDX-License-Identifier: Apache-2.0
// Whole models in data/models whose output is wanted of some rows: these have the bits that they have among all.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Cache;
using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

// A call of a model: encoders and decoders read `queries`, Transformers `keys` too.
struct ModelCall {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
  heed_cache_inputs cached = HEED_CACHE_INPUTS_INIT;
  std::vector<Tensor> kept;
};

class EveryModelWithWantedRows : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (property::on_ascend()) GTEST_SKIP() << "rule 10 is the CPU's";
    heed_layer* made = nullptr;
    property::check(heed_layer_create_from_folder(context_.get(), folder_of(GetParam()).c_str(), &made));
    layer_ = Layer(made);
    source_ = load_case(context_, GetParam(), "input_ids");
    ids_ = load_case(context_, GetParam(), "decoder_input_ids");
    is_transformer_ = static_cast<bool>(ids_);
    if (!ids_) ids_ = load_case(context_, GetParam(), "input_ids");
    batch_ = capi_test::dims_of(ids_.get())[0];
    num_rows_ = capi_test::dims_of(ids_.get())[1];
  }

  template <typename T>
  const heed_tensor* keep(ModelCall& call, const Dims& dims, const std::vector<T>& elements) const {
    call.kept.push_back(capi_test::make_tensor_of(context_.get(), dims, elements));
    return call.kept.back().get();
  }

  void set_ids(ModelCall& call) const {
    call.inputs.queries = ids_.get();
    if (is_transformer_) call.inputs.keys = source_.get();
    call.inputs.sequences = &call.sequences;
  }

  // Of (B, n, size), or packed (total, size).
  std::vector<double> forward(const ModelCall& call, Dims* dims = nullptr) const {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer_.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    property::check(heed_layer_forward(layer_.get(), &call.inputs, nullptr, &outputs));
    if (dims != nullptr) *dims = capi_test::dims_of(output.get());
    return numbers_of(output.get());
  }

  // Expects row i of batch element b to be row rows[b][i] of `all`, a row of (B, S, size); nothing where that is below 0.
  void expect_rows(const std::vector<double>& is, const std::vector<double>& all,
                   const std::vector<std::vector<int64_t>>& rows, int64_t size) const {
    size_t number = 0;
    ASSERT_EQ(is.size(), rows.size() * rows.front().size() * static_cast<size_t>(size));
    for (size_t b = 0; b < rows.size(); ++b) {
      for (const int64_t row : rows[b]) {
        for (int64_t d = 0; d < size; ++d, ++number) {
          const int64_t element = (static_cast<int64_t>(b) * num_rows_ + row) * size + d;
          ASSERT_EQ(is[number], row < 0 ? 0 : all[static_cast<size_t>(element)])
              << "batch element " << b << ", row " << row;
        }
      }
    }
  }

  const Context context_ = capi_test::make_context();
  Layer layer_;
  Tensor source_;
  Tensor ids_;
  bool is_transformer_ = false;
  int64_t batch_ = 0;
  int64_t num_rows_ = 0;
};

TEST_P(EveryModelWithWantedRows, GivesTheLastRows) {
  ModelCall call;
  set_ids(call);
  Dims dims;
  const std::vector<double> all = forward(call, &dims);
  for (const int64_t count : {int64_t{1}, int64_t{2}, num_rows_}) {
    call.inputs.num_last_rows = count;
    std::vector<int64_t> last;
    for (int64_t i = num_rows_ - count; i < num_rows_; ++i) last.push_back(i);
    Dims of_rows;
    const std::vector<double> is = forward(call, &of_rows);
    EXPECT_EQ(of_rows, (Dims{batch_, count, dims[2]}));
    expect_rows(is, all, std::vector<std::vector<int64_t>>(static_cast<size_t>(batch_), last), dims[2]);
  }
  call.inputs.num_last_rows = num_rows_ + 1;
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  property::check(heed_layer_create_outputs(layer_.get(), &call.inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  EXPECT_EQ(heed_layer_forward(layer_.get(), &call.inputs, nullptr, &outputs), HEED_ERROR_INVALID_ARGUMENT);
}

// Without queries the output of a Transformer is its encoder's.
TEST_P(EveryModelWithWantedRows, GivesRowsOfAnEncoderAlone) {
  ModelCall call;
  (is_transformer_ ? call.inputs.keys : call.inputs.queries) = source_.get();
  Dims dims;
  const std::vector<double> all = forward(call, &dims);
  call.inputs.num_last_rows = 1;
  num_rows_ = dims[1];
  expect_rows(forward(call), all, std::vector<std::vector<int64_t>>(static_cast<size_t>(dims[0]), {dims[1] - 1}),
              dims[2]);
}

TEST_P(EveryModelWithWantedRows, GivesRowsInAnyOrder) {
  ModelCall call;
  set_ids(call);
  Dims dims;
  const std::vector<double> all = forward(call, &dims);
  std::vector<int64_t> numbers;
  std::vector<std::vector<int64_t>> rows;
  for (int64_t b = 0; b < batch_; ++b) {
    rows.push_back({num_rows_ - 1 - b, 0, 2, 2});
    numbers.insert(numbers.end(), rows.back().begin(), rows.back().end());
  }
  call.inputs.output_rows = keep(call, {batch_, 4}, numbers);
  expect_rows(forward(call), all, rows, dims[2]);
}

// The last rows are the last visible ones, and a batch element without a row has no output.
TEST_P(EveryModelWithWantedRows, CountsVisibleRows) {
  ModelCall by_lens;
  set_ids(by_lens);
  std::vector<int32_t> lens(static_cast<size_t>(batch_), static_cast<int32_t>(num_rows_ - 3));
  lens.back() = 0;
  by_lens.sequences.query_lens = keep(by_lens, {batch_}, lens);
  Dims dims;
  const std::vector<double> all = forward(by_lens, &dims);
  by_lens.inputs.num_last_rows = 2;
  std::vector<std::vector<int64_t>> rows(static_cast<size_t>(batch_), {num_rows_ - 5, num_rows_ - 4});
  rows.back() = {-1, -1};
  expect_rows(forward(by_lens), all, rows, dims[2]);

  // The same rows by a mask, on the left of the batch.
  ModelCall by_mask;
  set_ids(by_mask);
  std::vector<int32_t> mask;
  for (int64_t b = 0; b < batch_; ++b) {
    for (int64_t i = 0; i < num_rows_; ++i) mask.push_back(i >= 3 && b + 1 < batch_ ? 1 : 0);
  }
  heed_decoder_inputs decoder = HEED_DECODER_INPUTS_INIT;
  const heed_tensor* const of_rows = keep(by_mask, {batch_, num_rows_}, mask);
  if (is_transformer_) {
    decoder.self_attention_mask = of_rows;
    by_mask.inputs.decoder = &decoder;
  } else {
    by_mask.inputs.attention_mask = of_rows;
  }
  const std::vector<double> masked = forward(by_mask);
  by_mask.inputs.num_last_rows = 2;
  std::fill(rows.begin(), rows.end() - 1, std::vector<int64_t>{num_rows_ - 2, num_rows_ - 1});
  expect_rows(forward(by_mask), masked, rows, dims[2]);
  by_mask.inputs.num_last_rows = 0;
  std::vector<int32_t> numbers;
  for (int64_t b = 0; b < batch_; ++b) numbers.insert(numbers.end(), {static_cast<int32_t>(num_rows_ - 1), 3});
  by_mask.inputs.output_rows = keep(by_mask, {batch_, 2}, numbers);
  std::fill(rows.begin(), rows.end() - 1, std::vector<int64_t>{num_rows_ - 1, 3});
  expect_rows(forward(by_mask), masked, rows, dims[2]);
  numbers.front() = 2;
  by_mask.inputs.output_rows = keep(by_mask, {batch_, 2}, numbers);
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  property::check(heed_layer_create_outputs(layer_.get(), &by_mask.inputs, HEED_WANT_OUTPUT, &outputs));
  const Tensor output(outputs.output);
  EXPECT_EQ(heed_layer_forward(layer_.get(), &by_mask.inputs, nullptr, &outputs), HEED_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(heed_last_error()).find("expected a visible row"), std::string::npos) << heed_last_error();
}

TEST_P(EveryModelWithWantedRows, TakesThemOfPackedBatches) {
  ModelCall padded;
  set_ids(padded);
  Dims dims;
  const std::vector<double> all = forward(padded, &dims);
  ModelCall call;
  set_ids(call);
  const auto offsets = [&](int64_t size) {
    std::vector<int64_t> all_offsets;
    for (int64_t b = 0; b <= batch_; ++b) all_offsets.push_back(b * size);
    return keep(call, {batch_ + 1}, all_offsets);
  };
  const Tensor packed = capi_test::make_reshaped(ids_.get(), {batch_ * num_rows_});
  call.inputs.queries = packed.get();
  call.sequences.query_offsets = offsets(num_rows_);
  Tensor sources;
  if (is_transformer_) {
    const Dims of_source = capi_test::dims_of(source_.get());
    sources = capi_test::make_reshaped(source_.get(), {of_source[0] * of_source[1]});
    call.inputs.keys = sources.get();
    call.sequences.key_offsets = offsets(of_source[1]);
  }
  call.inputs.num_last_rows = 2;
  Dims of_rows;
  const std::vector<double> is = forward(call, &of_rows);
  EXPECT_EQ(of_rows, (Dims{batch_, 2, dims[2]}));
  expect_rows(is, all, std::vector<std::vector<int64_t>>(static_cast<size_t>(batch_), {num_rows_ - 2, num_rows_ - 1}),
              dims[2]);
}

std::string name_of_rows_of(const testing::TestParamInfo<const char*>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, EveryModelWithWantedRows,
                         testing::Values("bert", "modernbert", "clip-text", "gpt2", "gemma2", "gemma3", "granite",
                                         "llama", "opt", "phi3", "bart", "marian", "t5"),
                         name_of_rows_of);

}  // namespace
}  // namespace heed::golden
