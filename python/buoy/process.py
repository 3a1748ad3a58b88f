"""Runs the command as a process of its own: what it printed, its warnings as Python's, its failures as exceptions; nothing is left behind."""
from __future__ import annotations

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import warnings

from . import _core

_USAGE, _INTERRUPTED = 2, 130
_WARNING = "buoy: warning: "


def _environment() -> dict[str, str]:
    """The child imports this very package, wherever it was found."""
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    there = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": home if not there else home + os.pathsep + there}


def run(words: list[str], quiet: bool) -> str:
    """Runs the command and returns what it printed. Its remarks are passed on while it works, unless quiet; its warnings in any case."""
    child = subprocess.Popen([sys.executable, *(["-P"] if sys.version_info >= (3, 11) else []), "-m", "buoy", *words],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True,
                             encoding="utf-8", errors="replace", env=_environment(), start_new_session=True)
    assert child.stdout is not None and child.stderr is not None
    printed_to, said_to, remarks = child.stdout, child.stderr, list[str]()

    def listen() -> None:
        held = ""  # the last line may be what the work failed of: that is raised, not said
        for line in said_to:
            remarks.append(line.rstrip("\n"))
            if not quiet and not line.startswith(_WARNING):
                print(held, end="", file=sys.stderr, flush=True)
                held = line
        if held and child.wait() == 0:
            print(held, end="", file=sys.stderr, flush=True)

    listener = threading.Thread(target=listen, daemon=True)
    try:
        listener.start()
        printed = printed_to.read()
        code = child.wait()
    except BaseException:  # Ctrl-C: what is stored stays, and the same call goes on after it
        _end(child)
        raise
    finally:
        if listener.ident is not None:
            listener.join()
        printed_to.close()
        said_to.close()
    for line in remarks:
        if line.startswith(_WARNING):
            warnings.warn(line.removeprefix(_WARNING), stacklevel=_outside())
    _complain(code, remarks)
    return printed


def _end(child: subprocess.Popen[str]) -> None:
    """Asks it to stop; whoever does not wait for that (a second Ctrl-C) ends it and what it began."""
    child.send_signal(signal.SIGINT)
    try:
        child.wait()
    except BaseException:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        raise


def _outside() -> int:
    """Which caller of ours is the first outside of this package, as warnings.warn() counts them."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _complain(code: int, remarks: list[str]) -> None:
    if code == 0:
        return
    said = [line.removeprefix("buoy: ") for line in remarks if line.startswith("buoy: ") and not line.startswith(_WARNING)]
    line = said[-1] if said else f"the command ended with code {code}: {' '.join(remarks[-3:])}"
    if code == _USAGE:
        raise _core.UsageError(line)
    if code == _INTERRUPTED:
        raise _core.Cancelled(line)
    raise _core.Error(line)


def temporary_folder() -> str:
    """A folder that is there until this process ends, or until remove_folder()."""
    made = tempfile.mkdtemp(prefix="buoy-")
    atexit.register(remove_folder, made, os.getpid())
    return made


def remove_folder(path: str, process: int | None = None) -> None:
    """A fork leaves what is its parent's."""
    if process is None or process == os.getpid():
        shutil.rmtree(path, ignore_errors=True)
