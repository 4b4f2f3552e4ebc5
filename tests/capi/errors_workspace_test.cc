// SPDX-License-Identifier: Apache-2.0
// Workspaces that are too small.
#include <gtest/gtest.h>

#include "capi/support/attention_call.h"
#include "capi/support/refusal.h"

namespace heed::capi_test {
namespace {

TEST(WorkspaceErrors, OneByteTooFewNamesBothSizes) {
  for (const Kind kind : kEveryKind) {
    // heed_layer_workspace_size does not read the offsets of a packed batch, so a call may need less.
    if (kind == Kind::Packed) continue;
    const AttentionCall call(kind);
    const size_t needed = call.workspace_size();
    const std::vector<uint8_t> before = call.read_outputs();
    const Workspace small = make_workspace(call.context.get(), needed - 1);
    EXPECT_TRUE(is_refused(
        call.forward(small.get()),
        {HEED_ERROR_WORKSPACE_TOO_SMALL, {"workspace", std::to_string(needed - 1), std::to_string(needed)}}));
    EXPECT_EQ(call.read_outputs(), before);
    const Workspace exact = make_workspace(call.context.get(), needed);
    EXPECT_EQ(heed_workspace_num_bytes(exact.get()), needed);
    EXPECT_EQ(call.forward(exact.get()), HEED_OK) << heed_last_error();
  }
}

TEST(WorkspaceErrors, OfSizeZeroCanBeMadeAndAreTooSmall) {
  const AttentionCall call(Kind::MultiHead);
  const Workspace created = make_workspace(call.context.get(), 0);
  heed_workspace* handle = nullptr;
  ASSERT_EQ(heed_workspace_wrap(call.context.get(), nullptr, 0, &handle), HEED_OK) << heed_last_error();
  const Workspace wrapped(handle);
  for (heed_workspace* workspace : {created.get(), wrapped.get()}) {
    EXPECT_EQ(heed_workspace_num_bytes(workspace), 0u);
    EXPECT_TRUE(is_refused(call.forward(workspace), {HEED_ERROR_WORKSPACE_TOO_SMALL, {"0 bytes"}}));
  }
}

TEST(Workspace, OfTheExactSizeSufficesAtAnyAlignment) {
  for (const Kind kind : kEveryKind) {
    const AttentionCall call(kind);
    ASSERT_EQ(call.forward(), HEED_OK) << heed_last_error();
    const std::vector<uint8_t> expected = call.read_outputs();
    const size_t needed = call.workspace_size();
    for (size_t start = 0; start < 66; ++start) {
      // Exactly as large as needed, so that a sanitizer finds an access outside.
      std::vector<char> memory(start + needed);
      heed_workspace* handle = nullptr;
      check(heed_workspace_wrap(call.context.get(), memory.data() + start, needed, &handle));
      const Workspace workspace(handle);
      ASSERT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
      EXPECT_EQ(call.read_outputs(), expected);
    }
  }
}

TEST(Workspace, IsFreeAgainAfterAFailedCall) {
  AttentionCall call(Kind::MultiHead);
  const Workspace workspace = make_workspace(call.context.get(), call.workspace_size());
  const heed_tensor* const right = call.inputs.queries;
  call.inputs.queries = call.zeros({2, 3, 5});
  EXPECT_NE(call.forward(workspace.get()), HEED_OK);
  call.inputs.queries = right;
  EXPECT_EQ(call.forward(workspace.get()), HEED_OK) << heed_last_error();
}

}  // namespace
}  // namespace heed::capi_test
