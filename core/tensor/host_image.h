// SPDX-License-Identifier: Apache-2.0
// Access of the processor to the elements of a tensor: the tensor itself if it is on the host, otherwise a copy.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// A dense copy of the elements in host memory, or the tensor itself if it is on the host.
Tensor host_copy(const Tensor& tensor);

// A host tensor of the same shape, to be written instead of the tensor. Its initial contents are undefined. The
// elements on the device do not change before `commit`.
class HostImage {
 public:
  explicit HostImage(const Tensor& tensor);

  // The host tensor: the tensor itself if it is on the host, otherwise dense.
  const Tensor& image() const { return image_; }
  // Copies the image to the tensor. For a tensor that is not dense, each run of adjacent elements is copied separately,
  // since another call may write the memory between them.
  void commit() const;

 private:
  Tensor tensor_;
  Tensor image_;
};

}  // namespace heed
