// SPDX-License-Identifier: Apache-2.0
// One program in two languages with one header: C++ creates the objects and checks the result, C computes the
// attention.
#include "two_languages.h"

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace {

template <typename Handle>
using Owned = std::unique_ptr<Handle, void (*)(Handle*) noexcept>;

[[noreturn]] void give_up() {
  std::fprintf(stderr, "%s\n", heed_last_error());
  std::exit(1);
}

void check(heed_status status) {
  if (status != HEED_OK) give_up();
}

}  // namespace

int main() {
  heed_context* context = nullptr;
  check(heed_context_create(nullptr, &context));
  const Owned<heed_context> owned_context(context, heed_context_destroy);

  heed_dot_product_attention_options options = HEED_DOT_PRODUCT_ATTENTION_OPTIONS_INIT;
  options.causal = HEED_CAUSAL_TOP_LEFT;
  heed_layer* layer = nullptr;
  check(heed_dot_product_attention_create(context, &options, &layer));
  const Owned<heed_layer> owned_layer(layer, heed_layer_destroy);

  std::vector<float> numbers = {1, 0, 0, 3, 0, 0};
  const int64_t dims[] = {1, 2, 3};
  const int64_t strides[] = {6, 1, 2};
  heed_tensor* words = nullptr;
  check(heed_tensor_wrap(context, HEED_F32, 3, dims, strides, numbers.data(), nullptr, nullptr, &words));
  const Owned<heed_tensor> owned_words(words, heed_tensor_destroy);
  heed_tensor* output = nullptr;
  check(attend_in_c(layer, words, &output));
  const Owned<heed_tensor> owned_output(output, heed_tensor_destroy);

  // The words are (1, 0, 0) and (0, 3, 0). The attention is causal, so the first row is the first word.
  std::vector<float> rows(6);
  check(heed_tensor_read(output, rows.data(), rows.size() * sizeof(float)));
  const double weight = 1 / (1 + std::exp(-9 / std::sqrt(3.0)));
  const double expected[] = {1, 0, 0, 1 - weight, 3 * weight, 0};
  for (size_t i = 0; i < rows.size(); ++i) {
    // A few f32 roundings of numbers of at most 3.
    if (std::abs(static_cast<double>(rows[i]) - expected[i]) > 1e-5) {
      std::fprintf(stderr, "number %zu is %g, expected %g\n", i, static_cast<double>(rows[i]), expected[i]);
      return 1;
    }
  }
  return 0;
}
