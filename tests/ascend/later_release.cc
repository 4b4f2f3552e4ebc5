// SPDX-License-Identifier: Apache-2.0
// A plugin that was built with a later release of AscendCL than the installed one.
extern "C" void function_of_a_later_release();

extern "C" __attribute__((visibility("default"))) const void* heed_backend() {
  function_of_a_later_release();
  return nullptr;
}
