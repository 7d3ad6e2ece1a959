"""The calls that are made of others."""

import json

from . import _sheaf


def explain(name, *args, **kwargs):
    """Say what a call would do, without doing it.

    Parameters
    ----------
    name : str
        Name of the call: 'gather', 'sort', 'HashIndex', 'csr.matvec', 'HashIndex.find' and so on. For a method, the
        object is the first argument.
    *args, **kwargs
        The arguments of the call.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import numpy as np, sheaf
    >>> plan = sheaf.explain('gather', np.zeros(1000), np.arange(10))
    >>> plan.choice
    'cpu.direct'
    """
    function = _sheaf
    for part in str(name).split("."):
        if part.startswith("_") or not hasattr(function, part):
            raise _sheaf.BadArgument(f"explain: there is no call {name!r}")
        function = getattr(function, part)
    return _sheaf._explain(function, args, kwargs)


def machine(ctx=None, use=None):
    """The machine profile from which a context predicts times.

    Parameters
    ----------
    ctx : context, optional
        Without it, this thread's context of the CPU, or that of a ``with``.
    use : dict, optional
        A profile that the context plans with from now on.

    Returns
    -------
    dict

    Examples
    --------
    >>> import sheaf
    >>> sheaf.machine()['backend']
    'cpu'
    """
    if use is not None:
        _sheaf._use_profile(ctx, json.dumps(use), "machine(use=)")
    return json.loads(_sheaf._profile(ctx))


def calibrate(seconds=60.0, *, ctx=None, progress=None, store=False):
    """Measure the rates of the device of a context, and plan with them from now on.

    Parameters
    ----------
    seconds : float
        Time that the measurement should take; a CPU needs some 6 s if nothing else runs. Below 9 s only smaller
        footprints are measured. Where other programs keep all processors it may take three times as long.
    ctx : context, optional
    progress : function, optional
        Called with the name of each step and the share that is done.
    store : bool
        Whether new contexts of this device take the profile, too, in this process and in others.

    Returns
    -------
    dict
        The profile.

    Warns
    -----
    RuntimeWarning
        For each figure that made no sense and was left out, and for what stands for it.

    Examples
    --------
    >>> import sheaf
    >>> sheaf.calibrate(60, progress=lambda step, done: print(step, done))  # doctest: +SKIP
    """
    return json.loads(_sheaf._calibrate(ctx, float(seconds), progress, bool(store)))


def top_k(a, k, *, largest=True, ctx=None):
    """The k largest or smallest of an array, in order, and where they are.

    The whole array is sorted: the library has no selection yet.

    Parameters
    ----------
    a : array
        One-dimensional numbers.
    k : int
    largest : bool
    ctx : context, optional

    Returns
    -------
    values : array
    index : array of int64

    Examples
    --------
    >>> import numpy as np, sheaf
    >>> sheaf.top_k(np.array([3, 9, 7]), 2)
    (array([9, 7]), array([1, 2]))
    """
    order = _sheaf.argsort(a, descending=bool(largest), ctx=ctx)
    if not 0 <= k <= len(order):
        raise _sheaf.BadArgument(f"top_k: k is {k}, and the array has {len(order)} entries")
    index = order[:k]
    return _sheaf.gather(a, index, ctx=ctx), index
