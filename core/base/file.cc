// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <atomic>
#include <cerrno>

#include "base/error.h"
#include "base/shown_text.h"
#include "platform/process.h"

namespace heed {
namespace {

using platform::FileKind;
using platform::kNoFile;
using platform::NoCancellation;

[[noreturn]] void fail_on(const char* action, std::string_view path, int error) {
  fail(Status::Io, "cannot %s \"%s\": %s", action, shown(path).c_str(), platform::error_words(error));
}

[[noreturn]] void fail_not_regular(const char* action, std::string_view path, FileKind kind) {
  fail(Status::Io, "cannot %s \"%s\": it is %s, expected a regular file", action, shown(path).c_str(),
       kind == FileKind::Directory ? "a directory" : "a device, pipe or socket");
}

}  // namespace

FileSource::FileSource(const char* path, const HostAllocator& allocator) : path_(path, allocator) {
  const NoCancellation no_cancellation;
  if (const int error = platform::open_to_read(path, &file_); error != 0) fail_on("open", path_, error);
  try {
    FileKind kind = FileKind::Missing;
    if (const int error = platform::status_of(file_, &kind, &num_bytes_); error != 0) fail_on("open", path_, error);
    if (kind != FileKind::Regular) fail_not_regular("read", path_, kind);
  } catch (...) {
    platform::close_file(file_);
    throw;
  }
}

FileSource::~FileSource() {
  const NoCancellation no_cancellation;
  platform::close_file(file_);
}

void FileSource::read(uint64_t offset, void* destination, size_t num_bytes) const {
  const NoCancellation no_cancellation;
  size_t num_read = 0;
  const int error = platform::read_at(file_, offset, destination, num_bytes, &num_read);
  if (error != 0) fail_on("read", path_, error);
  if (num_read < num_bytes) {
    const unsigned long long end = offset + num_read;
    fail(Status::Io, "cannot read \"%s\": it ended at byte %llu although it had %llu bytes when it was opened",
         shown(path_).c_str(), end, static_cast<unsigned long long>(num_bytes_));
  }
}

AtomicFile::AtomicFile(const char* path) : path_(path) {
  if (const int error = platform::resolve_target(path, &target_); error != 0) fail_on("write", path_, error);
  if (target_.kind == FileKind::BrokenLink) {
    fail(Status::Io, "cannot write \"%s\": it is a link to a file that is not there, expected a file or a link to one",
         shown(path).c_str());
  }
  if (target_.kind != FileKind::Missing && target_.kind != FileKind::Regular)
    fail_not_regular("write", path_, target_.kind);
  // The temporary name is short and does not contain the target's, so that every target with a valid name can be
  // written.
  folder_ = platform::folder_of(target_.path);
  const std::string prefix = folder_ + "/.heed-" + std::to_string(platform::process_id()) + "-";
  static std::atomic<uint64_t> next_number{0};
  int error = 0;
  do {
    temporary_ = prefix + std::to_string(next_number.fetch_add(1)) + ".tmp";
    error = platform::create_file(temporary_.c_str(), target_.permissions, &file_);
  } while (error == EEXIST);
  if (error != 0) fail_on("write", path_, error);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (file_ != kNoFile) platform::close_file(file_);
  file_ = kNoFile;
  if (!temporary_.empty()) platform::remove_file(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::write(const void* source, size_t num_bytes) {
  if (const int error = platform::write_file(file_, source, num_bytes); error != 0) fail_on("write", path_, error);
}

void AtomicFile::commit() {
  if (const int error = platform::sync_file(file_); error != 0) fail_on("write", path_, error);
  const int close_error = platform::close_written(file_);
  file_ = kNoFile;
  if (close_error != 0) fail_on("write", path_, close_error);
  const int error = platform::replace_file(temporary_.c_str(), target_.path.c_str());
  if (error != 0) fail_on("write", path_, error);
  temporary_.clear();
  // The file itself is safe already, so a failure here changes nothing.
  platform::sync_folder(folder_.c_str());
}

}  // namespace heed
