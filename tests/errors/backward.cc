// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <vector>

#include "errors/provocation.h"

namespace heed::errors_test {
namespace {

// `layer` is multi-head attention, whose call has queries (2, 3, 4).
class BackwardScene : public Scene {
 public:
  BackwardScene() { want_gradients(); }
  ~BackwardScene() override { heed_saved_destroy(saved); }

 protected:
  // By the output and the queries of the call.
  void want_gradients() {
    wanted.output = tensor_of(HEED_F32, dims_of(outputs.output));
    wanted.queries = tensor_of(HEED_F32, dims_of(inputs.queries));
  }
  static capi_test::Dims dims_of(const heed_tensor* of) {
    capi_test::Dims sizes;
    for (int32_t axis = 0; axis < heed_tensor_rank(of); ++axis) sizes.push_back(heed_tensor_dim(of, axis));
    return sizes;
  }
  // Of dot-product attention in which the queries are keys and values.
  void use_self_attention() {
    use(capi_test::Kind::DotProductRank3);
    inputs.keys = inputs.values = nullptr;
    outputs = HEED_LAYER_OUTPUTS_INIT;
    outputs.output = tensor_of(HEED_F32, dims_of(inputs.queries));
    wanted.output = tensor_of(HEED_F32, dims_of(inputs.queries));
    wanted.queries = nullptr;
  }
  // Of the call of dot_product.
  void use_heads() {
    layer = dot_product;
    inputs = heads;
    outputs = head_outputs;
    outputs.saved = saved;
    want_gradients();
  }
  heed_gradients* set_of(const heed_layer* of) { return sets_.emplace_back(capi_test::make_gradients(of)).get(); }
  // As large as the call needs it, and some bytes more.
  void use_saved(int64_t more = 0) {
    size_t size = 0;
    check(heed_layer_saved_size(layer, &inputs, &size));
    check(heed_saved_create(context, size + static_cast<size_t>(more), &saved));
    outputs.saved = saved;
  }
  // Filled by this call.
  void fill_saved(int64_t more = 0) {
    use_saved(more);
    check(heed_layer_forward(layer, &inputs, NULL, &outputs));
  }
  heed_status backward() { return heed_layer_backward(layer, &inputs, &outputs, NULL, &wanted); }
  heed_status backward_in(heed_workspace* workspace) {
    return heed_layer_backward(layer, &inputs, NULL, workspace, &wanted);
  }

  heed_saved* saved = nullptr;
  heed_layer_gradients wanted = HEED_LAYER_GRADIENTS_INIT;

 private:
  std::vector<capi_test::Gradients> sets_;
};

Cases of_wanted_gradients() {
  using Scene = BackwardScene;
  return {
    PROVOKE(backward(), wanted.output = NULL), PROVOKE(backward(), wanted.output = tensor_of(HEED_F32, {2, 3, 5})),
        PROVOKE(backward(), wanted.queries = tensor_of(HEED_F16, dims_of(inputs.queries))),
        PROVOKE(backward(), wanted.bias = tensor_of(HEED_F32, {3, 3})),
        PROVOKE(backward(), use_self_attention(); wanted.keys = tensor_of(HEED_F32, dims_of(inputs.queries))),
        PROVOKE(backward(), use_self_attention(); wanted.values = tensor_of(HEED_F32, dims_of(inputs.queries));
                inputs.keys = inputs.queries),
        PROVOKE(backward(), use_embedding(); wanted = HEED_LAYER_GRADIENTS_INIT; want_gradients()),
        PROVOKE(backward(), wanted.queries = wanted.keys = tensor_of(HEED_F32, dims_of(inputs.queries));
                inputs.keys = inputs.queries),
        PROVOKE(backward(), use(capi_test::Kind::DotProductRank3);
                inputs.queries = tensor_of(HEED_F16, dims_of(inputs.queries)); inputs.keys = inputs.values = NULL;
                want_gradients()),
        ALSO("gradients->parameters is that of another layer...", backward(), wanted.parameters = set_of(dot_product)),
        ALSO("gradients->accumulate is 2, expected 0 or 1", backward(), wanted.accumulate = 2),
        ALSO("gradients->reserved is 1, expected 0", backward(), wanted.reserved = 1),
  };
}

Cases of_calls_with_backward() {
  using Scene = BackwardScene;
  return {
    PROVOKE(backward(), use_cache(); inputs.cache = &with_cache),
        PROVOKE(backward(), use_encoder(); want_gradients(); tap.child = "layers.0.self_attention";
                tap.weights = tensor_of(HEED_F32, {2, 2, 3, 3}); use_tap()),
        PROVOKE(backward_in(workspace_of(64))),
        PROVOKE(backward(), use_encoder(); want_gradients();
                inputs.attention_mask = tensor_with<int32_t>({2, 3}, {0, 1, 1, 1, 1, 1});
                inputs.bias = tensor_of(HEED_F32, {3, 3}); wanted.bias = tensor_of(HEED_F32, {3, 3})),
        PROVOKE(backward(), use_encoder(); want_gradients(); inputs.bias = wanted.bias = tensor_of(HEED_F32, {3, 3})),
  };
}

Cases of_saved_arrays() {
  using Scene = BackwardScene;
  return {
    PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_saved(-1)),
        PROVOKE(heed_layer_forward(layer, &inputs, NULL, &outputs), use_saved(); outputs.output = NULL),
        PROVOKE(backward(), use_saved()), PROVOKE(backward(), fill_saved(); inputs.training = 1),
        PROVOKE(backward(), fill_saved(4096); use_heads()),
        PROVOKE(backward(), fill_saved(); check(heed_layer_initialize(layer, &inputs, 2))),
        PROVOKE(backward(), use_self_attention(); fill_saved(4096); inputs.queries = tensor_of(HEED_F32, {2, 2, 4});
                outputs.output = NULL; wanted.output = tensor_of(HEED_F32, {2, 2, 4})),
  };
}

}  // namespace

Topic backward() {
  return {
      "Backward",
      "`backward()` is a backward of `layer` with `outputs` and the gradients `wanted`: by the output and the queries. "
      "`use_saved(n)` makes a heed_saved with n bytes more than the call needs, `fill_saved(n)` one that the call has "
      "filled, `use_heads()` makes `layer` dot-product attention with heads, and `use_self_attention()` one in which "
      "the queries are keys and values.",
      {of_wanted_gradients(), of_calls_with_backward(), of_saved_arrays()}};
}

}  // namespace heed::errors_test
