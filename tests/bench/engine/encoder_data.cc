// SPDX-License-Identifier: Apache-2.0
#include "encoder_data.h"

#include <memory>

#include "fail.h"
#include "processors.h"

namespace bench {
namespace {

// The parts of an encoder layer as layers of their own, which share its parameters.
class BareParts : public Subject {
 public:
  BareParts(const BenchCase& bench_case, const Data& data, int threads) : context_(make_context(threads)) {
    // Packing the first weight starts the context's threads.
    const StartingThreads elsewhere;
    encoder_ = make_encoder(context_.get(), bench_case);
    const Dims rows = {bench_case.batch, bench_case.queries, bench_case.embedding};
    const Dims hidden = {bench_case.batch, bench_case.queries, bench_case.hidden};
    attended_ = make_tensor(context_.get(), HEED_F32, rows);
    hidden_ = make_tensor(context_.get(), HEED_F32, hidden);
    result_ = make_tensor(context_.get(), HEED_F32, rows);
    for (int64_t i = 0; i < bench_case.layers; ++i) {
      const std::string layer = "layers." + std::to_string(i);
      heed_layer* attention = nullptr;
      check(heed_layer_child(encoder_.get(), (layer + ".self_attention").c_str(), &attention));
      heed_tensor* input = i == 0 ? data.queries.get() : result_.get();
      add(Layer(attention), input, attended_.get());
      add(linear(layer + ".feed_forward.W_1.weight", bench_case.hidden), attended_.get(), hidden_.get());
      add(linear(layer + ".feed_forward.W_2.weight", bench_case.embedding), hidden_.get(), result_.get());
    }
  }

  [[nodiscard]] std::string library() const override { return "heed"; }
  [[nodiscard]] std::string name() const override { return "heed bare"; }
  void call() override {
    for (const Part& part : parts_)
      check(heed_layer_forward(part.layer.get(), &part.inputs, part.workspace.get(), &part.outputs));
  }
  [[nodiscard]] std::vector<float> output() const override { return read_floats(result_.get()); }
  [[nodiscard]] bool computes_the_same() const override { return false; }

 private:
  struct Part {
    Layer layer;
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    Workspace workspace;
  };

  Layer linear(const std::string& weight, int64_t output_size) {
    heed_linear_options options = HEED_LINEAR_OPTIONS_INIT;
    options.output_size = output_size;
    options.no_bias = 1;
    heed_layer* layer = nullptr;
    check(heed_linear_create(context_.get(), &options, &layer));
    heed_tensor* snapshot = nullptr;
    check(heed_layer_parameter(encoder_.get(), weight.c_str(), &snapshot));
    const Tensor value(snapshot);
    check(heed_layer_set_parameter(layer, "weight", value.get()));
    return Layer(layer);
  }

  void add(Layer layer, heed_tensor* input, heed_tensor* output) {
    Part part;
    part.layer = std::move(layer);
    part.inputs.queries = input;
    part.outputs.output = output;
    size_t num_bytes = 0;
    check(heed_layer_workspace_size(part.layer.get(), &part.inputs, &part.outputs, &num_bytes));
    heed_workspace* workspace = nullptr;
    check(heed_workspace_create(context_.get(), num_bytes, &workspace));
    part.workspace.reset(workspace);
    parts_.push_back(std::move(part));
  }

  Context context_;
  Layer encoder_;
  Tensor attended_;
  Tensor hidden_;
  Tensor result_;
  std::vector<Part> parts_;
};

}  // namespace

Layer make_encoder(heed_context* context, const BenchCase& bench_case) {
  heed_multi_head_attention_options attention = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  attention.num_hiddens = bench_case.embedding;
  attention.num_heads = bench_case.heads;
  attention.biases = HEED_BIAS_ALL;
  heed_feed_forward_options feed_forward = HEED_FEED_FORWARD_OPTIONS_INIT;
  feed_forward.hidden_size = bench_case.hidden;
  feed_forward.activation = HEED_ACTIVATION_GELU;
  heed_layer_norm_options norm = HEED_LAYER_NORM_OPTIONS_INIT;
  norm.epsilon = 1e-12F;
  heed_encoder_layer_options layer = HEED_ENCODER_LAYER_OPTIONS_INIT;
  layer.attention = &attention;
  layer.feed_forward = &feed_forward;
  layer.norm = &norm;
  heed_encoder_options options = HEED_ENCODER_OPTIONS_INIT;
  options.layer = &layer;
  options.num_layers = bench_case.layers;
  heed_layer* encoder = nullptr;
  check(heed_encoder_create(context, &options, &encoder));
  Layer owned(encoder);
  const Tensor rows = make_tensor(context, HEED_F32, {1, 1, bench_case.embedding});
  heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
  inputs.queries = rows.get();
  check(heed_layer_initialize(encoder, &inputs, 1));
  for (int64_t i = 0; i < heed_layer_parameter_count(encoder); ++i) {
    const std::string name = heed_layer_parameter_name(encoder, i);
    if (name.size() < 5 || name.compare(name.size() - 5, 5, ".bias") != 0) continue;
    const auto count = static_cast<int64_t>(parameter_floats(encoder, name).size());
    const Tensor bias = random_tensor(context, HEED_F32, {count}, static_cast<uint64_t>(i), 0.1);
    check(heed_layer_set_parameter(encoder, name.c_str(), bias.get()));
  }
  return owned;
}

std::vector<float> parameter_floats(const heed_layer* layer, const std::string& name) {
  heed_tensor* snapshot = nullptr;
  check(heed_layer_parameter(layer, name.c_str(), &snapshot));
  return read_floats(Tensor(snapshot).get());
}

Subjects make_encoder_subjects(const BenchCase& bench_case, const Data& data, int threads) {
  Subjects subjects;
  subjects.push_back(std::make_unique<BareParts>(bench_case, data, threads));
  return subjects;
}

}  // namespace bench
