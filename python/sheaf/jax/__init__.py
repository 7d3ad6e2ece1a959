"""sheaf for JAX: calls for use inside and outside of jit, with gradients and rules for vmap.

``import sheaf.jax`` needs jax, and a sheaf that was built beside jax; ``import sheaf`` never imports it. docs/jax.md of
the sources says what takes the place of what.
"""

from .. import _sheaf

try:
    import jax as _jax  # noqa: F401
except ModuleNotFoundError as missing:
    if missing.name != "jax":
        raise
    raise ImportError("sheaf.jax needs jax, which is not installed: pip install jax") from None

if not hasattr(_sheaf, "_jax_handlers"):
    raise ImportError(
        "sheaf.jax: this sheaf was built without jax; beside jax, build it again from its sources: pip install . "
        "-C cmake.define.SHEAF_JAX_INCLUDE=$(python -c 'import jax; print(jax.ffi.include_dir())')"
    )

from ._calls import argsort, check, gather, gather_reduce, segment_reduce, segment_sum, sort, spmm, spmv  # noqa: E402

__all__ = [
    "argsort",
    "check",
    "gather",
    "gather_reduce",
    "segment_reduce",
    "segment_sum",
    "sort",
    "spmm",
    "spmv",
]
