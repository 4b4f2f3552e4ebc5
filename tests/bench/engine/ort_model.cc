// SPDX-License-Identifier: Apache-2.0
// ONNX Runtime in its fastest configuration: all optimizations, the same number of threads as heed, and threads that
// spin between operators.
#include "ort_model.h"

#include <dlfcn.h>

#include <cstdlib>

#include "processors.h"

namespace bench {
namespace {

void check(OrtStatus* status) {
  if (status == nullptr) return;
  const std::string message = ort().GetErrorMessage(status);
  ort().ReleaseStatus(status);
  throw OrtRefusal(message);
}

const OrtApiBase& api_base() {
  static const OrtApiBase* const kBase = [] {
    const char* named = std::getenv("HEED_BENCH_ORT_LIBRARY");
    const std::string path = named != nullptr ? named : HEED_BENCH_ORT_LIBRARY;
    if (path.empty()) throw OrtRefusal("HEED_BENCH_ORT_LIBRARY names none");
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw OrtRefusal(dlerror());
    using GetApiBase = const OrtApiBase* (*)();
    const auto get = reinterpret_cast<GetApiBase>(dlsym(library, "OrtGetApiBase"));
    if (get == nullptr) throw OrtRefusal(dlerror());
    return get();
  }();
  return *kBase;
}

const OrtMemoryInfo* memory_info() {
  static OrtMemoryInfo* const kInfo = [] {
    OrtMemoryInfo* made = nullptr;
    check(ort().CreateCpuMemoryInfo(kOrtArenaAllocator, kOrtMemTypeDefault, &made));
    return made;
  }();
  return kInfo;
}

size_t bytes_of(OnnxType type) {
  switch (type) {
    case OnnxType::kFloat:
    case OnnxType::kInt32: return 4;
    case OnnxType::kInt64: return 8;
    case OnnxType::kBool: return 1;
    case OnnxType::kFloat16:
    case OnnxType::kBfloat16: break;
  }
  return 2;
}

}  // namespace

const OrtApi& ort() {
  static const OrtApi* const kApi = [] {
    const OrtApi* api = api_base().GetApi(kOrtApiVersion);
    if (api == nullptr) throw OrtRefusal("the library lacks the functions that are used");
    return api;
  }();
  return *kApi;
}

std::string describe_ort() {
  try {
    return api_base().GetVersionString();
  } catch (const OrtRefusal& refusal) {
    return std::string("absent (") + refusal.what() + ")";
  }
}

bool ort_is_absent() {
  static const bool kAbsent = describe_ort().rfind("absent", 0) == 0;
  return kAbsent;
}

// The environment owns the threads, and lives as long as any model.
std::shared_ptr<OrtEnv> OrtModel::shared_environment(int threads) {
  static std::weak_ptr<OrtEnv> last;
  std::shared_ptr<OrtEnv> environment = last.lock();
  if (environment != nullptr) return environment;
  OrtThreadingOptions* options = nullptr;
  check(ort().CreateThreadingOptions(&options));
  const std::unique_ptr<OrtThreadingOptions, void (*)(OrtThreadingOptions*)> guard(options,
                                                                                   ort().ReleaseThreadingOptions);
  check(ort().SetGlobalIntraOpNumThreads(options, threads));
  check(ort().SetGlobalInterOpNumThreads(options, 1));
  check(ort().SetGlobalSpinControl(options, 1));
  const StartingThreads elsewhere;
  OrtEnv* made = nullptr;
  check(ort().CreateEnvWithGlobalThreadPools(kOrtLogFatal, "heed", options, &made));
  environment.reset(made, Free());
  last = environment;
  return environment;
}

OrtModel::OrtModel(const OnnxModel& model, int threads) : environment_(shared_environment(threads)) {
  OrtSessionOptions* options = nullptr;
  check(ort().CreateSessionOptions(&options));
  const std::unique_ptr<OrtSessionOptions, void (*)(OrtSessionOptions*)> guard(options, ort().ReleaseSessionOptions);
  check(ort().DisablePerSessionThreads(options));
  check(ort().SetSessionExecutionMode(options, kOrtSequential));
  check(ort().SetSessionGraphOptimizationLevel(options, kOrtEnableAllOptimizations));
  const std::string bytes = model.bytes();
  OrtSession* session = nullptr;
  check(ort().CreateSessionFromArray(environment_.get(), bytes.data(), bytes.size(), options, &session));
  session_.reset(session);
}

void OrtModel::add_set(const std::vector<OrtTensor>& inputs, const std::vector<OrtTensor>& outputs) {
  Set set;
  const auto add = [&set](const OrtTensor& tensor) {
    size_t num_bytes = bytes_of(tensor.type);
    for (const int64_t dim : tensor.dims) num_bytes *= dim;
    OrtValue* value = nullptr;
    check(ort().CreateTensorWithDataAsOrtValue(memory_info(), tensor.data, num_bytes, tensor.dims.data(),
                                               tensor.dims.size(), static_cast<int>(tensor.type), &value));
    set.values.emplace_back(value);
    return value;
  };
  for (const OrtTensor& input : inputs) set.inputs.push_back(add(input));
  for (const OrtTensor& output : outputs) set.outputs.push_back(add(output));
  if (sets_.empty()) {
    for (const OrtTensor& input : inputs) names_.push_back(input.name);
    for (const OrtTensor& output : outputs) names_.push_back(output.name);
    for (size_t i = 0; i < names_.size(); ++i) {
      (i < inputs.size() ? input_names_ : output_names_).push_back(names_[i].c_str());
    }
  }
  sets_.push_back(std::move(set));
}

void OrtModel::run() {
  Set& set = sets_[next_++ % sets_.size()];
  check(ort().Run(session_.get(), nullptr, input_names_.data(), set.inputs.data(), set.inputs.size(),
                  output_names_.data(), set.outputs.size(), set.outputs.data()));
}

}  // namespace bench
