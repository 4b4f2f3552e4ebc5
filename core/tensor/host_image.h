// SPDX-License-Identifier: Apache-2.0
// The elements of a tensor where the processor can reach them: the tensor itself on the host, otherwise a copy.
#pragma once

#include "tensor/tensor.h"

namespace heed {

// A dense copy of the elements in the host's memory, the tensor itself where it is there.
Tensor host_copy(const Tensor& tensor);

// A tensor of the same shape to be written in the tensor's place. What is in it before is undefined. Until `commit` the
// device's elements are as they were.
class HostImage {
 public:
  explicit HostImage(const Tensor& tensor);

  // On the host; the tensor itself where it is there, otherwise dense.
  const Tensor& image() const { return image_; }
  // Makes the tensor's elements those of the image. Of a tensor that is not dense each stretch of neighbours is a copy
  // by itself: what lies between its elements may be another's to write.
  void commit() const;

 private:
  Tensor tensor_;
  Tensor image_;
};

}  // namespace heed
