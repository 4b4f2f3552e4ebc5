// SPDX-License-Identifier: Apache-2.0
// Makes the unwinder inside libheed ready when the library is loaded. The host's unwinder calls functions of it while an
// exception that a callback of the host throws passes through libheed, and these functions end the process as long as the
// unwinder has never run.
#include <unwind.h>

namespace {

__attribute__((constructor)) void run_the_unwinder_once() {
  _Unwind_Backtrace([](_Unwind_Context*, void*) { return _URC_END_OF_STACK; }, nullptr);
}

}  // namespace
