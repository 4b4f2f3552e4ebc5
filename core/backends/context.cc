// SPDX-License-Identifier: Apache-2.0
#include "backends/context.h"

#include <cstdio>
#include <string>
#include <utility>

#include "backends/call_arena.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/plugin.h"
#include "base/error.h"
#include "base/kept_blocks.h"
#include "base/shown_text.h"

namespace heed {
namespace {

const Backend& backend_of(DeviceKind kind) { return kind == DeviceKind::Cpu ? cpu_backend() : ascend_backend(); }

}  // namespace

int32_t count_devices(DeviceKind kind) {
  int32_t count = 0;
  Failure failure;
  if (backend_of(kind).count_devices(&count, &failure) != Status::Ok) throw failure;
  return count;
}

std::shared_ptr<Context> Context::open(const ContextOptions& options) {
  return open(options, backend_of(options.device));
}

std::shared_ptr<Context> Context::open(const ContextOptions& options, const Backend& backend) {
  if (options.num_threads < 0 || options.num_threads > kMaxThreads) {
    fail(Status::InvalidArgument, OPTION("num_threads") " is %d, expected 0 (as many as the process may use) to %d",
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
      open_{&backend, nullptr},
      device_name_(backend.name, options.allocator) {
  device_name_ += ":";
  device_name_ += std::to_string(options.device_index);
  const BackendOptions backend_options = {
      .device_index = options.device_index,
      .num_threads = options.num_threads,
      .allow_reduced_precision = options.allow_reduced_precision ? 1 : 0,
      .flush_subnormals = options.flush_subnormals ? 1 : 0,
      .allocator = options.allocator,
      .executor = options.executor,
  };
  if (backend.is_host == 0) host_engine_.emplace(backend_options);
  Failure failure;
  if (backend.open(&backend_options, &open_.device, &failure) != Status::Ok) throw failure;
}

Context::~Context() {
  empty_pool();
  open_.backend->close(open_.device);
  // The kept blocks are shared by all contexts of the process; other contexts map new blocks when they need them.
  kept_blocks().give_back();
}

void* Context::allocate(size_t num_bytes, Contents contents) const {
  void* memory = nullptr;
  Failure failure;
  if (open_.backend->allocate(open_.device, num_bytes, contents == Contents::Zeros ? 1 : 0, &memory, &failure) !=
      Status::Ok) {
    throw failure;
  }
  return memory;
}

void Context::release(void* memory, size_t num_bytes) const noexcept {
  open_.backend->release(open_.device, memory, num_bytes);
}

void Context::copy(void* destination, const void* source, size_t num_bytes, Direction direction) const {
  if (is_host()) return Memory::copy(destination, source, num_bytes, direction);
  Failure failure;
  if (num_bytes > 0 &&
      open_.backend->copy(open_.device, destination, source, num_bytes, direction, &failure) != Status::Ok) {
    throw failure;
  }
}

void Context::wait_idle() const noexcept {
  if (!is_host()) open_.backend->wait_idle(open_.device);
}

const char* Context::describe() const { return open_.backend->describe(open_.device); }

const char* Context::isa() const { return open_.backend->isa(open_.device); }

int32_t Context::num_threads() const {
  return host_engine_ ? host_engine_->num_threads() : open_.backend->num_threads(open_.device);
}

void Context::start() const { open_.backend->start(open_.device); }

void Context::synchronize() const {
  Failure failure;
  if (open_.backend->synchronize(open_.device, &failure) != Status::Ok) throw failure;
}

IntermediateForm Context::intermediate_form(DType inputs) const {
  return open_.backend->intermediate_form(open_.device, inputs);
}

// The host engine exists for every device other than the CPU, and the CPU never sets on_host.
const HostEngine& Context::host_engine() const {
  if (!host_engine_) fail(Status::Internal, "the CPU's own plan says that the device cannot do it");
  return *host_engine_;
}

int64_t Context::cache_page_rows(const CacheShape& shape) const {
  return is_host() ? 0 : open_.backend->cache_page_rows(open_.device, &shape);
}

Plan Context::plan(const Op& op) const {
  if (open_.knows(op)) {
    const Plan plan = open_.plan(op);
    return plan.on_host == 0 ? plan : host_engine().plan(op, plan);
  }
  return plan_on_host(op, "the device does not have this operation");
}

Plan Context::plan_on_host(const Op& op, const char* reason) const {
  if (is_host()) return open_.plan(op);
  Plan unknown;
  unknown.add_reason(reason);
  return host_engine().plan(op, unknown);
}

void Context::run(const Op& op, const Plan& plan, void* scratch, CallProgress* progress) const {
  if (plan.on_host == 0) {
    open_.run(op, plan, scratch, progress);
  } else {
    host_engine().run(*this, op, plan, progress);
  }
}

size_t Context::packed_bytes(const LinearPart& part, int64_t input_size) const {
  size_t num_bytes = 0;
  Failure failure;
  if (open_.backend->packed_linear_bytes(open_.device, &part, input_size, &num_bytes, &failure) != Status::Ok)
    throw failure;
  return num_bytes;
}

void Context::pack(const LinearPart& part, int64_t input_size, const WeightBlock& block, void* packed) const {
  Failure failure;
  if (open_.backend->pack_linear(open_.device, &part, input_size, &block, packed, &failure) != Status::Ok)
    throw failure;
}

void Context::unpack(const LinearPart& part, int64_t input_size, const WeightBlock& block, const void* packed) const {
  open_.backend->unpack_linear(open_.device, &part, input_size, &block, packed);
}

void Context::update_on_host(const UpdateArguments& arguments) const { host_engine().update(arguments); }

void Context::require_fastest(const char* function, const char* operation, const Plan& plan) const {
  if (!plan.is_fastest()) {
    // A fixed buffer, since forward must not allocate; a text that is too long is truncated, like error sentences.
    char reasons[kMarkedCapacity] = "";
    const char* separator = "";
    for (const char* reason : plan.not_fastest) {
      if (reason == nullptr) break;
      append_text(reasons, separator);
      append_text(reasons, reason);
      separator = "; ";
    }
    if (options_.strict) {
      fail(Status::NotFastest, "the " WORD("context") " is strict, and \"%s\" would not take the fastest path: %s",
           operation, reasons);
    }
    log(logger(), LogLevel::Warning, FUNCTION("%s") ": \"%s\" does not take the fastest path: %s", function, operation,
        reasons);
  }
  log(logger(), LogLevel::Debug, FUNCTION("%s") ": \"%s\" by kernel \"%s\"", function, operation, plan.kernel);
}

Context::PooledScratch::PooledScratch(const Context& context, size_t num_bytes) : context_(context) {
  context_.start();
  for (auto& slot : context_.pool_) {
    block_ = slot.exchange(nullptr, std::memory_order_acquire);
    if (block_ != nullptr) break;
  }
  if (block_ == nullptr) block_ = host_create<Block>(context_.host_allocator());
  if (block_->data != nullptr && block_->num_bytes >= num_bytes) return;
  // A block that is too small is replaced by a larger one, so that the blocks of the pool become as large as the
  // largest call needs.
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
  for (auto& slot : context_.pool_) {
    Block* none = nullptr;
    if (slot.compare_exchange_strong(none, block_, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  context_.destroy(block_);
}

void Context::empty_pool() const noexcept {
  for (auto& slot : pool_) {
    PooledScratch::Block* const block = slot.exchange(nullptr, std::memory_order_acquire);
    if (block != nullptr) destroy(block);
  }
  for (auto& slot : arena_pool_) {
    ArenaBlock* const block = slot.exchange(nullptr, std::memory_order_acquire);
    if (block != nullptr) destroy_arena_block(host_allocator(), block);
  }
}

void Context::trim() const {
  empty_pool();
  kept_blocks().give_back();
  Failure failure;
  if (!is_host() && open_.backend->trim(open_.device, &failure) != Status::Ok) throw failure;
}

void Context::destroy(PooledScratch::Block* block) const noexcept {
  if (block->data != nullptr) release(block->data, block->num_bytes);
  host_destroy(host_allocator(), block);
}

}  // namespace heed
