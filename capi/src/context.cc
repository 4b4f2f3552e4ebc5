// SPDX-License-Identifier: Apache-2.0
// Version, devices, contexts.
#include <heed/heed.h>

#include <cinttypes>

#include "arguments.h"
#include "base/json_writer.h"
#include "errors.h"
#include "handles.h"
#include "platform/floating_point_environment.h"

namespace heed::capi {
namespace {

static_assert(static_cast<int>(HEED_DEVICE_CPU) == static_cast<int>(DeviceKind::Cpu));
static_assert(static_cast<int>(HEED_DEVICE_ASCEND) == static_cast<int>(DeviceKind::Ascend));

constexpr const char* kDeviceNames = CONSTANT("HEED_DEVICE_CPU") " (0) or " CONSTANT("HEED_DEVICE_ASCEND") " (1)";

constexpr size_t kFirstContextOptionsSize = 56;
constexpr size_t kFirstAllocatorSize = 32;
constexpr size_t kFirstExecutorSize = 32;
constexpr size_t kFirstLoggerSize = 24;

#define HEED_TEXT_OF(number) #number
#define HEED_TEXT(number) HEED_TEXT_OF(number)
constexpr const char* kVersionText =
    HEED_TEXT(HEED_VERSION_MAJOR) "." HEED_TEXT(HEED_VERSION_MINOR) "." HEED_TEXT(HEED_VERSION_PATCH);
#undef HEED_TEXT
#undef HEED_TEXT_OF

HostAllocator read_allocator(const heed_allocator* given) {
  if (given == nullptr) return {};
  const heed_allocator read =
      read_struct(given, HEED_ALLOCATOR_INIT, kFirstAllocatorSize, OPTION("allocator"), "HEED_ALLOCATOR_INIT");
  return {.allocate = require(read.allocate, OPTION("allocator->allocate")),
          .release = require(read.release, OPTION("allocator->release")),
          .user = read.user};
}

Executor read_executor(const heed_executor* given) {
  if (given == nullptr) return {};
  const heed_executor read =
      read_struct(given, HEED_EXECUTOR_INIT, kFirstExecutorSize, OPTION("executor"), "HEED_EXECUTOR_INIT");
  const auto parallel_for = require(read.parallel_for, OPTION("executor->parallel_for"));
  if (read.num_threads < 1 || read.num_threads > kMaxThreads) {
    fail(Status::InvalidArgument, OPTION("executor->num_threads") " is %" PRId64 ", expected 1 to %d", read.num_threads,
         kMaxThreads);
  }
  return {.parallel_for = parallel_for, .num_threads = static_cast<int32_t>(read.num_threads), .user = read.user};
}

Logger read_logger(const heed_logger* given) {
  if (given == nullptr) return {};
  const heed_logger read = read_struct(given, HEED_LOGGER_INIT, kFirstLoggerSize, OPTION("logger"), "HEED_LOGGER_INIT");
  return {.write = require(read.write, OPTION("logger->write")), .user = read.user};
}

ContextOptions read_options(const heed_context_options* given) {
  const heed_context_options options =
      read_struct(given, HEED_CONTEXT_OPTIONS_INIT, kFirstContextOptionsSize, "options", "HEED_CONTEXT_OPTIONS_INIT");
  ContextOptions result;
  result.device = read_enum(options.device, DeviceKind::Ascend, OPTION("device"), kDeviceNames);
  result.device_index = options.device_index;
  result.num_threads = options.num_threads;
  result.strict = read_flag(options.strict, OPTION("strict"));
  result.allow_reduced_precision = read_flag(options.allow_reduced_precision, OPTION("allow_reduced_precision"));
  result.flush_subnormals = read_flag(options.flush_subnormals, OPTION("flush_subnormals"));
  result.allocator = read_allocator(options.allocator);
  result.executor = read_executor(options.executor);
  result.logger = read_logger(options.logger);
  return result;
}

}  // namespace
}  // namespace heed::capi

using namespace heed;        // NOLINT(google-build-using-namespace): the functions below are C
using namespace heed::capi;  // NOLINT(google-build-using-namespace)

extern "C" {

int32_t heed_version(void) noexcept { return HEED_VERSION; }

const char* heed_version_string(void) noexcept { return kVersionText; }

int32_t heed_device_count(heed_device device) noexcept {
  return guarded_value<int32_t>(0, [&] {
    // The function may load a driver, which then runs in the default environment.
    const heed::platform::FloatingPointEnvironment environment;
    return count_devices(read_enum(static_cast<int32_t>(device), DeviceKind::Ascend, "device", kDeviceNames));
  });
}

heed_status heed_context_create(const heed_context_options* options, heed_context** context) noexcept {
  return guarded([&] {
    require(context, "context");
    const std::shared_ptr<Context> opened = Context::open(read_options(options));
    *context = make_handle(heed_context{opened});
    log(opened->logger(), LogLevel::Info, FUNCTION("heed_context_create") ": heed %s on %s (%s), threads: %d",
        kVersionText, opened->device_name(), opened->describe(), opened->num_threads());
  });
}

void heed_context_destroy(heed_context* context) noexcept { destroy_handle(context); }

heed_status heed_context_synchronize(heed_context* context) noexcept {
  return guarded(__func__, context, [&] { require(context, "context")->context->synchronize(); });
}

heed_status heed_context_trim(heed_context* context) noexcept {
  return guarded(__func__, context, [&] { require(context, "context")->context->trim(); });
}

heed_status heed_context_describe(const heed_context* context, char* text, size_t capacity,
                                  size_t* num_bytes) noexcept {
  return guarded(__func__, context, [&] {
    const Context& self = *require(context, "context")->context;
    JsonWriter json;
    json.begin_object();
    json.member("device", self.backend().name);
    json.member("device_index", self.options().device_index);
    json.member("isa", self.isa());
    json.member("num_threads", self.num_threads());
    json.member("strict", self.options().strict);
    json.member("allow_reduced_precision", self.options().allow_reduced_precision);
    json.member("flush_subnormals", self.options().flush_subnormals);
    json.member("allocator", self.options().allocator == HostAllocator{} ? "heed" : "host");
    json.member("executor", self.options().executor.parallel_for == nullptr ? "heed" : "host");
    json.member("logger", self.options().logger.write != nullptr);
    json.member("version", kVersionText);
    json.member("description", self.describe());
    json.end_object();
    write_text(json.text(), text, capacity, num_bytes);
  });
}

}  // extern "C"
