#!/bin/bash
# link_rules.sh LAYER=FILE...: each FILE lists the objects of a layer, one a line. Fails if a layer takes a symbol from one
# that it may not see (link_rules.awk), or if that check does not find what is planted here.
set -euo pipefail
rules=$(dirname "$0")/link_rules.awk

planted=$(awk -f "$rules" <<'SYMBOLS' | sort
core T sheaf::core::backends()
core U sheaf::core::composed()
core U sheaf::plan::calibrate(sheaf::context const&)
composition T sheaf::core::composed()
composition U sheaf::cuda::variants
composition T sheaf::primitives::routing_steps_of(sheaf::backend_kind)
distributed U sheaf::primitives::routing_steps_of(sheaf::backend_kind)
primitives U sheaf::primitives::routing_steps_of(sheaf::backend_kind)
plan T sheaf::plan::calibrate(sheaf::context const&)
plan U sheaf::core::backends()
plan U sheaf::core::composed()
plan U malloc
cpu U sheaf::cuda::variants
cuda R sheaf::cuda::variants
cuda W std::max(int, int)
cpu U std::max(int, int)
lab U malloc
opengl ? no symbols
SYMBOLS
)
expected="core: sheaf::plan::calibrate(sheaf::context const&) is defined in plan
cpu: sheaf::cuda::variants is defined in cuda
lab: this layer has no row
opengl: has no symbols
plan: sheaf::core::composed() is defined in composition
primitives: sheaf::primitives::routing_steps_of(sheaf::backend_kind) is defined in composition"
if [ "$planted" != "$expected" ]; then
  echo "of the planted symbols the rules say:" "$planted" >&2
  exit 1
fi

broken=$(for layer in "$@"; do
  # shellcheck disable=SC2046  # names of objects are words
  nm -C $(grep "\.o$" "${layer#*=}") | awk -v layer="${layer%%=*}" 'NF > 1 && $1 !~ /:$/ {
    at = $1 ~ /^[0-9a-f]+$/ && length($1) == 16 ? 2 : 1
    line = layer
    for (i = at; i <= NF; ++i) line = line " " $i
    print line
    ++printed
  }
  END { if (!printed) print layer, "?", "no symbols" }'
done | awk -f "$rules" | sort)
[ -z "$broken" ] || { echo "$broken" >&2; exit 1; }
