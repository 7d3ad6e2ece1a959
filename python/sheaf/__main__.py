"""``python -m sheaf``: the command."""

import os
import signal
import sys

from . import _sheaf


def main():
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sheaf")
    if hasattr(_sheaf, "_command"):
        # As in a program of its own: Ctrl-C ends it, and so does a reader that has gone.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        return _sheaf._command(["sheaf", *map(os.fsdecode, sys.argv[1:])])
    if os.path.exists(program):  # in a build folder
        os.execv(program, [program, *sys.argv[1:]])
    return (
        "python -m sheaf: this installation was built without the command, because CLI11 or zlib was missing "
        "(Debian's packages libcli11-dev and zlib1g-dev)"
    )


sys.exit(main())
