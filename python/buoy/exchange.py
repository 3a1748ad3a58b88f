"""A generation on a thread of its own, and whoever takes its steps. Nobody waits for himself: not in a callback, a signal handler, a destructor."""
from __future__ import annotations

import atexit
import os
import queue
import threading
import time
import weakref
from typing import Any, Callable

from . import _core


class Exchange:
    """Hands steps from the thread that computes to the one that asks. Neither runs ahead of the other.

    Made of simple queues: a signal handler or a destructor may put into one while the thread that it interrupts is inside of it.
    """

    def __init__(self, model: _core.Model) -> None:
        self.model = model
        self.stop = _core.make_stop()
        self.asked: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.answers: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()  # a step, or None when all is over
        self.busy = threading.Lock()  # while somebody waits for a step
        self.raised: BaseException | None = None
        self.result: dict[str, Any] | None = None
        self.begun = self.closed = self.ended = False
        self.process = os.getpid()
        self.thread: threading.Thread | None = None
        self.asker = 0  # the thread that waits for a step

    def work(self, compute: Callable[[], dict[str, Any]]) -> None:
        """What the thread does; what it raises belongs to whoever asks for the next step."""
        self.thread = threading.current_thread()
        _at_work[threading.get_ident()] = self
        try:
            self.result = compute()
        except _core.Cancelled as raised:
            if not self.closed:  # not ours, but a callback's own
                self.raised = raised
        except StopIteration as raised:  # of a callback: passed on as it is, it would look like the end
            self.raised = RuntimeError("a callback raised StopIteration")
            self.raised.__cause__ = raised
        except BaseException as raised:
            self.raised = raised
        finally:
            _at_work.pop(threading.get_ident(), None)
            self.ended = True
            self.answers.put(None)

    def deliver(self, step: dict[str, Any]) -> None:
        """Called when a step is there; returns when the next one is wanted, or none any more."""
        if not self.closed:
            self.answers.put(step)
            self.asked.get()

    def ask(self, compute: Callable[[], dict[str, Any]]) -> dict[str, Any] | None:
        """The next step, or None when all is over. Raises Error where waiting for it would never end."""
        if self.process != os.getpid():  # the thread that computes was left there: nobody would ever answer
            raise _core.Error(f"the run belongs to process {self.process}, of which {os.getpid()} is a fork")
        if not self.busy.acquire(blocking=False):
            raise _core.Error("the run is computing a step: neither its callbacks, nor a signal handler, nor another thread can ask for one meanwhile")
        try:
            if _ending:
                _sleep_or_raise()
            refuse_circle(self.model)
            self.asker = threading.get_ident()
            try:
                if self.begun:
                    self.asked.put(None)
                else:
                    self.begun = True
                    _open.add(self)
                    threading.Thread(target=self.work, args=(compute,), name="buoy run", daemon=True).start()
                return self.answers.get()
            except BaseException:  # Ctrl-C
                self.close()
                raise
        finally:
            self.busy.release()

    def end(self) -> None:
        """Asks the generation to end."""
        self.closed = True
        if self.process == os.getpid():
            self.stop.ask()
            self.asked.put(None)

    def close(self) -> None:
        """Ends the generation. Waits until it is over, except where it could not be before this returns."""
        self.end()
        thread = self.thread
        if self.process != os.getpid():
            return
        # Whoever computes with the model, and the thread itself, goes on first; the thread then ends by itself.
        if thread is None or thread.ident == threading.get_ident() or self.model.computes_here():
            return
        while not self.ended:  # in parts: a signal handler that interrupts this may wait for the same thread
            thread.join(0.05)
        thread.join(1)


_at_work: dict[int, Exchange] = {}  # by the thread that computes


def refuse_circle(model: _core.Model) -> None:
    """Raises Error where this thread would wait for a model whose thread waits, maybe through the callbacks of other runs, for this one."""
    holder, thread = model.holder(), threading.get_ident()
    while holder:
        if thread == holder:
            raise _core.Error("the model is computing: a callback cannot use the model that calls it")
        exchange = _at_work.get(thread)
        if exchange is None:
            return
        thread = exchange.asker


_open: weakref.WeakSet[Exchange] = weakref.WeakSet()
_ending = False


def _sleep_or_raise() -> None:
    """What threads that nobody waited for want at the interpreter's end is not worth a traceback."""
    while threading.current_thread() is not threading.main_thread():
        time.sleep(3600)
    raise _core.Cancelled("the interpreter ends, and no run goes on after it")


@atexit.register
def _end_all() -> None:
    """No thread must want something of the interpreter when it is gone: all of them stop, or sleep until the process ends."""
    global _ending
    _ending = True
    _core.stop_work()
    for exchange in list(_open):
        exchange.end()
    _core.wait_for_work()
