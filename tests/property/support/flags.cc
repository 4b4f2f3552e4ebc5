// SPDX-License-Identifier: Apache-2.0
#include "support/flags.h"

#include "support/samples.h"

namespace heed::property {

void set_flag(Call& call, int flag, Random& random) {
  const reference::AttentionSizes sizes = sizes_of(call);
  const Dims pairs = {sizes.num_queries, sizes.num_keys};
  const auto length = [&] { return static_cast<double>(random.below(sizes.num_keys + 1)); };
  const auto set_mask = [&](double probability) {
    Array mask = filled(pairs, 0.0);
    for (double& element : mask.values) element = random.chance(probability);
    call.mask = make_input(mask, HEED_BOOL);
  };
  const auto set_dropout = [&] {
    call.options.dropout = 0.3F;
    call.training = 1;
    call.dropout_seed = 11;
  };
  const auto set_alibi_slopes = [&] { call.alibi_slopes = make_input(random_array({sizes.num_heads}, random, 0.5)); };
  const auto set_sinks = [&] { call.sinks = make_input(random_array({sizes.num_heads}, random, 3.0)); };
  const auto set_query_lens = [&] {
    Array lengths = filled({sizes.batch}, 0.0);
    for (double& element : lengths.values) element = static_cast<double>(random.below(sizes.num_queries + 1));
    call.query_lens = make_input(lengths, HEED_I32);
  };
  switch (flag) {
    case 1: {
      Array lengths = filled({sizes.batch}, 0.0);
      for (double& element : lengths.values) element = length();
      call.valid_lens = make_input(lengths, HEED_I64);
      break;
    }
    case 2: {
      Array lengths = filled({sizes.batch, sizes.num_queries}, 0.0);
      for (double& element : lengths.values) element = length();
      call.valid_lens = make_input(lengths, HEED_F32);
      break;
    }
    case 3: set_mask(0.7); break;
    case 4: call.bias = make_input(random_array(pairs, random, 3.0)); break;
    case 5: call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT; break;
    case 6: call.options.causal = HEED_CAUSAL_TOP_LEFT; break;
    case 7:
      call.options.window = HEED_WINDOW_BOTTOM_RIGHT;
      call.options.window_left = 3 + random.below(sizes.num_keys);
      break;
    case 8: call.options.soft_cap = 2.0F; break;
    case 9:
      set_mask(0.01);
      set_dropout();
      call.options.soft_cap = 5.0F;
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      call.options.empty_rows = HEED_EMPTY_ROWS_MEAN;
      break;
    case 10: set_dropout(); break;
    case 11: call.options.scale = 1.25F; break;
    case 12:
      // Hides the keys before a window as callers do it: with numbers that are far larger than the scores.
      call.bias = make_input(random_array(pairs, random, 3.0));
      for (int64_t q = 0; q < sizes.num_queries; ++q) {
        const int64_t first = random.below(sizes.num_keys);
        for (int64_t k = 0; k < first; ++k)
          call.bias->contents.values[static_cast<size_t>(q * sizes.num_keys + k)] = -1e10F;
      }
      break;
    case 13: set_alibi_slopes(); break;
    case 14:
      set_alibi_slopes();
      call.bias = make_input(random_array(pairs, random, 3.0));
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      break;
    case 15: set_sinks(); break;
    case 16: {
      Array positions = filled({sizes.batch, sizes.num_queries}, 0.0);
      for (double& element : positions.values) element = static_cast<double>(random.below(sizes.num_keys + 9));
      call.positions = make_input(positions, HEED_I64);
      call.options.causal = HEED_CAUSAL_TOP_LEFT;
      call.options.window = HEED_WINDOW_BOTTOM_RIGHT;
      call.options.window_left = 3 + random.below(sizes.num_keys);
      set_alibi_slopes();
      break;
    }
    case 17: set_query_lens(); break;
    case 18:
      set_query_lens();
      set_sinks();
      call.bias = make_input(random_array(pairs, random, 3.0));
      call.options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
      break;
    default: break;
  }
}

}  // namespace heed::property
