// SPDX-License-Identifier: Apache-2.0
#include "support/random_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "support/activations.h"
#include "support/samples.h"

namespace heed::property {
namespace {

class ModelMaker {
 public:
  explicit ModelMaker(uint64_t seed) : random_(seed) {}

  ModelCall make() {
    call_.shape = random_.one_of<ModelShape>({ModelShape::Encoder, ModelShape::Decoder, ModelShape::Transformer});
    if (call_.shape == ModelShape::Transformer)
      call_.part =
          random_.one_of<ModelPart>({ModelPart::Whole, ModelPart::Whole, ModelPart::Encoder, ModelPart::Decoder});
    call_.batch = 1 + random_.below(3);
    num_heads_ = 1 + random_.below(2);
    call_.size = num_heads_ * random_.one_of<int64_t>({4, 8});
    const bool is_transformer = call_.shape == ModelShape::Transformer;
    reads_ids_ = random_.chance(0.7);
    call_.shares_table = is_transformer && reads_ids_ && random_.chance(0.5);
    if (call_.shape != ModelShape::Decoder) draw_side(call_.encoder.emplace(), false, is_transformer ? "encoder." : "");
    if (call_.shape != ModelShape::Encoder) draw_side(call_.decoder.emplace(), true, is_transformer ? "decoder." : "");
    call_.has_output = random_.chance(0.7);
    call_.output.tied = reads_ids_ && (!is_transformer || call_.shares_table) && random_.chance(0.5) ? 1 : 0;
    if (call_.output.tied == 0) call_.output.size = 1 + random_.below(8);
    call_.output.bias = random_.chance(0.5) ? 1 : 0;
    if (random_.chance(0.3)) call_.output.scale = static_cast<float>(random_.uniform(-2.0, 2.0));
    if (random_.chance(0.3)) call_.output.soft_cap = static_cast<float>(random_.uniform(0.5, 5.0));
    draw_limits();
    draw_parameters();
    return std::move(call_);
  }

 private:
  void draw_side(ModelSide& side, bool is_decoder, const std::string& prefix) {
    side.prefix = prefix;
    Block& block = side.block;
    block.is_decoder = is_decoder;
    block.num_layers = 1 + random_.below(2);
    block.final_norm = random_.chance(0.5);
    block.self_attention.options.num_hiddens = call_.size;
    block.self_attention.options.num_heads = num_heads_;
    if (is_decoder && call_.shape == ModelShape::Transformer) block.cross_attention = block.self_attention;
    if (is_decoder) block.self_attention.options.causal = HEED_CAUSAL_TOP_LEFT;
    block.feed_forward.hidden_size = random_.one_of<int64_t>({5, 16});
    block.feed_forward.activation = static_cast<int32_t>(random_.below(kNumActivationsOfC));
    block.feed_forward.gated = random_.chance(0.3) ? 1 : 0;
    block.norm.kind = random_.one_of<int32_t>({HEED_NORM_LAYER, HEED_NORM_RMS});
    block.norm_first = random_.chance(0.5);
    if (random_.chance(0.3)) block.residual_scale = static_cast<float>(random_.uniform(0.3, 1.5));
    if (random_.chance(0.6))
      side.positions = random_.one_of<int32_t>({HEED_POSITIONS_SINUSOIDAL, HEED_POSITIONS_LEARNED});
    side.has_norm = random_.chance(0.4);
    const int64_t num_rows = 1 + random_.below(kMostModelRows);
    if (!reads_ids_) {
      side.source = make_input(random_array({call_.batch, num_rows, call_.size}, random_)).contents;
      return;
    }
    side.table = call_.shares_table ? "embedding.weight" : prefix + "embedding.weight";
    side.scale = call_.shares_table && is_decoder ? call_.encoder->scale
                 : random_.chance(0.4)            ? static_cast<float>(random_.uniform(-3.0, 3.0))
                                                  : 0.0F;
    side.source = filled({call_.batch, num_rows}, 0.0);
    for (double& id : side.source.values) id = static_cast<double>(random_.below(kNumModelIds));
  }

  void draw_limits() {
    const auto lens = [&](int64_t largest) {
      Array array = filled({call_.batch}, 0.0);
      for (double& length : array.values) length = static_cast<double>(random_.below(largest + 1));
      return array;
    };
    call_.memory =
        make_input(random_array({call_.batch, 1 + random_.below(kMostModelRows), call_.size}, random_)).contents;
    // Of a decoder alone valid_lens are for its self-attention; of a Transformer for what the encoder reads, or the memory.
    const int64_t num_keys = call_.part == ModelPart::Decoder         ? call_.memory.dims[1]
                             : call_.shape == ModelShape::Transformer ? call_.encoder->source.dims[1]
                                                                      : call_.last().source.dims[1];
    if (call_.shape != ModelShape::Decoder && random_.chance(0.5)) call_.lens = lens(num_keys);
    const int64_t num_rows = call_.last().source.dims[1];
    const bool has_queries = call_.part != ModelPart::Encoder;
    if (has_queries && random_.chance(0.3)) {
      call_.query_lens = lens(num_rows);
    } else if (random_.chance(0.3)) {
      call_.num_last_rows = 1 + random_.below(num_rows);
    } else if (random_.chance(0.4)) {
      call_.output_rows = filled({call_.batch, 1 + random_.below(num_rows)}, 0.0);
      const int64_t count = call_.output_rows->dims[1];
      for (int64_t b = 0; b < call_.batch; ++b) {
        std::vector<double> order(static_cast<size_t>(num_rows));
        std::iota(order.begin(), order.end(), 0.0);
        for (size_t i = order.size(); i > 1; --i)
          std::swap(order[i - 1], order[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
        std::copy_n(order.begin(), count, call_.output_rows->values.begin() + b * count);
      }
    }
  }

  void draw_parameters() {
    heed_context* made = nullptr;
    check(heed_context_create(nullptr, &made));
    const Context context(made);
    const Layer layer = make_empty_model(context.get(), call_);
    // A call that reads all parameters.
    const auto source = [&](const ModelSide& side) {
      return HostTensor(context.get(), make_input(side.source, side.table.empty() ? HEED_F32 : HEED_I32));
    };
    const HostTensor queries = source(call_.decoder ? *call_.decoder : *call_.encoder);
    const HostTensor keys = source(call_.encoder ? *call_.encoder : *call_.decoder);
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.handle();
    if (call_.shape == ModelShape::Transformer) inputs.keys = keys.handle();
    check(heed_layer_initialize(layer.get(), &inputs, 1));
    for (int64_t i = 0; i < heed_layer_parameter_count(layer.get()); ++i) {
      const std::string name = heed_layer_parameter_name(layer.get(), i);
      heed_tensor* snapshot = nullptr;
      check(heed_layer_parameter(layer.get(), name.c_str(), &snapshot));
      const Tensor value(snapshot);
      Dims dims;
      for (int32_t axis = 0; axis < heed_tensor_rank(snapshot); ++axis) dims.push_back(heed_tensor_dim(snapshot, axis));
      const bool is_norm = name.find("norm") != std::string::npos && name.ends_with("weight");
      const double largest = dims.size() == 2 ? std::sqrt(3.0 / static_cast<double>(dims[1])) : 0.5;
      Array array = make_input(random_array(dims, random_, largest)).contents;
      if (is_norm) {
        for (double& element : array.values) element += 1.0;
      }
      call_.parameters[name] = make_input(array).contents;
    }
  }

  Random random_;
  ModelCall call_;
  int64_t num_heads_ = 0;
  bool reads_ids_ = false;
};

}  // namespace

ModelCall make_model_call(uint64_t seed) { return ModelMaker(seed).make(); }

}  // namespace heed::property
