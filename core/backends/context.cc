// SPDX-License-Identifier: Apache-2.0
#include "backends/context.h"

#include <cstdio>
#include <string>
#include <utility>

#include "backends/cpu/cpu_backend.h"
#include "base/error.h"

namespace heed {
namespace {

[[noreturn]] void raise(const Failure& failure) { throw Error(failure); }

const Backend& backend_of(DeviceKind kind) {
  if (kind == DeviceKind::Cpu) return cpu_backend();
  fail(Status::DeviceUnavailable,
       "device is HEED_DEVICE_ASCEND, for which this heed has no plugin: expected HEED_DEVICE_CPU, or a heed "
       "built with the Ascend backend");
}

}  // namespace

int32_t count_devices(DeviceKind kind) {
  backend_of(kind);
  return 1;
}

std::shared_ptr<Context> Context::open(const ContextOptions& options) {
  return open(options, backend_of(options.device));
}

std::shared_ptr<Context> Context::open(const ContextOptions& options, const Backend& backend) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    fail(Status::InvalidArgument, "options->num_threads is %d, expected 0 (as many as the process may use) to %d",
         options.num_threads, kMaxThreads);
  }
  if (backend.version != kBackendVersion) {
    fail(Status::DeviceUnavailable, "backend %s has interface version %d, expected %d: it was built for another heed",
         backend.name, backend.version, kBackendVersion);
  }
  return host_make_shared<Context>(options.allocator, Key(), options, backend);
}

Context::Context(Key, const ContextOptions& options, const Backend& backend)
    : Memory(options.allocator, options.logger),
      options_(options),
      backend_(&backend),
      device_name_(backend.name, options.allocator) {
  device_name_ += ":";
  device_name_ += std::to_string(options.device_index);
  const BackendOptions backend_options = {
      .device_index = options.device_index,
      .num_threads = options.num_threads,
      .allow_reduced_precision = options.allow_reduced_precision ? 1 : 0,
      .allocator = options.allocator,
      .executor = options.executor,
  };
  Failure failure;
  if (backend_->open(&backend_options, &device_, &failure) != Status::Ok) raise(failure);
}

Context::~Context() {
  for (auto& place : pool_) {
    if (PooledScratch::Block* block = place.load(std::memory_order_acquire); block != nullptr) destroy(block);
  }
  backend_->close(device_);
}

void* Context::allocate(size_t num_bytes, Contents contents) const {
  void* memory = nullptr;
  Failure failure;
  if (backend_->allocate(device_, num_bytes, contents == Contents::Zeros ? 1 : 0, &memory, &failure) != Status::Ok)
    raise(failure);
  return memory;
}

void Context::release(void* memory, size_t num_bytes) const noexcept { backend_->release(device_, memory, num_bytes); }

const char* Context::describe() const { return backend_->describe(device_); }

const char* Context::isa() const { return backend_->isa(device_); }

int32_t Context::num_threads() const { return backend_->num_threads(device_); }

void Context::start() const { backend_->start(device_); }

void Context::synchronize() {
  Failure failure;
  if (backend_->synchronize(device_, &failure) != Status::Ok) raise(failure);
}

Plan Context::plan(const LinearProblem& problem) const {
  Plan plan;
  Failure failure;
  if (backend_->plan_linear(device_, &problem, &plan, &failure) != Status::Ok) raise(failure);
  return plan;
}

Plan Context::plan(const AttentionProblem& problem) const {
  Plan plan;
  Failure failure;
  if (backend_->plan_attention(device_, &problem, &plan, &failure) != Status::Ok) raise(failure);
  return plan;
}

Plan Context::plan(const SoftmaxProblem& problem) const {
  Plan plan;
  Failure failure;
  if (backend_->plan_softmax(device_, &problem, &plan, &failure) != Status::Ok) raise(failure);
  return plan;
}

Plan Context::plan(const DropoutProblem& problem) const {
  Plan plan;
  Failure failure;
  if (backend_->plan_dropout(device_, &problem, &plan, &failure) != Status::Ok) raise(failure);
  return plan;
}

void Context::run(const LinearProblem& problem, const Plan& plan, void* scratch) const {
  Failure failure;
  if (backend_->run_linear(device_, &problem, &plan, scratch, &failure) != Status::Ok) raise(failure);
}

void Context::run(const AttentionProblem& problem, const Plan& plan, void* scratch) const {
  Failure failure;
  if (backend_->run_attention(device_, &problem, &plan, scratch, &failure) != Status::Ok) raise(failure);
}

void Context::run(const SoftmaxProblem& problem, const Plan& plan, void* scratch) const {
  Failure failure;
  if (backend_->run_softmax(device_, &problem, &plan, scratch, &failure) != Status::Ok) raise(failure);
}

void Context::run(const DropoutProblem& problem, const Plan& plan, void* scratch) const {
  Failure failure;
  if (backend_->run_dropout(device_, &problem, &plan, scratch, &failure) != Status::Ok) raise(failure);
}

size_t Context::packed_bytes(const LinearPart& part, int64_t input_size) const {
  size_t num_bytes = 0;
  Failure failure;
  if (backend_->packed_linear_bytes(device_, &part, input_size, &num_bytes, &failure) != Status::Ok) raise(failure);
  return num_bytes;
}

void Context::pack(const LinearPart& part, int64_t input_size, void* packed) const {
  Failure failure;
  if (backend_->pack_linear(device_, &part, input_size, packed, &failure) != Status::Ok) raise(failure);
}

void Context::require_fastest(const char* function, const char* operation, const Plan& plan) const {
  if (!plan.is_fastest()) {
    // Of fixed size, since forward must not allocate; what is too long is cut as sentences are.
    char reasons[kErrorCapacity] = "";
    size_t length = 0;
    for (const char* reason : plan.not_fastest) {
      if (reason == nullptr || length >= sizeof reasons) break;
      length += static_cast<size_t>(
          std::snprintf(reasons + length, sizeof reasons - length, "%s%s", length == 0 ? "" : "; ", reason));
    }
    if (options_.strict) {
      fail(Status::NotFastest, "the context is strict, and \"%s\" would not take the fastest path: %s", operation,
           reasons);
    }
    log(logger(), LogLevel::Warning, "%s: \"%s\" does not take the fastest path: %s", function, operation, reasons);
  }
  log(logger(), LogLevel::Debug, "%s: \"%s\" by kernel \"%s\"", function, operation, plan.kernel);
}

Context::PooledScratch::PooledScratch(const Context& context, size_t num_bytes) : context_(context) {
  context_.start();
  for (auto& place : context_.pool_) {
    block_ = place.exchange(nullptr, std::memory_order_acquire);
    if (block_ != nullptr) break;
  }
  if (block_ == nullptr) block_ = host_create<Block>(context_.host_allocator());
  if (block_->data != nullptr && block_->num_bytes >= num_bytes) return;
  // Too small: replaced by a larger one, so that the pool settles on the largest call.
  try {
    if (block_->data != nullptr) context_.release(std::exchange(block_->data, nullptr), block_->num_bytes);
    block_->data = context_.allocate(num_bytes, Contents::Undefined);
    block_->num_bytes = num_bytes;
  } catch (...) {
    context_.destroy(block_);
    throw;
  }
}

Context::PooledScratch::~PooledScratch() {
  for (auto& place : context_.pool_) {
    Block* none = nullptr;
    if (place.compare_exchange_strong(none, block_, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  context_.destroy(block_);
}

void Context::destroy(PooledScratch::Block* block) const noexcept {
  if (block->data != nullptr) release(block->data, block->num_bytes);
  host_destroy(host_allocator(), block);
}

}  // namespace heed
