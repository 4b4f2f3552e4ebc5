// SPDX-License-Identifier: Apache-2.0
#include "golden/support/model_pieces.h"

#include "capi/support/files.h"
#include "golden/support/models.h"

namespace heed::golden {

std::string name_in_file(const char* piece, const ModelAttention& attention, const char* tensor) {
  return std::string(piece) + "." + attention.cases + "." + tensor;
}

bool has_case(const std::string& family, const std::string& name) {
  return capi_test::read_file(folder_of(family) + "/cases.safetensors").find("\"" + name + "\"") != std::string::npos;
}

std::vector<ModelAttention> attentions_with_pieces() {
  std::vector<ModelAttention> result;
  for (const ModelAttention& attention : model_attentions()) {
    if (!attention.is_cross() && has_case(attention.family, name_in_file("prefill", attention, "input")))
      result.push_back(attention);
  }
  return result;
}

Options bottom_right(const ModelAttention& attention) {
  Options options = attention.options();
  options.of_layer.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  if (options.of_layer.window != HEED_WINDOW_NONE) options.of_layer.window = HEED_WINDOW_BOTTOM_RIGHT;
  return options;
}

capi_test::Layer load_layer(const capi_test::Context& context, const ModelAttention& attention, Options options) {
  capi_test::Layer layer = capi_test::make_multi_head(context.get(), options.bound());
  property::check(heed_layer_load(layer.get(), path_of(attention.family).c_str(), attention.prefix));
  return layer;
}

}  // namespace heed::golden
