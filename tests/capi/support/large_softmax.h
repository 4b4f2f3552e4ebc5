// SPDX-License-Identifier: Apache-2.0
// An operation that is large enough for several threads.
#pragma once

#include <gtest/gtest.h>
#include <heed/heed.h>

#include <vector>

#include "capi/support/objects.h"

namespace heed::capi_test {

class LargeSoftmax {
 public:
  explicit LargeSoftmax(heed_context* context)
      : scores_(make_random(context, {256, 1000}, 1)), weights_(make_tensor(context, {256, 1000})) {}

  heed_status run() const { return heed_softmax(scores_.get(), 1, weights_.get()); }
  std::vector<float> result() const { return read_elements<float>(weights_.get()); }

  static std::vector<float> result_of_one_thread() {
    heed_context_options options = HEED_CONTEXT_OPTIONS_INIT;
    options.num_threads = 1;
    const Context context = make_context(&options);
    const LargeSoftmax softmax(context.get());
    EXPECT_EQ(softmax.run(), HEED_OK) << heed_last_error();
    return softmax.result();
  }

 private:
  Tensor scores_;
  Tensor weights_;
};

}  // namespace heed::capi_test
