// SPDX-License-Identifier: Apache-2.0
#include "fuzz/calls/gradients.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>

#include "capi/support/objects.h"
#include "fuzz/calls/checks.h"
#include "property/support/handles.h"

namespace heed::fuzz {
namespace {

using capi_test::Tensor;
using Bits = std::vector<uint8_t>;
using Saved = std::unique_ptr<heed_saved, property::Destroyer<heed_saved_destroy>>;

bool is_float(heed_dtype dtype) { return dtype == HEED_F32 || dtype == HEED_F16 || dtype == HEED_BF16; }

bool is_of_16_bits(const heed_tensor* tensor) {
  return tensor != nullptr && is_float(heed_tensor_dtype(tensor)) && heed_tensor_dtype(tensor) != HEED_F32;
}

bool has_parameters_of_16_bits(const heed_layer* layer) {
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    if (is_of_16_bits(capi_test::snapshot(layer, heed_layer_parameter_name(layer, i)).get())) return true;
  }
  return false;
}

class GradientCall {
 public:
  GradientCall(heed_context* context, heed_layer* layer, const heed_layer_inputs& inputs)
      : context_(context), layer_(layer), inputs_(inputs) {
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    require(succeeded(heed_layer_create_outputs(layer, &inputs, HEED_WANT_OUTPUT, &outputs)), "a call has an output");
    output_.reset(outputs.output);
    of_output_ = capi_test::make_tensor(context, capi_test::dims_of(output_.get()));
    std::vector<float> numbers(static_cast<size_t>(heed_tensor_num_elements(of_output_.get())));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * 13 % 17) / 8.0F - 1.0F;
    require(succeeded(heed_tensor_write(of_output_.get(), numbers.data(), numbers.size() * sizeof(float))),
            "numbers are written");
    parameters_ = capi_test::make_gradients(layer);
    wanted_.output = of_output_.get();
    wanted_.parameters = parameters_.get();
    want(inputs.queries, wanted_.queries);
    want(inputs.keys, wanted_.keys);
    want(inputs.values, wanted_.values);
    want(inputs.bias, wanted_.bias);
    want(inputs.alibi_slopes, wanted_.alibi_slopes);
    want(inputs.sinks, wanted_.sinks);
    before_ = bits();
  }

  std::optional<Bits> run_again() {
    const bool runs = backward(nullptr, nullptr);
    if (!runs) require(bits() == before_, "a backward that is refused changes nothing");
    return runs ? std::optional(bits()) : std::nullopt;
  }

  Bits run_saved() {
    size_t num_saved = 0;
    require(succeeded(heed_layer_saved_size(layer_, &inputs_, &num_saved)), "what has gradients can be saved");
    const Saved saved(made<heed_saved>([&](heed_saved** out) { return heed_saved_create(context_, num_saved, out); }));
    heed_layer_outputs outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = output_.get();
    outputs.saved = saved.get();
    require(succeeded(heed_layer_forward(layer_, &inputs_, nullptr, &outputs)), "a forward can save");
    size_t num_bytes = 0;
    require(succeeded(heed_layer_backward_workspace_size(layer_, &inputs_, &outputs, &wanted_, &num_bytes)),
            "a backward that runs has a workspace");
    // Memory of exactly this size, so that a sanitizer finds accesses outside.
    const auto scratch = std::make_unique<uint8_t[]>(num_bytes);
    const property::Workspace exact(made<heed_workspace>([&](heed_workspace** out) {
      return heed_workspace_wrap(context_, num_bytes == 0 ? nullptr : scratch.get(), num_bytes, out);
    }));
    require(backward(&outputs, exact.get()), "a backward that runs does so with saved arrays");
    return bits();
  }

 private:
  template <typename Object, typename Create>
  static Object* made(const Create& create) {
    Object* object = nullptr;
    require(succeeded(create(&object)), "an object can be made");
    return object;
  }

  void want(const heed_tensor* input, heed_tensor*& gradient) {
    if (input == nullptr || !is_float(heed_tensor_dtype(input))) return;
    of_inputs_.push_back(capi_test::make_tensor(context_, capi_test::dims_of(input)));
    gradient = of_inputs_.back().get();
    require(succeeded(heed_tensor_fill(gradient, 0.25)), "a gradient can be filled");
  }

  bool backward(const heed_layer_outputs* outputs, heed_workspace* workspace) {
    const heed_status status = heed_layer_backward(layer_, &inputs_, outputs, workspace, &wanted_);
    const std::string refusal = status == HEED_OK ? "" : heed_last_error();
    if (succeeded(status)) return true;
    require(status == HEED_ERROR_NOT_FASTEST || (status == HEED_ERROR_UNSUPPORTED && may_be_unsupported()),
            "what runs has gradients: " + refusal);
    return false;
  }

  bool may_be_unsupported() const {
    const heed_tensor* const rows[] = {inputs_.queries, inputs_.keys, inputs_.values, inputs_.bias};
    return std::any_of(std::begin(rows), std::end(rows), is_of_16_bits) ||
           (inputs_.attention_mask != nullptr && inputs_.bias != nullptr);
  }

  Bits bits() const {
    Bits all;
    const auto add = [&](const heed_tensor* tensor) {
      const Bits more = capi_test::read_bytes(tensor);
      all.insert(all.end(), more.begin(), more.end());
    };
    for (const Tensor& gradient : of_inputs_) add(gradient.get());
    for (int64_t i = 0; i < heed_gradients_count(parameters_.get()); ++i)
      add(capi_test::gradient_of(parameters_.get(), heed_gradients_name(parameters_.get(), i)).get());
    return all;
  }

  heed_context* context_;
  heed_layer* layer_;
  const heed_layer_inputs& inputs_;
  Tensor output_;
  Tensor of_output_;
  std::vector<Tensor> of_inputs_;
  capi_test::Gradients parameters_;
  heed_layer_gradients wanted_ = HEED_LAYER_GRADIENTS_INIT;
  Bits before_;
};

}  // namespace

std::optional<std::vector<uint8_t>> gradients_of(heed_context* context, heed_layer* layer,
                                                 const heed_layer_inputs& inputs) {
  if (has_parameters_of_16_bits(layer)) {
    heed_gradients* refused = nullptr;
    require(!succeeded(heed_gradients_create(layer, &refused)) && refused == nullptr,
            "parameters of 16 bits have no gradients");
    return std::nullopt;
  }
  GradientCall call(context, layer, inputs);
  const std::optional<Bits> again = call.run_again();
  if (again) require(call.run_saved() == again, "saved arrays and a workspace change no bit of a gradient");
  return again;
}

}  // namespace heed::fuzz
