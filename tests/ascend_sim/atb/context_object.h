// SPDX-License-Identifier: Apache-2.0
// atb::Context as libatb makes it.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "atb/context.h"
#include "atb/runner_pool.h"

namespace ascend_sim::atb_library {

// The part of a context that operations use, also after its end.
struct ContextState {
  std::atomic<bool> is_alive = true;
  // Operations that were last set up for this context.
  std::atomic<int> num_operations = 0;
  // Held during a call: one thread at a time may use the context.
  std::mutex entry;
  // By the operations' names. Used while `entry` is held.
  std::map<std::string, RunnerPool> runner_pools;
};

class ContextObject final : public atb::Context {
 public:
  explicit ContextObject(int32_t device);
  ~ContextObject() override;
  ContextObject(const ContextObject&) = delete;
  ContextObject& operator=(const ContextObject&) = delete;

  atb::Status SetExecuteStream(aclrtStream stream) override;
  aclrtStream GetExecuteStream() const override;
  atb::Status SetAsyncTilingCopyStatus(bool enable) override;
  bool GetAsyncTilingCopyStatus() const override;
  atb::Status SetExecuteStreams(const std::vector<aclrtStream>& streams) override;
  std::vector<aclrtStream> GetExecuteStreams() override;
  atb::Status SetExecuteType(atb::ExecuteType type) override;
  atb::ExecuteType GetExecuteType() override;
  atb::Status SetLaunchMode(atb::LaunchMode mode) override;
  atb::LaunchMode GetLaunchMode() override;

  const std::shared_ptr<ContextState>& state() const { return state_; }

 private:
  const std::shared_ptr<ContextState> state_ = std::make_shared<ContextState>();
  const int32_t device_;
  std::vector<aclrtStream> streams_;
};

}  // namespace ascend_sim::atb_library
