// SPDX-License-Identifier: Apache-2.0
#include "cache/support/sample_layers.h"

namespace heed::cache_test {

std::vector<NamedLayer> sample_layers() {
  NamedLayer plain = {"without positions", grouped_heads(2, 1, 16, 16)};

  NamedLayer half = {"half", grouped_heads(1, 4, 32, 32)};
  half.spec.rope = rope_of(HEED_ROPE_HALF);

  NamedLayer interleaved = {"interleaved with ALiBi", grouped_heads(1, 3, 10, 7)};
  interleaved.spec.rope = rope_of(HEED_ROPE_INTERLEAVED);
  interleaved.spec.options.alibi = HEED_ALIBI_ADDED;
  interleaved.spec.options.sinks = 1;
  interleaved.spec.options.soft_cap = 4.0F;
  interleaved.spec.dtype = HEED_F16;

  NamedLayer norms = {"norms and relative bias", grouped_heads(1, 7, 8, 9)};
  norms.spec.rope = rope_of(HEED_ROPE_HALF);
  norms.spec.rope->rotary_size = 4;
  norms.spec.options.qk_norm_epsilon = 1e-5F;
  norms.spec.options.relative_bias = HEED_RELATIVE_BIAS_ONE_WAY;
  norms.spec.options.add_zero_attn = 1;
  norms.spec.dtype = HEED_BF16;
  norms.spec.parameter_dtype = HEED_BF16;
  return {plain, half, interleaved, norms};
}

}  // namespace heed::cache_test
