// SPDX-License-Identifier: Apache-2.0
// Compiled for this machine's processor, since Eigen chooses its instructions at compile time. Eigen packs the weight
// in each call.
#include "eigen_subject.h"

#include <Eigen/Dense>

#include "buffer.h"
#include "openmp.h"

namespace bench {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

class EigenSubject final : public Subject {
 public:
  EigenSubject(const BenchCase& bench_case, const Data& data, int threads)
      : x_(floats(data.queries), bench_case.rows, bench_case.inputs),
        result_(make_buffer(bench_case.rows * bench_case.outputs * sizeof(float))),
        y_(static_cast<float*>(result_.get()), bench_case.rows, bench_case.outputs) {
    use_openmp_threads(threads);
    Eigen::setNbThreads(threads);
    for (const Tensor& weight : data.weights)
      weights_.emplace_back(floats(weight), bench_case.outputs, bench_case.inputs);
    call();
  }

  [[nodiscard]] std::string library() const override { return "OpenMP"; }
  [[nodiscard]] std::string name() const override { return "Eigen"; }
  void call() override {
    const Eigen::Map<const Matrix>& weight = weights_[next_++ % weights_.size()];
    if (x_.rows() == 1) {
      y_.row(0).transpose().noalias() = weight * x_.row(0).transpose();
    } else {
      y_.noalias() = x_ * weight.transpose();
    }
  }
  [[nodiscard]] std::vector<float> output() const override { return {y_.data(), y_.data() + y_.size()}; }

 private:
  static const float* floats(const Tensor& tensor) { return static_cast<const float*>(heed_tensor_data(tensor.get())); }

  Eigen::Map<const Matrix> x_;
  std::vector<Eigen::Map<const Matrix>> weights_;
  Buffer result_;
  Eigen::Map<Matrix> y_;
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Subject> make_eigen_subject(const BenchCase& bench_case, const Data& data, int threads) {
  return std::make_unique<EigenSubject>(bench_case, data, threads);
}

}  // namespace bench
