// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include "support/platform/child_process.h"

namespace heed {

void become_program(char** arguments) { ::execvp(arguments[0], arguments); }

}  // namespace heed
