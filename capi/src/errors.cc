// SPDX-License-Identifier: Apache-2.0
#include "errors.h"

#include <exception>
#include <new>

#include "base/last_error.h"

namespace heed::capi {
namespace {

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
static_assert(static_cast<int>(HEED_ERROR_CANCELLED) == static_cast<int>(Status::Cancelled));
static_assert(static_cast<int>(HEED_ROLE_TEXT) == static_cast<int>(Role::Text));
static_assert(static_cast<int>(HEED_ROLE_OPTION) == static_cast<int>(Role::Option));
static_assert(static_cast<int>(HEED_ROLE_SETTING) == static_cast<int>(Role::Setting));
static_assert(static_cast<int>(HEED_ROLE_FLAG) == static_cast<int>(Role::Flag));
static_assert(static_cast<int>(HEED_ROLE_INPUT) == static_cast<int>(Role::Input));
static_assert(static_cast<int>(HEED_ROLE_OUTPUT) == static_cast<int>(Role::Output));
static_assert(static_cast<int>(HEED_ROLE_MEMBER) == static_cast<int>(Role::Member));
static_assert(static_cast<int>(HEED_ROLE_ARGUMENT) == static_cast<int>(Role::Argument));
static_assert(static_cast<int>(HEED_ROLE_CONSTANT) == static_cast<int>(Role::Constant));
static_assert(static_cast<int>(HEED_ROLE_FUNCTION) == static_cast<int>(Role::Function));
static_assert(static_cast<int>(HEED_ROLE_KIND) == static_cast<int>(Role::Kind));
static_assert(static_cast<int>(HEED_ROLE_DTYPE) == static_cast<int>(Role::DType));
static_assert(static_cast<int>(HEED_ROLE_WORD) == static_cast<int>(Role::Word));
static_assert(static_cast<int>(HEED_LOG_ERROR) == static_cast<int>(LogLevel::Error));
static_assert(static_cast<int>(HEED_LOG_WARNING) == static_cast<int>(LogLevel::Warning));
static_assert(static_cast<int>(HEED_LOG_INFO) == static_cast<int>(LogLevel::Info));
static_assert(static_cast<int>(HEED_LOG_DEBUG) == static_cast<int>(LogLevel::Debug));

Error current_exception() noexcept {
  Error failure;
  try {
    throw;
  } catch (const Error& error) {
    failure = error;
  } catch (const std::bad_alloc&) {
    failure.say(Status::OutOfMemory, "memory for heed's own objects could not be allocated");
  } catch (const std::exception& exception) {
    failure.say(Status::Internal, "an internal check failed (%s): please report this as a defect of heed",
                exception.what());
  } catch (...) {
    failure.say(Status::Internal, "an exception of unknown type was stopped: please report this as a defect of heed");
  }
  return failure;
}

}  // namespace

void set_last_error(Status status, const char* sentence) noexcept {
  LastError& error = last_error();
  error.status = status;
  error.sentence.keep(sentence);
}

void keep_current_exception() noexcept {
  const Error failure = current_exception();
  set_last_error(failure.status, failure.marked);
}

// The logger may call heed, and its call may fail; log() then restores the last error of the caller's call.
heed_status report_last_error(const char* function, const Logger& logger) noexcept {
  char marked[kMarkedCapacity];
  last_error().sentence.mark(marked);
  log(logger, LogLevel::Error, FUNCTION("%s") ": %s", function, marked);
  return static_cast<heed_status>(last_error().status);
}

}  // namespace heed::capi

extern "C" {

heed_status heed_last_status(void) noexcept { return static_cast<heed_status>(heed::last_error().status); }

const char* heed_last_error(void) noexcept { return heed::last_error().sentence.text; }

const char* heed_message_part(const char* message, int32_t index, heed_role* role, size_t* size) noexcept {
  const auto give = [=](auto parts) -> const char* {
    heed::SentencePart part;
    for (int32_t i = 0; i <= index; ++i) {
      if (!parts.next(part)) return nullptr;
    }
    *role = static_cast<heed_role>(part.role);
    *size = part.text.size();
    return part.text.data();
  };
  if (index < 0 || role == nullptr || size == nullptr) return nullptr;
  const heed::LogMessage* const logged = heed::current_message();
  if (logged != nullptr && message == logged->text) return give(heed::SentenceParts(logged->marked));
  const heed::KeptSentence& kept = heed::last_error().sentence;
  return message == kept.text ? give(heed::KeptParts(kept)) : nullptr;
}

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
    case HEED_ERROR_CANCELLED: return "HEED_ERROR_CANCELLED";
  }
  return "HEED_ERROR_UNKNOWN";
}

}  // extern "C"
