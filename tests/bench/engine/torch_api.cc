// SPDX-License-Identifier: Apache-2.0
#include "torch_api.h"

#include <dlfcn.h>

#include <cstdlib>

namespace bench {
namespace {

class Loader {
 public:
  Loader() {
    const char* folder = std::getenv("HEED_BENCH_TORCH");
    if (folder == nullptr) {
      absence_ = "HEED_BENCH_TORCH names none";
      return;
    }
    library_ = dlopen((std::string(folder) + "/libLibTorchSharp.so").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
      absence_ = dlerror();
      return;
    }
    find("Torch_get_and_reset_last_err", &api_.Torch_get_and_reset_last_err);
    find("Torch_set_num_threads", &api_.Torch_set_num_threads);
    find("Torch_float32_to_scalar", &api_.Torch_float32_to_scalar);
    find("Tensor_new", &api_.Tensor_new);
    find("Tensor_dispose", &api_.Tensor_dispose);
    find("Tensor_data", &api_.Tensor_data);
    find("Tensor_contiguous", &api_.Tensor_contiguous);
    find("Tensor_reshape", &api_.Tensor_reshape);
    find("Tensor_permute", &api_.Tensor_permute);
    find("Tensor_select", &api_.Tensor_select);
    find("Tensor_transpose", &api_.Tensor_transpose);
    find("Tensor_add", &api_.Tensor_add);
    find("Tensor_gelu", &api_.Tensor_gelu);
    find("NN_functional_linear", &api_.NN_functional_linear);
    find("NN_layer_norm", &api_.NN_layer_norm);
    find("NN_scaled_dot_product_attention", &api_.NN_scaled_dot_product_attention);
    find("Autograd_grad", &api_.Autograd_grad);
  }

  [[nodiscard]] const std::string& absence() const { return absence_; }
  [[nodiscard]] const TorchApi& api() const { return api_; }

 private:
  template <typename Function>
  void find(const std::string& name, Function* function) {
    *function = reinterpret_cast<Function>(dlsym(library_, ("THS" + name).c_str()));
    if (*function == nullptr) absence_ = "the library lacks THS" + name;
  }

  void* library_ = nullptr;
  TorchApi api_ = {};
  std::string absence_;
};

const Loader& loader() {
  static const Loader kLoader;
  return kLoader;
}

}  // namespace

const std::string& torch_absence() { return loader().absence(); }

const TorchApi& torch() { return loader().api(); }

}  // namespace bench
