// SPDX-License-Identifier: Apache-2.0
// What every kind of layer has: parameters by name, children, and the walk of a call from checked arguments to backend
// operations. A kind adds its sizes and its composition.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/context.h"
#include "backends/workspace.h"
#include "base/json_writer.h"
#include "layers/inputs.h"
#include "layers/layer_call.h"
#include "layers/load_options.h"
#include "layers/model_attention.h"
#include "layers/parameter.h"
#include "layers/schedule.h"
#include "tensor/safetensors.h"

namespace heed {

struct FoundWeights;

class Layer {
 public:
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;

  const std::shared_ptr<Context>& context() const { return context_; }
  // As "multi_head_attention"; static.
  virtual const char* kind() const = 0;
  // What messages call the layer and the C function that runs `forward`; static.
  virtual const char* owner() const { return "the layer"; }
  virtual const char* forward_function() const { return "heed_layer_forward"; }

  // Its own, and then those of its children in order.
  std::span<const Parameter> parameters() const { return parameters_; }
  bool is_initialized() const;

  // The functions of heed_layer_*, with the same names, rules and errors.
  void initialize(const LayerInputs& inputs, uint64_t seed);
  Tensor parameter(std::string_view name) const;
  void set_parameter(std::string_view name, const Tensor& value);
  // Returns whose names the file has: a layout's title, static.
  const char* load(const SafetensorsFile& file, std::string_view prefix, const LoadOptions& options = {});
  void save(const char* path) const;
  size_t save_to_memory(void* destination, size_t capacity) const;
  OutputShapes output_shapes(const LayerInputs& inputs) const;
  size_t workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs) const;
  void forward(const LayerInputs& inputs, Workspace* workspace, const LayerOutputs& outputs) const;
  std::string explain(const LayerInputs& inputs, const LayerOutputs& outputs) const;

 protected:
  static constexpr const char* kNoParameters[] = {nullptr};

  // A layer that another one is made of, of the same context. The name has no dot and is copied.
  struct NamedLayer {
    const char* name;
    std::shared_ptr<Layer> layer;
  };

  // `parameters`: the layer's own. `possible_parameters`: the names of all that layers of this kind can have themselves,
  // whatever the options; static, null-terminated. What the layer keeps is in the memory of the context's allocator.
  Layer(std::shared_ptr<Context> context, std::span<const Parameter> parameters,
        const char* const* possible_parameters = kNoParameters, std::span<const NamedLayer> children = {});

  // One of its own.
  const Parameter& parameter_at(size_t index) const { return parameters_[index]; }

  // For `check` of a kind with children, which calls it once for each child, in the order in which compose will: checks
  // what the child is to read, and returns the shapes of what it will write. An intermediate that one child writes and
  // another reads is reserved between the two calls.
  const OutputShapes& check_child(size_t index, const InputValues& inputs, Schedule& schedule, Purpose purpose,
                                  LayerCall& call) const;
  // For `compose` of a kind with children: adds the child's operations.
  void compose_child(size_t index, Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const;

  // Checks the tensors of a call and fills in their defaults. Asked of the layer that is called, not of its children,
  // whose inputs are their parent's to choose.
  virtual LayerInputs check_tensors(const LayerInputs& inputs) const = 0;
  // Checks the sizes of call.inputs and all else that does not need the parameters' values. Sets the rest of `call`.
  virtual void check(Schedule& schedule, Purpose purpose, LayerCall& call) const = 0;
  // Adds the operations of a call that `check` has passed. The outputs have the shapes that it has set, and parameters
  // are set.
  virtual void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const = 0;
  // Adds each option as a member of the object, by its name in heed.h, with its default filled in where that is another
  // value; enumerators and bits in words.
  virtual void write_options(JsonWriter& json) const = 0;
  // What it computes from its weights, for the comparison with the model that a file is of.
  virtual LayerAttention layer_attention() const { return {}; }

 private:
  struct Child {
    HostString name;
    std::shared_ptr<Layer> layer;
  };

  // Calls visit(index in the parameters of the layer that is called, input) for each parameter with an input whose size
  // it takes, here and in children. `first`: the index of this layer's first one.
  template <typename Visit>
  void visit_sources(const LayerCall& call, size_t first, const Visit& visit) const;
  // The names that layers of these kinds can have, in the form of parameters().
  void add_possible_parameters(const std::string& prefix, std::vector<std::string>& names) const;
  // Throws NotFound.
  size_t index_of(std::string_view name) const;
  // Checks inputs against the parameters that are set.
  void check_fit(const LayerCall& call) const;
  // Checks the outputs against the shapes they must have.
  void check_outputs(const LayerOutputs& outputs, const OutputShapes& shapes) const;
  // The shape of each parameter for a call's inputs, in the order of parameters().
  std::vector<Shape> parameter_shapes(const LayerCall& call) const;
  // check_tensors and check, of a call of this layer. `complete` gets the tensors with their defaults.
  void begin(const LayerInputs& inputs, Purpose purpose, Schedule& schedule, LayerInputs& complete,
             LayerCall& call) const;
  // All parameters where the processor can read them. Throws NotInitialized.
  std::vector<Tensor> values_on_host() const;
  // Those, as a file holds them.
  std::vector<NamedTensor> named(std::span<const Tensor> values) const;
  // Returns write(tensors, texts) with the contents of a file of this layer: its parameters, and for __metadata__ its
  // kind and options.
  template <typename Write>
  auto with_file_contents(const Write& write) const;
  // Which tensors of a file the parameters are, after all checks that the file is of a model like this layer.
  FoundWeights find_in(const SafetensorsFile& file, std::string_view given_prefix, const LoadOptions& options) const;
  // Throws where a tensor that was found has another shape or dtype than its parameter.
  void check_found(const SafetensorsFile& file, const FoundWeights& found) const;
  // All checks of a call, and its planned schedule.
  void prepare(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose, Schedule& schedule) const;

  std::shared_ptr<Context> context_;
  HostVector<Child> children_;
  HostVector<Parameter> parameters_;
  size_t num_own_parameters_;
  const char* const* possible_parameters_;
};

}  // namespace heed
