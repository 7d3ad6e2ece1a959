"""``python -m sheaf``: the command."""

import os
import sys


def main():
    command = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "sheaf")
    if not os.path.exists(command):
        sys.exit(
            "python -m sheaf: this installation was built without the command, because CLI11 or zlib was missing "
            "(Debian's packages libcli11-dev and zlib1g-dev)"
        )
    os.execv(command, [command, *sys.argv[1:]])


main()
