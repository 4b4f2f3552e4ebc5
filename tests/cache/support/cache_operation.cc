// SPDX-License-Identifier: Apache-2.0
#include "cache/support/cache_operation.h"

#include <utility>

namespace heed::cache_test {
namespace {

LayerSpec layer_of_operations() {
  LayerSpec spec = grouped_heads(2, 2, 8, 6);
  spec.rope = rope_of(HEED_ROPE_HALF);
  return spec;
}

// The parts that the operation's call has; none for other operations.
std::vector<Part> parts_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::Forward:
    case OperationKind::ForwardPacked:
    case OperationKind::Fill:
      return {{1, counting_from(100, 3)}, {3, counting_from(200, 20)}, {0, counting_from(40, 1)}};
    case OperationKind::ReadingForward: return {{0, counting_from(300, 2), {40, 41}}, {2, counting_from(400, 1), {5}}};
    default: return {};
  }
}

}  // namespace

const char* name_of(OperationKind kind) {
  switch (kind) {
    case OperationKind::Create: return "create";
    case OperationKind::Forward: return "forward";
    case OperationKind::ForwardPacked: return "forward of a packed batch";
    case OperationKind::ReadingForward: return "forward that reads";
    case OperationKind::Fill: return "fill";
    case OperationKind::Reserve: return "reserve";
    case OperationKind::Rewind: return "rewind";
    case OperationKind::Fork: return "fork";
    case OperationKind::Reorder: return "reorder";
    case OperationKind::Accept: return "accept";
    case OperationKind::Discard: return "discard";
    case OperationKind::ReadRows: return "read";
    case OperationKind::SaveFile: return "save";
    case OperationKind::SaveMemory: return "save in memory";
    case OperationKind::LoadFile: return "load";
    case OperationKind::LoadMemory: return "load from memory";
  }
  return "";
}

CacheOperation::CacheOperation(property::Context context, OperationKind kind)
    : kind_(kind), layer_(std::move(context), layer_of_operations()) {
  options_ = as_paged(with_sequences(layer_.contiguous(100), kNumSequences), 16, 20);
  cache_ = make_cache(layer_, options_);
  forward(layer_, cache_.get(), {{0, counting_from(0, 40)}, {2, counting_from(50, 5)}});
  property::check(heed_cache_fork(cache_.get(), 0, 35, 1));
  bytes_ = saved(cache_.get(), 0);
  property::check(heed_cache_save(cache_.get(), 0, folder_.path("sequence.safetensors").c_str()));
  const std::vector<Part> parts = parts_of(kind);
  if (!parts.empty()) {
    Form form;
    form.is_packed = kind == OperationKind::ForwardPacked;
    form.use = kind == OperationKind::ReadingForward ? HEED_CACHE_READ : HEED_CACHE_APPEND;
    step_ = std::make_unique<Step>(layer_, cache_.get(), parts, form);
  }
  const property::Dims dims = {2, 40, 8};
  keys_ = std::make_unique<property::HostTensor>(layer_.context(), HEED_F32, dims, property::row_major_strides(dims));
}

heed_status CacheOperation::create() const {
  heed_cache* cache = nullptr;
  const heed_status status = heed_cache_create(layer_.context(), &options_, &cache);
  EXPECT_EQ(cache != nullptr, status == HEED_OK);
  heed_cache_destroy(cache);
  return status;
}

heed_status CacheOperation::run() {
  static constexpr int64_t kSources[] = {2, 0, 0};
  static constexpr int64_t kKept[] = {1, 3, 4};
  heed_cache* const cache = cache_.get();
  switch (kind_) {
    case OperationKind::Create: return create();
    case OperationKind::Forward:
    case OperationKind::ForwardPacked:
    case OperationKind::ReadingForward: return step_->run();
    case OperationKind::Fill: return step_->fill();
    case OperationKind::Reserve: return heed_cache_reserve(cache, 3, 60);
    case OperationKind::Rewind: return heed_cache_rewind(cache, 0, 10);
    case OperationKind::Fork: return heed_cache_fork(cache, 0, 30, 3);
    case OperationKind::Reorder: return heed_cache_reorder(cache, kSources, 3);
    case OperationKind::Accept: return heed_cache_accept(cache, 1, 30, kKept, 3);
    case OperationKind::Discard: return heed_cache_discard(cache, 0, 2, 3, 1);
    case OperationKind::ReadRows: return heed_cache_read(cache, 0, 0, keys_->handle(), nullptr);
    case OperationKind::SaveFile: return heed_cache_save(cache, 0, folder_.path("copy.safetensors").c_str());
    case OperationKind::SaveMemory: {
      size_t num_bytes = 0;
      std::vector<uint8_t> copy(bytes_.size());
      return heed_cache_save_memory(cache, 0, copy.data(), copy.size(), &num_bytes);
    }
    case OperationKind::LoadFile: return heed_cache_load(cache, 2, folder_.path("sequence.safetensors").c_str());
    case OperationKind::LoadMemory: return heed_cache_load_memory(cache, 2, bytes_.data(), bytes_.size());
  }
  return HEED_ERROR_INTERNAL;
}

}  // namespace heed::cache_test
