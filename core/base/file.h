// SPDX-License-Identifier: Apache-2.0
// Files that are closed by their destructors, also after an exception. Failures are Status::Io and name the path and
// the system's reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/host_allocator.h"
#include "platform/file_io.h"
#include "platform/threads.h"

namespace heed {

// The bytes that a file format is read from. Reading changes nothing, so many threads may read at once.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // The source's name in error sentences; for a file its path.
  virtual std::string_view name() const = 0;
  virtual uint64_t num_bytes() const = 0;
  // Reads all of offset .. offset + num_bytes or throws; the caller has checked the range against num_bytes().
  virtual void read(uint64_t offset, void* destination, size_t num_bytes) const = 0;
};

// A regular file, opened for reading. Its size is read once, when it is opened. Its memory comes from the allocator.
// Any thread may use and close it.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const char* path, const HostAllocator& allocator = {});
  ~FileSource() override;

  std::string_view name() const override { return path_; }
  uint64_t num_bytes() const override { return num_bytes_; }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override;

 private:
  HostString path_;
  platform::FileHandle file_ = platform::kNoFile;
  uint64_t num_bytes_ = 0;
};

// Bytes in the caller's memory, which must outlive the source.
class MemorySource final : public ByteSource {
 public:
  MemorySource(const void* data, size_t num_bytes) : data_(static_cast<const char*>(data)), num_bytes_(num_bytes) {}

  std::string_view name() const override { return "memory"; }
  uint64_t num_bytes() const override { return num_bytes_; }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override {
    if (num_bytes > 0) std::memcpy(destination, data_ + offset, num_bytes);
  }

 private:
  const char* data_;
  size_t num_bytes_;
};

// A file that replaces its target atomically: it is written under a temporary name in the target's folder, and commit()
// renames it to the target. Without a commit, the temporary file is removed and an existing target stays unchanged.
class AtomicFile {
 public:
  // A symbolic link stays a link: the file that it points to is replaced. The new file has the permissions of the old
  // one.
  explicit AtomicFile(const char* path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* source, size_t num_bytes);
  void commit();

 private:
  void discard() noexcept;

  platform::NoCancellation no_cancellation_;
  platform::NoSizeSignal no_size_signal_;
  std::string path_;
  platform::WriteTarget target_;
  // The target's folder; allocated early, because nothing may fail after the rename.
  std::string folder_;
  std::string temporary_;
  platform::FileHandle file_ = platform::kNoFile;
};

}  // namespace heed
