// SPDX-License-Identifier: Apache-2.0
// Names of dtypes in sentences.
#pragma once

#include "base/terms.h"
#include "tensor/dtype.h"

namespace heed {

// The name of name_of(), as a term.
constexpr const char* term_of(DType dtype) {
  switch (dtype) {
    case DType::F32: return DTYPE("F32");
    case DType::F16: return DTYPE("F16");
    case DType::BF16: return DTYPE("BF16");
    case DType::F64: return DTYPE("F64");
    case DType::I32: return DTYPE("I32");
    case DType::I64: return DTYPE("I64");
    case DType::I8: return DTYPE("I8");
    case DType::U8: return DTYPE("U8");
    case DType::Bool: return DTYPE("BOOL");
  }
  return "unknown";
}

}  // namespace heed
