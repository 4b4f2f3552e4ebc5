// SPDX-License-Identifier: Apache-2.0
// Embeddings of images and of audio: rule 18 against products and convolutions in f64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "property/support/device.h"
#include "reference/error_bound.h"
#include "reference/feed_forward.h"
#include "reference/multi_head_attention.h"
#include "support/one_input.h"
#include "support/samples.h"

namespace heed::property {
namespace {

using Create = std::function<heed_status(heed_context*, heed_layer**)>;

// A layer with parameters, and one call of it.
struct Sample {
  Create create;
  std::map<std::string, Input> parameters = {};
  OneInputCall call = {};

  const std::vector<double>& values(const std::string& name) const { return parameters.at(name).contents.values; }

  OneOutput forward() const {
    const Context context = make_context();
    heed_layer* made = nullptr;
    check(create(context.get(), &made));
    const Layer layer(made);
    for (const auto& [name, value] : parameters)
      check(heed_layer_set_parameter(made, name.c_str(), HostTensor(context.get(), value).handle()));
    return property::forward(context.get(), made, call);
  }

  // Fails if an element is not within its error. Returns the largest used fraction of F32 results.
  double expect(const OneOutput& output, const reference::Bounded& expected) const {
    const auto format = format_of(call.dtype);
    double largest = 0;
    EXPECT_EQ(output.contents.values.size(), expected.values.size());
    for (size_t i = 0; i < expected.values.size() && !testing::Test::HasFailure(); ++i) {
      const double actual = output.contents.values[i];
      EXPECT_TRUE(reference::accepts(format, expected.values[i], expected.errors[i], actual))
          << "element " << i << " is " << actual << ", expected " << expected.values[i] << " within "
          << expected.errors[i];
      if (call.dtype == HEED_F32)
        largest = std::max(largest, reference::used_fraction(format, expected.values[i], expected.errors[i], actual));
    }
    return largest;
  }
};

// Sets an input of these dims, and the dtype and strides of an output.
void set_call(Sample& sample, const Dims& dims, const Dims& output_dims, Random& random) {
  const heed_dtype dtype = random.one_of(kFloats);
  sample.call.input =
      make_input(random_array(dims, random, 2.0), dtype, make_strides(random.one_of(kReadable), dims, random));
  sample.call.dtype = random.chance(0.5) ? dtype : HEED_F32;
  sample.call.output_strides = make_strides(random.one_of(kWritable), output_dims, random);
  sample.call.with_workspace = random.chance(0.5);
}

reference::Bounded rows_of(const reference::Projection& projection, const reference::Bounded& input) {
  return reference::project(projection, input, static_cast<int64_t>(input.values.size()) / projection.input_size);
}

// ---- images ---------------------------------------------------------------------------------------------------------

Sample random_patches(const heed_patch_embedding_options& options, Random& random) {
  Sample sample{.create = [options](heed_context* context, heed_layer** layer) {
    return heed_patch_embedding_create(context, &options, layer);
  }};
  const int64_t width = options.patch_width != 0 ? options.patch_width : options.patch_height;
  const heed_dtype dtype = random.one_of(kFloats);
  const auto add = [&](const char* name, const Dims& dims) {
    sample.parameters[name] = make_input(random_array(dims, random), dtype);
  };
  add("weight", {options.size, options.num_channels * options.patch_height * width});
  if (options.no_bias == 0) add("bias", {options.size});
  if (options.class_token != 0) add("class_token", {options.size});
  return sample;
}

reference::Bounded expected_patches(const heed_patch_embedding_options& options, const Sample& sample) {
  const Array& images = sample.call.input.contents;
  const int64_t height = options.patch_height;
  const int64_t width = options.patch_width != 0 ? options.patch_width : height;
  const auto pixel = [&](int64_t b, int64_t c, int64_t y, int64_t x) {
    return images.values[static_cast<size_t>(((b * images.dims[1] + c) * images.dims[2] + y) * images.dims[3] + x)];
  };
  reference::Projection projection;
  projection.output_size = options.size;
  projection.input_size = options.num_channels * height * width;
  projection.weight = sample.values("weight");
  if (options.no_bias == 0) projection.bias = sample.values("bias");
  reference::Bounded expected;
  for (int64_t b = 0; b < images.dims[0]; ++b) {
    if (options.class_token != 0) {
      for (const double element : sample.values("class_token")) {
        expected.values.push_back(element);
        expected.errors.push_back(0);
      }
    }
    for (int64_t top = 0; top < images.dims[2]; top += height) {
      for (int64_t left = 0; left < images.dims[3]; left += width) {
        reference::Bounded patch;
        for (int64_t c = 0; c < options.num_channels; ++c) {
          for (int64_t y = 0; y < height; ++y) {
            for (int64_t x = 0; x < width; ++x) patch.values.push_back(pixel(b, c, top + y, left + x));
          }
        }
        patch.errors.assign(patch.values.size(), 0.0);
        const reference::Bounded row = rows_of(projection, patch);
        expected.values.insert(expected.values.end(), row.values.begin(), row.values.end());
        expected.errors.insert(expected.errors.end(), row.errors.begin(), row.errors.end());
      }
    }
  }
  return expected;
}

TEST(PatchEmbedding, AgreesWithTheReference) {
  HEED_SKIP_ON_ASCEND("the bound is that of the CPU");
  Random random(7401);
  double largest = 0;
  for (int64_t round = 0; round < num_rounds(600) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    heed_patch_embedding_options options = HEED_PATCH_EMBEDDING_OPTIONS_INIT;
    options.patch_height = 1 + random.below(4);
    options.patch_width = random.below(5);
    options.num_channels = 1 + random.below(3);
    options.size = random.one_of(std::vector<int64_t>{1, 3, 16, 33});
    options.class_token = random.chance(0.5) ? 1 : 0;
    options.no_bias = random.chance(0.3) ? 1 : 0;
    Sample sample = random_patches(options, random);
    const int64_t width = options.patch_width != 0 ? options.patch_width : options.patch_height;
    const int64_t down = random.chance(0.05) ? 0 : 1 + random.below(3);
    const int64_t across = 1 + random.below(3);
    const Dims dims = {random.chance(0.05) ? 0 : 1 + random.below(3), options.num_channels, down * options.patch_height,
                       across * width};
    const Dims output_dims = {dims[0], down * across + options.class_token, options.size};
    set_call(sample, dims, output_dims, random);
    const OneOutput output = sample.forward();
    ASSERT_EQ(output.contents.dims, output_dims);
    largest = std::max(largest, sample.expect(output, expected_patches(options, sample)));
  }
  EXPECT_GT(largest, 0.05);
}

// ---- audio ----------------------------------------------------------------------------------------------------------

Sample random_convolutions(const heed_audio_embedding_options& options, Random& random) {
  Sample sample{.create = [options](heed_context* context, heed_layer** layer) {
    return heed_audio_embedding_create(context, &options, layer);
  }};
  const heed_dtype dtype = random.one_of(kFloats);
  const auto add = [&](const std::string& name, int64_t size) {
    const double amplitude = 1 / std::sqrt(static_cast<double>(size));
    sample.parameters[name + ".weight"] = make_input(random_array({options.size, 3 * size}, random, amplitude), dtype);
    sample.parameters[name + ".bias"] = make_input(random_array({options.size}, random), dtype);
  };
  add("conv_1", options.num_mels);
  add("conv_2", options.size);
  return sample;
}

// A convolution over the three frames around each one in steps of `step`, of frames (T, size), with 0 outside, and GELU.
reference::Bounded convolve(const Sample& sample, const std::string& name, const reference::Bounded& frames,
                            int64_t size, int64_t step) {
  reference::Projection projection;
  projection.weight = sample.values(name + ".weight");
  projection.bias = sample.values(name + ".bias");
  projection.output_size = static_cast<int64_t>(projection.bias.size());
  projection.input_size = 3 * size;
  const int64_t num_frames = static_cast<int64_t>(frames.values.size()) / size;
  reference::Bounded neighbours;
  for (int64_t t = 0; t < num_frames; t += step) {
    for (int64_t near = t - 1; near <= t + 1; ++near) {
      for (int64_t i = 0; i < size; ++i) {
        const bool is_inside = near >= 0 && near < num_frames;
        const auto at = static_cast<size_t>(near * size + i);
        neighbours.values.push_back(is_inside ? frames.values[at] : 0.0);
        neighbours.errors.push_back(is_inside ? frames.errors[at] : 0.0);
      }
    }
  }
  reference::Bounded rows = rows_of(projection, neighbours);
  for (size_t i = 0; i < rows.values.size(); ++i) {
    const auto [value, error] = reference::activate(reference::Activation::Gelu, {rows.values[i], rows.errors[i]});
    rows.values[i] = value;
    rows.errors[i] = error;
  }
  return rows;
}

reference::Bounded expected_audio(const heed_audio_embedding_options& options, const Sample& sample) {
  const Array& features = sample.call.input.contents;
  const int64_t num_mels = options.num_mels;
  const int64_t num_frames = features.dims[2];
  reference::Bounded expected;
  for (int64_t b = 0; b < features.dims[0]; ++b) {
    reference::Bounded frames;
    for (int64_t t = 0; t < num_frames; ++t) {
      for (int64_t m = 0; m < num_mels; ++m)
        frames.values.push_back(features.values[static_cast<size_t>((b * num_mels + m) * num_frames + t)]);
    }
    frames.errors.assign(frames.values.size(), 0.0);
    const reference::Bounded rows =
        convolve(sample, "conv_2", convolve(sample, "conv_1", frames, num_mels, 1), options.size, 2);
    expected.values.insert(expected.values.end(), rows.values.begin(), rows.values.end());
    expected.errors.insert(expected.errors.end(), rows.errors.begin(), rows.errors.end());
  }
  return expected;
}

TEST(AudioEmbedding, AgreesWithTheReference) {
  HEED_SKIP_ON_ASCEND("the bound is that of the CPU");
  Random random(7402);
  double largest = 0;
  for (int64_t round = 0; round < num_rounds(600) && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    heed_audio_embedding_options options = HEED_AUDIO_EMBEDDING_OPTIONS_INIT;
    options.num_mels = random.one_of(std::vector<int64_t>{1, 2, 5, 16});
    options.size = random.one_of(std::vector<int64_t>{1, 3, 16, 33});
    Sample sample = random_convolutions(options, random);
    const int64_t num_frames = random.chance(0.05) ? 0 : 1 + random.below(9);
    const Dims dims = {random.chance(0.05) ? 0 : 1 + random.below(3), options.num_mels, num_frames};
    const Dims output_dims = {dims[0], (num_frames + 1) / 2, options.size};
    set_call(sample, dims, output_dims, random);
    const OneOutput output = sample.forward();
    ASSERT_EQ(output.contents.dims, output_dims);
    largest = std::max(largest, sample.expect(output, expected_audio(options, sample)));
  }
  EXPECT_GT(largest, 0.05);
}

// The features of a recording lie as its model reads them, so that nothing could be faster.
TEST(AudioEmbedding, IsNoSlowPlanForDenseFeatures) {
  const Context context = make_context();
  heed_audio_embedding_options options = HEED_AUDIO_EMBEDDING_OPTIONS_INIT;
  options.num_mels = 4;
  options.size = 8;
  heed_layer* made = nullptr;
  check(heed_audio_embedding_create(context.get(), &options, &made));
  const Layer layer(made);
  const HostTensor features(context.get(), make_input(filled({1, 4, 6}, 1.0)));
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = features.handle();
  check(heed_layer_initialize(made, &inputs, 1));
  size_t num_bytes = 0;
  check(heed_layer_explain(made, &inputs, nullptr, nullptr, 0, &num_bytes));
  std::string text(num_bytes, ' ');
  check(heed_layer_explain(made, &inputs, nullptr, text.data(), text.size(), nullptr));
  EXPECT_EQ(text.find("lie side by side"), std::string::npos) << text;
}

}  // namespace
}  // namespace heed::property
