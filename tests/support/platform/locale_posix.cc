// SPDX-License-Identifier: Apache-2.0
#include "support/platform/locale.h"

#include <clocale>

namespace heed {

struct NumericLocale::State {
  locale_t chosen;
  locale_t before;
};

NumericLocale::NumericLocale(const char* name) {
  const locale_t chosen = ::newlocale(LC_NUMERIC_MASK, name, nullptr);
  if (chosen != nullptr) state_ = std::make_unique<State>(State{chosen, ::uselocale(chosen)});
}

NumericLocale::~NumericLocale() {
  if (state_ == nullptr) return;
  ::uselocale(state_->before);
  ::freelocale(state_->chosen);
}

}  // namespace heed
