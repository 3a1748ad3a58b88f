"""The buoy command: python -m buoy VERB …, and the script that the wheel installs."""
import signal
import sys

from . import _core


def main() -> int:
    # The command watches for Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _core.command(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
