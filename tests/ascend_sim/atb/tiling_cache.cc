// SPDX-License-Identifier: Apache-2.0
#include "atb/tiling_cache.h"

#include <cmath>
#include <map>

namespace ascend_sim::atb_library {

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

float shared_factor(const std::string& operation, const TilingKey& key, float factor) {
  struct Launch {
    TilingKey key;
    float factor;
  };
  thread_local std::map<std::string, Launch> launches;
  const auto found = launches.find(operation);
  if (found != launches.end() && found->second.key == key &&
      std::fabs(static_cast<double>(found->second.factor) - static_cast<double>(factor)) <= kFactorTolerance)
    return found->second.factor;
  launches[operation] = {key, factor};
  return factor;
}

}  // namespace ascend_sim::atb_library
