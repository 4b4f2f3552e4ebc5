// SPDX-License-Identifier: Apache-2.0
#include "cache_subjects.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "fail.h"
#include "other_cases.h"
#include "rounds.h"

namespace bench {
namespace {

class WithData : public Subject {
 public:
  WithData(std::unique_ptr<Subject> subject, std::shared_ptr<const Data> data)
      : data_(std::move(data)), subject_(std::move(subject)) {}

  [[nodiscard]] std::string library() const override { return subject_->library(); }
  [[nodiscard]] std::string name() const override { return subject_->name(); }
  void call() override { subject_->call(); }
  // With one query (B, H, Q, Dv) and (B, Q, H * Dv) are the same.
  [[nodiscard]] std::vector<float> output() const override { return subject_->output(); }
  [[nodiscard]] bool computes_the_same() const override { return subject_->computes_the_same(); }

 private:
  std::shared_ptr<const Data> data_;
  std::unique_ptr<Subject> subject_;
};

// queries (B, H, 1, D) from (B, 1, E).
void project_queries(const BenchCase& bench_case, const Data& data, heed_tensor* queries) {
  const std::vector<float> inputs = read_floats(data.queries.get());
  const std::vector<float> weight = read_floats(data.weights[0].get());
  const int64_t size = bench_case.embedding;
  std::vector<float> projected;
  for (int64_t b = 0; b < bench_case.batch; ++b) {
    for (int64_t i = 0; i < bench_case.heads * bench_case.head_size; ++i) {
      float sum = 0;
      for (int64_t e = 0; e < size; ++e) sum += weight[i * size + e] * inputs[b * size + e];
      projected.push_back(sum);
    }
  }
  check(heed_tensor_write(queries, projected.data(), projected.size() * sizeof(float)));
}

// A part of the tensor: batch element b without its axis.
Tensor element_of(heed_context* context, heed_tensor* tensor, int64_t b) {
  const Dims dims = {heed_tensor_dim(tensor, 1), heed_tensor_dim(tensor, 2), heed_tensor_dim(tensor, 3)};
  auto* first = static_cast<float*>(heed_tensor_data(tensor)) + b * dims[0] * dims[1] * dims[2];
  heed_tensor* part = nullptr;
  check(heed_tensor_wrap(context, HEED_F32, 3, dims.data(), nullptr, first, nullptr, nullptr, &part));
  return Tensor(part);
}

// For each number of rows a case with its sequences.
std::vector<BenchCase> cases_by_rows(const BenchCase& bench_case) {
  std::map<int32_t, BenchCase, std::greater<>> cases;
  for (int64_t b = 0; b < bench_case.batch; ++b) {
    const int32_t rows = bench_case.rows_of_call[b];
    const auto [place, is_new] = cases.try_emplace(rows, bench_case);
    BenchCase& one = place->second;
    if (is_new) {
      one.batch = 0;
      one.keys = 0;
      one.queries = rows;
      one.lengths.clear();
      one.rows_of_call.clear();
    }
    ++one.batch;
    one.keys = std::max(one.keys, bench_case.rows_before(b));
    one.lengths.push_back(static_cast<int32_t>(bench_case.rows_before(b)));
    one.rows_of_call.push_back(rows);
  }
  std::vector<BenchCase> all;
  for (auto& [rows, one] : cases) all.push_back(std::move(one));
  return all;
}

}  // namespace

bool is_plain_cache(const BenchCase& bench_case) {
  return bench_case.cache_layout == HEED_CACHE_CONTIGUOUS && bench_case.dtype == HEED_F32 && bench_case.queries == 1 &&
         bench_case.lengths.empty() && bench_case.rows_of_call.empty() && !bench_case.forked && !bench_case.appends;
}

std::shared_ptr<const Data> attention_over_cache(const BenchCase& bench_case, const Data& data) {
  auto attention = std::make_shared<Data>(bench_case.without_cache());
  heed_context* context = attention->context.get();
  project_queries(bench_case, data, attention->queries.get());
  for (int64_t b = 0; b < bench_case.batch; ++b) {
    const Tensor keys = element_of(context, attention->keys[0].get(), b);
    const Tensor values = element_of(context, attention->values[0].get(), b);
    check(heed_cache_read(data.caches[0].get(), 0, b, keys.get(), values.get()));
  }
  for (const std::vector<Tensor>* tensors : {&attention->keys, &attention->values}) {
    for (size_t copy = 1; copy < tensors->size(); ++copy) {
      std::memcpy(heed_tensor_data((*tensors)[copy].get()), heed_tensor_data((*tensors)[0].get()),
                  heed_tensor_num_bytes((*tensors)[0].get()));
    }
  }
  return attention;
}

Subjects with_data(Subjects subjects, const std::shared_ptr<const Data>& data) {
  for (auto& subject : subjects) subject = std::make_unique<WithData>(std::move(subject), data);
  return subjects;
}

Subjects make_cache_subjects(const BenchCase& bench_case, int threads) {
  Subjects subjects;
  const auto add = [&](const char* name, const std::vector<BenchCase>& cases, bool computes_the_same) {
    subjects.push_back(std::make_unique<OtherCases>(name, cases, threads, computes_the_same));
  };
  BenchCase other = bench_case;
  if (!bench_case.rows_of_call.empty()) {
    // The queries are others.
    add("heed apart", cases_by_rows(bench_case), false);
  } else if (bench_case.forked) {
    other.forked = false;
    add("heed apart", {other}, true);
  } else if (bench_case.cache_layout != HEED_CACHE_CONTIGUOUS) {
    other.cache_layout = HEED_CACHE_CONTIGUOUS;
    other.page_size = 0;
    add("heed contiguous", {other}, true);
  } else if (bench_case.dtype != HEED_F32) {
    other.dtype = HEED_F32;
    add("heed F32", {other}, true);
  } else if (bench_case.queries > 1) {
    other.queries = 1;
    add("heed one row", {other}, false);
  } else if (bench_case.appends) {
    other.appends = false;
    add("heed read", {other}, false);
  }
  wait_for_quiet();
  return subjects;
}

}  // namespace bench
