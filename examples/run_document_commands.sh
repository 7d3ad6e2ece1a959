#!/bin/bash
# run_document_commands.sh DOCUMENT BIN WORK: runs a document's block of `sheaf` commands, in order, in an empty folder.
set -eu
document=$1 bin=$(cd "$2" && pwd) work=$3
rm -rf "$work"; mkdir -p "$work"
# The block is the one that follows the line "<!-- run by a test -->".
awk '/^<!-- run by a test -->$/ { marked = 1; next } marked && /^```/ { inside = !inside; if (!inside) exit; next } inside' \
  "$document" >"$work/commands.sh"
grep -q '^sheaf ' "$work/commands.sh" || { echo "$document has no block of commands that a test runs"; exit 1; }
cd "$work"
PATH=$bin:$PATH bash -eux -o pipefail commands.sh
