// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <cstddef>
#include <cstdio>
#include <exception>
#include <new>

namespace heed::capi {
namespace {

struct LastError {
  Status status = Status::Ok;
  char text[kErrorCapacity] = "";
};

// A fixed buffer: reporting that memory has run out must not need any.
thread_local LastError last_error;

static_assert(static_cast<int>(HEED_ERROR_INVALID_ARGUMENT) == static_cast<int>(Status::InvalidArgument));
static_assert(static_cast<int>(HEED_ERROR_OUT_OF_MEMORY) == static_cast<int>(Status::OutOfMemory));
static_assert(static_cast<int>(HEED_ERROR_UNSUPPORTED) == static_cast<int>(Status::Unsupported));
static_assert(static_cast<int>(HEED_ERROR_NOT_INITIALIZED) == static_cast<int>(Status::NotInitialized));
static_assert(static_cast<int>(HEED_ERROR_WORKSPACE_TOO_SMALL) == static_cast<int>(Status::WorkspaceTooSmall));
static_assert(static_cast<int>(HEED_ERROR_BUSY) == static_cast<int>(Status::Busy));
static_assert(static_cast<int>(HEED_ERROR_IO) == static_cast<int>(Status::Io));
static_assert(static_cast<int>(HEED_ERROR_CORRUPT_FILE) == static_cast<int>(Status::CorruptFile));
static_assert(static_cast<int>(HEED_ERROR_NOT_FOUND) == static_cast<int>(Status::NotFound));
static_assert(static_cast<int>(HEED_ERROR_CACHE_FULL) == static_cast<int>(Status::CacheFull));
static_assert(static_cast<int>(HEED_ERROR_DEVICE_UNAVAILABLE) == static_cast<int>(Status::DeviceUnavailable));
static_assert(static_cast<int>(HEED_ERROR_DEVICE_LOST) == static_cast<int>(Status::DeviceLost));
static_assert(static_cast<int>(HEED_ERROR_NOT_FASTEST) == static_cast<int>(Status::NotFastest));
static_assert(static_cast<int>(HEED_ERROR_INTERNAL) == static_cast<int>(Status::Internal));

}  // namespace

void set_last_error(Status status, const char* text) noexcept {
  last_error.status = status;
  size_t length = 0;
  for (; *text != '\0'; ++text) {
    const auto byte = static_cast<unsigned char>(*text);
    const bool printable = byte >= 0x20 && byte < 0x7f;
    const size_t width = printable ? 1 : 4;
    if (length + width >= kErrorCapacity) break;
    if (printable) {
      last_error.text[length] = *text;
    } else {
      std::snprintf(last_error.text + length, width + 1, "\\x%02x", byte);
    }
    length += width;
  }
  last_error.text[length] = '\0';
}

heed_status report_current_exception() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    set_last_error(error.status, error.text);
  } catch (const std::bad_alloc&) {
    set_last_error(Status::OutOfMemory, "memory for heed's own objects could not be allocated");
  } catch (const std::exception& exception) {
    char text[kErrorCapacity];
    std::snprintf(text, sizeof text, "an internal check failed (%s): please report this as a defect of heed",
                  exception.what());
    set_last_error(Status::Internal, text);
  } catch (...) {
    set_last_error(Status::Internal,
                   "an exception of unknown type was stopped: please report this as a defect of heed");
  }
  return static_cast<heed_status>(last_error.status);
}

}  // namespace heed::capi

extern "C" {

heed_status heed_last_status(void) noexcept { return static_cast<heed_status>(heed::capi::last_error.status); }

const char* heed_last_error(void) noexcept { return heed::capi::last_error.text; }

const char* heed_status_name(heed_status status) noexcept {
  switch (status) {
    case HEED_OK: return "HEED_OK";
    case HEED_ERROR_INVALID_ARGUMENT: return "HEED_ERROR_INVALID_ARGUMENT";
    case HEED_ERROR_OUT_OF_MEMORY: return "HEED_ERROR_OUT_OF_MEMORY";
    case HEED_ERROR_UNSUPPORTED: return "HEED_ERROR_UNSUPPORTED";
    case HEED_ERROR_NOT_INITIALIZED: return "HEED_ERROR_NOT_INITIALIZED";
    case HEED_ERROR_WORKSPACE_TOO_SMALL: return "HEED_ERROR_WORKSPACE_TOO_SMALL";
    case HEED_ERROR_BUSY: return "HEED_ERROR_BUSY";
    case HEED_ERROR_IO: return "HEED_ERROR_IO";
    case HEED_ERROR_CORRUPT_FILE: return "HEED_ERROR_CORRUPT_FILE";
    case HEED_ERROR_NOT_FOUND: return "HEED_ERROR_NOT_FOUND";
    case HEED_ERROR_CACHE_FULL: return "HEED_ERROR_CACHE_FULL";
    case HEED_ERROR_DEVICE_UNAVAILABLE: return "HEED_ERROR_DEVICE_UNAVAILABLE";
    case HEED_ERROR_DEVICE_LOST: return "HEED_ERROR_DEVICE_LOST";
    case HEED_ERROR_NOT_FASTEST: return "HEED_ERROR_NOT_FASTEST";
    case HEED_ERROR_INTERNAL: return "HEED_ERROR_INTERNAL";
  }
  return "HEED_ERROR_UNKNOWN";
}

}  // extern "C"
