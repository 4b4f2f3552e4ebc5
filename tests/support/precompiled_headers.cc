// SPDX-License-Identifier: Apache-2.0
// Has no code. CMake requires at least one source in each target, and a target that only precompiles headers (heed_precompile_headers in
// tests/CMakeLists.txt) has no other.
