// SPDX-License-Identifier: Apache-2.0
// Files of named tensors in the .safetensors format: 8 bytes of header length (little-endian), a header in JSON, then
// every tensor's elements, dense and row-major, without gaps. Many frameworks write this format, and split large models
// into several such files. Everything in a file is checked before it is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <functional>
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

// The limit of the format; it also limits the memory that opening a file may allocate.
inline constexpr uint64_t kMaxSafetensorsHeader = 100'000'000;

// One tensor of a file, as returned by SafetensorsFile::find().
struct SafetensorsEntry {
  std::string_view name;
  DType dtype = DType::F32;
  Shape shape;
  size_t num_bytes = 0;
};

class SafetensorsPart;

// Another name of a tensor in a file.
struct OtherName {
  HostString name;
  std::string_view stored;  // that in the file
};

// The description of a tensor in a file, whether or not heed supports its dtype and rank.
struct StoredTensor : SafetensorsEntry {
  // The name of the dtype in the file; `dtype` is only valid if has_known_dtype.
  std::string_view dtype_name;
  bool has_known_dtype = false;
  // The whole rank: `shape` holds the first kMaxRank dimensions only.
  uint64_t rank = 0;
  // The range of the tensor's bytes, relative to the first byte after the header.
  uint64_t begin = 0;
  uint64_t end = 0;
  // The file that contains it.
  const SafetensorsPart* part = nullptr;
};

// One file. Opening reads and checks only the header. Throws CorruptFile, naming the file, the tensor and the
// contradiction, or the kind of the file if it is another one; Io for errors of the system. A tensor that heed does not
// support (another dtype, more than kMaxRank dimensions) does not affect the others. All memory that the object keeps
// comes from the allocator.
class SafetensorsPart {
 public:
  SafetensorsPart(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator);
  SafetensorsPart(const SafetensorsPart&) = delete;
  SafetensorsPart& operator=(const SafetensorsPart&) = delete;

  std::string_view path() const { return source_->name(); }
  // Sorted bytewise by name.
  std::span<const StoredTensor> tensors() const { return tensors_; }
  // Null if there is none of this name.
  const StoredTensor* lookup(std::string_view name) const;
  // The names of tensors that were left out, since they were others once more: safetensors' save_model notes both names in
  // __metadata__.
  std::span<const OtherName> other_names() const { return other_names_; }
  // Reads num_bytes from byte `offset` of the tensor; the range must be inside the tensor.
  void read(const StoredTensor& tensor, uint64_t offset, size_t num_bytes, void* destination) const {
    source_->read(data_offset_ + tensor.begin + offset, destination, num_bytes);
  }

 private:
  std::shared_ptr<const ByteSource> source_;
  uint64_t data_offset_ = 0;
  // The memory of the texts in tensors_; each ends with a zero byte.
  HostVector<char> text_;
  HostVector<StoredTensor> tensors_;
  HostVector<OtherName> other_names_;
};

// When the files are opened, for a model in several files.
enum class Opening : int32_t {
  // A file is opened by the first find() of one of its tensors; only one thread at a time may use the object.
  WhenNeeded,
  // All files are opened by the constructor; const members may be called from many threads.
  AllAtOnce,
};

// The named tensors of a model, from one file or from all the files that an index names. Names are compared byte by
// byte. The path says which files:
//   path of a .safetensors file   that file
//   path of an index              the files that it names, in its folder; no other folder is searched
//   path of one of the files      the same if the index that belongs to its name (see safetensors_index.h) is beside
//                                 it, otherwise only that file
// Throws what SafetensorsPart and read_safetensors_index throw, and CorruptFile if a file has other tensors than the
// index says.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const char* path, const HostAllocator& allocator = {},
                           Opening opening = Opening::WhenNeeded);
  explicit SafetensorsFile(std::shared_ptr<const ByteSource> source, const HostAllocator& allocator = {});
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  // The name for error sentences: the path of the file or the index, or "memory".
  std::string_view path() const { return path_; }
  // The folder of the files: "." for a path without a folder, "" for memory.
  std::string folder() const { return is_in_memory_ ? std::string() : platform::folder_of(path_); }

  // Sorted bytewise.
  size_t num_tensors() const { return index_.names.size(); }
  std::string_view name(size_t index) const { return index_.names[index].name; }
  bool contains(std::string_view name) const { return lookup(name) != nullptr; }

  // The description of the tensor with that index.
  const StoredTensor& stored(size_t index) const;

  // Null if there is no tensor of this name; throws Unsupported if heed does not support the tensor. The entry lives as
  // long as this object.
  const SafetensorsEntry* find(std::string_view name) const;

  // Reads entry.num_bytes bytes; the entry must come from find() of this object.
  void read(const SafetensorsEntry& entry, void* destination) const;
  // The same for a range of the entry's bytes.
  void read(const SafetensorsEntry& entry, uint64_t offset, size_t num_bytes, void* destination) const;
  // Whether two tensors have the same dtype, shape and bytes.
  bool are_equal(const SafetensorsEntry& a, const SafetensorsEntry& b) const;

  // If the path names one of several files and there is no index beside it, so that the contents of the other files are
  // unknown: "part 1 of 3, whose index, "...", is not there". Otherwise empty.
  std::string lone_part_text() const;

  // Gives a tensor another name, which the file must not have, as if it were there twice.
  void add_name(std::string_view name, std::string_view stored);
  // Gives tensors the names that the file notes for them.
  void add_noted_names();
  // Whether the tensor of this name has another one, too.
  bool has_other_name(std::string_view name) const;

  // Removes what all names begin with from all of them.
  void remove_prefix(std::string_view prefix);
  // A name with the prefix that was removed, for sentences.
  std::string name_in_file(std::string_view name) const { return std::string(removed_prefix_).append(name); }

 private:
  void open_index(const ByteSource& source);
  void open_alone(std::shared_ptr<const ByteSource> source);
  const IndexedName* lookup(std::string_view name) const;
  const SafetensorsPart& part(size_t file) const;
  // Throws if the file has other tensors than the index says.
  void check_part(const SafetensorsPart& part, size_t file) const;

  HostAllocator allocator_;
  HostString path_;
  bool is_in_memory_ = false;
  bool is_lone_part_ = false;
  // For a single file this has only the names, which refer to the texts of the file's header.
  SafetensorsIndex index_;
  std::forward_list<HostString> added_names_;  // the memory of names that were added
  HostString removed_prefix_;
  // One for each of index_.files, or the single file; null until it is opened.
  mutable HostVector<std::shared_ptr<const SafetensorsPart>> parts_;
};

// A tensor to be saved: dense, row-major, in memory that the processor can read.
struct NamedTensor {
  std::string_view name;
  DType dtype = DType::F32;
  Shape shape;
  const void* data = nullptr;
  // If data is null: writes the elements to memory when the file is written. May throw.
  std::function<void(std::byte* destination)> read = nullptr;
};

// A text of a file's __metadata__. Both are UTF-8.
struct FileText {
  std::string_view name;
  std::string_view text;
};

// Writes a file with these tensors. Its __metadata__ has the text "format" and then `texts`. The file is replaced
// atomically; on failure an existing file is unchanged. The same tensors and texts give the same bytes. Names must be
// unique and UTF-8. No tensor may be named "__metadata__".
void save_safetensors(const char* path, std::span<const NamedTensor> tensors, std::span<const FileText> texts = {});

// Writes the bytes of the same file to memory and returns their number. With a null destination it only returns the
// number. Throws InvalidArgument, without writing anything, if capacity is too small.
size_t save_safetensors_to_memory(void* destination, size_t capacity, std::span<const NamedTensor> tensors,
                                  std::span<const FileText> texts = {});

}  // namespace heed
