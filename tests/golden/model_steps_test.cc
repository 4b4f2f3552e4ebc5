// SPDX-License-Identifier: Apache-2.0
// Attention with earlier rows as keys against Hugging Face transformers, which had them in a cache: either the number of
// the rows or positions say where the queries of a piece are.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/model_attentions.h"
#include "golden/support/model_pieces.h"
#include "golden/support/models.h"
#include "property/support/device.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

// A piece, and the rows of the sequence up to its end in a buffer of all rows, where those to come are NaN.
struct Piece {
  const char* name;
  heed_tensor* queries;
  heed_tensor* buffer;
  int64_t num_batch;
  int64_t num_queries;
  // The number of rows up to the end of the piece.
  int64_t end;
};

template <typename Visit>
void for_each_piece(const Context& context, const ModelAttention& attention, const Visit& visit) {
  Tensor buffer;
  int64_t end = 0;
  for (const char* name : kPieces) {
    SCOPED_TRACE(name);
    const Tensor queries = load_case(context, attention.family, name_in_file(name, attention, "input"));
    ASSERT_TRUE(queries);
    const Dims dims = capi_test::dims_of(queries.get());
    if (!buffer) {
      buffer = capi_test::make_tensor(context.get(), {dims[0], kRowsOfPieces, dims[2]});
      property::check(heed_tensor_fill(buffer.get(), std::nan("")));
    }
    property::check(heed_tensor_copy(capi_test::make_slice(buffer.get(), 1, end, dims[1]).get(), queries.get()));
    end += dims[1];
    visit(Piece{name, queries.get(), buffer.get(), dims[0], dims[1], end});
  }
  EXPECT_EQ(end, kRowsOfPieces);
}

// Attention of the piece to all rows up to its end.
heed_layer_inputs inputs_of(const Piece& piece, const Tensor& keys) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = piece.queries;
  inputs.keys = keys.get();
  return inputs;
}
Tensor keys_of(const Piece& piece) { return capi_test::make_slice(piece.buffer, 1, 0, piece.end); }

class ModelSteps : public testing::TestWithParam<ModelAttention> {
 protected:
  // Expects the output of the piece in the file. The bounds are those of attention to the rows up to the piece's end,
  // since keys that no query sees add no roundings. They are derived for attention without further options.
  static void expect_the_models_output(const Context& context, const Layer& layer, const heed_layer_inputs& inputs,
                                       const Piece& piece) {
    const ModelAttention& attention = GetParam();
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    property::check(heed_layer_create_outputs(layer.get(), &inputs, HEED_WANT_OUTPUT, &outputs));
    const Tensor output(outputs.output);
    property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
    const Tensor expected = load_case(context, attention.family, name_in_file(piece.name, attention, "output"));
    ASSERT_TRUE(expected);
    ASSERT_EQ(capi_test::dims_of(output.get()), capi_test::dims_of(expected.get()));
    Tensor errors;
    if (attention.set == nullptr) {
      const Tensor keys = keys_of(piece);
      Options options = bottom_right(attention);
      errors = derive_anywhere(layer.get(), options.bound(), inputs_of(piece, keys)).errors.output;
    }
    expect_numbers_of_model(numbers_of(output.get()), numbers_of(expected.get()), errors.get());
  }
};

TEST_P(ModelSteps, StepsAndChunksAreThoseOfTheModel) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  const Context context = capi_test::make_context();
  const Layer layer = load_layer(context, GetParam(), bottom_right(GetParam()));
  for_each_piece(context, GetParam(), [&](const Piece& piece) {
    const Tensor keys = keys_of(piece);
    expect_the_models_output(context, layer, inputs_of(piece, keys), piece);
  });
}

// With positions neither the alignment of masks and windows nor the length of the buffer counts.
TEST_P(ModelSteps, StepsAndChunksInALongerBufferAreThoseOfTheModel) {
  HEED_SKIP_ON_ASCEND(kNoBounds);
  const Context context = capi_test::make_context();
  const Layer layer = load_layer(context, GetParam(), GetParam().options());
  for_each_piece(context, GetParam(), [&](const Piece& piece) {
    std::vector<int32_t> positions;
    for (int64_t b = 0; b < piece.num_batch; ++b) {
      for (int64_t i = 0; i < piece.num_queries; ++i)
        positions.push_back(static_cast<int32_t>(piece.end - piece.num_queries + i));
    }
    const std::vector<int32_t> lengths(static_cast<size_t>(piece.num_batch), static_cast<int32_t>(piece.end));
    const Tensor of_queries = capi_test::make_tensor_of(context.get(), {piece.num_batch, piece.num_queries}, positions);
    const Tensor valid_lens = capi_test::make_tensor_of(context.get(), {piece.num_batch}, lengths);
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    sequences.positions = of_queries.get();
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = piece.queries;
    inputs.keys = piece.buffer;
    inputs.valid_lens = valid_lens.get();
    inputs.sequences = &sequences;
    expect_the_models_output(context, layer, inputs, piece);
  });
}

INSTANTIATE_TEST_SUITE_P(Golden, ModelSteps, testing::ValuesIn(attentions_with_pieces()),
                         [](const auto& test) { return name_of(test.param); });

// One attention of each model with a cache is tested above, but for the two that are not in model_attentions.
TEST(FilesWithPieces, AreThoseOfThirtyAttentions) {
  std::set<std::string> tested;
  for (const ModelAttention& attention : attentions_with_pieces()) {
    EXPECT_TRUE(attention.causal) << attention;
    EXPECT_TRUE(tested.insert(attention.family).second) << attention;
  }
  EXPECT_EQ(tested.size(), 30U);
  std::set<std::string> others;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(""))) {
    const std::string family = entry.path().filename().string();
    if (has_case(family, "prefill.logits") && !tested.contains(family)) others.insert(family);
  }
  EXPECT_EQ(others, (std::set<std::string>{"deepseek-v3", "falcon-alibi"}));
}

}  // namespace
}  // namespace heed::golden
