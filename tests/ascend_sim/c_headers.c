// SPDX-License-Identifier: Apache-2.0
// The headers of AscendCL, and the simulator's own, are C.
#include "acl/acl.h"
#include "ascend_sim/control.h"
#include "runtime/kernel_interface.h"

int is_c(void);

int is_c(void) { return aclDataTypeSize(ACL_FLOAT16) == 2 && ascend_sim_count("no such count") == 0; }
