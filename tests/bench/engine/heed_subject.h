// SPDX-License-Identifier: Apache-2.0
// heed as a subject: layer, outputs and workspace exist before a call, so that calls allocate nothing. A merge has no layer.
#ifndef HEED_BENCH_HEED_SUBJECT_H
#define HEED_BENCH_HEED_SUBJECT_H

#include <memory>
#include <string>

#include "data.h"
#include "subject.h"

namespace bench {

Layer attention_layer(heed_context* context, const BenchCase& bench_case);
Layer linear_layer(heed_context* context, const BenchCase& bench_case, const heed_tensor* weight);

class HeedSubject : public Subject {
 public:
  HeedSubject(const BenchCase& bench_case, const Data& data, int threads);

  // Must be called before call(): creates the workspace, which starts the context's threads.
  void prepare();

  [[nodiscard]] std::string library() const override { return "heed"; }
  [[nodiscard]] std::string name() const override { return library(); }
  void call() override;
  [[nodiscard]] bool must_restore() const override { return appends_; }
  void restore() override;
  [[nodiscard]] std::vector<float> output() const override { return read_floats(output_.get()); }

  [[nodiscard]] size_t workspace_bytes() const { return heed_workspace_num_bytes(workspace_.get()); }
  // The JSON of heed_layer_explain; empty without a layer.
  [[nodiscard]] std::string explanation() const;

 private:
  void make_layers(const BenchCase& bench_case, const Data& data);
  void use_caches(const BenchCase& bench_case, const Data& data);
  void use_parts(const BenchCase& bench_case, const Data& data);

  Context context_;
  // One for all calls; for cold weights, one for each copy of them.
  std::vector<Layer> layers_;
  heed_sequence_inputs sequences_ = HEED_SEQUENCE_INPUTS_INIT;
  std::vector<heed_layer_inputs> inputs_;
  std::vector<heed_cache_inputs> caches_;  // one for each of inputs_
  std::vector<int64_t> rows_before_;       // of each sequence
  std::vector<const heed_tensor*> parts_;  // of a merge
  std::vector<const heed_tensor*> log_sum_exps_;
  bool appends_;
  Tensor output_;
  heed_layer_outputs outputs_ = HEED_LAYER_OUTPUTS_INIT;
  Workspace workspace_;
  size_t next_ = 0;
};

}  // namespace bench

#endif  // HEED_BENCH_HEED_SUBJECT_H
