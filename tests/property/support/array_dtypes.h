// SPDX-License-Identifier: Apache-2.0
// Which dtypes functions of arrays take, and how (heed.h, 6.9).
#pragma once

#include <heed/heed.h>

#include <vector>

namespace heed::property {

inline const std::vector<heed_dtype> kNumbers = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32, HEED_I64};
inline const std::vector<heed_dtype> kDtypes = {HEED_F32, HEED_F16, HEED_BF16, HEED_F64, HEED_I32,
                                                HEED_I64, HEED_I8,  HEED_U8,   HEED_BOOL};

// Those that are computed as integers.
inline bool is_whole(heed_dtype dtype) { return dtype == HEED_I32 || dtype == HEED_I64 || dtype == HEED_BOOL; }
// Those that are computed in F32 and rounded.
inline bool is_narrow(heed_dtype dtype) { return dtype == HEED_F16 || dtype == HEED_BF16; }

}  // namespace heed::property
