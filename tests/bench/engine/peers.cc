// SPDX-License-Identifier: Apache-2.0
// The CMake configuration determines which libraries are included (CMakeLists.txt in the parent folder).
#include "peers.h"

#include <Eigen/src/Core/util/Macros.h>

#if defined(HEED_BENCH_HAS_ONEDNN)
#include <oneapi/dnnl/dnnl.hpp>

#include "onednn_subjects.h"
#endif
#if defined(HEED_BENCH_HAS_GGML)
#include "ggml_subjects.h"
#endif
#include "cache_subjects.h"
#include "eigen_subject.h"
#include "encoder_data.h"
#include "layout_subjects.h"
#include "ort_model.h"
#include "ort_subjects.h"
#include "position_subjects.h"
#include "rounds.h"
#include "torch_api.h"

namespace bench {

Subjects make_peers(const BenchCase& bench_case, const Data& data, int threads, std::vector<std::string>* refusals) {
  if (bench_case.kind == Kind::kCache) {
    if (!is_plain_cache(bench_case)) return make_cache_subjects(bench_case, threads);
    const std::shared_ptr<const Data> attention = attention_over_cache(bench_case, data);
    return with_data(make_peers(bench_case.without_cache(), *attention, threads, refusals), attention);
  }
  if (bench_case.kind == Kind::kMerge) return {};
  if (bench_case.key_layout != KeyLayout::kHeads) return make_layout_subjects(bench_case, data, threads);
  if (bench_case.has_positions()) return make_position_subjects(bench_case, threads);
  Subjects peers;
  if (!ort_is_absent()) peers = make_ort_subjects(bench_case, data, threads, refusals);
  wait_for_quiet();
  if (bench_case.kind == Kind::kEncoder) {
    for (auto& subject : make_encoder_subjects(bench_case, data, threads)) peers.push_back(std::move(subject));
    return peers;
  }
  const bool linear = bench_case.kind == Kind::kLinear;
#if defined(HEED_BENCH_HAS_ONEDNN)
  try {
    if (linear) peers.push_back(make_onednn_matmul(bench_case, data, threads));
#if defined(HEED_BENCH_ONEDNN_HAS_GRAPH)
    if (bench_case.kind == Kind::kAttention) peers.push_back(make_onednn_attention(bench_case, data, threads));
#endif
  } catch (const dnnl::error& error) {
    refusals->push_back(std::string("oneDNN: ") + error.what());
  }
#endif
#if defined(HEED_BENCH_HAS_GGML)
  for (auto& subject : make_ggml_subjects(bench_case, data, threads)) peers.push_back(std::move(subject));
#endif
  if (linear) peers.push_back(make_eigen_subject(bench_case, data, threads));
  return peers;
}

std::string describe_peers() {
  std::string text = "ONNX Runtime " + describe_ort() + ", oneDNN ";
#if defined(HEED_BENCH_HAS_ONEDNN)
  const dnnl_version_t* version = dnnl_version();
  text += std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
#else
  text += "absent (libdnnl-dev, or HEED_BENCH_ONEDNN)";
#endif
  text += ", its graph API ";
#if defined(HEED_BENCH_ONEDNN_HAS_GRAPH)
  text += "there";
#else
  text += "absent (HEED_BENCH_ONEDNN)";
#endif
  text += ", ggml ";
#if defined(HEED_BENCH_HAS_GGML)
  text += ggml_version_text();
#else
  text += "absent (HEED_BENCH_GGML)";
#endif
  text += torch_absence().empty() ? ", PyTorch 2.10" : ", PyTorch absent (" + torch_absence() + ")";
  return text + ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
         std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace bench
