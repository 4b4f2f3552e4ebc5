// SPDX-License-Identifier: Apache-2.0
// The gradients of layers that read one tensor against the f64 reference: linear layers, norms, feed-forward networks, dropout,
// embeddings and positional encodings, of tensors of any rank and strides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/feed_forward_gradients.h"
#include "reference/linear_gradients.h"
#include "reference/norm_gradients.h"
#include "support/activations.h"
#include "support/block_reference.h"
#include "support/gradients.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using reference::Bounded;
using reference::NamedBounds;

// A layer by its parameters, and a call of it.
struct Sample {
  Call call;  // has the parameters
  Dims output_dims;
  Array of_output;
  std::optional<Input> positions;
};

template <typename Options>
using Create = heed_status (*)(heed_context*, const Options*, heed_layer**);

Input strided(Array contents, Random& random, heed_dtype dtype = HEED_F32) {
  Dims strides =
      make_strides(contents.dims.empty() ? Layout::RowMajor : random.one_of(kReadable), contents.dims, random);
  return make_input(std::move(contents), dtype, std::move(strides));
}

Dims random_dims(Random& random, int64_t max_rank, int64_t last) {
  Dims dims;
  const int64_t rank = 1 + random.below(max_rank);
  for (int64_t axis = 1; axis < rank; ++axis) dims.push_back(random.chance(0.03) ? 0 : 1 + random.below(4));
  dims.push_back(last);
  return dims;
}

int64_t num_rows(const Dims& dims) { return dims.back() == 0 ? 0 : num_elements(dims) / dims.back(); }

// Some rows are 0.
Array gradient_of(const Dims& dims, Random& random) {
  Array gradient = make_input(random_array(dims, random)).contents;
  for (int64_t row = 0; row < num_rows(dims); ++row) {
    if (!random.chance(0.1)) continue;
    const auto first = gradient.values.begin() + row * dims.back();
    std::fill(first, first + dims.back(), 0.0);
  }
  return gradient;
}

// Whether the gradients agree with the reference, and have the same bits saved, with other threads and added to 0.
template <typename Options>
void expect_gradients(Create<Options> create, const Options& options, Sample sample, const NamedBounds& expected,
                      Random& random) {
  sample.of_output.dims = sample.output_dims;
  GradientRequest request;
  request.of_output = sample.of_output;
  request.layout = random.one_of(kWritable);
  request.of_output_layout = random.one_of<Layout>({Layout::RowMajor, Layout::Transposed, Layout::Padded});
  if (sample.call.queries.dtype == HEED_F32) request.inputs = {"queries"};
  NamedResults first;
  for (int32_t round = 0; round < 4; ++round) {
    heed_context_options context_options = device_options();
    context_options.num_threads = 1 + round;
    heed_context* raw_context = nullptr;
    check(heed_context_create(&context_options, &raw_context));
    const Context context(raw_context);
    heed_layer* raw_layer = nullptr;
    check(create(context.get(), &options, &raw_layer));
    const Layer layer(raw_layer);
    for (const auto& [name, value] : sample.call.parameters)
      check(heed_layer_set_parameter(layer.get(), name.c_str(), HostTensor(context.get(), value).handle()));
    const HostTensor input(context.get(), sample.call.queries);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = input.handle();
    inputs.training = sample.call.training;
    inputs.dropout_seed = sample.call.dropout_seed;
    heed_sequence_inputs sequences = HEED_SEQUENCE_INPUTS_INIT;
    std::optional<HostTensor> positions;
    if (sample.positions) {
      sequences.positions = positions.emplace(context.get(), *sample.positions).handle();
      inputs.sequences = &sequences;
    }
    const HostTensor output(context.get(), HEED_F32, sample.output_dims, row_major_strides(sample.output_dims));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output.handle();
    request.saved = round % 2 == 1;
    request.with_workspace = round >= 2;
    if (round == 3) {
      for (const auto& [name, gradient] : first) request.sums[name] = filled(gradient.contents.dims, 0.0);
    }
    const NamedResults gradients = backward(context.get(), layer.get(), inputs, outputs,
                                            {{"queries", sample.call.queries.contents.dims}}, request);
    ASSERT_TRUE(input.input_is_untouched());
    if (round == 0) {
      ASSERT_TRUE(agree(gradients, expected));
      ASSERT_EQ(gradients.size(), sample.call.parameters.size() + request.inputs.size());
      first = gradients;
    } else {
      ASSERT_TRUE(same_bits(gradients, first)) << "in round " << round;
    }
  }
}

void add_weight(Call& call, const std::string& name, const Dims& dims, double amplitude, Random& random) {
  call.parameters[name] = make_input(random_array(dims, random, amplitude));
}

TEST(GradientsOfLayers, LinearOnesAgreeWithTheReference) {
  Random random(8001);
  for (int64_t round = 0; round < num_rounds(500) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    const Dims dims = random_dims(random, 8, random.one_of<int64_t>({0, 1, 2, 3, 16, 31, 67}));
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = random.one_of<int64_t>({1, 2, 5, 63, 65});
    options.no_bias = random.chance(0.5) ? 1 : 0;
    sample.call.queries = strided(random_array(dims, random, 2.0), random);
    add_weight(sample.call, "weight", {options.output_size, dims.back()}, 1.0, random);
    if (options.no_bias == 0) add_weight(sample.call, "bias", {options.output_size}, 1.0, random);
    sample.output_dims = dims;
    sample.output_dims.back() = options.output_size;
    sample.of_output = gradient_of(sample.output_dims, random);
    reference::Projection projection = {
        dims.back(), options.output_size, sample.call.parameters.at("weight").contents.values, {}};
    if (options.no_bias == 0) projection.bias = sample.call.parameters.at("bias").contents.values;
    const reference::ProjectionGradients gradients =
        reference::projection_gradients(projection, sample.call.queries.contents.values, sample.of_output.values);
    expect_gradients(heed_linear_create, options, sample,
                     {{"queries", gradients.input}, {"weight", gradients.weight}, {"bias", gradients.bias}}, random);
  }
}

TEST(GradientsOfLayers, NormsAgreeWithTheReference) {
  Random random(8002);
  for (int64_t round = 0; round < num_rounds(500) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    const Dims dims = random_dims(random, 8, random.one_of<int64_t>({1, 2, 3, 16, 31, 200}));
    heed_layer_norm_options options = HEED_LAYER_NORM_OPTIONS_INIT;
    options.kind = random.one_of<int32_t>({HEED_NORM_LAYER, HEED_NORM_RMS});
    options.no_bias = random.chance(0.3) ? 1 : 0;
    sample.call.queries = strided(random_array(dims, random, random.magnitude(1e-3, 1e3)), random);
    add_weight(sample.call, "weight", {dims.back()}, 2.0, random);
    const bool has_bias = options.kind == HEED_NORM_LAYER && options.no_bias == 0;
    if (has_bias) add_weight(sample.call, "bias", {dims.back()}, 1.0, random);
    sample.output_dims = dims;
    sample.of_output = gradient_of(dims, random);
    const reference::NormGradients gradients = reference::norm_gradients(
        row_norm_of(sample.call, options, ""), sample.call.queries.contents.values, sample.of_output.values);
    expect_gradients(heed_layer_norm_create, options, sample,
                     {{"queries", gradients.rows}, {"weight", gradients.weight}, {"bias", gradients.bias}}, random);
  }
}

TEST(GradientsOfLayers, FeedForwardNetworksAgreeWithTheReference) {
  Random random(8003);
  for (int64_t round = 0; round < num_rounds(400) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    const Dims dims = random_dims(random, 8, random.one_of<int64_t>({1, 2, 3, 16, 31}));
    heed_feed_forward_options options = HEED_FEED_FORWARD_OPTIONS_INIT;
    options.hidden_size = random.one_of<int64_t>({1, 3, 16, 33, 70});
    options.output_size = random.one_of<int64_t>({0, 1, 5, 20});
    options.activation = static_cast<int32_t>(random.below(kNumActivationsOfC));
    options.gated = random.chance(0.5) ? 1 : 0;
    options.no_bias = random.chance(0.3) ? 1 : 0;
    options.dropout = random.one_of<float>({0.0F, 0.25F});
    sample.call.training = random.chance(0.7) ? 1 : 0;
    sample.call.dropout_seed = random.next();
    sample.call.queries = strided(random_array(dims, random, 2.0), random);
    const int64_t output_size = options.output_size != 0 ? options.output_size : dims.back();
    const auto add = [&](const std::string& name, int64_t to, int64_t from) {
      add_weight(sample.call, name + ".weight", {to, from}, std::sqrt(3.0 / static_cast<double>(from)), random);
      if (options.no_bias == 0) add_weight(sample.call, name + ".bias", {to}, 1.0, random);
    };
    add("W_1", options.hidden_size, dims.back());
    if (options.gated != 0) add("W_gate", options.hidden_size, dims.back());
    add("W_2", output_size, options.hidden_size);
    sample.output_dims = dims;
    sample.output_dims.back() = output_size;
    sample.of_output = gradient_of(sample.output_dims, random);
    reference::FeedForward network = feed_forward_of(sample.call, options, "");
    if (sample.call.training != 0) network.dropout = {options.dropout, sample.call.dropout_seed};
    const NamedBounds expected = reference::with_moved_steps([&](const reference::AfterStep& after_step) {
      return reference::feed_forward_gradients(network, sample.call.queries.contents.values, sample.of_output.values,
                                               after_step);
    });
    expect_gradients(heed_feed_forward_create, options, sample, expected, random);
  }
}

TEST(GradientsOfLayers, DropoutAgreesWithTheReference) {
  Random random(8004);
  for (int64_t round = 0; round < num_rounds(300) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    heed_dropout_options options = HEED_DROPOUT_OPTIONS_INIT;
    options.dropout = random.one_of<float>({0.0F, 0.1F, 0.5F, 0.9F});
    sample.call.training = random.chance(0.7) ? 1 : 0;
    sample.call.dropout_seed = random.next();
    sample.output_dims = random_dims(random, 8, random.one_of<int64_t>({1, 3, 37}));
    sample.call.queries = strided(random_array(sample.output_dims, random), random);
    sample.of_output = gradient_of(sample.output_dims, random);
    const double dropout = sample.call.training != 0 ? static_cast<double>(options.dropout) : 0.0;
    const Bounded gradient =
        dropout == 0.0 ? reference::as_read(sample.of_output.values, std::nullopt)
                       : reference::dropout_gradient({dropout, sample.call.dropout_seed}, sample.of_output.values);
    expect_gradients(heed_dropout_create, options, sample, {{"queries", gradient}}, random);
  }
}

TEST(GradientsOfLayers, EmbeddingsAgreeWithTheReference) {
  Random random(8005);
  for (int64_t round = 0; round < num_rounds(300) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    heed_embedding_options options = HEED_EMBEDDING_OPTIONS_INIT;
    options.num_embeddings = random.one_of<int64_t>({1, 2, 17, 300});
    options.embedding_size = random.one_of<int64_t>({1, 3, 16, 33});
    options.padding_index = random.below(options.num_embeddings + 1) - 1;
    if (random.chance(0.5)) options.scale = static_cast<float>(random.uniform(-3.0, 3.0));
    add_weight(sample.call, "weight", {options.num_embeddings, options.embedding_size}, 1.0, random);
    Array ids = filled(random_dims(random, 7, 1 + random.below(20)), 0.0);
    for (double& id : ids.values) id = static_cast<double>(random.below(options.num_embeddings));
    sample.output_dims = ids.dims;
    sample.output_dims.push_back(options.embedding_size);
    sample.call.queries = strided(std::move(ids), random, random.one_of<heed_dtype>({HEED_I32, HEED_I64}));
    sample.of_output = gradient_of(sample.output_dims, random);
    const std::vector<double>& read = sample.call.queries.contents.values;
    const double scale = options.scale != 0.0F ? static_cast<double>(options.scale) : 1.0;
    const Bounded gradient =
        reference::embedding_gradient({read.begin(), read.end()}, options.num_embeddings, options.embedding_size, scale,
                                      options.padding_index, sample.of_output.values);
    expect_gradients(heed_embedding_create, options, sample, {{"weight", gradient}}, random);
  }
}

TEST(GradientsOfLayers, PositionalEncodingsAgreeWithTheReference) {
  Random random(8006);
  for (int64_t round = 0; round < num_rounds(300) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    Sample sample;
    heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
    const bool is_learned = random.chance(0.7);
    options.kind = is_learned ? HEED_POSITIONS_LEARNED : HEED_POSITIONS_SINUSOIDAL;
    options.size = random.one_of<int64_t>({2, 4, 16, 34});
    options.max_positions = 20;
    if (is_learned && random.chance(0.3)) options.first_row = 2;
    options.dropout = random.one_of<float>({0.0F, 0.25F});
    sample.call.training = random.chance(0.5) ? 1 : 0;
    sample.call.dropout_seed = random.next();
    sample.output_dims = {random.below(4), random.below(20), options.size};
    sample.call.queries = strided(random_array(sample.output_dims, random), random);
    sample.of_output = gradient_of(sample.output_dims, random);
    const int64_t num_table_rows = options.first_row + options.max_positions;
    if (is_learned) add_weight(sample.call, "weight", {num_table_rows, options.size}, 1.0, random);
    Array positions = filled({sample.output_dims[0], sample.output_dims[1]}, 0.0);
    const bool are_given = random.chance(0.5);
    for_each_index(positions.dims, [&](const Dims& index, size_t i) {
      positions.values[i] = static_cast<double>(are_given ? random.below(options.max_positions) : index[1]);
    });
    std::vector<int64_t> rows;
    for (double position : positions.values) rows.push_back(options.first_row + static_cast<int64_t>(position));
    if (are_given) sample.positions = make_input(std::move(positions), HEED_I32);
    const double dropout = sample.call.training != 0 ? static_cast<double>(options.dropout) : 0.0;
    const NamedBounds expected = reference::with_moved_steps([&](const reference::AfterStep& after_step) {
      std::vector<double> of_rows = sample.of_output.values;
      if (dropout != 0.0)
        of_rows = after_step(reference::dropout_gradient({dropout, sample.call.dropout_seed}, of_rows));
      reference::NamedRows gradients = {{"queries", {of_rows, options.size}}};
      gradients["weight"] = {
          after_step(reference::embedding_gradient(rows, num_table_rows, options.size, 1.0, -1, of_rows)),
          options.size};
      return gradients;
    });
    expect_gradients(heed_positional_encoding_create, options, sample, expected, random);
  }
}

}  // namespace
}  // namespace heed::property
