// SPDX-License-Identifier: Apache-2.0
#include "backends/context.h"

#include "backends/cpu/cpu_backend.h"
#include "base/error.h"

namespace heed {
namespace {

// More threads than any machine has processors; a larger number is a mistake.
constexpr int32_t kMaxThreads = 1024;

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
  return std::shared_ptr<Context>(new Context(options, backend));
}

Context::Context(const ContextOptions& options, const Backend& backend) : options_(options), backend_(&backend) {
  device_name_ = std::string(backend.name) + ":" + std::to_string(options.device_index);
  const BackendOptions backend_options = {
      .device_index = options.device_index,
      .num_threads = options.num_threads,
      .allow_reduced_precision = options.allow_reduced_precision ? 1 : 0,
  };
  Failure failure;
  if (backend_->open(&backend_options, &device_, &failure) != Status::Ok) raise(failure);
}

Context::~Context() {
  for (const auto& block : pool_) release(block.data, block.num_bytes);
  backend_->close(device_);
}

void* Context::allocate(size_t num_bytes) const {
  void* memory = backend_->allocate(device_, num_bytes);
  if (memory == nullptr)
    fail(Status::OutOfMemory, "%zu bytes could not be allocated on device %s", num_bytes, device_name());
  return memory;
}

void Context::release(void* memory, size_t num_bytes) const noexcept { backend_->release(device_, memory, num_bytes); }

std::string Context::describe() const { return backend_->describe(device_); }

int32_t Context::num_threads() const { return backend_->num_threads(device_); }

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

void Context::require_fastest(const char* operation, const Plan& plan) const {
  if (!options_.strict || plan.not_fastest == nullptr) return;
  fail(Status::NotFastest, "the context is strict, and \"%s\" would not take the fastest path: %s", operation,
       plan.not_fastest);
}

Context::PooledScratch::PooledScratch(const Context& context, size_t num_bytes) : context_(context) {
  {
    const std::lock_guard lock(context_.pool_mutex_);
    if (context_.pool_.empty()) {
      context_.pool_.reserve(context_.num_blocks_ + 1);
      ++context_.num_blocks_;
    } else {
      block_ = context_.pool_.back();
      context_.pool_.pop_back();
    }
  }
  if (block_.num_bytes >= num_bytes && block_.data != nullptr) return;
  // Too small: replaced by a larger one, so that the pool settles on the largest call.
  if (block_.data != nullptr) context_.release(block_.data, block_.num_bytes);
  block_ = {};
  try {
    block_.data = context_.allocate(num_bytes);
    block_.num_bytes = num_bytes;
  } catch (...) {
    const std::lock_guard lock(context_.pool_mutex_);
    --context_.num_blocks_;
    throw;
  }
}

Context::PooledScratch::~PooledScratch() {
  const std::lock_guard lock(context_.pool_mutex_);
  context_.pool_.push_back(block_);
}

}  // namespace heed
