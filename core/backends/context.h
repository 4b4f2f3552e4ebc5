// SPDX-License-Identifier: Apache-2.0
// An open device with its options. A context is the Memory of all objects made in it, which keep it alive by their
// reference to it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "backends/host_engine.h"
#include "backends/open_device.h"
#include "base/call_progress.h"
#include "base/memory.h"
#include "ops/linear.h"

namespace heed {

// The same numbers as heed_device in heed.h, which capi/src asserts.
enum class DeviceKind : int32_t { Cpu = 0, Ascend = 1 };

struct ContextOptions {
  DeviceKind device = DeviceKind::Cpu;
  int32_t device_index = 0;
  int32_t num_threads = 0;
  bool strict = false;
  bool allow_reduced_precision = false;
  bool flush_subnormals = false;
  HostAllocator allocator;
  Executor executor;
  Logger logger;
};

// The number of devices of a kind that can be used. Throws DeviceUnavailable with the reason if there is none.
int32_t count_devices(DeviceKind kind);

struct ArenaBlock;

class Context final : public Memory {
  // Only this class can create a Key, so that all contexts are created by `open`.
  class Key {
    friend class Context;
    Key() = default;
  };

 public:
  // Throws InvalidArgument, DeviceUnavailable.
  static std::shared_ptr<Context> open(const ContextOptions& options);
  // Opens a device of the given backend.
  static std::shared_ptr<Context> open(const ContextOptions& options, const Backend& backend);
  Context(Key, const ContextOptions& options, const Backend& backend);
  ~Context() override;

  void* allocate(size_t num_bytes, Contents contents) const override;
  void release(void* memory, size_t num_bytes) const noexcept override;
  const char* device_name() const noexcept override { return device_name_.c_str(); }
  bool is_host() const noexcept override { return open_.backend->is_host != 0; }
  void copy(void* destination, const void* source, size_t num_bytes, Direction direction) const override;
  void wait_idle() const noexcept override;

  const ContextOptions& options() const { return options_; }
  const Backend& backend() const { return *open_.backend; }
  const char* describe() const;
  const char* isa() const;
  // The number of threads of the device or, for a device other than the CPU, of its host engine.
  int32_t num_threads() const;
  // Starts the device's threads, so that `run` allocates nothing; cheap if they are running already.
  void start() const;
  // Returns unused memory: the pool's blocks to the allocator, the kept blocks of the process (kept_blocks.h) to the
  // system, and on a device with its own memory the blocks that it keeps to the driver.
  void trim() const;
  // Waits until all queued work is done; throws, once, the failure of a call that had returned before it failed.
  void synchronize() const;
  IntermediateForm intermediate_form(DType inputs) const;

  // Backend::cache_page_rows; 0 on the CPU, whose memory is the host's.
  int64_t cache_page_rows(const CacheShape& shape) const;

  // How the device, or the CPU in its place, computes a problem. `op` is the problem's first member.
  Plan plan(const Op& op) const;
  // How the CPU computes it. On a device with its own memory `reason` says why: a static sentence without a full stop.
  Plan plan_on_host(const Op& op, const char* reason) const;
  // `progress`: of the call that the operation is a part of, which may be stopped within it; null: not reported.
  void run(const Op& op, const Plan& plan, void* scratch, CallProgress* progress = nullptr) const;

  // Size of the packed weight of `part`, and packing of a block of it into memory of the context; see Backend. Only a context
  // in host memory unpacks.
  size_t packed_bytes(const LinearPart& part, int64_t input_size) const;
  void pack(const LinearPart& part, int64_t input_size, const WeightBlock& block, void* packed) const;
  void unpack(const LinearPart& part, int64_t input_size, const WeightBlock& block, const void* packed) const;

  // Backend::for_each with function(task, worker), which must not throw.
  template <typename Function>
  void for_each(int64_t num_tasks, double num_bytes, const Function& function) const {
    const auto run = [](const void* erased, int64_t task, int32_t worker) {
      (*static_cast<const Function*>(erased))(task, worker);
    };
    Failure failure;
    if (open_.backend->for_each(open_.device, num_tasks, num_bytes, run, &function, &failure) != Status::Ok)
      throw failure;
  }
  // Backend::transpose.
  void transpose(DType dtype, const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                 int64_t to_stride) const {
    open_.backend->transpose(open_.device, dtype, from, from_stride, num_rows, num_columns, to, to_stride);
  }
  // Backend::update, of the host if the device is another.
  void update(const UpdateArguments& arguments) const {
    if (!is_host()) return update_on_host(arguments);
    open_.backend->update(open_.device, &arguments);
  }

  // Called before a plan is run. If the plan is not the fastest path, throws NotFastest with the reason if the context
  // is strict, and otherwise logs a warning. `function` is the name of the C function, `operation` a description of the
  // planned operation.
  void require_fastest(const char* function, const char* operation, const Plan& plan) const;

  // Scratch memory from the context's pool, which has one block for each call that has run at the same time. The
  // destructor returns it to the pool. Its contents are undefined.
  class PooledScratch {
   public:
    PooledScratch(const Context& context, size_t num_bytes);
    PooledScratch(const PooledScratch&) = delete;
    PooledScratch& operator=(const PooledScratch&) = delete;
    ~PooledScratch();
    void* data() const { return block_->data; }

   private:
    friend class Context;
    struct Block {
      void* data = nullptr;
      size_t num_bytes = 0;
    };

    const Context& context_;
    Block* block_ = nullptr;
  };

 private:
  void empty_pool() const noexcept;
  // Frees a block of the pool: its memory and its header.
  void destroy(PooledScratch::Block* block) const noexcept;

  const HostEngine& host_engine() const;
  void update_on_host(const UpdateArguments& arguments) const;

  ContextOptions options_;
  OpenDevice open_;
  HostString device_name_;
  // Set for every device other than the CPU.
  std::optional<HostEngine> host_engine_;

  friend class CallArena;

  // Unused blocks; an empty slot is null. A call takes or returns a block by one atomic exchange. There is no lock,
  // since a child of fork could inherit one that is held by a thread that does not exist in the child. There are more
  // slots than calls run at the same time on any machine.
  static constexpr size_t kMaxPooled = 64;
  mutable std::atomic<PooledScratch::Block*> pool_[kMaxPooled] = {};
  // The same for the blocks of CallArena.
  mutable std::atomic<ArenaBlock*> arena_pool_[kMaxPooled] = {};
};

}  // namespace heed
