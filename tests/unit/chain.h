// SPDX-License-Identifier: Apache-2.0
// A layer for tests, made of other layers.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "layers/layer.h"

namespace heed {

using Children = std::vector<std::shared_ptr<Layer>>;

// Runs its children in order. They are named "0", "1" and so on, and each reads the output of the one before it.
class Chain final : public Layer {
 public:
  Chain(std::shared_ptr<Context> context, const Children& children)
      : Layer(std::move(context), {}, kNoParameters, Named(children).list), num_children_(children.size()) {}

  const char* kind() const override { return "chain"; }
  InputRules input_rules(const LayerInputs&) const override { return {kAllInputs, {}}; }

 protected:
  LayerInputs check_tensors(const LayerInputs& inputs) const override { return complete_inputs(inputs); }

  void check(Schedule& schedule, Purpose purpose, LayerCall& call) const override {
    InputValues inputs = call.inputs;
    for (size_t i = 0; i < num_children_; ++i) {
      const OutputShapes& shapes = check_child(i, inputs, schedule, purpose, call);
      call.shapes.output = shapes.output;
      if (i + 1 == num_children_) break;
      const Value between = schedule.reserve(schedule.form().dtype, shapes.output);
      inputs.queries = inputs.keys = inputs.values = between;
    }
    call.shapes.dtype = call.inputs.queries.dtype();
  }

  void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const override {
    for (size_t i = 0; i < num_children_; ++i) {
      const bool is_last = i + 1 == num_children_;
      compose_child(i, schedule, call, {is_last ? outputs.output : call.children[i + 1].inputs.queries, {}, {}});
    }
  }

  void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const override {
    GradientValues of_child = gradients;
    for (size_t i = num_children_; i-- > 0;) {
      of_child.queries = gradients.queries;
      if (i > 0) of_child.queries = {schedule.reserve(DType::F32, call.children[i].inputs.queries.shape())};
      compose_child_backward(i, schedule, call, of_child);
      of_child.output = of_child.queries.to;
    }
  }

  void write_options(JsonWriter& json) const override { json.member("length", num_children_); }

 private:
  struct Named {
    explicit Named(const Children& children) {
      for (size_t i = 0; i < children.size(); ++i) names.push_back(std::to_string(i));
      for (size_t i = 0; i < children.size(); ++i) list.push_back({names[i], children[i]});
    }
    std::vector<std::string> names;
    std::vector<NamedLayer> list;
  };

  size_t num_children_;
};

}  // namespace heed
