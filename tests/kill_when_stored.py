"""Kills or stops a process in the middle of its work, once an evaluation's store has grown.

usage: kill_when_stored.py RUN_DB PID BEFORE [SIGNAL]

SIGNAL is KILL unless said. BEFORE samples were stored when the process began. Waits for the next ones and for those after them, then for a random part of the time
between the two, so that the kill falls anywhere in a batch, however fast the machine is. Exits 1 when samples are lost, when the process
ends by itself before, and when nothing comes.
"""

import os
import random
import signal
import sqlite3
import sys
import time

LONGEST = 300  # seconds without anything new


def stored(path):
    """Samples in the store; None while it cannot be read."""
    if not os.path.exists(path):
        return None
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute("select count(*) from samples").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:  # not yet made, or being made
        return None


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for_more(path, pid, before):
    started = time.monotonic()
    while True:
        now = stored(path)
        if now is not None and now < before:
            sys.exit(f"{before} samples were stored, now {now}")
        if now is not None and now > before:
            return now
        if not is_running(pid):
            sys.exit(f"the process ended with {now} samples stored, expected more than {before}")
        if time.monotonic() - started > LONGEST:
            sys.exit(f"{now} samples are stored after {LONGEST} s, expected more than {before}")
        time.sleep(0.002)


def main():
    path, pid, before = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = wait_for_more(path, pid, before)
    at = time.monotonic()
    wait_for_more(path, pid, first)
    time.sleep(random.uniform(0, time.monotonic() - at))
    if not is_running(pid):
        sys.exit("the process ended before it could be killed")
    os.kill(pid, getattr(signal, "SIG" + (sys.argv[4] if len(sys.argv) > 4 else "KILL")))


if __name__ == "__main__":
    main()
