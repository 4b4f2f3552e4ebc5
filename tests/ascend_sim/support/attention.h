// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of SelfAttentionOperation's arithmetic: a problem as arrays of numbers, and its result.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {

using Param = atb::infer::SelfAttentionParam;
using Floats = std::vector<float>;

inline Param encoder() {
  Param param;
  param.calcType = Param::PA_ENCODER;
  param.kernelType = Param::KERNELTYPE_HIGH_PRECISION;
  param.headNum = 1;
  return param;
}

inline Param with_mask(Param::MaskType type) {
  Param param = encoder();
  param.maskType = type;
  return param;
}

struct Problem {
  Param param = encoder();
  aclDataType dtype = ACL_BF16;
  std::vector<int32_t> query_lengths;
  std::vector<int32_t> key_lengths;
  int64_t head_size = 1;
  // Head size of the values; 0 if it is that of queries and keys.
  int64_t value_head_size = 0;
  Floats query, key, value;
  std::optional<atb::TensorDesc> mask_desc;
  Floats mask;
};

inline int64_t total(const std::vector<int32_t>& lengths) {
  int64_t sum = 0;
  for (const int32_t length : lengths) sum += length;
  return sum;
}

class AttentionTest : public AtbTest {
 protected:
  Floats compute(const Problem& problem) {
    Floats results;
    EXPECT_EQ(try_compute(problem, results), atb::NO_ERROR);
    return results;
  }

  // The code of Execute, after a Setup that succeeds.
  atb::Status try_compute(const Problem& problem, Floats& results) {
    const int64_t heads = problem.param.headNum;
    const int64_t kv_heads = problem.param.kvHeadNum > 0 ? problem.param.kvHeadNum : heads;
    const int64_t d = problem.head_size;
    const int64_t value_d = problem.value_head_size > 0 ? problem.value_head_size : d;
    const auto desc = [&](const std::vector<int32_t>& lengths, int64_t num_heads, int64_t size) {
      return desc_of(problem.dtype, {total(lengths), num_heads, size});
    };
    DeviceTensor query(desc(problem.query_lengths, heads, d)), key(desc(problem.key_lengths, kv_heads, d));
    DeviceTensor value(desc(problem.key_lengths, kv_heads, value_d)), out(desc(problem.query_lengths, heads, value_d));
    query.write_floats(problem.query);
    key.write_floats(problem.key);
    value.write_floats(problem.value);
    std::optional<DeviceTensor> mask;
    if (problem.mask_desc) {
      mask.emplace(*problem.mask_desc);
      mask->write_floats(problem.mask);
    }
    std::vector<int32_t> lengths = problem.query_lengths;
    lengths.insert(lengths.end(), problem.key_lengths.begin(), problem.key_lengths.end());
    atb::VariantPack pack = pack_of({&query, &key, &value}, {&out});
    if (mask) pack.inTensors.push_back(mask->tensor());
    atb::Tensor host;
    host.desc = desc_of(ACL_INT32, {2, static_cast<int64_t>(problem.query_lengths.size())});
    host.hostData = lengths.data();
    host.dataSize = lengths.size() * sizeof(int32_t);
    pack.inTensors.push_back(host);
    const atb::Status code = try_run(problem.param, pack);
    results = out.read_floats();
    return code;
  }

  // A problem with one query, which is 0. So all scores are 0, and only the mask decides the weights.
  static Problem equal_scores(Param param, aclDataType dtype, const Floats& values) {
    Problem problem;
    problem.param = param;
    problem.dtype = dtype;
    problem.query_lengths = {1};
    problem.key_lengths = {static_cast<int32_t>(values.size())};
    problem.query = {0};
    problem.key = Floats(values.size(), 1);
    problem.value = values;
    return problem;
  }

  // For a mask of one row.
  Floats masked(Param param, aclDataType dtype, const Floats& values, const Floats& mask) {
    Problem problem = equal_scores(param, dtype, values);
    const auto n = static_cast<int64_t>(values.size());
    problem.mask = mask;
    if (param.maskType == Param::MASK_TYPE_ALIBI) {
      problem.mask_desc = desc_of(dtype, {1, n, n});
      problem.mask.resize(static_cast<size_t>(n * n), 0);
    } else {
      problem.mask_desc = desc_of(dtype, {1, n});
    }
    return compute(problem);
  }
};

}  // namespace ascend_sim
