// SPDX-License-Identifier: Apache-2.0
#include "atb/launch_cache.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

namespace ascend_sim::atb_library {
namespace {

constexpr uint32_t kMaxLaunches = 1024;

// Text that is not a number counts as 0, and 0 as 1. A negative number becomes a large unsigned one, so it gives the
// maximum.
size_t launches_in(const char* variable) {
  const char* const text = std::getenv(variable);
  const uint32_t number = text == nullptr ? 1 : static_cast<uint32_t>(std::strtol(text, nullptr, 10));
  return std::clamp<uint32_t>(number, 1, kMaxLaunches);
}

size_t launches_of_operation() {
  static const size_t number = launches_in("ATB_OPSRUNNER_KERNEL_CACHE_LOCAL_COUNT");
  return number;
}

size_t launches_of_thread() {
  static const size_t number = launches_in("ATB_OPSRUNNER_KERNEL_CACHE_GLOABL_COUNT");
  return number;
}

LaunchCache& cache_of_thread(const std::string& operation) {
  thread_local std::map<std::string, LaunchCache> caches;
  return caches.try_emplace(operation, launches_of_thread()).first->second;
}

}  // namespace

TilingKey tiling_key(const atb::VariantPack& pack) {
  TilingKey key;
  for (const atb::SVector<atb::Tensor>* const tensors : {&pack.inTensors, &pack.outTensors}) {
    for (const atb::Tensor& tensor : *tensors) {
      const atb::Dims& shape = tensor.desc.shape;
      key.push_back(tensor.desc.dtype);
      key.push_back(static_cast<int64_t>(shape.dimNum));
      key.insert(key.end(), shape.dims, shape.dims + shape.dimNum);
    }
  }
  return key;
}

const float* LaunchCache::find(const TilingKey& key, float factor) {
  for (size_t i = 0; i < launches_.size(); ++i) {
    const size_t index = (last_found_ + i) % launches_.size();
    if (launches_[index].key != key || !(std::fabs(launches_[index].factor - factor) < kFactorTolerance)) continue;
    last_found_ = index;
    return &launches_[index].factor;
  }
  return nullptr;
}

void LaunchCache::add(const TilingKey& key, float factor) {
  if (launches_.size() < capacity_) {
    launches_.push_back({key, factor});
    return;
  }
  launches_[oldest_] = {key, factor};
  oldest_ = (oldest_ + 1) % capacity_;
}

OperationLaunches::OperationLaunches() : own_(launches_of_operation()) {}

float OperationLaunches::shared_factor(const std::string& operation, const TilingKey& key, float factor) {
  LaunchCache& of_thread = cache_of_thread(operation);
  if (const float* const found = own_.find(key, factor)) return *found;
  if (const float* const found = of_thread.find(key, factor)) return *found;
  own_.add(key, factor);
  of_thread.add(key, factor);
  return factor;
}

}  // namespace ascend_sim::atb_library
