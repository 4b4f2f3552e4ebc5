// SPDX-License-Identifier: Apache-2.0
// The runtime's error codes that have no name in AscendCL's headers, and the error sentence of a failed call.
#pragma once

#include <string>

#include "acl/acl.h"

namespace ascend_sim {

enum RuntimeError : aclError {
  kInvalidValue = 107000,
  kInvalidDevice = 107001,
  kNoCurrentContext = 107002,
  kOfAnotherContext = 107003,
  kEventNotRecorded = 107006,
  kUnaligned = 107008,
  kInvalidHandle = 107017,
  kUnsupported = 207000,
  kOutOfDeviceMemory = 207001,
  kNoDevice = 207004,
  kKernelException = 507015,
  kSynchroniseTimeout = 507046,
};

// Stores the sentence for aclGetRecentErrMsg in this thread and returns `code`.
aclError fail(aclError code, const std::string& sentence);

}  // namespace ascend_sim
