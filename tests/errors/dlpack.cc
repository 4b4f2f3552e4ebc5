// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic dlpack() {
  return {"DLPack",
          "",
          {
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor),
                      managed.dl_tensor.device.device_type = kDLCUDA),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.dtype.lanes = 4),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.ndim = -1),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.ndim = 9),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.shape = NULL),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), dims[1] = -1),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.data = (void*)0x1000;
                      managed.dl_tensor.byte_offset = UINT64_MAX),
              PROVOKE(heed_tensor_from_dlpack(context, &managed, &new_tensor), managed.dl_tensor.data = NULL),
          }};
}

}  // namespace heed::errors_test
