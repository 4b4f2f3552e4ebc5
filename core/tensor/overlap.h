// SPDX-License-Identifier: Apache-2.0
// Whether strided tensors share memory, decided exactly: interleaved tensors, such as the thirds of a packed (B, S, 3,
// E), have overlapping address ranges without sharing a byte, and must be accepted.
#pragma once

#include <cstddef>

namespace heed {

class Tensor;

// True if some byte belongs to both. Also true, for safety, in contrived cases where the search would take too long.
bool overlaps(const Tensor& a, const Tensor& b);

// The same for a tensor and a block of memory.
bool overlaps(const Tensor& tensor, const void* begin, size_t num_bytes);

// Throw InvalidArgument, naming both, if they share memory.
void require_separate(const Tensor& tensor, const char* name, const Tensor& other, const char* other_name);
void require_separate_from_workspace(const Tensor& tensor, const char* name, const void* workspace, size_t num_bytes);

// True if two elements of the tensor share a byte. Expects positive strides on axes above 1.
bool overlaps_itself(const Tensor& tensor);

}  // namespace heed
