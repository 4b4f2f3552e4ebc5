// SPDX-License-Identifier: Apache-2.0
#include "errors/provocation.h"

namespace heed::errors_test {

Topic tensors() {
  return {"Tensors",
          "",
          {
              PROVOKE(heed_tensor_create(context, (heed_dtype)9, 3, dims, &new_tensor)),
              PROVOKE(heed_tensor_create(context, HEED_F32, 9, dims, &new_tensor)),
              PROVOKE(heed_tensor_create(context, HEED_F32, 3, dims, &new_tensor), dims[1] = -1),
              PROVOKE(heed_tensor_create(context, HEED_F32, 2, dims, &new_tensor), dims[0] = INT64_MAX),
              PROVOKE(heed_tensor_create(context, HEED_F32, 1, dims, &new_tensor), dims[0] = INT64_MAX / 2),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, NULL, NULL, release, NULL, &new_tensor)),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, NULL, (void*)0x1002, NULL, NULL, &new_tensor)),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor),
                      strides[1] = INT64_MAX),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor),
                      strides[0] = INT64_MAX / 2),
              PROVOKE(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, (void*)0x1000, NULL, NULL, &new_tensor),
                      strides[1] = -1024),
              PROVOKE(heed_tensor_dim(tensor, 3)),
              PROVOKE(heed_tensor_data(snapshot("W_q.weight"))),
              PROVOKE(heed_tensor_read(tensor, memory, 95)),
              PROVOKE(heed_tensor_fill(shape_only, 1.0)),
              PROVOKE(heed_tensor_fill(snapshot("W_q.weight"), 1.0)),
              PROVOKE(heed_tensor_fill(new_tensor, 1.0), strides[2] = 0;
                      heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor)),
              PROVOKE(heed_tensor_fill(new_tensor, 1.0), strides[0] = 4;
                      heed_tensor_wrap(context, HEED_F32, 3, dims, strides, memory, NULL, NULL, &new_tensor)),
          }};
}

Topic views() {
  return {"Views",
          "",
          {
              PROVOKE(heed_tensor_view(tensor, 1, dims, NULL, 24, &new_tensor)),
              PROVOKE(heed_tensor_view(tensor, 1, dims, NULL, INT64_MAX, &new_tensor)),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor)),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -1; dims[1] = -1),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -2),
              PROVOKE(heed_tensor_reshape(tensor, 2, dims, &new_tensor), dims[0] = -1; dims[1] = 5),
              PROVOKE(heed_tensor_reshape(new_tensor, 1, dims, &new_tensor), dims[0] = 24;
                      heed_tensor_transpose(tensor, NULL, &new_tensor)),
              PROVOKE(heed_tensor_transpose(tensor, axes, &new_tensor), axes[2] = 3),
              PROVOKE(heed_tensor_transpose(tensor, axes, &new_tensor), axes[2] = 1),
              PROVOKE(heed_tensor_slice(tensor, -4, 0, 1, &new_tensor)),
              PROVOKE(heed_tensor_slice(tensor, 1, 4, 1, &new_tensor)),
              PROVOKE(heed_tensor_slice(tensor, 1, 1, 3, &new_tensor)),
          }};
}

Topic copies() {
  return {"Copies",
          "",
          {
              PROVOKE(heed_tensor_copy(tensor, tensor_of(HEED_F32, {2, 3}))),
              PROVOKE(heed_tensor_copy(tensor, tensor)),
          }};
}

}  // namespace heed::errors_test
