// SPDX-License-Identifier: Apache-2.0
// Compares ort_api.h with ONNX Runtime's own header, if HEED_BENCH_ORT_INCLUDE is set to its folder. All checks happen
// when it is compiled.
#include <onnxruntime_c_api.h>

#include "ort_api.h"

#define SAME_PLACE(function) \
  static_assert(offsetof(bench::OrtApi, function) == offsetof(::OrtApi, function), #function " has another place")

SAME_PLACE(GetErrorMessage);
SAME_PLACE(CreateSessionFromArray);
SAME_PLACE(Run);
SAME_PLACE(CreateSessionOptions);
SAME_PLACE(SetSessionExecutionMode);
SAME_PLACE(SetSessionGraphOptimizationLevel);
SAME_PLACE(CreateTensorWithDataAsOrtValue);
SAME_PLACE(CreateCpuMemoryInfo);
SAME_PLACE(ReleaseEnv);
SAME_PLACE(ReleaseStatus);
SAME_PLACE(ReleaseSession);
SAME_PLACE(ReleaseValue);
SAME_PLACE(ReleaseSessionOptions);
SAME_PLACE(CreateEnvWithGlobalThreadPools);
SAME_PLACE(DisablePerSessionThreads);
SAME_PLACE(CreateThreadingOptions);
SAME_PLACE(ReleaseThreadingOptions);
SAME_PLACE(SetGlobalIntraOpNumThreads);
SAME_PLACE(SetGlobalInterOpNumThreads);
SAME_PLACE(SetGlobalSpinControl);
static_assert(bench::kOrtArenaAllocator == OrtArenaAllocator && bench::kOrtMemTypeDefault == OrtMemTypeDefault);
static_assert(bench::kOrtEnableAllOptimizations == ORT_ENABLE_ALL && bench::kOrtSequential == ORT_SEQUENTIAL);
static_assert(bench::kOrtLogFatal == ORT_LOGGING_LEVEL_FATAL);
