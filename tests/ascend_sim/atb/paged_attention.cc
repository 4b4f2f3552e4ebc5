// SPDX-License-Identifier: Apache-2.0
// PagedAttentionOperation without quantisation: attention of a few new tokens of each sequence to keys and values in
// caches that are made of blocks.
//
// Inputs: query (tokens, headNum, head size), the sequences' tokens one after another; keyCache and valueCache (blocks,
// block size, kvHeadNum, head size); blockTables, int32 (sequences, most blocks), whose row lists the blocks of a
// sequence; contextLens, int32 (sequences) on the host: the keys of each sequence, with those of its new tokens; the
// mask, if there is one; and with CALC_TYPE_SPEC qSeqLen, int32 (sequences) on the host: the tokens of each sequence,
// otherwise one. A sequence without keys has no token in query. Output: like query, with valueCache's head size.
#include <algorithm>
#include <string>
#include <vector>

#include "atb/launch_cache.h"
#include "atb/operation_base.h"
#include "atb/paged_attention_kernel.h"
#include "atb/paged_attention_parameters.h"

namespace ascend_sim::atb_library::paged {
namespace {

using Param = atb::infer::PagedAttentionParam;

enum Input : size_t { kQuery, kKeyCache, kValueCache, kBlockTables, kContextLens, kMask };

// Largest head size of the plain kernels, and of those for larger heads and for values of another head size.
constexpr int64_t kMaxPlainHead = 256;
constexpr int64_t kMaxHead = 576;
// The largest block of those other kernels and of several tokens, and what a block is a multiple of.
constexpr int64_t kMaxBlock = 128;
constexpr int64_t kBlockUnit = 16;
// Elements that fit in the buffer of a block.
constexpr int64_t kBlockElements = 16384;
// Limits of the kernel for several tokens.
constexpr size_t kMaxSequences = 2000;
constexpr int64_t kMaxHeads = 256;

constexpr uint64_t kCubeCores = 24;

// The numbers of keys and of tokens of the sequences.
struct Lengths {
  std::vector<int32_t> keys;
  // One for each sequence without CALC_TYPE_SPEC.
  std::vector<int32_t> tokens;

  int32_t most_keys() const { return *std::max_element(keys.begin(), keys.end()); }
  int32_t most_tokens() const { return *std::max_element(tokens.begin(), tokens.end()); }
  // Whether a sequence with keys has several tokens.
  bool has_several_tokens() const {
    for (size_t i = 0; i < std::min(keys.size(), tokens.size()); ++i) {
      if (keys[i] != 0 && tokens[i] > 1) return true;
    }
    return false;
  }
};

class PagedAttention final : public OperationBase {
 public:
  explicit PagedAttention(const Param& param)
      : OperationBase("PagedAttentionOperation", num_inputs_of(param), 1, types_of(param)),
        param_(param),
        has_mask_(param.maskType != Param::UNDEFINED),
        is_spec_(param.calcType == Param::CALC_TYPE_SPEC),
        num_kv_heads_(param.kvHeadNum > 0 ? param.kvHeadNum : param.headNum) {}

 private:
  size_t tokens_input() const { return has_mask_ ? kMask + 1 : kMask; }

  Status check_inputs(const Descs& inputs) const override {
    if (!is_simulated(param_)) {
      violation("PagedAttentionOperation with these parameters, or on this chip, is not simulated");
      return refuse(atb::ERROR_INVALID_PARAM, "not simulated");
    }
    const Dims& key_cache = inputs[kKeyCache].shape;
    const Dims& value_cache = inputs[kValueCache].shape;
    if (inputs[kQuery].shape.dimNum != 3 || key_cache.dimNum != 4 || value_cache.dimNum != 4 ||
        inputs[kBlockTables].shape.dimNum != 2 || inputs[kContextLens].shape.dimNum != 1)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM_NUM,
                    "query is not 3-D, a cache not 4-D, blockTables not 2-D, or contextLens not 1-D");
    for (uint64_t i = 0; i < 3; ++i) {
      if (key_cache.dims[i] != value_cache.dims[i])
        return refuse(atb::ERROR_INVALID_TENSOR_DIM,
                      "keyCache has the shape " + text_of(key_cache) + ", valueCache " + text_of(value_cache));
    }
    if (inputs[kQuery].shape.dims[2] != key_cache.dims[3])
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "query has another head size than keyCache");
    if (const Status code = check_head_sizes(key_cache.dims[3], value_cache.dims[3], key_cache.dims[1])) return code;
    if (param_.maskType == Param::MASK_TYPE_MASK_FREE)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "MASK_TYPE_MASK_FREE on this chip");
    return atb::NO_ERROR;
  }

  Status check_head_sizes(int64_t of_keys, int64_t of_values, int64_t block_size) const {
    if (is_spec_) {
      if (of_keys != of_values)
        return refuse(atb::ERROR_INVALID_TENSOR_DIM, "CALC_TYPE_SPEC with values of another head size");
      if (of_keys > kMaxPlainHead || of_keys * block_size > kBlockElements)
        return refuse(atb::ERROR_INVALID_TENSOR_DIM, "CALC_TYPE_SPEC with too large heads or blocks");
      return atb::NO_ERROR;
    }
    if (std::max(of_keys, of_values) > kMaxHead)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "a head size is above 576");
    if (std::max(of_keys, of_values) > kMaxPlainHead && block_size > kMaxBlock)
      return refuse(atb::ERROR_INVALID_TENSOR_DIM, "heads above 256 elements with blocks above 128 positions");
    return atb::NO_ERROR;
  }

  Status infer(const Descs& inputs, Descs& outputs) const override {
    outputs[0] = inputs[kQuery];
    outputs[0].shape.dims[2] = inputs[kValueCache].shape.dims[3];
    return atb::NO_ERROR;
  }

  // Another number of tokens or of dimensions is found by comparing with infer.
  Status check_outputs(const Descs& inputs, const Descs& outputs) const override {
    const Dims& output = outputs[0].shape;
    if (output.dimNum != 3) return atb::NO_ERROR;
    if (output.dims[2] == inputs[kValueCache].shape.dims[3] && output.dims[1] == inputs[kQuery].shape.dims[1])
      return atb::NO_ERROR;
    return refuse(atb::ERROR_INVALID_TENSOR_DIM, "the output has the shape " + text_of(output));
  }

  // ---- checks of the kernel, with the lengths ----

  Status read(const Tensor& tensor, const char* name, std::vector<int32_t>& lengths) const {
    if (tensor.hostData == nullptr) return refuse(atb::ERROR_INVALID_PARAM, std::string(name) + " has no hostData");
    const size_t count = num_elements(tensor.desc.shape);
    if (tensor.dataSize < count * sizeof(int32_t))
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, std::string(name) + "'s dataSize is below its shape's");
    const auto* const numbers = static_cast<const int32_t*>(tensor.hostData);
    lengths.assign(numbers, numbers + count);
    return atb::NO_ERROR;
  }

  Status read_lengths(const atb::VariantPack& pack, Lengths& lengths) const {
    if (const Status code = read(pack.inTensors[kContextLens], "contextLens", lengths.keys)) return code;
    if (is_spec_) return read(pack.inTensors[tokens_input()], "qSeqLen", lengths.tokens);
    lengths.tokens.assign(lengths.keys.size(), 1);
    return atb::NO_ERROR;
  }

  Status check_kernel(const atb::VariantPack& pack, const Lengths& lengths) const {
    const Dims& query = pack.inTensors[kQuery].desc.shape;
    const Dims& key_cache = pack.inTensors[kKeyCache].desc.shape;
    if (query.dims[1] != param_.headNum)
      return refuse(atb::ERROR_RT_FAIL,
                    "query has the shape " + text_of(query) + ", but headNum is " + std::to_string(param_.headNum));
    if (key_cache.dims[2] != num_kv_heads_)
      return refuse(atb::ERROR_RT_FAIL, "keyCache has the shape " + text_of(key_cache) + ", but kvHeadNum is " +
                                            std::to_string(num_kv_heads_));
    if (!has_mask_) return atb::NO_ERROR;
    if (lengths.most_keys() <= 0 || *std::min_element(lengths.keys.begin(), lengths.keys.end()) < 0 ||
        lengths.most_tokens() <= 0 || *std::min_element(lengths.tokens.begin(), lengths.tokens.end()) < 0)
      return refuse(atb::ERROR_RT_FAIL, "a length is negative, or all are 0");
    if (lengths.most_keys() < lengths.most_tokens())
      return refuse(atb::ERROR_RT_FAIL, "with a mask the most keys must be as many as the most tokens");
    const Dims& mask = pack.inTensors[kMask].desc.shape;
    if (!accepts_mask(mask, query.dims[0], lengths))
      return refuse(atb::ERROR_RT_FAIL, "the kernel has no use for a mask of shape " + text_of(mask));
    return atb::NO_ERROR;
  }

  // The shapes that the kernel accepts. Some of them it reads as if they were others, see check_mask.
  bool accepts_mask(const Dims& mask, int64_t tokens, const Lengths& lengths) const {
    if (mask.dimNum < 2) return false;
    constexpr int64_t kCompressedColumns = 128;
    constexpr int64_t kCompressedSquare = 256;
    const bool is_alibi = param_.maskType == Param::MASK_TYPE_ALIBI;
    const auto batch = static_cast<int64_t>(lengths.keys.size());
    const int64_t rows = dim_from_end(mask, 2);
    const int64_t columns = dim_from_end(mask, 1);
    const auto covers = [&](int64_t least_rows, int64_t least_columns) {
      return rows >= least_rows && columns >= least_columns;
    };
    const bool covers_all = covers(lengths.most_tokens(), lengths.most_keys());
    if (mask.dimNum == 2)
      return covers_all || (is_alibi && covers(kCompressedSquare, kCompressedSquare)) ||
             (param_.maskType == Param::MASK_TYPE_SPEC && covers(tokens, lengths.most_keys()));
    if (mask.dimNum == 4) return covers_all && mask.dims[0] == batch && mask.dims[1] == param_.headNum;
    if (mask.dimNum != 3) return false;
    if (is_alibi) {
      const bool is_compressed = columns == kCompressedColumns && rows != columns && rows >= lengths.most_tokens();
      return (covers_all || is_compressed) && mask.dims[0] == param_.headNum;
    }
    return covers_all && param_.maskType == Param::MASK_TYPE_NORM && mask.dims[0] == batch;
  }

  // ---- what the kernel's tiling refuses, which Execute reports ----

  std::string wrong_with_tiling(const atb::VariantPack& pack, const Lengths& lengths) const {
    const Dims& key_cache = pack.inTensors[kKeyCache].desc.shape;
    const int64_t block_size = key_cache.dims[1];
    const int64_t head_size = key_cache.dims[3];
    const int64_t value_head_size = pack.inTensors[kValueCache].desc.shape.dims[3];
    const bool is_plain = head_size == value_head_size && head_size <= kMaxPlainHead;
    if (is_plain && head_size == kMaxPlainHead && block_size >= kMaxBlock) {
      if (block_size % kMaxBlock != 0) return "heads of 256 elements with blocks that are no multiple of 128";
    } else if (is_plain && head_size * block_size > kBlockElements) {
      return "a block of a head has more than 16384 elements";
    }
    if (block_size % kBlockUnit != 0) return "the block size is no multiple of 16";
    if (!lengths.has_several_tokens() && param_.maskType != Param::MASK_TYPE_SPEC) return "";
    if (lengths.keys.size() > kMaxSequences) return "more than 2000 sequences";
    if (param_.headNum > kMaxHeads) return "more than 256 heads";
    if (block_size > kMaxBlock) return "blocks above 128 positions with several tokens or MASK_TYPE_SPEC";
    if (head_size * param_.headNum > kBlockElements) return "the heads of a token have more than 16384 elements";
    if (head_size != value_head_size) return "MASK_TYPE_SPEC with values of another head size";
    return "";
  }

  // ---- what hardware relies on without a check ----

  Status check_trusted(const atb::VariantPack& pack, const Lengths& lengths) const {
    const auto refuse = [this](const std::string& reason) {
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, reason);
    };
    const Dims& query = pack.inTensors[kQuery].desc.shape;
    const Dims& key_cache = pack.inTensors[kKeyCache].desc.shape;
    const Dims& tables = pack.inTensors[kBlockTables].desc.shape;
    if (key_cache.dims[3] != pack.inTensors[kValueCache].desc.shape.dims[3] && key_cache.dims[1] > kMaxBlock)
      return refuse("values of another head size with blocks above 128 positions");
    if (lengths.tokens.size() != lengths.keys.size())
      return refuse("qSeqLen has " + std::to_string(lengths.tokens.size()) + " sequences, contextLens " +
                    std::to_string(lengths.keys.size()));
    if (tables.dims[0] < static_cast<int64_t>(lengths.keys.size()))
      return refuse("blockTables has " + std::to_string(tables.dims[0]) + " rows for " +
                    std::to_string(lengths.keys.size()) + " sequences");
    int64_t num_tokens = 0;
    for (size_t i = 0; i < lengths.keys.size(); ++i) {
      const int64_t keys = lengths.keys[i];
      const int64_t tokens = lengths.tokens[i];
      const std::string text = "sequence " + std::to_string(i) + " has " + std::to_string(tokens) + " tokens and " +
                               std::to_string(keys) + " keys";
      if (keys == 0) continue;
      if (tokens < 1 || tokens > keys) return refuse(text);
      if (keys > tables.dims[1] * key_cache.dims[1])
        return refuse(text + ", but blockTables has " + std::to_string(tables.dims[1]) + " blocks of " +
                      std::to_string(key_cache.dims[1]) + " for it");
      num_tokens += tokens;
    }
    if (num_tokens != query.dims[0])
      return refuse("query has " + std::to_string(query.dims[0]) + " tokens, but the sequences with keys have " +
                    std::to_string(num_tokens));
    return has_mask_ ? check_mask(pack.inTensors[kMask].desc.shape, num_tokens, lengths) : Status{atb::NO_ERROR};
  }

  // The kernel reads masks of some accepted shapes elsewhere than they mean.
  Status check_mask(const Dims& mask, int64_t num_tokens, const Lengths& lengths) const {
    const auto refuse = [&](const std::string& reason) {
      return refuse_unchecked(atb::ERROR_INVALID_PARAM, reason + " a mask of shape " + text_of(mask));
    };
    const int64_t rows = dim_from_end(mask, 2);
    const int64_t columns = dim_from_end(mask, 1);
    if (param_.maskType == Param::MASK_TYPE_SPEC) {
      if (mask.dimNum != 2 || rows < num_tokens) return refuse("the kernel expects a row for each token, not");
      return atb::NO_ERROR;
    }
    const bool is_alibi = param_.maskType == Param::MASK_TYPE_ALIBI;
    if (mask.dimNum == (is_alibi ? 2U : 4U)) return refuse("the kernel reads undefined elements of");
    if (is_alibi) {
      if (rows != 1 || columns < lengths.most_keys()) return refuse("the kernel expects one row with all keys, not");
      return atb::NO_ERROR;
    }
    if (mask.dimNum == 2) return atb::NO_ERROR;
    // With one token the kernel steps from plane to plane by one row; with several, by as many rows as there are
    // columns, and only over sequences with several tokens.
    int64_t num_several = 0;
    for (size_t i = 0; i < lengths.keys.size(); ++i) {
      if (lengths.keys[i] == 0) continue;
      const bool has_several = lengths.tokens[i] > 1;
      const auto index = static_cast<int64_t>(i);
      const int64_t row = has_several ? num_several * columns : index;
      if (row != index * rows)
        return refuse("the kernel reads sequence " + std::to_string(i) + " from row " + std::to_string(row) + " of");
      num_several += has_several ? 1 : 0;
    }
    return atb::NO_ERROR;
  }

  // ---- the kernel ----

  // The mask's strides, of a mask that check_mask accepts.
  AttentionMask mask_of(const Dims& mask) const {
    AttentionMask result;
    result.effect = AttentionMask::Effect::Raw;
    result.row_stride = static_cast<size_t>(dim_from_end(mask, 1));
    if (param_.maskType == Param::MASK_TYPE_ALIBI) result.head_stride = result.row_stride;
    return result;
  }

  // The first row of a sequence's mask.
  size_t mask_row(const Dims& mask, const PagedSequence& sequence) const {
    const auto rows = static_cast<size_t>(dim_from_end(mask, 2));
    switch (param_.maskType) {
      case Param::MASK_TYPE_ALIBI: return mask.dimNum == 4 ? sequence.index * static_cast<size_t>(mask.dims[1]) : 0;
      case Param::MASK_TYPE_SPEC: return sequence.first_token;
      default: break;
    }
    if (mask.dimNum == 3) return sequence.index * rows;
    // A square mask is one of all positions: its last rows are those of the sequence's tokens.
    return mask.dims[0] == mask.dims[1] ? sequence.num_keys - sequence.num_tokens : 0;
  }

  std::vector<PagedSequence> sequences_of(const atb::VariantPack& pack, const Lengths& lengths) const {
    std::vector<PagedSequence> sequences;
    size_t first_token = 0;
    for (size_t i = 0; i < lengths.keys.size(); ++i) {
      if (lengths.keys[i] == 0) continue;
      PagedSequence sequence = {};
      sequence.index = i;
      sequence.first_token = first_token;
      sequence.num_tokens = static_cast<size_t>(lengths.tokens[i]);
      sequence.num_keys = static_cast<size_t>(lengths.keys[i]);
      // With MASK_TYPE_SPEC the kernel takes the keys of the longest sequence.
      const bool is_of_longest = param_.maskType == Param::MASK_TYPE_SPEC;
      sequence.diagonal =
          static_cast<size_t>(is_of_longest ? lengths.most_keys() : lengths.keys[i]) - sequence.num_tokens;
      if (has_mask_) {
        const Dims& mask = pack.inTensors[kMask].desc.shape;
        sequence.mask_offset = mask_row(mask, sequence) * static_cast<size_t>(dim_from_end(mask, 1));
      }
      sequences.push_back(sequence);
      first_token += sequence.num_tokens;
    }
    return sequences;
  }

  // The scale that the launch uses (launch_cache.h). The lengths are parameters of the launch.
  float scale_of(const atb::VariantPack& pack, const Lengths& lengths) const {
    TilingKey key = tiling_key(pack);
    key.insert(key.end(), {param_.headNum, param_.kvHeadNum, param_.maskType});
    key.insert(key.end(), lengths.keys.begin(), lengths.keys.end());
    key.insert(key.end(), lengths.tokens.begin(), lengths.tokens.end());
    return launches_.shared_factor(GetName(), key, param_.qkScale);
  }

  // What the kernel uses if it runs on all cores.
  uint64_t workspace_bytes(const Dims& key_cache) const {
    const auto head_elements = static_cast<uint64_t>(param_.headNum) * static_cast<uint64_t>(key_cache.dims[3]);
    // Per core: scores, probabilities and two kinds of sums.
    constexpr uint64_t kBlock = 65536;
    constexpr uint64_t kOfBlocks = kCubeCores * kBlock * (4 + 2 + 8 + 4);
    // Parts of a long sequence on several cores: the sums, and a denominator for each head.
    constexpr uint64_t kParts = kCubeCores * kCubeCores * 4 / 5;
    const uint64_t of_parts = kParts * (head_elements + static_cast<uint64_t>(param_.headNum)) * sizeof(float);
    // Room for dequantised keys and values, which is taken without quantisation too.
    constexpr uint64_t kDequantised = 2 * kCubeCores * 256 * 2;
    return workspace_for(kOfBlocks + of_parts + 2 * kDequantised * head_elements);
  }

  Status plan(const atb::VariantPack& pack, Plan& plan) const override {
    const Dims& key_cache = pack.inTensors[kKeyCache].desc.shape;
    Lengths lengths;
    if (const Status code = read_lengths(pack, lengths)) return code;
    if (const Status code = check_kernel(pack, lengths)) return code;
    plan.tiling_refusal = wrong_with_tiling(pack, lengths);
    plan.host_inputs = {kContextLens};
    if (is_spec_) plan.host_inputs.push_back(tokens_input());
    // A call that Execute refuses never runs, so what hardware would rely on does not matter.
    if (!plan.tiling_refusal.empty()) return atb::NO_ERROR;
    plan.workspace_bytes = workspace_bytes(key_cache);
    if (const Status code = check_trusted(pack, lengths)) return code;
    PagedProblem problem;
    problem.dtype = pack.inTensors[kQuery].desc.dtype;
    problem.num_heads = static_cast<size_t>(param_.headNum);
    problem.num_kv_heads = static_cast<size_t>(num_kv_heads_);
    problem.head_size = static_cast<size_t>(key_cache.dims[3]);
    problem.value_head_size = static_cast<size_t>(pack.inTensors[kValueCache].desc.shape.dims[3]);
    problem.scale = scale_of(pack, lengths);
    problem.num_blocks = key_cache.dims[0];
    problem.block_size = static_cast<size_t>(key_cache.dims[1]);
    problem.most_blocks = static_cast<size_t>(pack.inTensors[kBlockTables].desc.shape.dims[1]);
    if (has_mask_) problem.mask = mask_of(pack.inTensors[kMask].desc.shape);
    problem.sequences = sequences_of(pack, lengths);
    plan.kernel = [problem, has_mask = has_mask_, output = size_t{num_inputs_of(param_)}](Addresses addresses) {
      run_paged_attention(problem, addresses[kQuery], addresses[kKeyCache], addresses[kValueCache],
                          addresses[kBlockTables], has_mask ? addresses[kMask] : nullptr, addresses[output]);
      return 0;
    };
    return atb::NO_ERROR;
  }

  const Param param_;
  const bool has_mask_;
  const bool is_spec_;
  const int32_t num_kv_heads_;
  mutable OperationLaunches launches_;
};

}  // namespace
}  // namespace ascend_sim::atb_library::paged

namespace atb {

template <>
ATB_SIM_API Status CreateOperation(const infer::PagedAttentionParam& param, Operation** operation) {
  using namespace ascend_sim::atb_library;
  return create_operation(
      operation, "PagedAttentionOperation",
      [&] {
        const char* const reason = paged::wrong_with(param);
        return reason == nullptr ? Status{NO_ERROR} : refuse(ERROR_INVALID_PARAM, "PagedAttentionOperation", reason);
      },
      [&] { return new paged::PagedAttention(param); });
}

}  // namespace atb
