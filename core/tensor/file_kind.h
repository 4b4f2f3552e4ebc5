// SPDX-License-Identifier: Apache-2.0
// Recognizes files that are not of the format that a reader expects, such as a framework's own file, a failed download
// or a Git LFS pointer. Files are recognized by their first bytes, never by their name, so that the error sentence can
// say what the file is and what to do.
#pragma once

#include <cstdint>

#include "base/file.h"

namespace heed {

// The format that a reader expects.
enum class FileFormat : int32_t { Safetensors, Npy };

// Throws Status::CorruptFile, naming the kind and what to do, if the bytes are of a known kind other than `expected`.
// Returns if the kind is unknown.
void refuse_other_kind(const ByteSource& source, FileFormat expected);

// Whether the bytes begin like the text of a JSON object. A .safetensors file begins with a length, which has zero
// bytes; a text has none.
bool begins_as_json_object(const ByteSource& source);

}  // namespace heed
