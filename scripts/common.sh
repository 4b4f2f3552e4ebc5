# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the other scripts in this folder. Changes to the root of the source tree.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Read by cmake --build and ctest. One job more than there are cores, since some wait: for a browser, a package manager, a child process.
num_cores=$(nproc 2> /dev/null || echo 2)
export CMAKE_BUILD_PARALLEL_LEVEL=$((num_cores + 1))
export CTEST_PARALLEL_LEVEL=$((num_cores + 1))

# Sets up the compiler cache, if ccache is installed: the tests' programs are compiled once for the release build, the address sanitizer and
# coverage, and tests that build heed again take the objects of the release build. CCACHE_DEPEND: nothing is preprocessed twice. -Werror and
# the parameter of the garbage collection are ignored, since such a test builds without them. CCACHE_SLOPPINESS: ccache requires it for
# precompiled headers; no source uses __TIME__. CCACHE_INODECACHE: the hash of a precompiled header, of 100 MB, is computed once and not
# for each source that includes it.
use_compiler_cache() {
  if [[ -z ${CMAKE_CXX_COMPILER_LAUNCHER-} ]] && command -v ccache > /dev/null; then
    export CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache
    export CCACHE_DIR=${CCACHE_DIR:-$PWD/build/ccache} CCACHE_BASEDIR=$PWD/build CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_INODECACHE=1
    export CCACHE_IGNOREOPTIONS="-Werror --param=ggc-min-heapsize=*" CCACHE_SLOPPINESS=pch_defines,time_macros
  fi
}
use_compiler_cache

# .NET: no telemetry, no greeting, and no server process that stays after the build.
export DOTNET_CLI_TELEMETRY_OPTOUT=1
export DOTNET_NOLOGO=1
export DOTNET_GENERATE_ASPNET_CERTIFICATE=false
export DOTNET_CLI_WORKLOAD_UPDATE_NOTIFY_DISABLE=true
export MSBUILDDISABLENODEREUSE=1
export UseSharedCompilation=false

# simulate_npu <build>: programs that are started later find the simulated NPU of the build, and what the scripts of CANN and of NNAL set.
simulate_npu() {
  export HEED_PLUGIN_PATH=$1/tests/ascend/plugin
  export ASCEND_HOME_PATH=$1/tests/ascend_sim/lib ATB_HOME_PATH=$1/tests/ascend_sim/lib
}

say() {
  printf '\n==> %s\n' "$*"
}

have() {
  command -v "$1" > /dev/null 2>&1
}
