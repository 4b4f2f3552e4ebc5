// SPDX-License-Identifier: Apache-2.0
// What libheed defines itself, because the glibc that it is built with has it in a version that older systems lack. The
// linker takes these hidden definitions for heed's code and for the C++ library inside libheed, which was compiled before.
// older_glibc_<processor>.cc has the functions that older systems have in an older version.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// The C library declares them. NOLINTBEGIN(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
extern "C" {

// Since 2.32. Where it is false, the C++ library counts references with atomic instructions, as it must when there are threads.
extern char __libc_single_threaded;
char __libc_single_threaded = 0;

// Since 2.33; before, programs contained them. On processors of 64 bits the kernel's structure is glibc's.
int stat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, 0));
}

int lstat(const char* path, struct stat* status) noexcept {
  return static_cast<int>(::syscall(SYS_newfstatat, AT_FDCWD, path, status, AT_SYMLINK_NOFOLLOW));
}

int fstat(int file, struct stat* status) noexcept { return static_cast<int>(::syscall(SYS_fstat, file, status)); }

}  // extern "C"
// NOLINTEND(readability-identifier-naming,readability-inconsistent-declaration-parameter-name)
