// SPDX-License-Identifier: Apache-2.0
// The base of all kinds of layers: named parameters, children, and the way of a call from its arguments to backend
// operations. Each kind adds its sizes and its composition of operations.
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
#include "families/model_attention.h"
#include "families/model_block.h"
#include "layers/inputs.h"
#include "layers/layer_call.h"
#include "layers/parameter.h"
#include "layers/schedule.h"
#include "loading/load_options.h"
#include "tensor/safetensors.h"

namespace heed {

struct FoundWeights;

class Layer {
 public:
  // A child, of the same context. The name is copied; it may have a dot, as "layers.0". A layer may be several children: then
  // only the first has parameters in its parent.
  struct NamedLayer {
    std::string name;
    std::shared_ptr<Layer> layer;
  };

  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer();

  const std::shared_ptr<Context>& context() const { return context_; }
  // For example "multi_head_attention"; static.
  virtual const char* kind() const = 0;
  // The options by their names in heed.h, as a JSON object.
  std::string options_text(JsonStyle style) const;
  // The words for the layer in messages, and the name of the C function that runs `forward`; static.
  virtual const char* owner() const { return "the layer"; }
  virtual const char* forward_function() const { return "heed_layer_forward"; }

  size_t num_children() const { return children_.size(); }
  const char* child_name(size_t index) const { return children_[index].name.c_str(); }
  // A child, or a child of a child by its dotted name. Throws NotFound.
  std::shared_ptr<Layer> child(std::string_view name) const;

  // The layer's own parameters, then those of its children in order.
  std::span<const Parameter> parameters() const { return parameters_; }
  bool is_initialized() const;

  // The functions of heed_layer_*, with the same names, rules and errors.
  void initialize(const LayerInputs& inputs, uint64_t seed);
  Tensor parameter(std::string_view name) const;
  // Its dtype and shape, without data.
  Tensor parameter_shape(std::string_view name) const;
  void set_parameter(std::string_view name, const Tensor& value);
  // Returns the title of the layout that the file's names have; static.
  const char* load(const SafetensorsFile& file, std::string_view prefix, const LoadOptions& options = {});
  void save(const char* path) const;
  size_t save_to_memory(void* destination, size_t capacity) const;
  OutputShapes output_shapes(const LayerInputs& inputs) const;
  // The shapes of the outputs of a child, by its dotted name, in a call with these inputs. Throws as output_shapes;
  // NotFound; InvalidArgument if the call does not run that child.
  OutputShapes child_shapes(const LayerInputs& inputs, std::string_view child) const;
  // Without queries, but with a cache, it is the size for fill_cache.
  size_t workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs) const;
  void forward(const LayerInputs& inputs, Workspace* workspace, const LayerOutputs& outputs) const;
  void fill_cache(const LayerInputs& inputs, Workspace* workspace) const;
  std::string explain(const LayerInputs& inputs, const LayerOutputs& outputs) const;

  // The keys and values of the layer in a cache; nothing if it uses none.
  struct CacheShape {
    int64_t num_layers = 1;
    int64_t num_kv_heads = 0;
    int64_t head_size = 0;
    int64_t value_head_size = 0;
    friend bool operator==(const CacheShape&, const CacheShape&) = default;
  };
  virtual std::optional<CacheShape> cache_shape() const { return std::nullopt; }

 protected:
  static constexpr const char* kNoParameters[] = {nullptr};

  // `parameters`: the layer's own. `possible_parameters`: the names of all parameters that a layer of this kind can
  // have with any options, without children's; static, null-terminated. The layer's memory comes from the context's
  // allocator.
  Layer(std::shared_ptr<Context> context, std::span<const Parameter> parameters,
        const char* const* possible_parameters = kNoParameters, std::span<const NamedLayer> children = {});

  const Layer& child_at(size_t index) const { return *children_[index].layer; }
  // One of the layer's own parameters.
  const Parameter& parameter_at(size_t index) const { return parameters_[index]; }

  // A layer with children calls it in `check`, once for each child and in the order of compose_child. It checks the
  // child's inputs and returns the shapes of its outputs. Reserve an intermediate that one child writes and another
  // reads between their two calls.
  const OutputShapes& check_child(size_t index, const InputValues& inputs, Schedule& schedule, Purpose purpose,
                                  LayerCall& call) const;
  // A layer with children may call it before: makes the calls of all children, so that row_limits of one can be set.
  void make_children(Schedule& schedule, LayerCall& call) const;
  // A layer with children calls it in `compose`: adds the child's operations.
  void compose_child(size_t index, Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const;

  // Checks the tensors of a call and fills in their defaults. Called only for the called layer: children get their
  // inputs from their parent.
  virtual LayerInputs check_tensors(const LayerInputs& inputs) const = 0;
  // Checks the sizes of call.inputs and everything else that does not need the parameters' values. Sets the rest of
  // `call`.
  virtual void check(Schedule& schedule, Purpose purpose, LayerCall& call) const = 0;
  // Adds the operations of a call that has passed `check`. The outputs have the shapes in `call`, and all parameters
  // are set.
  virtual void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const = 0;
  // Adds each option to the JSON object by its name in heed.h, with the defaults that the layer has filled in.
  // Enumerators and bits are written in words.
  virtual void write_options(JsonWriter& json) const = 0;
  // Adds a child's options as an object, as a member or as an element of an array.
  void write_child_options(size_t index, const char* member, JsonWriter& json) const;
  void write_child_options(size_t index, JsonWriter& json) const;
  // For layers with norms and a feed-forward network: what they compute, for the comparison with the model in a file.
  virtual std::optional<LayerBlock> layer_block() const { return std::nullopt; }
  // The member of the options that has the options of a child, such as "feed_forward"; "": none.
  virtual std::string options_of_child(size_t) const { return {}; }
  // The setting of an option that gives the layer its parameter "bias", for messages.
  virtual const char* bias_option() const { return "options->no_bias 0"; }
  // The same for a child, if it is not an option of the child's own; null: it is.
  virtual const char* bias_option_of_child(size_t) const { return nullptr; }
  // The dtype of the rows of a call: that of its inputs, unless these are ids.
  virtual DType row_dtype(const LayerInputs& inputs) const;
  // Whether the tensors of a file's module that this layer does not know change what a layer of this kind computes; tensors
  // in the modules of its parameters always do.
  virtual bool reads_whole_module() const { return false; }
  // Of the projection of an image's patches: (channels, height, width), the axes that a row of its weight merges.
  virtual Shape patch() const { return {}; }
  // What the layer computes with its weights, for the comparison with the model in a file.
  virtual LayerAttention layer_attention() const { return {}; }

 private:
  struct Child {
    HostString name;
    std::shared_ptr<Layer> layer;
    // Whether an earlier child is the same layer.
    bool is_repeated = false;
  };

  // Calls visit(index, input) for each parameter of this layer and its children that has an open dim, with the input
  // that sets the dim. `index` counts in the parameters of the called layer; `first` is the index of this layer's first
  // parameter.
  template <typename Visit>
  void visit_projected_inputs(const LayerCall& call, size_t first, const Visit& visit) const;
  // Throws NotFound.
  size_t index_of(std::string_view name) const;
  // The children's names in quotes, for messages.
  std::string child_names() const;
  // The number of layers below this one.
  uint32_t num_descendants() const;
  // Checks the input sizes against the parameters that are set.
  void check_fit(const LayerCall& call) const;
  // Checks the outputs against their expected shapes.
  void check_outputs(const LayerOutputs& outputs, const OutputShapes& shapes) const;
  // The call of a child by its dotted name. `argument`: the words for the name in messages. Throws NotFound; InvalidArgument
  // if the call does not run that child.
  LayerCall& call_of(LayerCall& call, std::string_view name, const char* argument) const;
  // Checks the taps and sets them in the calls of their children.
  void set_taps(const LayerOutputs& outputs, LayerCall& call) const;
  // The shape of each parameter for a call's inputs, in the order of parameters().
  std::vector<Shape> parameter_shapes(const LayerCall& call) const;
  // check_tensors and check of the called layer. `complete` gets the tensors with their defaults.
  void begin(const LayerInputs& inputs, Purpose purpose, Schedule& schedule, LayerInputs& complete,
             LayerCall& call) const;
  // All parameters by their names; those without data at hand are read one at a time. Throws NotInitialized.
  std::vector<NamedTensor> named_values() const;
  // Returns write(tensors, texts) with the contents of this layer's file: its parameters, and its kind and options for
  // __metadata__.
  template <typename Write>
  auto with_file_contents(const Write& write) const;
  // Finds the parameters' tensors in a file, after checking that the file's model matches this layer.
  FoundWeights find_in(const SafetensorsFile& file, std::string_view given_prefix, const LoadOptions& options) const;
  // The same for a layer that is made of others, child by child. Throws also if the file has tensors in the children's
  // modules that none of them reads.
  FoundWeights find_in_children(const SafetensorsFile& file, std::string_view given_prefix,
                                const LoadOptions& options) const;
  // Throws if a found tensor's shape or dtype does not fit its parameter.
  void check_found(const SafetensorsFile& file, const FoundWeights& found) const;
  // Performs all checks of a call and plans its schedule.
  void prepare(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose, Schedule& schedule) const;

  std::shared_ptr<Context> context_;
  HostVector<Child> children_;
  HostVector<Parameter> parameters_;
  size_t num_own_parameters_;
  const char* const* possible_parameters_;
};

}  // namespace heed
