// SPDX-License-Identifier: Apache-2.0
// The header that programs include: all of AscendCL that is simulated. It is C.
#pragma once

#include "acl/acl_base.h"
#include "acl/acl_rt.h"
