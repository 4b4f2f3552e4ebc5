// SPDX-License-Identifier: Apache-2.0
// Any bytes as the file of a sequence: each cache is refused it with a message and unchanged, or has the rows of the file,
// saves them again, and goes on after them.
#include <heed/heed.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cache/support/cached_layer.h"
#include "cache/support/caches.h"
#include "cache/support/step.h"
#include "fuzz/calls/checks.h"
#include "fuzz/support/header.h"
#include "fuzz/support/require.h"

namespace heed::fuzz {
namespace {

using cache_test::Cache;
using cache_test::CachedLayer;
using cache_test::CacheState;

using File = std::vector<uint8_t>;

// One head, so that a whole file is a small input; with rotary positions and without.
const CachedLayer& layer_with(bool rope) {
  cache_test::LayerSpec spec = cache_test::grouped_heads(1, 2, 2, 3);
  static const CachedLayer without(spec);
  spec.rope = cache_test::rope_of(HEED_ROPE_HALF);
  static const CachedLayer with(spec);
  return rope ? with : without;
}

// A layer that sees its row and the two before it, and the caches' numbers of rows for one and two of them: of two layers the second
// keeps all rows.
constexpr int64_t kOneWindow[] = {3};
constexpr int64_t kTwoWindows[] = {3, 0};

const CachedLayer& layer_with_window(bool rope) {
  const auto spec_with = [](bool has_rope) {
    cache_test::LayerSpec spec = cache_test::with_window(cache_test::grouped_heads(1, 2, 2, 3), 2);
    if (has_rope) spec.rope = cache_test::rope_of(HEED_ROPE_HALF);
    return spec;
  };
  static const CachedLayer without(spec_with(false));
  static const CachedLayer with(spec_with(true));
  return rope ? with : without;
}

// The tensors of each layer, by name: dtype, dims and bytes. The file is one that heed has read.
std::string tensors_of(const File& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const uint8_t* const header = file.data() + sizeof length;
  const nlohmann::json tensors = nlohmann::json::parse(header, header + length);
  std::string text;
  for (const auto& [name, tensor] : tensors.items()) {
    if (name.rfind("layers.", 0) != 0) continue;
    const auto begin = tensor["data_offsets"][0].get<uint64_t>();
    const auto end = tensor["data_offsets"][1].get<uint64_t>();
    text += name + " " + tensor["dtype"].get<std::string>() + " " + tensor["shape"].dump() + "\n";
    text.append(reinterpret_cast<const char*>(header + length + begin), end - begin);
  }
  return text;
}

bool has_tensor(const File& file, const char* name) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  const uint8_t* const header = file.data() + sizeof length;
  return nlohmann::json::parse(header, header + length).contains(name);
}

// Whether a file was loaded. Sentences have the names of the file's tensors, so that `succeeded` does not fit.
bool is_taken(heed_status status) {
  if (status == HEED_OK) return true;
  const bool is_documented = status == HEED_ERROR_INVALID_ARGUMENT || status == HEED_ERROR_CACHE_FULL ||
                             status == HEED_ERROR_CORRUPT_FILE || status == HEED_ERROR_NOT_FOUND ||
                             status == HEED_ERROR_UNSUPPORTED;
  require(is_documented, std::string("not a status of a file: ") + heed_status_name(status));
  const std::string text = heed_last_error();
  const bool is_named = text.find("\"memory\"") != std::string::npos || status == HEED_ERROR_CACHE_FULL;
  require(heed_last_status() == status && is_named && text.find('\n') == std::string::npos,
          "a sentence names the file: " + text);
  return false;
}

// A cache, and another one of the same options. Both have four rows in sequence 0, and none in sequence 1.
class Destination {
 public:
  explicit Destination(const heed_cache_options& options)
      : options_(options), cache_(made()), again_(made()), state_(cache_test::state_of(cache_.get(), 2)) {}

  heed_status load(const File& file) {
    const heed_status status = heed_cache_load_memory(cache_.get(), 0, file.data(), file.size());
    if (!is_taken(status)) {
      require_as_filled(cache_.get());
      return status;
    }
    const File saved = cache_test::saved(cache_.get(), 0);
    // Rings, and layers with windows, keep fewer rows than a file may have. And the changed file of a cache with windows may say
    // different first rows for layers without a window: a cache then saves only the rows that all of those layers have.
    if (options_.layout != HEED_CACHE_RING && options_.layer_capacities == nullptr && !has_tensor(file, "layers"))
      require(tensors_of(saved) == tensors_of(file), "a cache has the rows of the file");
    require(succeeded(heed_cache_load_memory(again_.get(), 0, saved.data(), saved.size())), "what was saved is loaded");
    require(cache_test::saved(again_.get(), 0) == saved, "rows are saved as they were loaded");
    go_on();
    restore(cache_.get());
    restore(again_.get());
    return status;
  }

 private:
  const CachedLayer& layer(bool rope) const {
    return options_.layer_capacities == nullptr ? layer_with(rope) : layer_with_window(rope);
  }

  Cache made() const {
    Cache cache = cache_test::make_cache(layer(false), options_);
    fill(cache.get());
    return cache;
  }

  void fill(heed_cache* cache) const {
    for (int64_t number = 0; number < options_.num_layers; ++number) {
      cache_test::Form form;
      form.layer = number;
      cache_test::forward_one(layer(false), cache, {0, {1, 2, 3, 4}}, form);
    }
  }

  void restore(heed_cache* cache) const {
    property::check(heed_cache_rewind(cache, 0, 0));
    fill(cache);
    require_as_filled(cache);
  }

  void require_as_filled(const heed_cache* cache) const {
    require(heed_cache_length(cache, 0) == state_.lengths[0] && heed_cache_length(cache, 1) == 0 &&
                heed_cache_free_pages(cache) == state_.num_free_pages,
            "a cache has its rows alone");
    require(cache_test::saved(cache, 0) == state_.saved[0], "a cache has its rows");
  }

  // The rows may have any positions and rotary positions, so that a layer may refuse them.
  void go_on() const {
    for (const bool rope : {false, true}) {
      const int64_t length = heed_cache_length(cache_.get(), 0);
      const cache_test::Step step(layer(rope), cache_.get(), {{0, {5}}});
      const heed_status status = step.run();
      require(succeeded(status) || status == HEED_ERROR_INVALID_ARGUMENT || status == HEED_ERROR_CACHE_FULL,
              std::string("not a status of a step: ") + heed_status_name(status));
      const int64_t expected = status == HEED_OK && options_.num_layers == 1 ? length + 1 : length;
      require(heed_cache_length(cache_.get(), 0) == expected, "a step appends its row or nothing");
    }
  }

  heed_cache_options options_;
  Cache cache_;
  Cache again_;
  CacheState state_;
};

// Caches of all layouts, dtypes and numbers of layers. Those of a group have the same geometry.
std::vector<std::vector<Destination>> all_destinations() {
  const auto options_of = [](heed_dtype dtype, int64_t num_layers, int32_t unrotated_keys) {
    heed_cache_options options = cache_test::with_sequences(layer_with(false).contiguous(40, dtype), 2);
    options.num_layers = num_layers;
    options.unrotated_keys = unrotated_keys;
    return options;
  };
  const auto paged = [](const heed_cache_options& options) { return cache_test::as_paged(options, 16, 3); };
  const auto ring = [](const heed_cache_options& options) {
    return cache_test::as_ring(cache_test::with_capacity(options, 4), 2);
  };
  const heed_cache_options f32 = options_of(HEED_F32, 1, 0);
  const heed_cache_options f16 = options_of(HEED_F16, 2, 0);
  const heed_cache_options i8 = options_of(HEED_I8, 1, 0);
  // Capacities above the rows that a layer with a window keeps, so that it drops rows.
  const auto windows = [](heed_cache_options options) {
    options = cache_test::with_capacity(options, 400);
    options.layer_capacities = options.num_layers == 1 ? kOneWindow : kTwoWindows;
    return options;
  };
  const auto paged_windows = [](const heed_cache_options& options) { return cache_test::as_paged(options, 16, 60); };
  const std::vector<heed_cache_options> groups[] = {
      {f32, paged(f32), ring(f32)},
      {paged(f16), ring(f16)},
      {options_of(HEED_BF16, 1, 0)},
      {i8, paged(i8), ring(i8)},
      {paged(options_of(HEED_F32, 1, 1))},
      {options_of(HEED_I8, 1, 1)},
      {windows(i8), paged_windows(windows(i8))},
      {windows(f16), paged_windows(windows(f16))},
  };
  std::vector<std::vector<Destination>> all;
  for (const std::vector<heed_cache_options>& group : groups) all.emplace_back(group.begin(), group.end());
  return all;
}

// Whether a cache took the file.
bool load_everywhere(const File& file) {
  static std::vector<std::vector<Destination>> all = all_destinations();
  bool is_loaded = false;
  for (std::vector<Destination>& group : all) {
    const heed_status status = group.front().load(file);
    is_loaded = is_loaded || status == HEED_OK;
    for (size_t i = 1; i < group.size(); ++i) {
      // A ring has room for any number of rows.
      const heed_status of_other = group[i].load(file);
      require(of_other == status || status == HEED_ERROR_CACHE_FULL, "layouts take the same files");
    }
  }
  return is_loaded;
}

}  // namespace
}  // namespace heed::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): libFuzzer's name
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t num_bytes) {
  const std::span<const uint8_t> bytes(data, num_bytes);
  if (num_bytes > 0 && heed::fuzz::load_everywhere({bytes.begin(), bytes.end()})) return 0;
  // The bytes once more with the right length before them.
  heed::fuzz::load_everywhere(heed::fuzz::after_length_of_header(bytes));
  return 0;
}
