// SPDX-License-Identifier: Apache-2.0
// A model in ONNX Runtime, by its C API, with all inputs and outputs allocated beforehand. The library is loaded at run
// time from where HEED_BENCH_ORT_LIBRARY says: the environment's, or that of the build.
#ifndef HEED_BENCH_ORT_MODEL_H
#define HEED_BENCH_ORT_MODEL_H

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "onnx_model.h"
#include "ort_api.h"

namespace bench {

// What ONNX Runtime says when it cannot do something.
class OrtRefusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws OrtRefusal where the library cannot be loaded.
const OrtApi& ort();
// "1.30.0", or as "absent (why)".
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
  // All models at a time have the same number of threads, and share them: those of another model would still spin for a
  // while, on a processor that this one needs.
  OrtModel(const OnnxModel& model, int threads);

  // All inputs and outputs of a call. With several sets, each call uses the next one.
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
