// SPDX-License-Identifier: Apache-2.0
// A heed_progress that records the reports of a call and can stop it.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace heed::capi_test {

struct Reports {
  // `stopped`: the report that stops the call, counted from 0; none if there are fewer.
  explicit Reports(size_t stopped = SIZE_MAX) : stop(stopped) {
    progress.report = [](void* user, int64_t now, int64_t total) {
      return static_cast<Reports*>(user)->add(now, total);
    };
    progress.user = this;
  }
  Reports(const Reports&) = delete;
  Reports& operator=(const Reports&) = delete;

  // Whether they are those of a whole call: from 0 to the total, never falling, on this thread.
  testing::AssertionResult are_whole() const {
    if (done.empty()) return testing::AssertionFailure() << "no report";
    for (size_t i = 0; i < done.size(); ++i) {
      if (totals[i] != totals[0]) return testing::AssertionFailure() << "report " << i << " has another total";
      if (i > 0 && done[i] < done[i - 1]) return testing::AssertionFailure() << "report " << i << " falls";
      if (done[i] == totals[0] && i + 1 < done.size())
        return testing::AssertionFailure() << "report " << i << " has the total, and is not the last";
    }
    if (done.front() != 0) return testing::AssertionFailure() << "the first is " << done.front();
    if (done.back() != totals[0]) return testing::AssertionFailure() << "the last is " << done.back();
    if (!is_on_own_thread) return testing::AssertionFailure() << "a report on another thread";
    return testing::AssertionSuccess();
  }

  heed_progress progress = HEED_PROGRESS_INIT;
  std::vector<int64_t> done;
  std::vector<int64_t> totals;
  size_t stop;
  int32_t answer = -7;           // of the report that stops the call
  std::function<void()> during;  // called by each report
  bool is_on_own_thread = true;

 private:
  int32_t add(int64_t now, int64_t total) {
    done.push_back(now);
    totals.push_back(total);
    if (std::this_thread::get_id() != thread_) is_on_own_thread = false;
    if (during) during();
    return done.size() - 1 == stop ? answer : 0;
  }

  std::thread::id thread_ = std::this_thread::get_id();
};

}  // namespace heed::capi_test
