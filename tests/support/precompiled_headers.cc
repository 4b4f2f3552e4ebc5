// SPDX-License-Identifier: Apache-2.0
// Empty: a target that precompiles headers (tests/CMakeLists.txt) needs a source.
