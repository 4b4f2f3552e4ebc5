// SPDX-License-Identifier: Apache-2.0
// The header that programs include. It has all of AscendCL that is simulated, and is C.
#pragma once

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
