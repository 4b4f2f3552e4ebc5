// SPDX-License-Identifier: Apache-2.0
#include "capi/support/families.h"

#include <cstddef>
#include <cstdint>

#include "capi/support/files.h"

namespace heed::capi_test {

std::string file_of(const std::vector<FileTensor>& tensors) {
  std::string header;
  size_t offset = 0;
  for (const FileTensor& tensor : tensors) {
    std::string dims;
    size_t num_bytes = 4;
    for (const int64_t dim : tensor.dims) {
      dims += (dims.empty() ? "" : ",") + std::to_string(dim);
      num_bytes *= static_cast<size_t>(dim);
    }
    header += (header.empty() ? "{\"" : ",\"") + tensor.name + R"(":{"dtype":"F32","shape":[)" + dims +
              R"(],"data_offsets":[)" + std::to_string(offset) + "," + std::to_string(offset + num_bytes) + "]}";
    offset += num_bytes;
  }
  return safetensors(header + "}", offset);
}

std::vector<FileTensor> below(const std::string& prefix, const Names& names) {
  std::vector<FileTensor> tensors;
  for (const std::string& name : names) {
    FileTensor tensor{prefix.empty() ? name : prefix + "." + name};
    if (name == "qkv.weight") tensor.dims = {24, 8};
    if (name == "c_attn.weight") tensor.dims = {8, 24};
    tensors.push_back(tensor);
  }
  return tensors;
}

std::vector<FileTensor> operator+(std::vector<FileTensor> tensors, const FileTensor& more) {
  tensors.push_back(more);
  return tensors;
}

heed_multi_head_attention_options two_of_four() {
  heed_multi_head_attention_options options = HEED_MULTI_HEAD_ATTENTION_OPTIONS_INIT;
  options.num_hiddens = 8;
  options.num_heads = 2;
  return options;
}

heed_multi_head_attention_options causal() {
  heed_multi_head_attention_options options = two_of_four();
  options.causal = HEED_CAUSAL_TOP_LEFT;
  return options;
}

Families::Answer Families::load(const std::vector<FileTensor>& tensors, const std::string& config,
                                const std::string& prefix, const heed_multi_head_attention_options& options,
                                const char* accept) {
  return load_layer(make_multi_head(context_.get(), options), tensors, config, prefix, accept);
}

Families::Answer Families::load_layer(const Layer& layer, const std::vector<FileTensor>& tensors,
                                      const std::string& config, const std::string& prefix, const char* accept) {
  const TemporaryFolder folder;
  const std::string path = folder.write("model.safetensors", file_of(tensors));
  if (!config.empty()) folder.write("config.json", config);
  warnings_.clear();
  heed_weights* weights = nullptr;
  check(heed_weights_open(context_.get(), path.c_str(), &weights));
  heed_load_options options = HEED_LOAD_OPTIONS_INIT;
  options.accept = accept;
  Answer answer;
  answer.status = heed_layer_load_weights(layer.get(), weights, prefix.c_str(), &options);
  if (answer.status != HEED_OK) answer.sentence = heed_last_error();
  heed_weights_destroy(weights);
  answer.warnings = warnings_;
  EXPECT_EQ(heed_layer_is_initialized(layer.get()), answer.status == HEED_OK ? 1 : 0);
  return answer;
}

void Families::expect_loaded(const Answer& answer) { EXPECT_EQ(answer.status, HEED_OK) << answer.sentence; }

void Families::expect_refused(const Answer& answer, heed_status status, const std::string& words) {
  EXPECT_EQ(answer.status, status) << answer.sentence;
  EXPECT_NE(answer.sentence.find(words), std::string::npos) << words << "\nin " << answer.sentence;
}

void Families::write(void* user, int32_t level, const char* text) {
  if (level == HEED_LOG_WARNING) static_cast<std::vector<std::string>*>(user)->emplace_back(text);
}

Context Families::make_logging_context() {
  const heed_logger logger = {sizeof(heed_logger), write, &warnings_};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  return make_context(&options);
}

}  // namespace heed::capi_test
