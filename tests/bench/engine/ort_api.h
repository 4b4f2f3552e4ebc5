// SPDX-License-Identifier: Apache-2.0
// The part of ONNX Runtime's C API that the benchmark calls, so that only its library is needed. Functions are only
// ever added at the end of the table, so their positions are fixed; ort_api_check.cc compares them with the header.
#ifndef HEED_BENCH_ORT_API_H
#define HEED_BENCH_ORT_API_H

#include <cstddef>
#include <cstdint>

namespace bench {

struct OrtEnv;
struct OrtMemoryInfo;
struct OrtRunOptions;
struct OrtSession;
struct OrtSessionOptions;
struct OrtStatus;
struct OrtThreadingOptions;
struct OrtValue;

// The newest function below was added in version 4. A library refuses versions that are newer than its own.
constexpr uint32_t kOrtApiVersion = 4;
constexpr int kOrtArenaAllocator = 1;
constexpr int kOrtMemTypeDefault = 0;
constexpr int kOrtEnableAllOptimizations = 99;
constexpr int kOrtLogFatal = 4;
constexpr int kOrtSequential = 0;

// NOLINTBEGIN(readability-identifier-naming): names as in ONNX Runtime
// In this order; functions between them are not called.
struct OrtApi {
  using Pointer = void*;
  Pointer from_0[2];
  const char* (*GetErrorMessage)(const OrtStatus* status);
  Pointer from_3[5];
  OrtStatus* (*CreateSessionFromArray)(const OrtEnv* environment, const void* model, size_t num_bytes,
                                       const OrtSessionOptions* options, OrtSession** session);
  OrtStatus* (*Run)(OrtSession* session, const OrtRunOptions* options, const char* const* input_names,
                    const OrtValue* const* inputs, size_t num_inputs, const char* const* output_names,
                    size_t num_outputs, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions** options);
  Pointer from_11[2];
  OrtStatus* (*SetSessionExecutionMode)(OrtSessionOptions* options, int mode);
  Pointer from_14[9];
  OrtStatus* (*SetSessionGraphOptimizationLevel)(OrtSessionOptions* options, int level);
  Pointer from_24[25];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo* info, void* data, size_t num_bytes,
                                               const int64_t* dims, size_t num_dims, int type, OrtValue** value);
  Pointer from_50[19];
  OrtStatus* (*CreateCpuMemoryInfo)(int allocator, int type, OrtMemoryInfo** info);
  Pointer from_70[22];
  void (*ReleaseEnv)(OrtEnv* environment);
  void (*ReleaseStatus)(OrtStatus* status);
  Pointer from_94[1];
  void (*ReleaseSession)(OrtSession* session);
  void (*ReleaseValue)(OrtValue* value);
  Pointer from_97[3];
  void (*ReleaseSessionOptions)(OrtSessionOptions* options);
  Pointer from_101[18];
  OrtStatus* (*CreateEnvWithGlobalThreadPools)(int log_level, const char* name, const OrtThreadingOptions* options,
                                               OrtEnv** environment);
  OrtStatus* (*DisablePerSessionThreads)(OrtSessionOptions* options);
  OrtStatus* (*CreateThreadingOptions)(OrtThreadingOptions** options);
  void (*ReleaseThreadingOptions)(OrtThreadingOptions* options);
  Pointer from_123[24];
  OrtStatus* (*SetGlobalIntraOpNumThreads)(OrtThreadingOptions* options, int num_threads);
  OrtStatus* (*SetGlobalInterOpNumThreads)(OrtThreadingOptions* options, int num_threads);
  OrtStatus* (*SetGlobalSpinControl)(OrtThreadingOptions* options, int allowed);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};
// NOLINTEND(readability-identifier-naming)

}  // namespace bench

#endif  // HEED_BENCH_ORT_API_H
