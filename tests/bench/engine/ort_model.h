// SPDX-License-Identifier: Apache-2.0
// A model in ONNX Runtime, by its C API, with all inputs and outputs allocated beforehand. The library is loaded at run
// time; its path is HEED_BENCH_ORT_LIBRARY of the environment, or that of the build.
#ifndef HEED_BENCH_ORT_MODEL_H
#define HEED_BENCH_ORT_MODEL_H

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnx_model.h"
#include "ort_api.h"

namespace bench {

// An error message of ONNX Runtime.
class OrtRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws OrtRefusal if the library cannot be loaded.
const OrtApi& ort();
// Such as "1.30.0", or "absent (reason)".
std::string describe_ort();
bool ort_is_absent();

// A tensor of an OrtModel over the caller's memory, which must outlive it.
struct OrtTensor {
  std::string name;
  OnnxType type = OnnxType::kFloat;
  OnnxModel::Dims dims;
  void* data = nullptr;
};

class OrtModel {
 public:
  // All models that exist at the same time have the same number of threads, and share them. Otherwise the threads of
  // another model could still spin on a processor that this one needs.
  OrtModel(const OnnxModel& model, int threads);

  // All inputs and outputs of a call. With several sets, calls use them in turn.
  void add_set(const std::vector<OrtTensor>& inputs, const std::vector<OrtTensor>& outputs);
  void run();

 private:
  struct Free {
    void operator()(OrtEnv* environment) const { ort().ReleaseEnv(environment); }
    void operator()(OrtSession* session) const { ort().ReleaseSession(session); }
    void operator()(OrtValue* value) const { ort().ReleaseValue(value); }
  };
  using Value = std::unique_ptr<OrtValue, Free>;
  struct Set {
    std::vector<Value> values;
    std::vector<const OrtValue*> inputs;
    std::vector<OrtValue*> outputs;
  };

  static std::shared_ptr<OrtEnv> shared_environment(int threads);

  std::shared_ptr<OrtEnv> environment_;
  std::unique_ptr<OrtSession, Free> session_;
  std::vector<Set> sets_;
  std::vector<std::string> names_;
  std::vector<const char*> input_names_;
  std::vector<const char*> output_names_;
  size_t next_ = 0;
};

}  // namespace bench

#endif  // HEED_BENCH_ORT_MODEL_H
