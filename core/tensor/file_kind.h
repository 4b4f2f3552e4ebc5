// SPDX-License-Identifier: Apache-2.0
// What a file is that is not of the format that a reader expects. People give a framework's own file, a failed
// download, a pointer to the file: such a file is told by its first bytes, never by its name, so that the sentence can
// say what it is and what to do.
#pragma once

#include <cstdint>

#include "base/file.h"

namespace heed {

// What a reader expects.
enum class FileFormat : int32_t { Safetensors, Npy };

// Throws Status::CorruptFile, naming the kind and what to do, where the bytes are of a kind that is known and is not
// `expected`; returns where they are of none.
void refuse_other_kind(const ByteSource& source, FileFormat expected);

// Whether the bytes begin as an object of JSON in text does. The length that a .safetensors file begins with has zero
// bytes there, a text has none.
bool begins_as_json_object(const ByteSource& source);

}  // namespace heed
