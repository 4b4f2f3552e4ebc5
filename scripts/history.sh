# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by scripts/test. What the history of the source tree says about the checks of a change: which rotating part has its turn, and
# which files changed. tests/structure/check_history.py tests both.

# turns <part...>: a line "<part> <number> commits" for each part: in how many commits it has its turn, which is 0 for the one whose turn
# it is: the part at the number of commits modulo the number of parts, counted from 0. A shallow clone does not know how many commits there
# are, nor does a tree without git; there the day of the year takes their place, and the lines end in "days".
turns() {
  local number unit=commits i=0 part
  if [[ $(git rev-parse --is-shallow-repository 2> /dev/null) != false ]] || ! number=$(git rev-list --count HEAD 2> /dev/null); then
    number=$((10#$(date +%j)))
    unit=days
  fi
  for part; do
    echo "$part $(((i++ - number % $# + $#) % $#)) $unit"
  done
}

# base_of_changes: the commit since which files count as changed. It is the last one that HEAD and origin/main have in common, unless there
# is none or it is HEAD itself; then it is the commit 20 before HEAD. Fails if the history does not go back so far.
base_of_changes() {
  local base
  base=$(git merge-base HEAD origin/main 2> /dev/null) || base=
  if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then base=HEAD~20; fi
  git rev-parse --verify --quiet "$base^{commit}" 2> /dev/null
}

# changed_files <commit>: the files of this folder that are not as they were in the commit, whether the change is committed or not, and the
# files that git does not know yet and does not ignore. Files that no longer exist are left out.
changed_files() {
  git -c core.quotePath=false diff --relative --name-only --diff-filter=d "$1"
  git -c core.quotePath=false ls-files --others --exclude-standard
}
