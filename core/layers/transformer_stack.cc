// SPDX-License-Identifier: Apache-2.0
#include "layers/transformer_stack.h"

#include <cinttypes>
#include <deque>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "layers/errors_of_member.h"

namespace heed {
namespace {

constexpr int64_t kMostLayers = 4096;

// The children of a stack, whose names live as long as this object.
template <typename LayerKind, typename LayerOptions>
class StackChildren {
 public:
  StackChildren(const std::shared_ptr<Context>& context, const StackOptions<LayerOptions>& options) {
    if (options.num_layers < 1 || options.num_layers > kMostLayers) {
      fail(Status::InvalidArgument, "options->num_layers is %" PRId64 ", expected 1 to %" PRId64, options.num_layers,
           kMostLayers);
    }
    const HostAllocator& allocator = context->host_allocator();
    const ErrorsOfMember errors("layer");
    errors.of([&] {
      for (int64_t i = 0; i < options.num_layers; ++i) {
        names_.push_back("layers." + std::to_string(i));
        layers_.push_back({names_.back().c_str(), host_make_shared<LayerKind>(allocator, context, options.layer)});
      }
    });
    if (options.final_norm)
      layers_.push_back({"norm", host_make_shared<LayerNorm>(allocator, context, options.layer.norm)});
  }
  std::span<const Layer::NamedLayer> all() const { return layers_; }

 private:
  std::deque<std::string> names_;
  std::vector<Layer::NamedLayer> layers_;
};

}  // namespace

TransformerStack::TransformerStack(std::shared_ptr<Context> context, std::span<const NamedLayer> children,
                                   size_t num_layers)
    : Layer(std::move(context), {}, kNoParameters, children), num_layers_(num_layers) {}

void TransformerStack::check(Schedule& schedule, Purpose purpose, LayerCall& call) const {
  make_children(schedule, call);
  InputValues inputs = call.inputs;
  for (size_t i = 0; i < num_children(); ++i) {
    const bool is_layer = i < num_layers_;
    if (i > 0) inputs.queries = schedule.reserve_spread(call.inputs.queries.shape());
    if (!is_layer) inputs.keys = inputs.values = Value();
    if (is_layer && inputs.others->cache != nullptr) {
      auto& others = schedule.arena().make<AttentionInputs>(*call.inputs.others);
      others.cache_layer_offset = static_cast<int64_t>(i);
      inputs.others = &others;
    }
    check_child(i, inputs, schedule, purpose, call);
  }
  call.row_limits = call.children[0].row_limits;
  if (num_children() > num_layers_) call.children[num_layers_].row_limits = call.row_limits;
  call.shapes = call.children[0].shapes;
}

void TransformerStack::compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const {
  for (size_t i = 0; i < num_children(); ++i) {
    const bool is_last = i + 1 == num_children();
    OutputValues result;
    result.output = is_last ? outputs.output : call.children[i + 1].inputs.queries;
    compose_child(i, schedule, call, result);
  }
}

void TransformerStack::write_options(JsonWriter& json) const {
  write_child_options(0, "layer", json);
  json.member("num_layers", static_cast<int64_t>(num_layers_));
  json.member("final_norm", num_children() > num_layers_);
}

Encoder::Encoder(const std::shared_ptr<Context>& context, const EncoderOptions& options)
    : TransformerStack(context, StackChildren<EncoderLayer, EncoderLayerOptions>(context, options).all(),
                       static_cast<size_t>(options.num_layers)) {}

LayerInputs Encoder::check_tensors(const LayerInputs& inputs) const {
  return check_encoder_tensors(inputs, kind(), context()->device_name());
}

Decoder::Decoder(const std::shared_ptr<Context>& context, const DecoderOptions& options)
    : TransformerStack(context, StackChildren<DecoderLayer, DecoderLayerOptions>(context, options).all(),
                       static_cast<size_t>(options.num_layers)),
      has_cross_attention_(options.layer.cross_attention.has_value()) {}

LayerInputs Decoder::check_tensors(const LayerInputs& inputs) const {
  return check_decoder_tensors(inputs, kind(), has_cross_attention_, context()->device_name());
}

}  // namespace heed
