# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the other scripts in this folder. Changes to the root of the source tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Read by cmake --build and ctest.
num_cores=$(nproc 2> /dev/null || echo 2)
export CMAKE_BUILD_PARALLEL_LEVEL=$num_cores
export CTEST_PARALLEL_LEVEL=$num_cores

# .NET: no telemetry, no greeting, and no server process that stays after the build.
export DOTNET_CLI_TELEMETRY_OPTOUT=1
export DOTNET_NOLOGO=1
export DOTNET_GENERATE_ASPNET_CERTIFICATE=false
export DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=true
export MSBUILDDISABLENODEREUSE=1
export UseSharedCompilation=false

say() {
  printf '\n==> %s\n' "$*"
}

have() {
  command -v "$1" > /dev/null 2>&1
}
