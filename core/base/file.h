// SPDX-License-Identifier: Apache-2.0
// Files, closed on every way out. Failures are Status::Io and name the path and the system's reason.
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "base/host_allocator.h"

namespace heed {

// The folder of a file: the path up to the last '/', or "." where the path has none.
std::string folder_of(std::string_view path);

// False only where the system says that there is none.
bool file_exists(const char* path);

// As long as it lives, its thread cannot be cancelled: reading and writing are points where it could, and a
// cancellation that unwinds through heed would end the process.
class NoCancellation {
 public:
  NoCancellation() noexcept;
  ~NoCancellation();
  NoCancellation(const NoCancellation&) = delete;
  NoCancellation& operator=(const NoCancellation&) = delete;

 private:
  int before_ = 0;
};

// As long as it lives, writing beyond the process's limit on files (RLIMIT_FSIZE) is an error as any other: the signal
// that comes with it, which would end the process, is held back from its thread and dropped.
class NoSizeSignal {
 public:
  NoSizeSignal() noexcept;
  ~NoSizeSignal();
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t before_{};
  // The host's own, which is left to it.
  bool was_pending_ = false;
};

// Bytes that a file format is read from; reading changes nothing, so many threads may read at once.
class ByteSource {
 public:
  ByteSource() = default;
  ByteSource(const ByteSource&) = delete;
  ByteSource& operator=(const ByteSource&) = delete;
  virtual ~ByteSource() = default;

  // What error sentences call the source, for a file its path.
  virtual std::string_view name() const = 0;
  virtual uint64_t num_bytes() const = 0;
  // All of offset .. offset + num_bytes or an error; the caller has checked the range against num_bytes().
  virtual void read(uint64_t offset, void* destination, size_t num_bytes) const = 0;
};

// A regular file, opened for reading. Its size is taken once, at the opening. What it keeps is the allocator's; it may
// be used and closed on other threads than the one that opened it.
class FileSource final : public ByteSource {
 public:
  explicit FileSource(const char* path, const HostAllocator& allocator = {});
  ~FileSource() override;

  std::string_view name() const override { return path_; }
  uint64_t num_bytes() const override { return num_bytes_; }
  void read(uint64_t offset, void* destination, size_t num_bytes) const override;

 private:
  HostString path_;
  int descriptor_ = -1;
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

// A file that appears whole or not at all: written beside its target under a name of its own, moved over the target by
// commit(). Without a commit, nothing is left behind and an older file stays as it was.
class AtomicFile {
 public:
  // A symbolic link is followed, so that the link stays one. The new file can be read by no one who could not read the
  // old one.
  explicit AtomicFile(const char* path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* source, size_t num_bytes);
  void commit();

 private:
  void discard() noexcept;

  NoCancellation no_cancellation_;
  NoSizeSignal no_size_signal_;
  std::string path_;
  std::string target_;
  // Of the target; made early, because after the rename nothing may fail any more.
  std::string folder_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace heed
