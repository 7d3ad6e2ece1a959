#!/bin/bash
# run_readme_commands.sh README BIN WORK: runs README's block of `sheaf` commands, in order, in an empty folder.
set -eu
readme=$1 bin=$(cd "$2" && pwd) work=$3
rm -rf "$work"; mkdir -p "$work"
# The block is the one that follows the line "<!-- run by a test -->".
awk '/^<!-- run by a test -->$/ { marked = 1; next } marked && /^```/ { inside = !inside; if (!inside) exit; next } inside' \
  "$readme" >"$work/commands.sh"
grep -q '^sheaf ' "$work/commands.sh" || { echo "$readme has no block of commands that a test runs"; exit 1; }
cd "$work"
PATH=$bin:$PATH bash -eux -o pipefail commands.sh
