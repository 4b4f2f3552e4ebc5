// SPDX-License-Identifier: Apache-2.0
// Positional encodings of the models in data/models: tables from their files, and sinusoids.
#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstdint>
#include <string>
#include <vector>

#include "capi/support/objects.h"
#include "golden/support/derived_bound.h"
#include "golden/support/models.h"

namespace heed::golden {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;

Layer make_positions(const Context& context, const heed_positional_encoding_options& options) {
  heed_layer* layer = nullptr;
  property::check(heed_positional_encoding_create(context.get(), &options, &layer));
  return Layer(layer);
}

heed_positional_encoding_options learned(int64_t max_positions, int64_t first_row) {
  heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  options.kind = HEED_POSITIONS_LEARNED;
  options.max_positions = max_positions;
  options.size = 32;
  options.first_row = first_row;
  return options;
}

std::vector<double> load_weight(const Context& context, const std::string& family, const std::string& name) {
  heed_tensor* tensor = nullptr;
  property::check(heed_tensor_load_safetensors(context.get(), path_of(family).c_str(), name.c_str(), &tensor));
  return numbers_of(Tensor(tensor).get());
}

std::vector<double> forward(const Context& context, const Layer& layer, const Tensor& queries) {
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = queries.get();
  const Tensor output = capi_test::make_tensor(context.get(), capi_test::dims_of(queries.get()));
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.get();
  property::check(heed_layer_forward(layer.get(), &inputs, nullptr, &outputs));
  return numbers_of(output.get());
}

// Every table of positions in the files, by the name of its module, with the row of position 0.
TEST(PositionTables, AreLoadedFromEachFile) {
  const struct {
    const char* family;
    const char* prefix;
    int64_t max_positions = 32;
    int64_t first_row = 0;
    const char* parameter = ".weight";
  } cases[] = {
      {"bert", "embeddings.position_embeddings"},
      {"distilbert", "embeddings.position_embeddings"},
      {"electra", "embeddings.position_embeddings"},
      {"albert", "embeddings.position_embeddings"},
      {"roberta", "roberta.embeddings.position_embeddings", 32, 2},
      {"clip-text", "embeddings.position_embedding"},
      {"gpt2", "transformer.wpe"},
      {"opt", "model.decoder.embed_positions", 32, 2},
      {"bart", "model.encoder.embed_positions", 32, 2},
      {"bart", "model.decoder.embed_positions", 32, 2},
      {"mbart", "model.decoder.embed_positions", 32, 2},
      {"whisper", "model.encoder.embed_positions", 12},
      {"whisper", "model.decoder.embed_positions"},
      {"vit", "embeddings.position_embeddings", 10, 0, ""},
  };
  const Context context = capi_test::make_context();
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family + std::string(" ") + one.prefix);
    heed_positional_encoding_options options = learned(one.max_positions, one.first_row);
    const std::vector<double> table = load_weight(context, one.family, one.prefix + std::string(one.parameter));
    options.size = static_cast<int64_t>(table.size()) / (one.max_positions + one.first_row);
    const Layer layer = make_positions(context, options);
    ASSERT_EQ(heed_layer_load(layer.get(), path_of(one.family).c_str(), one.prefix), HEED_OK) << heed_last_error();
    const Tensor zeros = capi_test::make_tensor(context.get(), {1, one.max_positions, options.size});
    const std::vector<double> is = forward(context, layer, zeros);
    const auto first = static_cast<std::ptrdiff_t>(one.first_row * options.size);
    EXPECT_EQ(is, std::vector<double>(table.begin() + first, table.end()));
  }
}

// Two models whose first layer's input is the sum of the tokens' and the positions' embeddings.
TEST(PositionTables, GiveTheInputOfTheFirstLayer) {
  const struct {
    const char* family;
    const char* tokens;
    const char* positions;
    int64_t first_row;
  } cases[] = {{"opt", "model.decoder.embed_tokens.weight", "model.decoder.embed_positions", 2},
               {"gpt2", "transformer.wte.weight", "transformer.wpe", 0}};
  const Context context = capi_test::make_context();
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family);
    const Layer layer = make_positions(context, learned(32, one.first_row));
    property::check(heed_layer_load(layer.get(), path_of(one.family).c_str(), one.positions));
    const Tensor ids = load_case(context, one.family, "input_ids");
    const Dims dims = capi_test::dims_of(ids.get());
    const std::vector<double> embeddings = load_weight(context, one.family, one.tokens);
    std::vector<float> tokens;
    for (const double id : numbers_of(ids.get())) {
      const auto row = embeddings.begin() + static_cast<std::ptrdiff_t>(id) * 32;
      tokens.insert(tokens.end(), row, row + 32);
    }
    const Tensor queries = capi_test::make_tensor_of(context.get(), {dims[0], dims[1], 32}, tokens);
    const std::vector<double> is = forward(context, layer, queries);
    const std::vector<double> expected = numbers_of(load_case(context, one.family, "hidden_states").get());
    const std::vector<int32_t> lens = lengths_of(context, one.family);
    for (size_t i = 0; i < is.size(); ++i) {
      const auto row = static_cast<int64_t>(i) / 32;
      if (row % dims[1] >= lens.at(static_cast<size_t>(row / dims[1]))) continue;
      ASSERT_NEAR(is[i], expected.at(i), 1e-5 * largest_of(expected)) << "element " << i;
    }
  }
}

// Whisper's encoder has its table in the file, Marian computes its own.
//
// Whisper's was computed in F32 from end to end: an angle of up to 11 has an error of 11 * 2^-24, 7e-7, for each of a
// few roundings, and so has its sine. Marian's was computed in F64 and rounded once, as heed's are: at most the last of
// F32's bits differs, and that is 2^-24, 6e-8, for numbers up to 1.
TEST(Sinusoids, AreThoseOfTheModels) {
  const Context context = capi_test::make_context();
  const struct {
    const char* family;
    const char* name;
    int32_t kind;
    int64_t max_positions;
    double tolerance;
  } cases[] = {{"whisper", "encoder.positions", HEED_POSITIONS_SINUSOIDAL_HALVES, 12, 1e-5},
               {"marian", "positions", HEED_POSITIONS_SINUSOIDAL_HALVES_2I, 32, 6e-8}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family);
    heed_positional_encoding_options options = learned(one.max_positions, 0);
    options.kind = one.kind;
    const Layer layer = make_positions(context, options);
    const Tensor zeros = capi_test::make_tensor(context.get(), {1, one.max_positions, 32});
    const std::vector<double> is = forward(context, layer, zeros);
    const std::vector<double> expected = numbers_of(load_case(context, one.family, one.name).get());
    ASSERT_EQ(is.size(), expected.size());
    for (size_t i = 0; i < is.size(); ++i) ASSERT_NEAR(is[i], expected[i], one.tolerance) << "element " << i;
  }
}

TEST(PositionTables, AreRefusedWithAnotherFirstRow) {
  const Context context = capi_test::make_context();
  const struct {
    const char* family;
    const char* prefix;
    int64_t first_row;
    const char* words;
  } cases[] = {
      {"opt", "model.decoder.embed_positions", 0, "options->first_row is 0, expected 2"},
      {"roberta", "roberta.embeddings.position_embeddings", 1, "options->first_row is 1, expected 2"},
      {"gpt2", "transformer.wpe", 2, "options->first_row is 2, expected 0"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.family);
    const int64_t rows = one.family == std::string("gpt2") ? 32 : 34;
    const Layer layer = make_positions(context, learned(rows - one.first_row, one.first_row));
    EXPECT_EQ(heed_layer_load(layer.get(), path_of(one.family).c_str(), one.prefix), HEED_ERROR_INVALID_ARGUMENT);
    EXPECT_NE(std::string(heed_last_error()).find(one.words), std::string::npos) << heed_last_error();
  }
}

}  // namespace
}  // namespace heed::golden
