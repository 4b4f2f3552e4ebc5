// SPDX-License-Identifier: Apache-2.0
// Files as the operating system has them. Functions that can fail return 0 or a number of <cerrno>, for which
// error_words() has the sentence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace heed::platform {

// A file descriptor of POSIX, a HANDLE of Windows.
using FileHandle = intptr_t;
inline constexpr FileHandle kNoFile = -1;

enum class FileKind : int32_t { Missing, Regular, Directory, Other, BrokenLink };

// The English sentence for a number of <cerrno>, the same on every system and in every locale; "unknown reason" for
// other numbers. Static text.
const char* error_words(int error) noexcept;

// The part of a path before its last separator, or "." for a path without one.
std::string folder_of(std::string_view path);

// False only where the system reports that there is no such file.
bool file_exists(const char* path) noexcept;

// Opens without blocking, even if path is a pipe without a writer.
int open_to_read(const char* path, FileHandle* file) noexcept;
// Kind and size of an open file.
int status_of(FileHandle file, FileKind* kind, uint64_t* num_bytes) noexcept;
// Reads num_bytes at offset, fewer only at the end of the file. Many threads may read one file at once.
int read_at(FileHandle file, uint64_t offset, void* destination, size_t num_bytes, size_t* num_read) noexcept;
void close_file(FileHandle file) noexcept;

// The file that a path to write to refers to.
struct WriteTarget {
  // BrokenLink: a symbolic link to a file that does not exist.
  FileKind kind = FileKind::Missing;
  // Symbolic links are resolved.
  std::string path;
  // Permissions for create_file: those of the existing file, or the system's default for new files.
  uint32_t permissions = 0;
};
// Fails where the path cannot be resolved, and for a regular file that this process may not write. Throws
// std::bad_alloc.
int resolve_target(const char* path, WriteTarget* target);

// Creates a file and opens it for writing; fails with EEXIST if the path exists.
int create_file(const char* path, uint32_t permissions, FileHandle* file) noexcept;
int write_file(FileHandle file, const void* source, size_t num_bytes) noexcept;
// Waits until the content is on the disk.
int sync_file(FileHandle file) noexcept;
// Closes a file that was written; the handle is invalid afterwards, also on failure.
int close_written(FileHandle file) noexcept;
// Renames atomically; an existing file at target is replaced.
int replace_file(const char* path, const char* target) noexcept;
void remove_file(const char* path) noexcept;
// Writes the names in a folder to the disk, if the file system can, so that they survive a power failure.
void sync_folder(const char* path) noexcept;

// In its scope, writing beyond the process's limit on file sizes (RLIMIT_FSIZE) fails with EFBIG. Without it the system
// would also send the signal SIGXFSZ, which by default ends the process. The signal is blocked for this thread, and one
// that a write in the scope caused is removed at the end.
class NoSizeSignal {
 public:
  NoSizeSignal() noexcept;
  ~NoSizeSignal();
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  bool was_blocked_ = false;
  // Whether the signal was pending before the scope: then it is the host's and stays pending.
  bool was_pending_ = false;
};

}  // namespace heed::platform
