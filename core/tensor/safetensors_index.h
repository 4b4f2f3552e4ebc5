// SPDX-License-Identifier: Apache-2.0
// The index of a model that is cut into several .safetensors files, as Hugging Face's libraries write it: JSON whose
// "weight_map" names the file of each tensor. The files lie beside it. Nothing in it is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/host_allocator.h"

namespace heed {

// Bounds what reading an index may allocate, together with its size: an index is shorter than the headers of its files.
inline constexpr uint64_t kMaxSafetensorsIndex = 100'000'000;

// A tensor's name and its file's place in SafetensorsIndex::files.
struct IndexedName {
  std::string_view name;
  size_t file = 0;
};

// To be assigned only where the allocators are equal: the views are into text's own memory.
struct SafetensorsIndex {  // NOLINT(bugprone-exception-escape)
  explicit SafetensorsIndex(const HostAllocator& allocator) : text(allocator), names(allocator), files(allocator) {}

  // What the names below are parts of, each with a zero byte behind it.
  HostVector<char> text;
  // Sorted bytewise; each once.
  HostVector<IndexedName> names;
  // Sorted bytewise; each once, and the plain name of a file, without a folder.
  HostVector<std::string_view> files;
};

// Throws CorruptFile, naming what is not as it should be, Io.
SafetensorsIndex read_safetensors_index(const ByteSource& source, const HostAllocator& allocator);

// What a name of the form <stem>-00001-of-00003.safetensors says.
struct PartName {
  uint64_t number = 0;
  uint64_t num_parts = 0;
  // The path of its index, <stem>.safetensors.index.json.
  std::string index_path;
};

// Nothing for a path of another form.
std::optional<PartName> part_name_of(std::string_view path);

}  // namespace heed
