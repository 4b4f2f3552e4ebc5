// SPDX-License-Identifier: Apache-2.0
// The header that programs include. It has all of ATB that is simulated.
#pragma once

#include "atb/context.h"
#include "atb/infer_op_params.h"
#include "atb/operation.h"
#include "atb/svector.h"
#include "atb/types.h"
#include "atb/utils.h"
