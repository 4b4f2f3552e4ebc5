// SPDX-License-Identifier: Apache-2.0
// Reads shapes.txt and computes the work of a case.
#include "bench_case.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <sstream>

#include "fail.h"

namespace bench {
namespace {

int64_t bytes_of(heed_dtype dtype) { return dtype == HEED_F32 ? 4 : dtype == HEED_I8 ? 1 : 2; }

// The visible pairs of one head of one batch element, with a causal mask aligned bottom right and a length.
double visible_pairs(int64_t queries, int64_t keys, bool causal, int64_t length) {
  double pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t last = causal ? i + keys - queries + 1 : keys;
    pairs += static_cast<double>(std::clamp<int64_t>(last, 0, length));
  }
  return pairs;
}

// Those of all heads of all batch elements, of one layer.
double attention_flops(const BenchCase& self) {
  double pairs = 0;
  for (int64_t b = 0; b < self.batch; ++b) {
    const int64_t length = self.lengths.empty() ? self.keys : self.lengths[b];
    pairs += self.packed ? visible_pairs(length, length, self.causal, length)
                         : visible_pairs(self.queries, self.keys, self.causal, length);
  }
  return 2.0 * pairs * static_cast<double>(self.heads * (self.head_size + self.value_size));
}

std::vector<int32_t> integers(const std::string& list) {
  std::vector<int32_t> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoi(number));
  return numbers;
}

void set(BenchCase& self, const std::string& key, const std::string& value, const std::string& line) {
  const std::map<std::string, int64_t BenchCase::*> sizes = {
      {"B", &BenchCase::batch},
      {"H", &BenchCase::heads},
      {"Hkv", &BenchCase::kv_heads},
      {"Q", &BenchCase::queries},
      {"D", &BenchCase::head_size},
      {"Dv", &BenchCase::value_size},
      {"M", &BenchCase::rows},
      {"N", &BenchCase::outputs},
      {"F", &BenchCase::hidden},
      {"layers", &BenchCase::layers},
      {"E", &BenchCase::embedding},
      {"parts", &BenchCase::parts},
      {"K", self.kind == Kind::kLinear ? &BenchCase::inputs : &BenchCase::keys}};
  if (const auto found = sizes.find(key); found != sizes.end()) {
    self.*found->second = std::stoll(value);
  } else if (key == "lens") {
    self.lengths = integers(value);
  } else if (key == "causal") {
    self.causal = true;
  } else if (key == "mask") {
    self.as_mask = true;
  } else if (key == "cold") {
    self.cold = true;
  } else if (key == "tokens") {
    self.key_layout = KeyLayout::kTokens;
  } else if (key == "transposed") {
    self.key_layout = KeyLayout::kTransposed;
  } else if (key == "alibi") {
    self.alibi = true;
  } else if (key == "sinks") {
    self.sinks = true;
  } else if (key == "bias") {
    self.bias = true;
  } else if (key == "relative_bias") {
    self.relative_bias = true;
  } else if (key == "rope") {
    self.rope = true;
  } else if (key == "qk_norm") {
    self.qk_norm = true;
  } else if (key == "packed") {
    self.packed = true;
  } else if (key == "backward") {
    const std::map<std::string, Gradients> gradients = {
        {"", Gradients::kAll}, {"input", Gradients::kOfInput}, {"weight", Gradients::kOfWeight}};
    if (gradients.count(value) == 0) fail("unknown gradient '" + value + "' in the case: " + line);
    self.gradients = gradients.at(value);
  } else if (key == "page") {
    self.cache_layout = HEED_CACHE_PAGED;
    self.page_size = std::stoll(value);
  } else if (key == "ring") {
    self.cache_layout = HEED_CACHE_RING;
  } else if (key == "fork") {
    self.forked = true;
  } else if (key == "append") {
    self.appends = true;
  } else if (key == "rows") {
    self.rows_of_call = integers(value);
    self.packed = true;
  } else if (key == "i8") {
    self.dtype = HEED_I8;
  } else if (key == "f16") {
    self.dtype = HEED_F16;
  } else if (key == "bf16") {
    self.dtype = HEED_BF16;
  } else {
    fail("unknown word '" + key + "' in the case: " + line);
  }
}

void set_defaults(BenchCase& self, const std::string& line) {
  if (self.kind == Kind::kLayer || self.kind == Kind::kEncoder) self.head_size = self.embedding / self.heads;
  if (self.kind == Kind::kCache) {
    self.embedding = kCacheInputs;
    for (const int32_t length : self.lengths) self.keys = std::max<int64_t>(self.keys, length);
    for (const int32_t rows : self.rows_of_call) self.queries = std::max<int64_t>(self.queries, rows);
  }
  if (self.kv_heads == 0) self.kv_heads = self.heads;
  self.has_own_keys = (self.kind != Kind::kLayer && self.kind != Kind::kEncoder) || self.keys != 0;
  if (self.keys == 0) self.keys = self.queries;
  if (self.value_size == 0) self.value_size = self.head_size;
  const bool complete = self.kind == Kind::kLinear ? self.rows > 0 && self.outputs > 0 && self.inputs > 0
                                                   : self.queries > 0 && self.head_size > 0;
  if (!complete || (self.kind == Kind::kMerge) != (self.parts > 0)) fail("sizes are missing in the case: " + line);
  for (const std::vector<int32_t>* numbers : {&self.lengths, &self.rows_of_call}) {
    if (!numbers->empty() && static_cast<int64_t>(numbers->size()) != self.batch)
      fail("the case needs one number for each batch element: " + line);
  }
  const bool of_cache = self.cache_layout != HEED_CACHE_CONTIGUOUS || self.forked || self.appends ||
                        !self.rows_of_call.empty() || self.dtype == HEED_I8;
  if (of_cache && self.kind != Kind::kCache) fail("a word for caches in another case: " + line);
  if (self.forked && !self.lengths.empty()) fail("forks have one length: " + line);
  const bool trains = self.kind == Kind::kLinear || ((self.kind == Kind::kAttention || self.kind == Kind::kEncoder) &&
                                                     self.gradients == Gradients::kAll);
  if (self.gradients != Gradients::kNone && !trains) fail("gradients that are not measured, in the case: " + line);
}

}  // namespace

double BenchCase::flops() const {
  if (kind == Kind::kLinear) return 2.0 * static_cast<double>(rows) * static_cast<double>(outputs * inputs);
  if (kind == Kind::kMerge) return 2.0 * static_cast<double>(parts * batch * heads * queries * value_size);
  double pairs = 0;
  if (kind == Kind::kCache) {
    for (int64_t b = 0; b < batch; ++b) pairs += visible_pairs(rows_in_call(b), rows_seen(b), causal, rows_seen(b));
    return 2.0 * pairs * static_cast<double>(heads * (head_size + value_size));
  }
  int64_t valid_keys = 0;
  for (int64_t b = 0; b < batch; ++b) valid_keys += lengths.empty() ? keys : lengths[b];
  const double attention = attention_flops(*this);
  if (kind == Kind::kEncoder) {
    const auto weights = static_cast<double>(4 * embedding * embedding + 2 * embedding * hidden);
    return static_cast<double>(layers) * (attention + 2.0 * static_cast<double>(batch * queries) * weights);
  }
  if (kind != Kind::kLayer) return attention;
  // Rows of queries and outputs, and of keys and values.
  const auto rows_of_projections = static_cast<double>(2 * (packed ? valid_keys : batch * queries) + 2 * valid_keys);
  return attention + 2.0 * rows_of_projections * static_cast<double>(embedding * embedding);
}

double BenchCase::backward_flops() const {
  switch (kind) {
    case Kind::kLinear: return gradients == Gradients::kAll ? 2 * flops() : flops();
    case Kind::kEncoder: return 2 * flops() + static_cast<double>(layers) * attention_flops(*this) / 2;
    default: break;
  }
  return flops() * static_cast<double>(3 * head_size + 2 * value_size) / static_cast<double>(head_size + value_size);
}

BenchCase BenchCase::without_positions() const {
  BenchCase plain = *this;
  plain.alibi = plain.sinks = plain.bias = plain.relative_bias = plain.rope = plain.qk_norm = plain.packed = false;
  return plain;
}

BenchCase BenchCase::without_cache() const {
  BenchCase plain = *this;
  plain.kind = Kind::kAttention;
  if (plain.dtype == HEED_I8) plain.dtype = HEED_F32;
  plain.cache_layout = HEED_CACHE_CONTIGUOUS;
  plain.forked = plain.appends = plain.packed = false;
  plain.lengths.clear();
  plain.rows_of_call.clear();
  return plain;
}

int64_t BenchCase::rows_before(int64_t sequence) const { return lengths.empty() ? keys : lengths[sequence]; }

int64_t BenchCase::rows_in_call(int64_t sequence) const {
  return rows_of_call.empty() ? queries : rows_of_call[sequence];
}

int64_t BenchCase::rows_seen(int64_t sequence) const {
  return rows_before(sequence) + (appends ? rows_in_call(sequence) : 0);
}

int64_t BenchCase::packed_rows() const {
  const std::vector<int32_t>& numbers = kind == Kind::kCache ? rows_of_call : lengths;
  return std::accumulate(numbers.begin(), numbers.end(), int64_t{0});
}

double BenchCase::streamed_bytes() const {
  if (kind == Kind::kLinear) return static_cast<double>(outputs * inputs * bytes_of(dtype));
  // Each row of a part has its log_sum_exp in F32.
  if (kind == Kind::kMerge)
    return static_cast<double>(parts * batch * heads * queries * (value_size * bytes_of(dtype) + 4));
  const int64_t scales = dtype == HEED_I8 ? 2 * static_cast<int64_t>(sizeof(float)) : 0;
  const int64_t row = kv_heads * ((head_size + value_size) * bytes_of(dtype) + scales);
  int64_t rows_read = batch * keys;
  if (kind == Kind::kCache) {
    rows_read = 0;
    for (int64_t b = 0; b < (forked ? 1 : batch); ++b) rows_read += rows_before(b);
  }
  return static_cast<double>(rows_read * row);
}

bool BenchCase::bound_by_memory() const {
  if (kind == Kind::kCache) return queries <= 4;
  if (kind == Kind::kMerge) return true;
  return kind == Kind::kAttention ? queries == 1 : kind == Kind::kLinear && rows == 1;
}

int64_t BenchCase::copies() const {
  return cold ? std::max<int64_t>(2, std::llround(std::ceil(cold_bytes / streamed_bytes()))) : 1;
}

std::vector<BenchCase> read_cases(const std::string& path) {
  const std::map<std::string, Kind> kinds = {
      {"attention", Kind::kAttention}, {"cache", Kind::kCache},   {"encoder", Kind::kEncoder}, {"idle", Kind::kIdle},
      {"layer", Kind::kLayer},         {"linear", Kind::kLinear}, {"merge", Kind::kMerge}};
  std::ifstream file(path);
  if (!file) fail("cannot read " + path);
  std::vector<BenchCase> cases;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    BenchCase self;
    std::string kind;
    if (!(words >> self.name)) continue;
    words >> kind;
    if (kinds.count(kind) == 0) fail("unknown kind '" + kind + "' in the case: " + line);
    self.kind = kinds.at(kind);
    for (std::string word; words >> word;) {
      const size_t equals = word.find('=');
      set(self, word.substr(0, equals), equals == std::string::npos ? "" : word.substr(equals + 1), line);
    }
    set_defaults(self, line);
    cases.push_back(std::move(self));
  }
  return cases;
}

}  // namespace bench
