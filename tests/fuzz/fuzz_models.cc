// SPDX-License-Identifier: Apache-2.0
// The folder of a small model, whose config.json and tensors the input changes: heed_layer_create_from_folder refuses it with
// a message, or makes a layer that can be asked and run, within memory that such small files need.
#include <heed/heed.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "capi/support/objects.h"
#include "fuzz/calls/checks.h"
#include "fuzz/models/edits.h"
#include "fuzz/models/golden.h"
#include "fuzz/models/model_calls.h"
#include "fuzz/support/model_folder.h"

namespace heed::fuzz {
namespace {

using capi_test::Context;
using capi_test::Layer;

// Memory for a context, much less than a host has.
class LittleMemory {
 public:
  LittleMemory() {
    allocator_.user = this;
    allocator_.allocate = [](void* user, size_t num_bytes, size_t alignment) -> void* {
      auto& self = *static_cast<LittleMemory*>(user);
      void* memory = nullptr;
      if (num_bytes > kMostBytes - self.num_bytes_ || posix_memalign(&memory, alignment, num_bytes) != 0)
        return nullptr;
      self.num_bytes_ += num_bytes;
      return memory;
    };
    allocator_.release = [](void* user, void* memory, size_t num_bytes) {
      static_cast<LittleMemory*>(user)->num_bytes_ -= num_bytes;
      std::free(memory);
    };
  }
  LittleMemory(const LittleMemory&) = delete;
  LittleMemory& operator=(const LittleMemory&) = delete;

  const heed_allocator* allocator() const { return &allocator_; }
  size_t num_bytes() const { return num_bytes_; }

 private:
  // The files have less than 200 KB.
  static constexpr size_t kMostBytes = size_t{64} << 20;
  size_t num_bytes_ = 0;
  heed_allocator allocator_ = HEED_ALLOCATOR_INIT;
};

void make_and_use_model(Bytes bytes, std::string_view text_after) {
  const std::vector<GoldenModel>& models = golden_models();
  const size_t choice = bytes.next() % models.size();
  const GoldenModel& model = models[choice];
  const CallChoices calls(bytes);
  Configuration configuration = model.configuration;
  WeightsFile weights = model.weights;
  const bool is_unchanged = bytes.is_empty() && text_after.empty();
  while (!bytes.is_empty()) {
    if (bytes.below(3) > 0) {
      configuration.edit(bytes);
    } else {
      weights.edit(bytes);
    }
  }
  configuration.append(text_after);

  // One folder for each model, so that its weights need not be written again as long as they are unchanged.
  static std::map<size_t, ModelFolder> folders;
  ModelFolder& folder = folders[choice];
  const std::string file = weights.bytes();
  folder.write("config.json", configuration.text());
  folder.write("model.safetensors", file);

  static LittleMemory memory;
  const heed_logger logger = {sizeof logger, require_one_line, nullptr};
  heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
  options.logger = &logger;
  options.num_threads = 1;
  options.allocator = memory.allocator();
  static const Context context = capi_test::make_context(&options);
  capi_test::OutParameters out;
  capi_test::forget_last_error();
  const heed_status status = heed_layer_create_from_folder(context.get(), folder.path().c_str(), &out.layer);
  require(status == HEED_OK || out == capi_test::OutParameters(), "a call that failed left its out-parameter");
  require(status == HEED_OK || status == HEED_ERROR_INVALID_ARGUMENT || status == HEED_ERROR_UNSUPPORTED ||
              status == HEED_ERROR_CORRUPT_FILE || status == HEED_ERROR_NOT_FOUND,
          std::string("not a status of a model's folder: ") + heed_status_name(status) + ": " + heed_last_error());
  require(status == HEED_OK || !is_unchanged, "a model of tests/golden is made: " + model.name);
  if (!succeeded(status)) return;
  const Layer layer(out.layer);
  use_model(context.get(), layer.get(), calls, file.size(), is_unchanged);
}

}  // namespace
}  // namespace heed::fuzz

// The bytes are changes, and behind the byte 0xFF the text of settings.
// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  const std::string_view input(reinterpret_cast<const char*>(data), num_bytes);
  const size_t separator = input.find('\xFF');
  const std::string_view text = separator == std::string_view::npos ? "" : input.substr(separator + 1);
  const size_t num_edits = std::min(separator, num_bytes);
  heed::fuzz::make_and_use_model(heed::fuzz::Bytes(std::span(data, num_edits)), text);
  return 0;
}
