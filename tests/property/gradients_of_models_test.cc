// SPDX-License-Identifier: Apache-2.0
// The gradients of encoders, decoders and Transformers of ids or rows, with tied and shared tables, positions, a projection at the end
// and wanted rows, against the f64 reference; of the parts of a Transformer; of some parameters alone; and of a batch in parts.
#include <gtest/gtest.h>

#include <cstdio>
#include <map>
#include <string>
#include <utility>

#include "property/support/device.h"
#include "support/gradients.h"
#include "support/model_gradients.h"
#include "support/numbers.h"
#include "support/random_model.h"
#include "support/samples.h"

namespace heed::property {
namespace {

// A gradient by the output; of padding it is NaN.
Array output_gradient(const ModelCall& model, Random& random) {
  Array gradient = make_input(random_array(model.output_dims(model.batch), random)).contents;
  for_each_index(gradient.dims, [&](const Dims& index, size_t i) {
    if (model.is_padding(index[0], index[1])) gradient.values[i] = kNaN;
  });
  return gradient;
}

// All of batch elements first to first + count - 1; request.of_output is that of the whole batch.
NamedResults gradients_of(const ModelCall& model, const Layer& layer, heed_context* context, GradientRequest request,
                          int64_t first, int64_t count) {
  const ModelInputs inputs(model, context, first, count);
  const Dims dims = model.output_dims(count);
  const HostTensor output(context, HEED_F32, dims, row_major_strides(dims));
  heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
  outputs.output = output.handle();
  request.of_output = slice(request.of_output, 0, first, count);
  for (const auto& [name, of_input] : model.input_dims(count)) request.inputs.insert(name);
  return backward(context, layer.get(), *inputs.get(), outputs, model.input_dims(count), request);
}

// Whether the parameter is a table that two of encoder, decoder and projection read.
bool is_used_twice(const ModelCall& model, const std::string& name) {
  return name.ends_with("embedding.weight") && (model.shares_table || model.output.tied != 0);
}

Context make_context(int32_t num_threads) {
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.num_threads = num_threads;
  heed_context* context = nullptr;
  check(heed_context_create(&options, &context));
  return Context(context);
}

template <typename Check>
void for_each_model(int64_t count, const Check& check) {
  for (int64_t number = 0; number < num_rounds(count) && !testing::Test::HasFailure(); ++number) {
    SCOPED_TRACE("model " + std::to_string(number));
    const ModelCall model =
        make_model_call(static_cast<uint64_t>(from_environment("HEED_PROPERTY_SEED", 1) * 1000003 + number));
    Random random(static_cast<uint64_t>(number));
    GradientRequest request;
    request.of_output = output_gradient(model, random);
    check(model, std::move(request), random);
  }
}

TEST(GradientsOfModels, AgreeWithTheReference) {
  HEED_SKIP_ON_ASCEND("the CPU computes gradients");
  AccuracyStatistics statistics;
  for_each_model(300, [&](const ModelCall& model, GradientRequest request, Random& random) {
    const Context context = make_context(1 + static_cast<int32_t>(random.below(3)));
    request.saved = random.chance(0.5);
    const NamedResults gradients =
        gradients_of(model, make_model(context.get(), model), context.get(), request, 0, model.batch);
    EXPECT_TRUE(agree(gradients, solve_gradients(model, request.of_output), &statistics));
  });
  std::printf("largest used fraction of the bound: %.3g (%s)\n", statistics.largest_fraction, statistics.where.c_str());
  EXPECT_GT(statistics.largest_fraction, 0.02);
}

TEST(GradientsOfModels, ThreadsSavedArraysAndFrozenParametersChangeNoBit) {
  HEED_SKIP_ON_ASCEND("the CPU computes gradients");
  for_each_model(150, [](const ModelCall& model, GradientRequest request, Random& random) {
    const Context context = make_context(1);
    const NamedResults all =
        gradients_of(model, make_model(context.get(), model), context.get(), request, 0, model.batch);
    const Context other = make_context(2 + static_cast<int32_t>(random.below(15)));
    const Layer layer = make_model(other.get(), model);
    NamedResults expected = all;
    for (const auto& [name, value] : model.parameters) {
      if (random.chance(0.5)) continue;
      check(heed_layer_set_trainable(layer.get(), name.c_str(), 0));
      expected.erase(name);
    }
    for (const bool is_saved : {false, true}) {
      request.saved = is_saved;
      request.with_workspace = random.chance(0.5);
      EXPECT_TRUE(same_bits(gradients_of(model, layer, other.get(), request, 0, model.batch), expected));
    }
  });
}

// Of parameters that are used once. The others have the bits of sums in another order.
TEST(GradientsOfModels, OfABatchInPartsHaveTheBitsOfTheWholeBatch) {
  HEED_SKIP_ON_ASCEND("the CPU computes gradients");
  for_each_model(150, [](const ModelCall& model, GradientRequest request, Random& random) {
    if (model.batch < 2) return;
    const Context context = make_context(1 + static_cast<int32_t>(random.below(3)));
    const Layer layer = make_model(context.get(), model);
    NamedResults whole = gradients_of(model, layer, context.get(), request, 0, model.batch);
    NamedResults sums;
    for (int64_t b = 0; b < model.batch; ++b) {
      for (const auto& [name, dims] : model.input_dims(1)) request.sums[name] = filled(dims, 0.0);
      for (const auto& [name, value] : model.parameters)
        request.sums[name] = b == 0 ? filled(value.dims, 0.0) : sums.at(name).contents;
      sums = gradients_of(model, layer, context.get(), request, b, 1);
      for (const auto& [name, dims] : model.input_dims(1)) {
        NamedResults expected;
        expected[name].contents = slice(whole.at(name).contents, 0, b, 1);
        EXPECT_TRUE(same_bits({{name, sums.at(name)}}, expected));
      }
    }
    for (const auto& [name, value] : model.parameters) {
      if (is_used_twice(model, name)) continue;
      EXPECT_TRUE(same_bits({{name, sums.at(name)}}, {{name, whole.at(name)}}));
    }
  });
}

}  // namespace
}  // namespace heed::property
