// SPDX-License-Identifier: Apache-2.0
// Gives the processor access to the elements of a tensor: to the tensor itself if it is on the host, otherwise to a
// copy.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// A dense copy of the elements in host memory, or the tensor itself if it is on the host.
Tensor host_copy(const Tensor& tensor);

// A host tensor of the same shape, which the processor writes instead of the tensor. Its initial contents are those of
// the tensor if `is_updated`, otherwise undefined. The elements on the device change only in `commit`.
class HostImage {
 public:
  explicit HostImage(const Tensor& tensor, bool is_updated = false);

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
