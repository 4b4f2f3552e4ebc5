// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the .safetensors format: 8 bytes of header length (little-endian), a header in JSON, then
// every tensor's elements, dense and row-major, without gaps. Many frameworks write it; nothing in a file is believed
// before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace heed {

// The format's own limit; it bounds what opening a file may allocate, together with the file's size.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// One tensor of a file, as SafetensorsFile::find() gives it.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::F32;
  Shape shape;
  size_t num_bytes = 0;
};

// An opened file. Opening reads the header alone and checks all of it: Status::CorruptFile names the file, the tensor
// and what disagrees, Status::Io is the system's refusal. What heed cannot hold (another dtype, more than kMaxRank
// dimensions) makes only its own tensor unusable. Names compare byte by byte. All const members may be called from many
// threads at once.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const char* path);
  explicit SafetensorsFile(std::unique_ptr<const ByteSource> source);

  // What error sentences call the file: its path, or "memory".
  const std::string& path() const { return source_->name(); }

  // Sorted bytewise.
  size_t num_tensors() const { return entries_.size(); }
  const std::string& name(size_t index) const { return entries_[index].name; }
  bool contains(std::string_view name) const { return lookup(name) != nullptr; }

  // NULL when the file has no tensor of this name; Status::Unsupported when it has one that heed cannot hold. The entry
  // lives as long as the file.
  const SafetensorsEntry* find(std::string_view name) const;

  // Fills entry.num_bytes bytes; the entry must come from this file's find().
  void read(const SafetensorsEntry& entry, void* destination) const;

 private:
  friend class SafetensorsHeaderParser;

  struct StoredEntry : SafetensorsEntry {
    std::string dtype_name;
    bool has_known_dtype = false;
    // The whole rank: `shape` holds the first kMaxRank dimensions only.
    uint64_t rank = 0;
    // Relative to the first byte behind the header.
    uint64_t begin = 0;
    uint64_t end = 0;
  };

  const StoredEntry* lookup(std::string_view name) const;

  std::unique_ptr<const ByteSource> source_;
  std::vector<StoredEntry> entries_;
  uint64_t data_offset_ = 0;
};

// A tensor to be saved: dense, row-major, in memory that the processor can read.
struct NamedTensor {
  std::string_view name;
  DType dtype = DType::F32;
  Shape shape;
  const void* data = nullptr;
};

// Writes a file that holds these tensors. It appears whole or not at all: on failure an older file of this name is as
// it was. The same tensors give the same bytes. Names must be unique, UTF-8 and not "__metadata__".
void save_safetensors(const char* path, std::span<const NamedTensor> tensors);

// Writes the bytes of that file into memory and returns how many they are. destination null: only returns that. Throws
// InvalidArgument when capacity is smaller, and then nothing is written.
size_t save_safetensors_to_memory(void* destination, size_t capacity, std::span<const NamedTensor> tensors);

}  // namespace heed
