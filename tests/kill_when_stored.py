"""Kills a process (SIGKILL) in the middle of its work, once an evaluation's store has grown.

usage: kill_when_stored.py RUN_DB PID COUNT

Waits until COUNT samples are stored and for the next ones after them, then for a random part of the time between the two, so that the
kill falls anywhere in a batch, however fast the machine is. Exits 1 when the process ends by itself before, or nothing comes.
"""

import os
import random
import signal
import sqlite3
import sys
import time

LONGEST = 300  # seconds without anything new


def stored(path):
    if not os.path.exists(path):
        return 0
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute("select count(*) from samples").fetchone()[0]
        finally:
            connection.close()
    except sqlite3.Error:  # not yet written, or being written
        return 0


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def wait_for(path, pid, count):
    started = time.monotonic()
    while True:
        now = stored(path)
        if now >= count:
            return now
        if not is_running(pid):
            sys.exit(f"the process ended with {now} samples stored, before there were {count}")
        if time.monotonic() - started > LONGEST:
            sys.exit(f"{now} samples are stored after {LONGEST} s, expected {count}")
        time.sleep(0.002)


def main():
    path, pid, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    first = wait_for(path, pid, count)
    at = time.monotonic()
    wait_for(path, pid, first + 1)
    time.sleep(random.uniform(0, time.monotonic() - at))
    if not is_running(pid):
        sys.exit("the process ended before it could be killed")
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    main()
