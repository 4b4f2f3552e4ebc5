// SPDX-License-Identifier: Apache-2.0
#include <heed/heed.h>

#include <cinttypes>
#include <memory>
#include <string_view>
#include <utility>

#include "arguments.h"
#include "base/error.h"
#include "base/shown_text.h"
#include "errors.h"
#include "handles.h"
#include "tensor/safetensors.h"

namespace heed::capi {
namespace {

// heed_weights_name returns a C string, so a name must not contain a zero byte.
void check_names(const SafetensorsFile& file) {
  for (size_t i = 0; i < file.num_tensors(); ++i) {
    const std::string_view name = file.name(i);
    if (name.find('\0') == std::string_view::npos) continue;
    fail(Status::Unsupported, "\"%s\" has tensor \"%s\", expected names without a zero byte",
         shown(file.path()).c_str(), shown(name).c_str());
  }
}

heed_weights* make_weights(std::shared_ptr<Context> context, std::shared_ptr<const SafetensorsFile> file) {
  check_names(*file);
  return make_handle(heed_weights{std::move(context), std::move(file)});
}

const StoredTensor& tensor_at(const heed_weights* weights, int64_t index) {
  const SafetensorsFile& file = *require(weights, "weights")->file;
  const auto count = static_cast<int64_t>(file.num_tensors());
  if (index < 0 || index >= count)
    fail(Status::InvalidArgument, "index is %" PRId64 ", but the weights have %" PRId64 " " WORD("tensors"), index,
         count);
  return file.stored(static_cast<size_t>(index));
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

heed_status heed_weights_open(heed_context* context, const char* path, heed_weights** weights) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(path, "path");
    require(weights, "weights");
    const HostAllocator& allocator = owner->host_allocator();
    *weights = make_weights(owner, host_make_shared<SafetensorsFile>(allocator, path, allocator, Opening::AllAtOnce));
  });
}

heed_status heed_weights_open_memory(heed_context* context, const void* data, size_t num_bytes,
                                     heed_weights** weights) noexcept {
  return guarded(__func__, context, [&] {
    const std::shared_ptr<Context> owner = require(context, "context")->context;
    require(data, "data");
    require(weights, "weights");
    const HostAllocator& allocator = owner->host_allocator();
    *weights =
        make_weights(owner, host_make_shared<SafetensorsFile>(
                                allocator, host_make_shared<MemorySource>(allocator, data, num_bytes), allocator));
  });
}

void heed_weights_destroy(heed_weights* weights) noexcept { destroy_handle(weights); }

int64_t heed_weights_count(const heed_weights* weights) noexcept {
  return guarded_value<int64_t>(__func__, weights, -1,
                                [&] { return static_cast<int64_t>(require(weights, "weights")->file->num_tensors()); });
}

const char* heed_weights_name(const heed_weights* weights, int64_t index) noexcept {
  return guarded_value<const char*>(__func__, weights, nullptr, [&] { return tensor_at(weights, index).name.data(); });
}

heed_dtype heed_weights_dtype(const heed_weights* weights, int64_t index) noexcept {
  return guarded_value<heed_dtype>(__func__, weights, HEED_DTYPE_INVALID, [&] {
    const StoredTensor& tensor = tensor_at(weights, index);
    return tensor.has_known_dtype ? c_dtype(tensor.dtype) : HEED_DTYPE_INVALID;
  });
}

const char* heed_weights_dtype_name(const heed_weights* weights, int64_t index) noexcept {
  return guarded_value<const char*>(__func__, weights, nullptr,
                                    [&] { return tensor_at(weights, index).dtype_name.data(); });
}

int32_t heed_weights_rank(const heed_weights* weights, int64_t index) noexcept {
  return guarded_value<int32_t>(__func__, weights, -1,
                                [&] { return static_cast<int32_t>(tensor_at(weights, index).rank); });
}

int64_t heed_weights_dim(const heed_weights* weights, int64_t index, int32_t axis) noexcept {
  return guarded_value<int64_t>(__func__, weights, -1, [&] {
    const StoredTensor& tensor = tensor_at(weights, index);
    const auto rank = static_cast<int64_t>(tensor.rank);
    const int64_t place = axis < 0 ? axis + rank : axis;
    if (place < 0 || place >= rank) {
      fail(Status::InvalidArgument, "axis is %d, but " WORD("tensor") " \"%s\" has rank %" PRId64, axis,
           shown(tensor.name).c_str(), rank);
    }
    if (rank > kMaxRank) {
      fail(Status::Unsupported, WORD("tensor") " \"%s\" has rank %" PRId64 ", expected at most %d",
           shown(tensor.name).c_str(), rank, kMaxRank);
    }
    return tensor.shape[static_cast<int32_t>(place)];
  });
}

}  // extern "C"
