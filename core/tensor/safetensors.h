// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the .safetensors format: 8 bytes of header length (little-endian), a header in JSON, then
// every tensor's elements, dense and row-major, without gaps. Many frameworks write it, and cut large models into
// several such files; nothing in a file is believed before it is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/file.h"
#include "base/host_allocator.h"
#include "tensor/dtype.h"
#include "tensor/safetensors_index.h"
#include "tensor/shape.h"

namespace heed {

// The format's own limit; it bounds what opening a file may allocate, together with the file's size.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// One tensor of a file, as SafetensorsFile::find() gives it.
struct SafetensorsEntry {
  std::string_view name;
  DType dtype = DType::F32;
  Shape shape;
  size_t num_bytes = 0;
};

class SafetensorsPart;

// What a file says of a tensor, whether heed can hold it or not.
struct StoredTensor : SafetensorsEntry {
  // As the file has it; `dtype` is only right where it is known.
  std::string_view dtype_name;
  bool has_known_dtype = false;
  // The whole rank: `shape` holds the first kMaxRank dimensions only.
  uint64_t rank = 0;
  // Relative to the first byte behind the header.
  uint64_t begin = 0;
  uint64_t end = 0;
  // Where it lies.
  const SafetensorsPart* part = nullptr;
};

// One file by itself. Opening reads the header alone and checks all of it: Status::CorruptFile names the file, the
// tensor and what disagrees, or the kind of file that it is instead; Status::Io is the system's refusal. What heed
// cannot hold (another dtype, more than kMaxRank dimensions) makes only its own tensor unusable. All that it keeps is
// the allocator's.
class SafetensorsPart {
 public:
  SafetensorsPart(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator);
  SafetensorsPart(const SafetensorsPart&) = delete;
  SafetensorsPart& operator=(const SafetensorsPart&) = delete;

  std::string_view path() const { return source_->name(); }
  // Sorted bytewise by name.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  // NULL when there is none of this name.
  const StoredTensor* lookup(std::string_view name) const;
  // Fills num_bytes from byte `offset` of the tensor on, which lie within it.
  void read(const StoredTensor& tensor, uint64_t offset, size_t num_bytes, void* destination) const {
    source_->read(data_offset_ + tensor.begin + offset, destination, num_bytes);
  }

 private:
  std::shared_ptr<const ByteSource> source_;
  uint64_t data_offset_ = 0;
  // What the texts of tensors_ are parts of, each with a zero byte behind it.
  HostVector<char> text_;
  HostVector<StoredTensor> tensors_;
};

// When the files of a model in several are opened.
enum class Opening : int32_t {
  WhenNeeded,  // a file at the first find() of a tensor that lies there: for one thread at a time
  AllAtOnce,   // all files at the beginning: then const members may be called from many threads
};

// The named tensors of a model: of one file, or of all the files that an index names. Names compare byte by byte.
//   path of a .safetensors file   that file
//   path of an index              the files that it names, in its folder; another folder is never looked at
//   path of one of the files      the same where an index lies beside it that belongs to its name (see
//                                 safetensors_index.h), else that file by itself
// Throws what SafetensorsPart and read_safetensors_index throw. A file that holds other tensors than the index says is
// CorruptFile.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const char* path, const HostAllocator& allocator = {},
                           Opening opening = Opening::WhenNeeded);
  explicit SafetensorsFile(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator = {});
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  // What error sentences call it: the path of the file or the index, or "memory".
  std::string_view path() const { return path_; }
  // Where the files lie: "." for a bare file name, "" for memory.
  std::string folder() const { return is_in_memory_ ? std::string() : platform::folder_of(path_); }

  // Sorted bytewise.
  size_t num_tensors() const { return index_.names.size(); }
  std::string_view name(size_t index) const { return index_.names[index].name; }
  bool contains(std::string_view name) const { return lookup(name) != nullptr; }

  // What the file says of the tensor of that index.
  const StoredTensor& stored(size_t index) const;

  // NULL when there is no tensor of this name; Status::Unsupported when there is one that heed cannot hold. The entry
  // lives as long as the file.
  const SafetensorsEntry* find(std::string_view name) const;

  // Fills entry.num_bytes bytes; the entry must come from this file's find().
  void read(const SafetensorsEntry& entry, void* destination) const;
  // The same for a part of the entry's bytes, which lies within them.
  void read(const SafetensorsEntry& entry, uint64_t offset, size_t num_bytes, void* destination) const;

  // Where the path names one of several files and no index lies beside it, so that what the others hold is not known:
  // "part 1 of 3, whose index, "...", is not there". Else empty.
  std::string lone_part_text() const;

 private:
  void open_index(const ByteSource& source);
  void open_alone(std::shared_ptr<const ByteSource> source);
  const IndexedName* lookup(std::string_view name) const;
  const SafetensorsPart& part(size_t file) const;
  // Throws where the file holds other tensors than the index says.
  void check_part(const SafetensorsPart& part, size_t file) const;

  HostAllocator allocator_;
  HostString path_;
  bool is_in_memory_ = false;
  bool is_lone_part_ = false;
  // Of a file by itself only the names, which are its own texts.
  SafetensorsIndex index_;
  // One for each of index_.files, or the one file; null until it is opened.
  mutable HostVector<std::shared_ptr<const SafetensorsPart>> parts_;
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
