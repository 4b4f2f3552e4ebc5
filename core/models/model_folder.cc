// SPDX-License-Identifier: Apache-2.0
#include "models/model_folder.h"

#include <algorithm>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/logger.h"
#include "base/shown_text.h"
#include "families/families.h"
#include "families/known_settings.h"
#include "families/model_block.h"
#include "families/model_config.h"
#include "families/model_settings.h"
#include "families/rules.h"
#include "loading/layer_parameters.h"
#include "loading/missing_tensors.h"
#include "models/folder_files.h"
#include "models/model_options.h"
#include "models/unknown_prefix.h"
#include "tensor/safetensors.h"

namespace heed {
namespace {

// The record of the configuration's family, which has whole models.
const Family& family_in(const ModelConfig& config) {
  const std::string name = name_of(Setting::ModelType);
  if (config.has(name) && !config.text(name)) require_json(config, name, json_of(Setting::ModelType), false);
  const std::string model_type(config.text(name).value_or(""));
  const Family* const family = model_family_of(model_type);
  if (family != nullptr) return *family;
  constexpr const char* kExpected = "expected bert, llama, bart or another one of docs/models.md";
  if (model_type.empty()) {
    fail(Status::InvalidArgument, "%s says no model_type, the name of the model's family: %s",
         in_quotes(config.path()).c_str(), kExpected);
  }
  fail(Status::Unsupported, "model_type in %s is %s, a family of which heed makes no whole models: %s",
       in_quotes(config.path()).c_str(), in_quotes(model_type).c_str(), kExpected);
}

template <typename Kind, typename Options>
std::shared_ptr<Layer> make(const std::shared_ptr<Context>& context, const Options& options) {
  return host_make_shared<Kind>(context->host_allocator(), context, options);
}

std::shared_ptr<Layer> make_layer(const std::shared_ptr<Context>& context, ModelOptions& options) {
  switch (options.kind()) {
    case ModelKind::Encoder: return make<Encoder>(context, options.encoder());
    case ModelKind::Decoder: return make<Decoder>(context, options.decoder());
    case ModelKind::None:
    case ModelKind::Transformer: break;
  }
  return make<Transformer>(context, options.transformer());
}

// In a catch block. The caller has set no options: a sentence about one names the configuration and the part of the model.
[[noreturn]] void rethrow_of(const ModelConfig& config, const Error& error) {
  std::string sentence;
  bool names_options = false;
  SentencePart part;
  for (SentenceParts parts(error.marked); parts.next(part);) {
    const bool is_option = part.role == Role::Option || part.role == Role::Setting;
    names_options = names_options || is_option;
    sentence += marked(is_option ? Role::Member : part.role, part.text);
  }
  if (!names_options) throw;
  fail(error.status, "%s makes no model: %s", in_quotes(config.path()).c_str(), sentence.c_str());
}

std::shared_ptr<Layer> make_layer_of(const std::shared_ptr<Context>& context, const ModelConfig& config,
                                     ModelOptions& options) {
  try {
    return make_layer(context, options);
  } catch (const Error& error) {
    rethrow_of(config, error);
  }
}

// Fails if the file lacks tensors of the model.
void require_all_tensors(const Layer& layer, const SafetensorsFile& file, const ModelConfig& config,
                         const Family& family, const std::string& prefix) {
  const MissingTensors missing = missing_tensors(layer, file, prefix, family);
  const size_t count = missing.names.size();
  if (count == 0) return;
  const std::string setting = setting_for(ModelSettings(config, ""), family, missing.first_parameter);
  const std::string more = count == 1 ? "" : ", the first of " + std::to_string(count) + " that are missing";
  fail(Status::NotFound, "%s has no tensor %s%s: expected every tensor of a model of model_type \"%s\"%s",
       in_quotes(file.path()).c_str(), in_quotes(file.name_in_file(missing.names.front())).c_str(), more.c_str(),
       std::string(family.model_types).c_str(), setting.c_str());
}

// Reads the parameters. What is missing is said of the whole model, before what is wrong in one of its layers.
void load_model(Layer& layer, const SafetensorsFile& file, const ModelConfig& config, const Family& family,
                const std::string& prefix, const LoadOptions& options) {
  try {
    load(layer, file, prefix, options);
  } catch (const Error& error) {
    const bool is_of_the_file = error.status == Status::NotFound || error.status == Status::InvalidArgument ||
                                error.status == Status::Unsupported;
    if (is_of_the_file) require_all_tensors(layer, file, config, family, prefix);
    throw;
  }
}

// Whether a tensor outside the layer's modules adds nothing to the layer; the head may be the embedding once more.
bool is_redundant(std::string_view name, const Family& family, bool is_tied) {
  return is_spare_tensor(family, name) || (is_tied && (name == "lm_head.weight" || name == "proj_out.weight"));
}

// Logs which tensors of the file are not part of the layer.
void warn_of_others(const Logger& logger, const char* function, const SafetensorsFile& file, const Family& family,
                    bool is_tied, std::vector<std::string>& read) {
  std::ranges::sort(read);
  size_t count = 0;
  std::string first;
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string name(file.name(i));
    if (std::ranges::binary_search(read, name) || is_redundant(name, family, is_tied) || file.has_other_name(name))
      continue;
    if (count++ == 0) first = file.name_in_file(name);
  }
  if (count == 0) return;
  log(logger, LogLevel::Warning,
      FUNCTION("%s") ": %s has %zu tensor%s not part of the " WORD("layer") ", such as %s: they are not read", function,
      in_quotes(file.path()).c_str(), count, count == 1 ? " that is" : "s that are", in_quotes(first).c_str());
}

// Logs that the configuration names code in the folder, which may compute something else than transformers' class.
void warn_of_code(const Logger& logger, const char* function, const ModelConfig& config, std::string_view model_type) {
  if (!config.is_object(name_of(Setting::AutoMap))) return;
  log(logger, LogLevel::Warning,
      FUNCTION("%s") ": %s has \"auto_map\", which names code that heed does not run: the " WORD("layer") " is "
"transformers' model of model_type "
      "\"%s\"",
      function, in_quotes(config.path()).c_str(), std::string(model_type).c_str());
}

// `num_layers`: of all stacks.
void log_made(const Logger& logger, const char* function, const std::string& folder, const std::string& model_type,
              int64_t num_layers, const Layer& layer) {
  int64_t num_elements = 0;
  size_t num_bytes = 0;
  for (const Parameter& parameter : layer.parameters()) {
    num_elements += parameter.value().num_elements();
    num_bytes += parameter.value().num_bytes();
  }
  log(logger, LogLevel::Info,
      FUNCTION("%s") ": %s has its %zu parameters from %s, of model_type %s: %" PRId64 " layers, %" PRId64
                     " numbers, %zu bytes",
      function, layer.kind(), layer.parameters().size(), in_quotes(folder).c_str(), in_quotes(model_type).c_str(),
      num_layers, num_elements, num_bytes);
}

}  // namespace

std::shared_ptr<Layer> model_from_folder(const std::shared_ptr<Context>& context, const char* given_folder,
                                         const LoadOptions& given_options) {
  const char* const function = given_options.function;
  const std::string folder = given_folder;
  std::optional<ModelConfig> config = config_in(folder);
  const Family& family = family_in(*config);
  const LoadAccept accept(given_options.accept, given_options.offers_accept);
  require_known_settings(*config, family, accept);
  const std::string model_type(*config->text(name_of(Setting::ModelType)));
  warn_of_code(context->logger(), function, *config, model_type);
  SafetensorsFile file(weights_in(folder).c_str(), context->host_allocator());
  file.add_noted_names();
  remove_unknown_prefix(file, *config, family);
  const std::string accept_of_file = accept.for_file(*config, file.name_in_file(""));
  keep_settings_of(*config, family);
  ModelOptions options(*config, family, file);
  options.add_names(file);
  std::shared_ptr<Layer> layer = make_layer_of(context, *config, options);
  LoadOptions load_options = given_options;
  load_options.config = &config;
  load_options.accept = accept_of_file;
  std::vector<std::string> read;
  load_options.read = &read;
  load_model(*layer, file, *config, family, options.prefix(), load_options);
  if (options.has_other_head()) {
    log(context->logger(), LogLevel::Warning,
        FUNCTION("%s") ": %s ties the head to the embedding, but %s has another head, which the " WORD(
            "layer") " uses, as transformers 5 does",
        function, in_quotes(config->path()).c_str(), in_quotes(file.path()).c_str());
  }
  log_made(context->logger(), function, folder, model_type, options.num_layers(), *layer);
  warn_of_others(context->logger(), function, file, family, options.is_head_tied(), read);
  return layer;
}

}  // namespace heed
