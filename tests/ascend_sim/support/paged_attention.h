// SPDX-License-Identifier: Apache-2.0
// Helpers for the tests of PagedAttentionOperation: parameters, and a problem as arrays of numbers with its result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "support/npu.h"

namespace ascend_sim {

using PagedParam = atb::infer::PagedAttentionParam;
using Floats = std::vector<float>;
using Lengths = std::vector<int32_t>;

// What hides a key in a mask.
inline constexpr float kHide = -10000;

inline PagedParam decoding(PagedParam::MaskType type = PagedParam::UNDEFINED) {
  PagedParam param;
  param.headNum = 1;
  param.maskType = type;
  return param;
}

// Several tokens of a sequence.
inline PagedParam spec(PagedParam::MaskType type) {
  PagedParam param = decoding(type);
  param.calcType = PagedParam::CALC_TYPE_SPEC;
  return param;
}

inline PagedParam changed(PagedParam param, const std::function<void(PagedParam&)>& change) {
  change(param);
  return param;
}

struct PagedProblem {
  PagedParam param = decoding();
  aclDataType dtype = ACL_BF16;
  // contextLens and, with CALC_TYPE_SPEC, qSeqLen; otherwise each sequence with keys has one token.
  Lengths keys;
  Lengths tokens;
  int64_t head_size = 1;
  // 0 if it is that of queries and keys.
  int64_t value_head_size = 0;
  int64_t block_size = 16;
  // The tokens of all sequences, and their keys and values, one after another.
  Floats query, key, value;
  std::optional<atb::TensorDesc> mask_desc;
  Floats mask;
  // Adds this to each entry of the block tables that is used.
  int32_t wrong_block = 0;

  size_t num_tokens() const {
    size_t sum = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] > 0) sum += tokens.empty() ? 1 : static_cast<size_t>(tokens[i]);
    }
    return sum;
  }
};

// A tensor that reads the lengths on the host.
inline atb::Tensor on_host(Lengths& lengths) {
  atb::Tensor tensor;
  tensor.desc = desc_of(ACL_INT32, {static_cast<int64_t>(lengths.size())});
  tensor.hostData = lengths.data();
  tensor.dataSize = lengths.size() * sizeof(int32_t);
  return tensor;
}

class PagedAttentionTest : public AtbTest {
 protected:
  Floats compute(const PagedProblem& problem) {
    Floats results;
    EXPECT_EQ(try_compute(problem, results), atb::NO_ERROR);
    return results;
  }

  // The code of Execute, after a Setup that succeeds. The blocks of the sequences are taken from the end of the caches,
  // last ones first, and block 0 is not used.
  atb::Status try_compute(const PagedProblem& problem, Floats& results) {
    const int64_t heads = problem.param.headNum;
    const int64_t kv_heads = problem.param.kvHeadNum > 0 ? problem.param.kvHeadNum : heads;
    const int64_t value_head_size = problem.value_head_size > 0 ? problem.value_head_size : problem.head_size;
    const auto num_tokens = static_cast<int64_t>(problem.num_tokens());
    int64_t num_blocks = 1, most_blocks = 1;
    for (const int32_t length : problem.keys) {
      const int64_t blocks = (length + problem.block_size - 1) / problem.block_size;
      num_blocks += blocks;
      most_blocks = std::max(most_blocks, blocks);
    }
    std::vector<int32_t> entries(problem.keys.size() * static_cast<size_t>(most_blocks), 99999);
    const auto batch = static_cast<int64_t>(problem.keys.size());
    DeviceTensor query(desc_of(problem.dtype, {num_tokens, heads, problem.head_size}));
    DeviceTensor key_cache(desc_of(problem.dtype, {num_blocks, problem.block_size, kv_heads, problem.head_size}));
    DeviceTensor value_cache(desc_of(problem.dtype, {num_blocks, problem.block_size, kv_heads, value_head_size}));
    DeviceTensor tables(desc_of(ACL_INT32, {batch, most_blocks}));
    DeviceTensor out(desc_of(problem.dtype, {num_tokens, heads, value_head_size}));
    const auto key_width = static_cast<size_t>(kv_heads * problem.head_size);
    const auto value_width = static_cast<size_t>(kv_heads * value_head_size);
    // What no token sees is a NaN.
    Floats keys(static_cast<size_t>(num_blocks * problem.block_size) * key_width, NAN);
    Floats values(static_cast<size_t>(num_blocks * problem.block_size) * value_width, NAN);
    int64_t next_block = num_blocks;
    size_t token = 0;
    for (size_t i = 0; i < problem.keys.size(); ++i) {
      for (int64_t j = 0; j < problem.keys[i]; ++j, ++token) {
        if (j % problem.block_size == 0) --next_block;
        entries[i * static_cast<size_t>(most_blocks) + static_cast<size_t>(j / problem.block_size)] =
            static_cast<int32_t>(next_block) + problem.wrong_block;
        const auto slot = static_cast<size_t>(next_block * problem.block_size + j % problem.block_size);
        std::copy_n(&problem.key[token * key_width], key_width, &keys[slot * key_width]);
        std::copy_n(&problem.value[token * value_width], value_width, &values[slot * value_width]);
      }
    }
    query.write_floats(problem.query);
    key_cache.write_floats(keys);
    value_cache.write_floats(values);
    tables.write(entries);
    atb::VariantPack pack = pack_of({&query, &key_cache, &value_cache, &tables}, {&out});
    Lengths key_lengths = problem.keys;
    Lengths token_lengths = problem.tokens;
    pack.inTensors.push_back(on_host(key_lengths));
    std::optional<DeviceTensor> mask;
    if (problem.mask_desc) {
      mask.emplace(*problem.mask_desc);
      mask->write_floats(problem.mask);
      pack.inTensors.push_back(mask->tensor());
    }
    if (!token_lengths.empty()) pack.inTensors.push_back(on_host(token_lengths));
    const atb::Status code = try_run(problem.param, pack);
    results = out.read_floats();
    return code;
  }

  // A problem of one head, in which all scores are 0. So only the mask decides the weights.
  static PagedProblem equal_scores(const PagedParam& param, const Lengths& keys, const Lengths& tokens,
                                   const Floats& values) {
    PagedProblem problem;
    problem.param = param;
    problem.keys = keys;
    problem.tokens = tokens;
    problem.query = Floats(problem.num_tokens(), 0);
    problem.key = Floats(values.size(), 1);
    problem.value = values;
    return problem;
  }

  static PagedProblem with_mask(PagedProblem problem, const std::vector<int64_t>& shape, const Floats& mask) {
    problem.mask_desc = desc_of(problem.dtype, shape);
    problem.mask = mask;
    return problem;
  }
};

}  // namespace ascend_sim
