# Reads "LAYER KIND SYMBOL", as nm prints symbols of each layer's objects, and names every symbol that a layer takes from
# one that it may not see: references of the linker, which includes do not show. What a layer sees is in
# docs/architecture.md. A symbol of several words is demangled.
BEGIN {
  seen["core"] = " core "
  seen["plan"] = " plan core "
  seen["primitives"] = " primitives plan core "
  seen["cpu"] = " cpu primitives plan core "
  seen["cuda"] = " cuda primitives plan core "
  seen["opengl"] = " opengl primitives plan core "
  seen["distributed"] = " distributed primitives plan core "
  seen["composition"] = " composition primitives plan core cpu cuda opengl "
  # These five functions are all that other layers take from the composition.
  by_name["core:sheaf::core::composed()"] = 1
  by_name["primitives:sheaf::primitives::variants_of_backends()"] = 1
  by_name["distributed:sheaf::primitives::routing_steps_of(sheaf::backend_kind)"] = 1
  by_name["distributed:sheaf::primitives::rank_steps_of(sheaf::backend_kind)"] = 1
  by_name["distributed:sheaf::primitives::rank_column_steps_of(sheaf::backend_kind)"] = 1
}
{
  symbol = $3
  for (i = 4; i <= NF; ++i) symbol = symbol " " $i
  if (!($1 in seen)) unknown[$1] = 1
  if ($2 == "?") empty[$1] = 1
  if ($2 ~ /^[TDBR]$/) where[symbol] = $1
  if ($2 == "U") taken[$1 ":" symbol] = 1
}
END {
  for (layer in empty) print layer ": has no symbols"
  for (layer in unknown) print layer ": this layer has no row"
  for (key in taken) {
    layer = substr(key, 1, index(key, ":") - 1)
    symbol = substr(key, index(key, ":") + 1)
    if (!(symbol in where)) continue
    ++references
    if (index(seen[layer], " " where[symbol] " ") == 0 && !(key in by_name))
      print layer ": " symbol " is defined in " where[symbol]
  }
  if (!references) print "no layer refers to another"
}
