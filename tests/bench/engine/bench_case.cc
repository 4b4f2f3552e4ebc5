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

int64_t bytes_of(heed_dtype dtype) { return dtype == HEED_F32 ? 4 : 2; }

// The visible pairs of one head of one batch element, with a causal mask aligned bottom right and a length.
double visible_pairs(int64_t queries, int64_t keys, bool causal, int64_t length) {
  double pairs = 0;
  for (int64_t i = 0; i < queries; ++i) {
    const int64_t last = causal ? i + keys - queries + 1 : keys;
    pairs += static_cast<double>(std::clamp<int64_t>(last, 0, length));
  }
  return pairs;
}

std::vector<int32_t> integers(const std::string& list) {
  std::vector<int32_t> numbers;
  std::istringstream in(list);
  for (std::string number; std::getline(in, number, ',');) numbers.push_back(std::stoi(number));
  return numbers;
}

void set(BenchCase& self, const std::string& key, const std::string& value, const std::string& line) {
  const std::map<std::string, int64_t BenchCase::*> sizes = {
      {"B", &BenchCase::batch},      {"H", &BenchCase::heads},
      {"Hkv", &BenchCase::kv_heads}, {"Q", &BenchCase::queries},
      {"D", &BenchCase::head_size},  {"Dv", &BenchCase::value_size},
      {"M", &BenchCase::rows},       {"N", &BenchCase::outputs},
      {"E", &BenchCase::embedding},  {"K", self.kind == Kind::kLinear ? &BenchCase::inputs : &BenchCase::keys}};
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
  } else if (key == "relative_bias") {
    self.relative_bias = true;
  } else if (key == "rope") {
    self.rope = true;
  } else if (key == "qk_norm") {
    self.qk_norm = true;
  } else if (key == "packed") {
    self.packed = true;
  } else if (key == "f16") {
    self.dtype = HEED_F16;
  } else if (key == "bf16") {
    self.dtype = HEED_BF16;
  } else {
    fail("unknown word '" + key + "' in the case: " + line);
  }
}

void set_defaults(BenchCase& self, const std::string& line) {
  if (self.kind == Kind::kLayer) self.head_size = self.embedding / self.heads;
  if (self.kv_heads == 0) self.kv_heads = self.heads;
  self.has_own_keys = self.kind != Kind::kLayer || self.keys != 0;
  if (self.keys == 0) self.keys = self.queries;
  if (self.value_size == 0) self.value_size = self.head_size;
  const bool complete = self.kind == Kind::kLinear ? self.rows > 0 && self.outputs > 0 && self.inputs > 0
                                                   : self.queries > 0 && self.head_size > 0;
  if (!complete) fail("sizes are missing in the case: " + line);
  if (!self.lengths.empty() && static_cast<int64_t>(self.lengths.size()) != self.batch) {
    fail("the case needs one length for each batch element: " + line);
  }
}

}  // namespace

double BenchCase::flops() const {
  if (kind == Kind::kLinear) return 2.0 * static_cast<double>(rows) * static_cast<double>(outputs * inputs);
  double pairs = 0;
  int64_t valid_keys = 0;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t length = lengths.empty() ? keys : lengths[b];
    pairs += packed ? visible_pairs(length, length, causal, length) : visible_pairs(queries, keys, causal, length);
    valid_keys += length;
  }
  const double attention = 2.0 * pairs * static_cast<double>(heads * (head_size + value_size));
  if (kind != Kind::kLayer) return attention;
  // Rows of queries and outputs, and of keys and values.
  const auto rows_of_projections = static_cast<double>(2 * (packed ? valid_keys : batch * queries) + 2 * valid_keys);
  return attention + 2.0 * rows_of_projections * static_cast<double>(embedding * embedding);
}

BenchCase BenchCase::without_positions() const {
  BenchCase plain = *this;
  plain.alibi = plain.sinks = plain.relative_bias = plain.rope = plain.qk_norm = plain.packed = false;
  return plain;
}

int64_t BenchCase::packed_rows() const { return std::accumulate(lengths.begin(), lengths.end(), int64_t{0}); }

double BenchCase::streamed_bytes() const {
  if (kind == Kind::kLinear) return static_cast<double>(outputs * inputs * bytes_of(dtype));
  return static_cast<double>(batch * kv_heads * keys * (head_size + value_size) * bytes_of(dtype));
}

bool BenchCase::bound_by_memory() const {
  return kind == Kind::kAttention ? queries == 1 : kind == Kind::kLinear && rows == 1;
}

int64_t BenchCase::copies() const {
  return cold ? std::max<int64_t>(2, std::llround(std::ceil(cold_bytes / streamed_bytes()))) : 1;
}

std::vector<BenchCase> read_cases(const std::string& path) {
  const std::map<std::string, Kind> kinds = {
      {"attention", Kind::kAttention}, {"idle", Kind::kIdle}, {"layer", Kind::kLayer}, {"linear", Kind::kLinear}};
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
