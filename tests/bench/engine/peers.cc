// SPDX-License-Identifier: Apache-2.0
// Which libraries these are is decided when the benchmark is configured (CMakeLists.txt beside this folder).
#include "peers.h"

#include <Eigen/src/Core/util/Macros.h>

#if defined(HEED_BENCH_ORT_LIBRARY)
#include "ort_model.h"
#include "ort_subjects.h"
#endif
#if defined(HEED_BENCH_HAS_ONEDNN)
#include <oneapi/dnnl/dnnl.hpp>

#include "onednn_subject.h"
#endif
#include "eigen_subject.h"

namespace bench {

Subjects make_peers(const BenchCase& bench_case, const Data& data, int threads, std::vector<std::string>* refusals) {
  Subjects peers;
#if defined(HEED_BENCH_ORT_LIBRARY)
  peers = make_ort_subjects(bench_case, data, threads, refusals);
#else
  (void)refusals;
#endif
  if (bench_case.kind != Kind::kLinear) return peers;
#if defined(HEED_BENCH_HAS_ONEDNN)
  try {
    peers.push_back(make_onednn_subject(bench_case, data, threads));
  } catch (const dnnl::error& error) {
    refusals->push_back(std::string("oneDNN: ") + error.what());
  }
#endif
  peers.push_back(make_eigen_subject(bench_case, data, threads));
  return peers;
}

std::string describe_peers() {
  std::string text = "ONNX Runtime ";
#if defined(HEED_BENCH_ORT_LIBRARY)
  try {
    text += ort_version();
  } catch (const OrtRefusal& refusal) {
    text += std::string("absent (") + refusal.what() + ")";
  }
#else
  text += "absent (HEED_BENCH_ORT_LIBRARY and HEED_BENCH_ORT_INCLUDE name none)";
#endif
  text += ", oneDNN ";
#if defined(HEED_BENCH_HAS_ONEDNN)
  const dnnl_version_t* version = dnnl_version();
  text += std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
#else
  text += "absent (libdnnl-dev)";
#endif
  return text + ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace bench
