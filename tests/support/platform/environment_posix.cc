// SPDX-License-Identifier: Apache-2.0
#include "support/platform/environment.h"

namespace heed {

void set_environment(const char* name, const char* value) { ::setenv(name, value, 1); }

void unset_environment(const char* name) { ::unsetenv(name); }

}  // namespace heed
