// SPDX-License-Identifier: Apache-2.0
// The same text as C++.
#include "header.c"
