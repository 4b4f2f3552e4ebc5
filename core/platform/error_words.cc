// SPDX-License-Identifier: Apache-2.0
// The texts of glibc's "C" locale. strerror would use the locale that the host has set, and other texts on other
// systems; error sentences are the same everywhere.
#include <cerrno>

#include "platform/file_io.h"

namespace heed::platform {

const char* error_words(int error) noexcept {
  switch (error) {
    case E2BIG: return "Argument list too long";
    case EACCES: return "Permission denied";
    case EAGAIN: return "Resource temporarily unavailable";
    case EBADF: return "Bad file descriptor";
    case EBADMSG: return "Bad message";
    case EBUSY: return "Device or resource busy";
    case ECANCELED: return "Operation canceled";
    case ECONNREFUSED: return "Connection refused";
    case ECONNRESET: return "Connection reset by peer";
    case EDEADLK: return "Resource deadlock avoided";
    case EEXIST: return "File exists";
    case EFAULT: return "Bad address";
    case EFBIG: return "File too large";
    case EHOSTUNREACH: return "No route to host";
    case EINTR: return "Interrupted system call";
    case EINVAL: return "Invalid argument";
    case EIO: return "Input/output error";
    case EISDIR: return "Is a directory";
    case ELOOP: return "Too many levels of symbolic links";
    case EMFILE: return "Too many open files";
    case EMLINK: return "Too many links";
    case ENAMETOOLONG: return "File name too long";
    case ENETDOWN: return "Network is down";
    case ENETRESET: return "Network dropped connection on reset";
    case ENETUNREACH: return "Network is unreachable";
    case ENFILE: return "Too many open files in system";
    case ENOBUFS: return "No buffer space available";
    case ENODEV: return "No such device";
    case ENOENT: return "No such file or directory";
    case ENOLCK: return "No locks available";
    case ENOLINK: return "Link has been severed";
    case ENOMEM: return "Cannot allocate memory";
    case ENOSPC: return "No space left on device";
    case ENOSYS: return "Function not implemented";
    case ENOTCONN: return "Transport endpoint is not connected";
    case ENOTDIR: return "Not a directory";
    case ENOTEMPTY: return "Directory not empty";
    case ENOTRECOVERABLE: return "State not recoverable";
    case ENOTSUP: return "Operation not supported";
    case ENOTTY: return "Inappropriate ioctl for device";
    case ENXIO: return "No such device or address";
    case EOVERFLOW: return "Value too large for defined data type";
    case EOWNERDEAD: return "Owner died";
    case EPERM: return "Operation not permitted";
    case EPIPE: return "Broken pipe";
    case EPROTO: return "Protocol error";
    case EROFS: return "Read-only file system";
    case ESPIPE: return "Illegal seek";
    case ETIMEDOUT: return "Connection timed out";
    case ETXTBSY: return "Text file busy";
    case EXDEV:
      return "Invalid cross-device link";
// Errors of network file systems on POSIX systems.
#ifdef ESTALE
    case EDQUOT: return "Disk quota exceeded";
    case EHOSTDOWN: return "Host is down";
    case ESTALE: return "Stale file handle";
#endif
// Errors of Linux's file systems and drivers.
#ifdef EUCLEAN
    case ECOMM: return "Communication error on send";
    case EKEYEXPIRED: return "Key has expired";
    case EKEYREJECTED: return "Key was rejected by service";
    case EKEYREVOKED: return "Key has been revoked";
    case EMEDIUMTYPE: return "Wrong medium type";
    case ENODATA: return "No data available";
    case ENOKEY: return "Required key not available";
    case ENOMEDIUM: return "No medium found";
    case ENONET: return "Machine is not on the network";
    case EREMOTEIO: return "Remote I/O error";
    case ETIME: return "Timer expired";
    case EUCLEAN: return "Structure needs cleaning";
#endif
    default: return "unknown reason";
  }
}

}  // namespace heed::platform
