"""The buoy command: python -m buoy VERB …, and the script that the wheel installs."""
import os
import signal
import sys

from . import _core


def main() -> int:
    # The command watches for Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command([os.fsencode(one) for one in sys.argv[1:]])  # names that are no text too


if __name__ == "__main__":
    sys.exit(main())
