// SPDX-License-Identifier: Apache-2.0
#include "cache/cache.h"

#include <heed/heed.h>

#include <memory>
#include <span>

#include "arguments.h"
#include "base/file.h"
#include "errors.h"
#include "handles.h"
#include "tensor/safetensors.h"

namespace heed::capi {
namespace {

static_assert(HEED_CACHE_CONTIGUOUS == static_cast<int>(CacheLayout::Contiguous) &&
              HEED_CACHE_RING == static_cast<int>(CacheLayout::Ring) &&
              HEED_CACHE_PAGED == static_cast<int>(CacheLayout::Paged));

// The size in the first version of the struct: the smallest that a caller's struct can have.
constexpr size_t kFirstCacheOptionsSize = 96;

CacheOptions read_cache_options(const heed_cache_options* options) {
  require(options, "options");
  const heed_cache_options read =
      read_struct(options, HEED_CACHE_OPTIONS_INIT, kFirstCacheOptionsSize, "options", "HEED_CACHE_OPTIONS_INIT");
  require_zero(read.reserved, OPTION("reserved"));
  CacheOptions result;
  result.num_layers = read.num_layers;
  result.max_sequences = read.max_sequences;
  result.num_kv_heads = read.num_kv_heads;
  result.head_size = read.head_size;
  result.value_head_size = read.value_head_size;
  result.capacity = read.capacity;
  result.num_sinks = read.num_sinks;
  result.page_size = read.page_size;
  result.num_pages = read.num_pages;
  result.layout = read_enum(read.layout, CacheLayout::Paged, OPTION("layout"),
                            CONSTANT("HEED_CACHE_CONTIGUOUS") " (0), " CONSTANT("HEED_CACHE_RING") " (1) or " CONSTANT(
                                "HEED_CACHE_PAGED") " (2)");
  result.dtype =
      read_enum(read.dtype, DType::Bool, OPTION("dtype"),
                CONSTANT("HEED_F32") ", " CONSTANT("HEED_F16") ", " CONSTANT("HEED_BF16") " or " CONSTANT("HEED_I8"));
  result.layer_capacities = read.layer_capacities;
  result.unrotated_keys = read_flag(read.unrotated_keys, OPTION("unrotated_keys"));
  return result;
}

std::shared_ptr<Cache> cache_of(const heed_cache* handle) { return require(handle, "cache")->cache; }

// A list of numbers of the caller. NULL is allowed if it is empty.
std::span<const int64_t> read_list(const int64_t* numbers, const char* name, int64_t count, const char* count_name,
                                   int64_t most) {
  if (count < 0 || count > most) {
    fail(Status::InvalidArgument, "%s is %lld, expected 0 to %lld", count_name, static_cast<long long>(count),
         static_cast<long long>(most));
  }
  if (count > 0) require(numbers, name);
  return {numbers, static_cast<size_t>(count)};
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_cache_size(const heed_cache_options* options, size_t* num_bytes) noexcept {
  return guarded([&] {
    const CacheOptions read = read_cache_options(options);
    *require(num_bytes, "num_bytes") = Cache::num_bytes(read);
  });
}

heed_status heed_cache_create(heed_context* context, const heed_cache_options* options, heed_cache** cache) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    const CacheOptions read = read_cache_options(options);
    require(cache, "cache");
    *cache = make_handle(heed_cache{host_make_shared<Cache>(owner->host_allocator(), owner, read)});
  });
}

void heed_cache_destroy(heed_cache* cache) noexcept { destroy_handle(cache); }

int64_t heed_cache_length(const heed_cache* cache, int64_t sequence) noexcept {
  return guarded_value<int64_t>(__func__, cache, -1, [&] { return cache_of(cache)->length(sequence); });
}

int64_t heed_cache_first(const heed_cache* cache, int64_t sequence) noexcept {
  return guarded_value<int64_t>(__func__, cache, -1, [&] { return cache_of(cache)->first(sequence); });
}

int64_t heed_cache_num_rows(const heed_cache* cache, int64_t layer, int64_t sequence) noexcept {
  return guarded_value<int64_t>(__func__, cache, -1, [&] { return cache_of(cache)->num_rows(layer, sequence); });
}

int64_t heed_cache_free_pages(const heed_cache* cache) noexcept {
  return guarded_value<int64_t>(__func__, cache, -1, [&] { return cache_of(cache)->free_pages(); });
}

heed_status heed_cache_reserve(heed_cache* cache, int64_t sequence, int64_t length) noexcept {
  return guarded(__func__, cache, [&] { cache_of(cache)->reserve(sequence, length); });
}

heed_status heed_cache_rewind(heed_cache* cache, int64_t sequence, int64_t length) noexcept {
  return guarded(__func__, cache, [&] { cache_of(cache)->rewind(sequence, length); });
}

heed_status heed_cache_fork(heed_cache* cache, int64_t from, int64_t length, int64_t to) noexcept {
  return guarded(__func__, cache, [&] { cache_of(cache)->fork(from, length, to); });
}

heed_status heed_cache_reorder(heed_cache* cache, const int64_t* sources, int64_t num_sources) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    self->reorder(read_list(sources, "sources", num_sources, ARGUMENT("num_sources"), self->options().max_sequences));
  });
}

heed_status heed_cache_accept(heed_cache* cache, int64_t sequence, int64_t from, const int64_t* kept,
                              int64_t num_kept) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    self->accept(sequence, from, read_list(kept, "kept", num_kept, "num_kept", kMaxCacheRows));
  });
}

heed_status heed_cache_discard(heed_cache* cache, int64_t sequence, int64_t first, int64_t num_rows,
                               int32_t renumber) noexcept {
  return guarded(__func__, cache,
                 [&] { cache_of(cache)->discard(sequence, first, num_rows, read_flag(renumber, "renumber")); });
}

heed_status heed_cache_read(const heed_cache* cache, int64_t layer, int64_t sequence, heed_tensor* keys,
                            heed_tensor* values) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    self->read(layer, sequence, keys == nullptr ? nullptr : &keys->tensor,
               values == nullptr ? nullptr : &values->tensor);
  });
}

heed_status heed_cache_save(const heed_cache* cache, int64_t sequence, const char* path) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    self->save(sequence, require(path, "path"));
  });
}

heed_status heed_cache_load(heed_cache* cache, int64_t sequence, const char* path) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    self->load(sequence, SafetensorsFile(require(path, "path")));
  });
}

heed_status heed_cache_save_memory(const heed_cache* cache, int64_t sequence, void* destination, size_t capacity,
                                   size_t* num_bytes) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    if (destination == nullptr) require(num_bytes, "num_bytes");
    const size_t written = self->save_to_memory(sequence, destination, capacity);
    if (num_bytes != nullptr) *num_bytes = written;
  });
}

heed_status heed_cache_load_memory(heed_cache* cache, int64_t sequence, const void* data, size_t num_bytes) noexcept {
  return guarded(__func__, cache, [&] {
    const auto self = cache_of(cache);
    require(data, "data");
    self->load(sequence, SafetensorsFile(std::make_unique<const MemorySource>(data, num_bytes)));
  });
}

}  // extern "C"
