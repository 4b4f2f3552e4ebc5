// SPDX-License-Identifier: Apache-2.0
// The index of a model that is split into several .safetensors files, as Hugging Face's libraries write it: JSON with a
// member "weight_map", which names the file of each tensor. The files are in the folder of the index. Everything in it
// is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/host_allocator.h"

namespace heed {

// Limits the memory that reading an index may allocate. An index is shorter than the headers of its files.
inline constexpr uint64_t kMaxSafetensorsIndex = 100'000'000;

// A tensor's name and the position of its file in SafetensorsIndex::files.
struct IndexedName {
  std::string_view name;
  size_t file = 0;
  std::string_view stored = {};  // the name in the file, if it is another one

  std::string_view in_file() const { return stored.empty() ? name : stored; }
};

// May be assigned only if the allocators are equal, since the views refer to the memory of `text`.
struct SafetensorsIndex {  // NOLINT(bugprone-exception-escape)
  explicit SafetensorsIndex(const HostAllocator& allocator) : text(allocator), names(allocator), files(allocator) {}

  // The memory of the names below; each ends with a zero byte.
  HostVector<char> text;
  // Sorted bytewise; each once.
  HostVector<IndexedName> names;
  // Sorted bytewise, without duplicates; file names without a folder.
  HostVector<std::string_view> files;
};

// Throws CorruptFile, naming the problem, and Io.
SafetensorsIndex read_safetensors_index(const ByteSource& source, const HostAllocator& allocator);

// The contents of a name of the form <stem>-00001-of-00003.safetensors.
struct PartName {
  uint64_t number = 0;
  uint64_t num_parts = 0;
  // The path of its index, <stem>.safetensors.index.json.
  std::string index_path;
};

// No value for a path of another form.
std::optional<PartName> part_name_of(std::string_view path);

}  // namespace heed
