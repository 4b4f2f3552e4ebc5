// SPDX-License-Identifier: Apache-2.0
// Any bytes as the config.json beside a model's file: each layer is refused with a message and unchanged, or has the
// parameters of the file.
#include <heed/heed.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "capi/support/files.h"
#include "capi/support/objects.h"
#include "fuzz/calls/checks.h"
#include "fuzz/support/model_folder.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {
namespace {

using capi_test::Context;
using capi_test::Dims;
using capi_test::Layer;
using capi_test::Tensor;
using property::check;

struct FileTensor {
  const char* name;
  Dims dims;
};

struct WeightsDestroyer {
  void operator()(heed_weights* weights) const { heed_weights_destroy(weights); }
};

// One attention, or one table of positions, and a layer whose options some families of models need.
struct Module {
  const char* prefix;
  std::vector<FileTensor> tensors;
  Layer layer;
  // Which part is the queries' in a tensor with queries, keys and values is not known of every family, whatever is
  // accepted.
  bool is_packed = false;
  std::string path = {};  // of its file
  std::unique_ptr<heed_weights, WeightsDestroyer> weights = {};
  std::vector<uint8_t> initial_parameters = {};
};

constexpr int64_t kEmbedding = 8;

// Two heads of 4 elements.
heed_multi_head_attention_options two_of_four() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = kEmbedding;
  options.num_heads = 2;
  return options;
}

heed_multi_head_attention_options causal() {
  heed_multi_head_attention_options options = two_of_four();
  options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
  return options;
}

heed_rope_options half_pairs() {
  heed_rope_options rope = HEED_ROPE_OPTIONS_INIT;
  rope.layout = HEED_ROPE_HALF;
  return rope;
}

Module llama(heed_context* context) {
  const heed_rope_options rope = half_pairs();
  heed_multi_head_attention_options options = causal();
  options.num_kv_heads = 1;
  options.rope = &rope;
  return {"model.layers.3.self_attn",
          {{"q_proj.weight", {8, 8}}, {"k_proj.weight", {4, 8}}, {"v_proj.weight", {4, 8}}, {"o_proj.weight", {8, 8}}},
          capi_test::make_multi_head(context, options)};
}

// In a layer with a window.
Module gemma3(heed_context* context) {
  const heed_rope_options rope = half_pairs();
  heed_multi_head_attention_options options = causal();
  options.rope = &rope;
  options.scale = 0.0625F;
  options.window = HEED_WINDOW_BOTTOM_RIGHT;
  options.window_left = 3;
  options.window_right = -1;
  options.qk_norm_epsilon = 1e-6F;
  return {"language_model.layers.4.self_attn",
          {{"q_proj.weight", {8, 8}},
           {"k_proj.weight", {8, 8}},
           {"v_proj.weight", {8, 8}},
           {"o_proj.weight", {8, 8}},
           {"q_norm.weight", {4}},
           {"k_norm.weight", {4}}},
          capi_test::make_multi_head(context, options)};
}

Module gpt_oss(heed_context* context) {
  heed_rope_options rope = half_pairs();
  rope.base = 150000;
  rope.scaling = HEED_ROPE_SCALING_YARN;
  rope.factor = 32;
  rope.original_length = 4096;
  rope.no_rounding = 1;
  heed_multi_head_attention_options options = causal();
  options.rope = &rope;
  options.biases = HEED_BIAS_ALL;
  options.sinks = 1;
  return {"model.layers.1.self_attn",
          {{"q_proj.weight", {8, 8}},
           {"q_proj.bias", {8}},
           {"k_proj.weight", {8, 8}},
           {"k_proj.bias", {8}},
           {"v_proj.weight", {8, 8}},
           {"v_proj.bias", {8}},
           {"o_proj.weight", {8, 8}},
           {"o_proj.bias", {8}},
           {"sinks", {2}}},
          capi_test::make_multi_head(context, options)};
}

Module phi3(heed_context* context) {
  constexpr float kFactors[] = {1.0F, 2.0F};
  heed_rope_options rope = half_pairs();
  rope.scaling = HEED_ROPE_SCALING_FACTORS;
  rope.factors = kFactors;
  rope.num_factors = 2;
  rope.attention_factor = 1.25F;
  heed_multi_head_attention_options options = causal();
  options.num_kv_heads = 1;
  options.rope = &rope;
  return {"model.layers.5.self_attn",
          {{"qkv_proj.weight", {16, 8}}, {"o_proj.weight", {8, 8}}},
          capi_test::make_multi_head(context, options),
          true};
}

Module bloom(heed_context* context) {
  heed_multi_head_attention_options options = causal();
  options.alibi = HEED_ALIBI_ADDED;
  return {"transformer.h.0.self_attention",
          {{"query_key_value.weight", {24, 8}}, {"dense.weight", {8, 8}}},
          capi_test::make_multi_head(context, options),
          true};
}

Module gpt2(heed_context* context) {
  heed_multi_head_attention_options options = causal();
  options.biases = HEED_BIAS_ALL;
  return {"h.1.attn",
          {{"c_attn.weight", {8, 24}}, {"c_attn.bias", {24}}, {"c_proj.weight", {8, 8}}, {"c_proj.bias", {8}}},
          capi_test::make_multi_head(context, options)};
}

Module t5(heed_context* context) {
  heed_multi_head_attention_options options = causal();
  options.scale = 1;
  options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
  return {"decoder.block.0.layer.0.SelfAttention",
          {{"q.weight", {8, 8}},
           {"k.weight", {8, 8}},
           {"v.weight", {8, 8}},
           {"o.weight", {8, 8}},
           {"relative_attention_bias.weight", {32, 2}}},
          capi_test::make_multi_head(context, options)};
}

Module vision_tower(heed_context* context) {
  return {"vision_tower.encoder.layers.1.attn",
          {{"W_q.weight", {8, 8}}, {"W_k.weight", {8, 8}}, {"W_v.weight", {8, 8}}, {"W_o.weight", {8, 8}}},
          capi_test::make_multi_head(context, two_of_four())};
}

Module positions_of_opt(heed_context* context) {
  heed_positional_encoding_options options = HEED_POSITIONAL_ENCODING_OPTIONS_INIT;
  options.kind = HEED_POSITIONS_LEARNED;
  options.size = kEmbedding;
  options.max_positions = 4;
  options.first_row = 2;
  return {"decoder.embed_positions", {{"weight", {6, 8}}}, capi_test::make_positional_encoding(context, options)};
}

// A file with the module's tensors, which are zeros.
std::string file_of(const Module& module) {
  std::string header;
  size_t num_bytes = 0;
  for (const FileTensor& tensor : module.tensors) {
    size_t size = sizeof(float);
    std::string dims;
    for (const int64_t dim : tensor.dims) {
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      size *= static_cast<size_t>(dim);
    }
    header += (header.empty() ? "{\"" : ",\"") + std::string(module.prefix) + "." + tensor.name +
              R"(":{"dtype":"F32","shape":[)" + dims + R"(],"data_offsets":[)" + std::to_string(num_bytes) + "," +
              std::to_string(num_bytes + size) + "]}";
    num_bytes += size;
  }
  return capi_test::safetensors(header + "}", num_bytes);
}

// The bytes of all parameters.
std::vector<uint8_t> parameters_of(const heed_layer* layer) {
  std::vector<uint8_t> all;
  for (int64_t i = 0; i < heed_layer_parameter_count(layer); ++i) {
    const Tensor parameter = capi_test::snapshot(layer, heed_layer_parameter_name(layer, i));
    const std::vector<uint8_t> bytes = capi_test::read_bytes(parameter.get());
    all.insert(all.end(), bytes.begin(), bytes.end());
  }
  return all;
}

// Whether every element is that of the file; 1 is the weight of a norm of 1 + weight.
bool is_loaded(const std::vector<uint8_t>& parameters) {
  for (size_t at = 0; at < parameters.size(); at += sizeof(float)) {
    float element;
    std::memcpy(&element, parameters.data() + at, sizeof element);
    if (element != 0.0F && element != 1.0F) return false;
  }
  return true;
}

Context make_logging_context() {
  const heed_logger logger = {sizeof logger, require_one_line, nullptr};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  options.num_threads = 1;
  return capi_test::make_context(&options);
}

// A folder with the files of modules, and their layers.
class Model {
 public:
  Model() {
    for (const auto& make : {llama, gemma3, gpt_oss, phi3, bloom, gpt2, t5, vision_tower, positions_of_opt}) {
      Module& module = modules_.emplace_back(make(context_.get()));
      module.path = folder_.write(std::to_string(modules_.size()) + ".safetensors", file_of(module));
      heed_weights* weights = nullptr;
      check(heed_weights_open(context_.get(), module.path.c_str(), &weights));
      module.weights.reset(weights);
      check(heed_layer_load(module.layer.get(), module.path.c_str(), module.prefix));
      initialize(module);
      module.initial_parameters = parameters_of(module.layer.get());
    }
  }

  void load_with(const std::string& configuration) {
    folder_.write("config.json", configuration);
    size_t num_unreadable = 0;
    for (const Module& module : modules_) {
      const heed_status status = heed_layer_load(module.layer.get(), module.path.c_str(), module.prefix);
      require_loaded_or_unchanged(module, status);
      require(status == HEED_OK || status == HEED_ERROR_INVALID_ARGUMENT || status == HEED_ERROR_UNSUPPORTED ||
                  status == HEED_ERROR_CORRUPT_FILE,
              std::string("not a status of a configuration: ") + heed_status_name(status));
      num_unreadable += status == HEED_ERROR_CORRUPT_FILE ? 1 : 0;

      // All features that a sentence may name.
      heed_load_options options = HEED_LOAD_OPTIONS_INIT;
      options.accept =
          "alibi,attention,causal,clip_qkv,first_row,head_size,model_type,num_heads,num_kv_heads,qk_norm,relative_bias,"
          "rotary,scale,sinks,soft_cap,window";
      const heed_status accepted =
          heed_layer_load_weights(module.layer.get(), module.weights.get(), module.prefix, &options);
      require_loaded_or_unchanged(module, accepted);
      // A setting of another JSON type is not read at all then.
      const bool is_of_json = accepted == HEED_ERROR_INVALID_ARGUMENT &&
                              std::string(heed_last_error()).find("with accept \"config\"") != std::string::npos;
      require(accepted == HEED_OK || accepted == HEED_ERROR_CORRUPT_FILE || is_of_json ||
                  (module.is_packed && accepted == HEED_ERROR_UNSUPPORTED),
              "whatever differs can be accepted");
      require((accepted == HEED_ERROR_CORRUPT_FILE) == (status == HEED_ERROR_CORRUPT_FILE),
              "what cannot be read cannot be accepted");
    }
    require(num_unreadable == 0 || num_unreadable == modules_.size(), "a configuration is readable for every layer");
  }

 private:
  // Random weights.
  void initialize(const Module& module) const {
    const Tensor queries = capi_test::make_shape_only(context_.get(), {1, 1, kEmbedding});
    heed_layer_inputs inputs = HEED_LAYER_INPUTS_INIT;
    inputs.queries = queries.get();
    check(heed_layer_initialize(module.layer.get(), &inputs, 1));
  }

  // `status`: of a call that loads the module's file into its layer.
  void require_loaded_or_unchanged(const Module& module, heed_status status) const {
    const std::vector<uint8_t> parameters = parameters_of(module.layer.get());
    if (succeeded(status)) {
      require(is_loaded(parameters), "a layer has the parameters of the file");
      initialize(module);
    } else {
      require(parameters == module.initial_parameters, "a layer that was not loaded is unchanged");
    }
  }

  ModelFolder folder_;
  const Context context_ = make_logging_context();
  std::vector<Module> modules_;
};

}  // namespace
}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  static heed::fuzz::Model model;
  const std::string bytes(reinterpret_cast<const char*>(data), num_bytes);
  // Bytes that do not begin an object are the settings of a family.
  const bool is_object = num_bytes == 0 || data[0] == '{' || data[0] == '[';
  model.load_with(is_object ? bytes : R"({"model_type":"llama",)" + bytes + "}");
  return 0;
}
