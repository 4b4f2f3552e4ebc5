// SPDX-License-Identifier: Apache-2.0
// Files of one array in NumPy's .npy format: a magic string, a version, the header's length, a header that is a dict in
// Python's notation, then the elements, dense, in row-major (C) or column-major (Fortran) order. Nothing in a file is
// believed before it is checked.
#pragma once

#include <cstdint>
#include <memory>

#include "base/file.h"
#include "base/memory.h"
#include "tensor/tensor.h"

namespace heed {

// Far more than any header of an array that heed can hold; it bounds what a header may allocate, together with the
// file's size. Longer ones are those of structured arrays with very many fields.
inline constexpr uint64_t kMaxNpyHeader = 1'000'000;

// The array of a file in versions 1.0 to 3.0, as a new row-major tensor whatever the file's order. Memory is taken only
// once the file has been found to hold all of the elements. Throws CorruptFile, naming what disagrees, Unsupported for
// what heed cannot hold (another dtype or byte order, more than kMaxRank dimensions), Io for the system's refusal.
Tensor load_npy(std::shared_ptr<const Memory> memory, const ByteSource& source);

// Writes a file of version 1.0 in row-major order, byte by byte as numpy.save does. It appears whole or not at all: on
// failure an older file of this name is as it was. Any strides pass through a small buffer. Throws Unsupported for
// BF16, which the format lacks, InvalidArgument for a shape-only tensor, Io.
void save_npy(const char* path, const Tensor& tensor);

}  // namespace heed
