// SPDX-License-Identifier: Apache-2.0
// An open device with the options it was opened with. Everything made in a context keeps it alive through its memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "backends/backend.h"
#include "backends/host_engine.h"
#include "backends/open_device.h"
#include "base/memory.h"
#include "ops/linear.h"

namespace heed {

// Same numbers as heed_device in heed.h; capi/src asserts it.
enum class DeviceKind : int32_t { Cpu = 0, Ascend = 1 };

struct ContextOptions {
  DeviceKind device = DeviceKind::Cpu;
  int32_t device_index = 0;
  int32_t num_threads = 0;
  bool strict = false;
  bool allow_reduced_precision = false;
  HostAllocator allocator;
  Executor executor;
  Logger logger;
};

// How many devices of a kind can be used. Throws DeviceUnavailable with the reason where there is none.
int32_t count_devices(DeviceKind kind);

struct ArenaBlock;

class Context final : public Memory {
  // Only this class can make one, so that all are made by `open`.
  class Key {
    friend class Context;
    Key() = default;
  };

 public:
  // Throws InvalidArgument, DeviceUnavailable.
  static std::shared_ptr<Context> open(const ContextOptions& options);
  // On a backend that the caller has found.
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
  // Threads that the device, or the CPU in its place, computes with.
  int32_t num_threads() const;
  // Makes its threads, so that `run` allocates nothing; cheap when they are there.
  void start() const;
  // Gives the blocks of the pool that no call uses back to the allocator; on a device those that it keeps, too.
  void trim() const;
  // Waits for all that was asked; throws what a call failed with that had returned, once.
  void synchronize() const;
  IntermediateForm intermediate_form(DType inputs) const;

  // How the device computes a problem, or the CPU in its place. `op` is the problem's first member.
  Plan plan(const Op& op) const;
  void run(const Op& op, const Plan& plan, void* scratch) const;

  // Memory of the context with the weight of `part`, or a block of it, laid out for its problems.
  size_t packed_bytes(const LinearPart& part, int64_t input_size) const;
  void pack(const LinearPart& part, int64_t input_size, const WeightBlock& block, void* packed) const;

  // Backend::for_each with function(item, worker), which must not throw.
  template <typename Function>
  void for_each(int64_t num_items, double num_bytes, const Function& function) const {
    const auto run = [](const void* erased, int64_t item, int32_t worker) {
      (*static_cast<const Function*>(erased))(item, worker);
    };
    Failure failure;
    if (open_.backend->for_each(open_.device, num_items, num_bytes, run, &function, &failure) != Status::Ok)
      throw failure;
  }
  // Backend::transpose.
  void transpose(DType dtype, const void* from, int64_t from_stride, int64_t num_rows, int64_t num_columns, void* to,
                 int64_t to_stride) const {
    open_.backend->transpose(open_.device, dtype, from, from_stride, num_rows, num_columns, to, to_stride);
  }

  // Before a plan is run by the C function of that name: where it is not the fastest path, throws NotFastest with the
  // reason if the context is strict, and otherwise warns the logger. `operation` is what the plan is for.
  void require_fastest(const char* function, const char* operation, const Plan& plan) const;

  // Scratch memory from the context's pool, which holds one block for each call that has been in flight at once; given
  // back at the end of the scope. What it holds is undefined.
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
  // Gives a block of the pool back to the device and to the host.
  void destroy(PooledScratch::Block* block) const noexcept;

  const HostEngine& host_engine() const;

  ContextOptions options_;
  OpenDevice open_;
  HostString device_name_;
  // Of a device that is not the CPU.
  std::optional<HostEngine> host_engine_;

  friend class CallArena;

  // Blocks that no call uses, at most one for each call that runs at the same time, and more than any machine runs.
  // Without a lock, which a forked child could find held by a thread that it does not have.
  static constexpr size_t kMaxPooled = 64;
  mutable std::atomic<PooledScratch::Block*> pool_[kMaxPooled] = {};
  // The same for the blocks of host memory that a CallArena takes.
  mutable std::atomic<ArenaBlock*> arena_pool_[kMaxPooled] = {};
};

}  // namespace heed
