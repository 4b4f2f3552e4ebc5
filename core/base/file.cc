// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <new>

#include "base/error.h"
#include "base/plain_locale.h"
#include "base/shown_text.h"

namespace heed {
namespace {

// Below what one system call moves at most on any supported system.
constexpr size_t kMaxTransfer = size_t{1} << 30;

[[noreturn]] void fail_on(const char* action, std::string_view path, int error) {
  const PlainLocale plain;
  const char* reason = plain.get() == nullptr ? nullptr : ::strerror_l(error, plain.get());
  fail(Status::Io, "cannot %s \"%s\": %s", action, shown(path).c_str(), reason == nullptr ? "unknown reason" : reason);
}

template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

[[noreturn]] void fail_not_regular(const char* action, std::string_view path, mode_t mode) {
  fail(Status::Io, "cannot %s \"%s\": it is %s, expected a regular file", action, shown(path).c_str(),
       S_ISDIR(mode) ? "a directory" : "a device, pipe or socket");
}

sigset_t size_signal() {
  sigset_t signals = {};
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGXFSZ);
  return signals;
}

std::string resolve_links(const char* path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path, nullptr), &std::free);
  // Without memory a link could not be told from a file, and would be replaced.
  if (!resolved && errno == ENOMEM) throw std::bad_alloc();
  if (!resolved && errno != ENOENT) fail_on("write", path, errno);
  struct stat status = {};
  if (!resolved && ::lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) {
    fail(Status::Io, "cannot write \"%s\": it is a link to a file that is not there, expected a file or a link to one",
         shown(path).c_str());
  }
  return resolved ? resolved.get() : path;
}

// Makes the new name last through a power failure where the file system can; the file itself is already safe, so a
// refusal changes nothing.
void sync_folder(const std::string& folder) noexcept {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

bool file_exists(const char* path) {
  struct stat status = {};
  return ::stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

NoCancellation::NoCancellation() noexcept { ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }

NoCancellation::~NoCancellation() { ::pthread_setcancelstate(before_, nullptr); }

NoSizeSignal::NoSizeSignal() noexcept {
  const sigset_t signals = size_signal();
  ::pthread_sigmask(SIG_BLOCK, &signals, &before_);
  sigset_t pending = {};
  ::sigpending(&pending);
  was_pending_ = ::sigismember(&pending, SIGXFSZ) == 1;
}

NoSizeSignal::~NoSizeSignal() {
  const sigset_t signals = size_signal();
  const timespec at_once = {};
  if (!was_pending_) retry_interrupted([&] { return ::sigtimedwait(&signals, nullptr, &at_once); });
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

FileSource::FileSource(const char* path, const HostAllocator& allocator) : path_(path, allocator) {
  const NoCancellation no_cancellation;
  // O_NONBLOCK: opening a pipe without a writer would wait forever; regular files do not know the flag.
  descriptor_ = retry_interrupted([&] { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  if (descriptor_ < 0) fail_on("open", path_, errno);
  try {
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) fail_on("open", path_, errno);
    if (!S_ISREG(status.st_mode)) fail_not_regular("read", path_, status.st_mode);
    num_bytes_ = static_cast<uint64_t>(status.st_size);
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

FileSource::~FileSource() {
  const NoCancellation no_cancellation;
  ::close(descriptor_);
}

void FileSource::read(uint64_t offset, void* destination, size_t num_bytes) const {
  const NoCancellation no_cancellation;
  char* next = static_cast<char*>(destination);
  for (size_t left = num_bytes; left > 0;) {
    const ssize_t got = retry_interrupted(
        [&] { return ::pread(descriptor_, next, std::min(left, kMaxTransfer), static_cast<off_t>(offset)); });
    if (got < 0) fail_on("read", path_, errno);
    if (got == 0) {
      fail(Status::Io, "cannot read \"%s\": it ended at byte %llu although it had %llu bytes when it was opened",
           shown(path_).c_str(), static_cast<unsigned long long>(offset), static_cast<unsigned long long>(num_bytes_));
    }
    next += got;
    offset += static_cast<uint64_t>(got);
    left -= static_cast<size_t>(got);
  }
}

AtomicFile::AtomicFile(const char* path) : path_(path), target_(resolve_links(path)) {
  mode_t mode = 0666;
  struct stat status = {};
  if (::stat(target_.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) fail_not_regular("write", path_, status.st_mode);
    // Renaming asks the folder alone; a file that its owner made read-only shall stay so.
    if (::faccessat(AT_FDCWD, target_.c_str(), W_OK, AT_EACCESS) != 0) fail_on("write", path_, errno);
    mode = status.st_mode & 0777;
  }
  // The name is short whatever the target's is, so that a target that can be named can be written.
  folder_ = folder_of(target_);
  const std::string prefix = folder_ + "/.heed-" + std::to_string(::getpid()) + "-";
  static std::atomic<uint64_t> next_number{0};
  do {
    temporary_ = prefix + std::to_string(next_number.fetch_add(1)) + ".tmp";
    descriptor_ =
        retry_interrupted([&] { return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode); });
  } while (descriptor_ < 0 && errno == EEXIST);
  if (descriptor_ < 0) fail_on("write", path_, errno);
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  temporary_.clear();
}

void AtomicFile::write(const void* source, size_t num_bytes) {
  const char* next = static_cast<const char*>(source);
  for (size_t left = num_bytes; left > 0;) {
    const ssize_t written = retry_interrupted([&] { return ::write(descriptor_, next, std::min(left, kMaxTransfer)); });
    if (written < 0) fail_on("write", path_, errno);
    next += written;
    left -= static_cast<size_t>(written);
  }
}

void AtomicFile::commit() {
  if (retry_interrupted([&] { return ::fsync(descriptor_); }) != 0) fail_on("write", path_, errno);
  // After a failed close the descriptor is gone all the same; closing twice could close another thread's file.
  const int closed = ::close(descriptor_);
  descriptor_ = -1;
  if (closed != 0 && errno != EINTR) fail_on("write", path_, errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail_on("write", path_, errno);
  temporary_.clear();
  sync_folder(folder_);
}

}  // namespace heed
