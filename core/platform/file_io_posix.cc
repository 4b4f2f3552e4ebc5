// SPDX-License-Identifier: Apache-2.0
#include "platform/file_io.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <new>

namespace heed::platform {
namespace {

// Less than the most bytes that one system call transfers on any supported system.
constexpr size_t kMaxTransfer = size_t{1} << 30;

template <class Call>
auto retry_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

int descriptor_of(FileHandle file) { return static_cast<int>(file); }

// The result of a call that returns -1 with errno, as an error number.
int error_of(int result) { return result < 0 ? errno : 0; }

FileKind kind_of(mode_t mode) {
  if (S_ISREG(mode)) return FileKind::Regular;
  return S_ISDIR(mode) ? FileKind::Directory : FileKind::Other;
}

sigset_t size_signal() {
  sigset_t signals = {};
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  return signals;
}

}  // namespace

std::string folder_of(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string_view::npos) return ".";
  return std::string(path.substr(0, slash == 0 ? 1 : slash));
}

bool file_exists(const char* path) noexcept {
  struct stat status = {};
  return ::stat(path, &status) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int open_to_read(const char* path, FileHandle* file) noexcept {
  // O_NONBLOCK: opening a pipe without a writer would wait forever; it has no effect on regular files.
  const int opened = retry_interrupted([&] { return ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); });
  if (opened < 0) return errno;
  *file = opened;
  return 0;
}

int status_of(FileHandle file, FileKind* kind, uint64_t* num_bytes) noexcept {
  struct stat status = {};
  if (::fstat(descriptor_of(file), &status) != 0) return errno;
  *kind = kind_of(status.st_mode);
  *num_bytes = static_cast<uint64_t>(status.st_size);
  return 0;
}

int read_at(FileHandle file, uint64_t offset, void* destination, size_t num_bytes, size_t* num_read) noexcept {
  char* const bytes = static_cast<char*>(destination);
  for (*num_read = 0; *num_read < num_bytes;) {
    const ssize_t got = retry_interrupted([&] {
      return ::pread(descriptor_of(file), bytes + *num_read, std::min(num_bytes - *num_read, kMaxTransfer),
                     static_cast<off_t>(offset + *num_read));
    });
    if (got < 0) return errno;
    if (got == 0) break;
    *num_read += static_cast<size_t>(got);
  }
  return 0;
}

void close_file(FileHandle file) noexcept { ::close(descriptor_of(file)); }

int resolve_target(const char* path, WriteTarget* target) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path, nullptr), &std::free);
  // realpath fails when there is no memory; going on would replace a link by a file.
  if (!resolved && errno == ENOMEM) throw std::bad_alloc();
  if (!resolved && errno != ENOENT) return errno;
  struct stat status = {};
  target->kind = FileKind::Missing;
  if (!resolved && ::lstat(path, &status) == 0 && S_ISLNK(status.st_mode)) target->kind = FileKind::BrokenLink;
  target->path = resolved ? resolved.get() : path;
  target->permissions = 0666;
  if (::stat(target->path.c_str(), &status) != 0) return 0;
  target->kind = kind_of(status.st_mode);
  if (target->kind != FileKind::Regular) return 0;
  target->permissions = status.st_mode & 0777;
  // Renaming needs a right on the folder only; a file that its owner made read-only must stay so.
  return error_of(::faccessat(AT_FDCWD, target->path.c_str(), W_OK, AT_EACCESS));
}

int create_file(const char* path, uint32_t permissions, FileHandle* file) noexcept {
  const int opened = retry_interrupted(
      [&] { return ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, static_cast<mode_t>(permissions)); });
  if (opened < 0) return errno;
  *file = opened;
  return 0;
}

int write_file(FileHandle file, const void* source, size_t num_bytes) noexcept {
  const char* next = static_cast<const char*>(source);
  for (size_t left = num_bytes; left > 0;) {
    const ssize_t written =
        retry_interrupted([&] { return ::write(descriptor_of(file), next, std::min(left, kMaxTransfer)); });
    if (written < 0) return errno;
    next += written;
    left -= static_cast<size_t>(written);
  }
  return 0;
}

int sync_file(FileHandle file) noexcept {
  return error_of(retry_interrupted([&] { return ::fsync(descriptor_of(file)); }));
}

// Also after a failed close the descriptor is closed; closing it twice could close another thread's file.
int close_written(FileHandle file) noexcept {
  const int error = error_of(::close(descriptor_of(file)));
  return error == EINTR ? 0 : error;
}

int replace_file(const char* path, const char* target) noexcept { return error_of(std::rename(path, target)); }

void remove_file(const char* path) noexcept { ::unlink(path); }

void sync_folder(const char* path) noexcept {
  const int folder = ::open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

NoSizeSignal::NoSizeSignal() noexcept {
  const sigset_t signals = size_signal();
  sigset_t before = {};
  ::pthread_sigmask(SIG_BLOCK, &signals, &before);
  was_blocked_ = sigismember(&before, SIGXFSZ) == 1;
  sigset_t pending = {};
  ::sigpending(&pending);
  was_pending_ = sigismember(&pending, SIGXFSZ) == 1;
}

NoSizeSignal::~NoSizeSignal() {
  const sigset_t signals = size_signal();
  const timespec at_once = {};
  if (!was_pending_) retry_interrupted([&] { return ::sigtimedwait(&signals, nullptr, &at_once); });
  if (!was_blocked_) ::pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
}

}  // namespace heed::platform
