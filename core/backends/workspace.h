// SPDX-License-Identifier: Apache-2.0
// Scratch memory for one forward at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/memory.h"
#include "base/process_lock.h"

namespace heed {

class Workspace {
  // Only this class can create a Key, so that all workspaces are created by the functions below.
  class Key {
    friend class Workspace;
    Key() = default;
  };

 public:
  // A workspace that owns num_bytes of `memory` and keeps it alive.
  static std::shared_ptr<Workspace> create(std::shared_ptr<const Memory> memory, size_t num_bytes);
  // A workspace in memory that the caller owns.
  static std::shared_ptr<Workspace> wrap(std::shared_ptr<const Memory> memory, void* data, size_t num_bytes);

  Workspace(Key, std::shared_ptr<const Memory> memory) : memory_(std::move(memory)) {}
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  ~Workspace();

  void* data() const { return data_; }
  size_t num_bytes() const { return num_bytes_; }
  const Memory& memory() const { return *memory_; }

  // Reserves the workspace for one call; throws Busy if another call has it. `name`: its argument in messages.
  class Lease {
   public:
    explicit Lease(Workspace& workspace, const char* name = "workspace");
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease();

   private:
    Workspace& workspace_;
  };

 private:
  static std::shared_ptr<Workspace> create(std::shared_ptr<const Memory> memory);

  std::shared_ptr<const Memory> memory_;
  void* data_ = nullptr;
  size_t num_bytes_ = 0;
  bool owned_ = false;
  ProcessLock in_use_;
};

}  // namespace heed
