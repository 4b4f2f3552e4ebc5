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
#include "layers/backward/saved.h"
#include "layers/child_role.h"
#include "layers/description.h"
#include "layers/input_rules.h"
#include "layers/inputs.h"
#include "layers/layer_call.h"
#include "layers/masked_inputs.h"
#include "layers/parameter.h"
#include "layers/schedule.h"

namespace heed {

class Layer {
 public:
  // A child, of the same context. The name may have a dot, as "layers.0". A layer may be several children: then only the first
  // has parameters in its parent.
  struct NamedLayer {
    std::string name;
    std::shared_ptr<Layer> layer;
    ChildRole role = ChildRole::Other;
  };
  // A child with the name of its role. `number`: of a layer of a stack.
  static NamedLayer as_child(ChildRole role, std::shared_ptr<Layer> layer, size_t number = 0) {
    return {numbered(name_of(role), number), std::move(layer), role};
  }

  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer();

  const std::shared_ptr<Context>& context() const { return context_; }
  // One of kind_names.h; static.
  virtual const char* kind() const = 0;
  // The options by their names in heed.h, as a JSON object.
  std::string options_text(JsonStyle style) const;
  // The words for the layer in messages, and the name of the C function that runs `forward`; static.
  virtual const char* owner() const { return "the " WORD("layer"); }
  virtual const char* forward_function() const { return "heed_layer_forward"; }

  size_t num_children() const { return children_.size(); }
  const char* child_name(size_t index) const { return children_[index].name.c_str(); }
  ChildRole child_role(size_t index) const { return children_[index].role; }
  const Layer& child_at(size_t index) const { return *children_[index].layer; }
  // Whether an earlier child is the same layer.
  bool is_repeated(size_t index) const { return children_[index].is_repeated; }
  // A child, or a child of a child by its dotted name. Throws NotFound.
  std::shared_ptr<Layer> child(std::string_view name) const;

  // The layer's own parameters, then those of its children in order.
  std::span<const Parameter> parameters() const { return parameters_; }
  size_t num_own_parameters() const { return num_own_parameters_; }
  // All parameters that a layer of this kind can have with any options, without children's; static.
  std::span<const PossibleParameter> possible_parameters() const { return possible_parameters_; }
  // The index of a parameter. Throws NotFound.
  size_t index_of(std::string_view name) const;
  void set_value(size_t index, ParameterValue value) { parameters_[index].set(std::move(value)); }
  // Parameter::set_updated.
  void set_updated_value(size_t index, ParameterValue value) { parameters_[index].set_updated(std::move(value)); }
  bool is_initialized() const;
  // The shapes and the dtype that parameters get from the inputs of a call. Throws as output_shapes; InvalidArgument if the
  // call does not read all parameters.
  struct ParameterSizes {
    std::vector<Shape> shapes;  // in the order of parameters()
    DType dtype = DType::F32;
  };
  ParameterSizes parameter_sizes(const LayerInputs& inputs) const;

  // What the layer computes with its parameters.
  virtual LayerDescription describe() const { return {}; }

  // The functions of heed_layer_*, with the same names, rules and errors. Those that give parameters their values, and read
  // and write files, are in core/loading.
  Tensor parameter(std::string_view name) const;
  // Its dtype and shape, without data.
  Tensor parameter_shape(std::string_view name) const;
  OutputShapes output_shapes(const LayerInputs& inputs) const;
  // The shapes of the outputs of a child, by its dotted name, in a call with these inputs. Throws as output_shapes;
  // NotFound; InvalidArgument if the call does not run that child.
  OutputShapes child_shapes(const LayerInputs& inputs, std::string_view child) const;
  // Without queries, but with a cache, it is the size for fill_cache.
  size_t workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs) const;
  void forward(const LayerInputs& inputs, Workspace* workspace, const LayerOutputs& outputs) const;
  void fill_cache(const LayerInputs& inputs, Workspace* workspace) const;
  // Of a call with outputs.saved.
  size_t saved_size(const LayerInputs& inputs) const;
  size_t backward_workspace_size(const LayerInputs& inputs, const LayerOutputs& outputs,
                                 const LayerGradients& gradients) const;
  // Of `outputs` only `saved` is read: null, or what a forward of this layer with these inputs filled.
  void backward(const LayerInputs& inputs, const LayerOutputs& outputs, Workspace* workspace,
                const LayerGradients& gradients) const;
  std::string explain(const LayerInputs& inputs, const LayerOutputs& outputs) const;
  std::string explain_backward(const LayerInputs& inputs, const LayerOutputs& outputs,
                               const LayerGradients& gradients) const;

  // Which inputs a call of the layer reads, and why it refuses the others. Unless a kind says otherwise, it reads queries
  // alone.
  virtual InputRules input_rules(const LayerInputs& inputs) const;

  // The keys and values of the layer in a cache; nothing if it uses none.
  struct CacheShape {
    int64_t num_layers = 1;
    int64_t num_kv_heads = 0;
    int64_t head_size = 0;
    int64_t value_head_size = 0;
    int64_t window = 0;  // the most rows that one sees, itself included; 0: all
    friend bool operator==(const CacheShape&, const CacheShape&) = default;
  };
  virtual std::optional<CacheShape> cache_shape() const { return std::nullopt; }
  // The window of each layer of the cache, if there are layers with one in a stack; they live as long as this layer.
  virtual std::span<const int64_t> cache_windows() const { return {}; }

 protected:
  static constexpr std::span<const PossibleParameter> kNoParameters = {};

  // `parameters`: the layer's own, each made of a row of `possible_parameters`, the table of the kind; static. The layer's
  // memory comes from the context's allocator.
  Layer(std::shared_ptr<Context> context, std::span<const Parameter> parameters,
        std::span<const PossibleParameter> possible_parameters = kNoParameters,
        std::span<const NamedLayer> children = {});

  // One of the layer's own parameters.
  const Parameter& parameter_at(size_t index) const { return parameters_[index]; }
  // The one of a row of the kind's table; null if the options lack it.
  const Parameter* parameter_of(size_t row) const {
    return index_of_row_[row] == kLacking ? nullptr : &parameters_[index_of_row_[row]];
  }

  // A layer with children calls it in `check`, once for each child and in the order of compose_child. It checks the
  // child's inputs and returns the shapes of its outputs. Between the two calls, reserve what one child
  // writes and a later child reads.
  const OutputShapes& check_child(size_t index, const InputValues& inputs, Schedule& schedule, Purpose purpose,
                                  LayerCall& call) const;
  // A layer with children may call it before: makes the calls of all children, so that row_limits of one can be set.
  void make_children(Schedule& schedule, LayerCall& call) const;
  // A layer with children calls it in `compose`: adds the child's operations.
  void compose_child(size_t index, Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const;

  // Checks the tensors of a call besides their devices and fills in their defaults. Only of the called layer, after its
  // input_rules: children get their inputs from their parent.
  virtual LayerInputs check_tensors(const LayerInputs& inputs) const;
  // Of which rows the masks of the call are; after check_tensors. Kinds that read masks override it.
  virtual RowMasks row_masks(const LayerInputs&) const { return {}; }
  // Checks the sizes of call.inputs and everything else that does not need the parameters' values. Sets the rest of
  // `call`.
  virtual void check(Schedule& schedule, Purpose purpose, LayerCall& call) const = 0;
  // Adds the operations of a call that has passed `check`. The outputs have the shapes in `call`, and all parameters
  // are set.
  virtual void compose(Schedule& schedule, const LayerCall& call, const OutputValues& outputs) const = 0;
  // Adds the operations of the backward of a call that `compose` has added. It writes the gradients that `gradients` and
  // call.gradients want, and reads the inputs of `call` and what `compose` kept in call.saved.
  virtual void compose_backward(Schedule& schedule, const LayerCall& call, const GradientValues& gradients) const = 0;
  // A layer with children calls it in `compose_backward`, in the reverse order of compose_child.
  void compose_child_backward(size_t index, Schedule& schedule, const LayerCall& call,
                              const GradientValues& gradients) const;
  // The gradient by a parameter, a row of the kind's table; null if the options lack it or nobody wants it.
  GradientSum* gradient_of(const LayerCall& call, size_t row) const {
    if (call.gradients == nullptr || index_of_row_[row] == kLacking) return nullptr;
    GradientSum& sum = call.gradients[index_of_row_[row]];
    return sum.to.is_given() ? &sum : nullptr;
  }
  // Whether the backward of the layer has a gradient by some parameter to compute.
  bool learns(const LayerCall& call) const;
  bool child_learns(size_t index, const LayerCall& call) const {
    return children_[index].layer->learns(call.children[index]);
  }

  // Adds each option to the JSON object by its name in heed.h, with the defaults that the layer has filled in.
  // Enumerators and bits are written in words.
  virtual void write_options(JsonWriter& json) const = 0;
  // Adds a child's options as an object, as a member or as an element of an array.
  void write_child_options(size_t index, const char* member, JsonWriter& json) const;
  void write_child_options(size_t index, JsonWriter& json) const;
  // The dtype of the rows of a call: that of its inputs, unless these are ids.
  virtual DType row_dtype(const LayerInputs& inputs) const;

 private:
  struct Child {
    HostString name;
    std::shared_ptr<Layer> layer;
    ChildRole role = ChildRole::Other;
    // Whether an earlier child is the same layer.
    bool is_repeated = false;
  };

  // The values of LayerCall::saved.
  static Value* saved_values(Schedule& schedule);
  // The index in parameters() of the first one of a child.
  size_t first_parameter_of(size_t child) const;
  // Calls visit(index, input) for each parameter of this layer and its children that has an open dim, with the input
  // that sets the dim. `index` counts in the parameters of the called layer; `first` is the index of this layer's first
  // parameter.
  template <typename Visit>
  void visit_projected_inputs(const LayerCall& call, size_t first, const Visit& visit) const;
  // The children's names in quotes, for messages.
  std::string child_names() const;
  // The number of layers below this one.
  uint32_t num_descendants() const;
  // Checks the input sizes against the parameters that are set.
  void check_fit(const LayerCall& call) const;
  // Throws InvalidArgument if a forward has nothing to write, or saves without the output.
  static void require_wanted(const LayerOutputs& outputs);
  // Checks the outputs that are given against their expected shapes.
  void check_outputs(const LayerOutputs& outputs, const OutputShapes& shapes) const;
  // The call of a child by its dotted name. `argument`: the words for the name in messages. Throws NotFound; InvalidArgument
  // if the call does not run that child.
  LayerCall& call_of(LayerCall& call, std::string_view name, const char* argument) const;
  // Checks the taps and sets them in the calls of their children.
  void set_taps(const LayerOutputs& outputs, MaskedInputs& masked, Schedule& schedule, LayerCall& call) const;
  // The shape of each parameter for a call's inputs, in the order of parameters().
  std::vector<Shape> parameter_shapes(const LayerCall& call) const;
  // The inputs of the called layer.
  struct CalledInputs {
    LayerInputs complete;  // with their defaults
    LayerInputs read;      // the same without masks
    MaskedInputs masked;
  };
  // check_tensors and check of the called layer.
  void begin(const LayerInputs& given, Purpose purpose, Schedule& schedule, CalledInputs& inputs,
             LayerCall& call) const;
  // Performs all checks of a call and plans its schedule.
  void prepare(const LayerInputs& inputs, const LayerOutputs& outputs, Purpose purpose, Schedule& schedule,
               MaskHoles holes = {}) const;
  // The same of a backward.
  void prepare_backward(const LayerInputs& inputs, const LayerOutputs& outputs, const LayerGradients& gradients,
                        Purpose purpose, Schedule& schedule, MaskHoles holes = {}) const;
  void check_gradients(const LayerInputs& inputs, const LayerOutputs& outputs, const LayerGradients& gradients,
                       const OutputShapes& shapes) const;
  // Throws Unsupported if the call has what a backward does not go with.
  static void require_backward(const LayerInputs& inputs, const LayerOutputs& outputs);
  // The bytes of workspace of a planned backward.
  static size_t backward_bytes(const Schedule& schedule, const LayerOutputs& outputs);
  // `main`: the operation that stands for all; null: there is none.
  std::string explain_schedule(const Schedule& schedule, const Step* main, size_t workspace_bytes) const;
  SavedCall saved_call(const LayerInputs& inputs, const Schedule& schedule) const;

  // No other layer of the process has it.
  const uint64_t number_;
  std::shared_ptr<Context> context_;
  HostVector<Child> children_;
  HostVector<Parameter> parameters_;
  size_t num_own_parameters_;
  std::span<const PossibleParameter> possible_parameters_;
  // For each row of the table the index of its parameter, or kLacking.
  static constexpr uint8_t kLacking = UINT8_MAX;
  HostVector<uint8_t> index_of_row_;
};

}  // namespace heed
