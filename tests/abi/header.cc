// SPDX-License-Identifier: Apache-2.0
// The same source as C++.
#include "header.c"
