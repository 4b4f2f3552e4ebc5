// SPDX-License-Identifier: Apache-2.0
// Files of one array in NumPy's .npy format: a magic string, a version, the header's length, a header that is a dict in
// Python's notation, then the elements, dense, in row-major (C) or column-major (Fortran) order. Everything in a file
// is checked before it is used.
#pragma once

#include <cstdint>
#include <memory>

#include "base/file.h"
#include "base/memory.h"
#include "tensor/tensor.h"

namespace heed {

// The longest header that is read, which limits the memory that a file can make heed allocate. Headers of arrays that
// heed supports are far shorter; only structured arrays with very many fields have longer ones.
inline constexpr uint64_t kMaxNpyHeader = 1'000'000;

// Reads the array of a file of version 1.0 to 3.0 into a new tensor, which is row-major also if the file is
// column-major. Memory for the elements is allocated only after a check that the file contains all of them. Throws
// CorruptFile, naming the contradiction, Unsupported for arrays that heed does not support (another dtype or byte
// order, more than kMaxRank dimensions), Io for errors of the system.
Tensor load_npy(std::shared_ptr<const Memory> memory, const ByteSource& source);

// Writes a file of version 1.0 in row-major order, with the same bytes as numpy.save. The file is replaced atomically;
// on failure an existing file is unchanged. Tensors with any strides are written through a small buffer. Throws
// Unsupported for BF16, which the format lacks, InvalidArgument for a shape-only tensor, Io.
void save_npy(const char* path, const Tensor& tensor);

}  // namespace heed
