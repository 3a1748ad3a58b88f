"""Callbacks, signal handlers, destructors and threads never wait for themselves: an exception, or the work is done."""
import subprocess
import sys
import textwrap
import unittest

from helpers import PROMPT

BEGIN = f"""
import os, signal, threading, time
import buoy
model, prompt = buoy.load("mini-mdm"), {PROMPT!r}

def interrupted_by(handler):
    \"\"\"A change that lets the main thread, which waits for the step, be interrupted once. The handler begins while the pass goes on.\"\"\"
    begun = threading.Event()
    def handle(*_):
        begun.set()
        handler()
    signal.signal(signal.SIGUSR1, handle)
    def change(*_):
        if not begun.is_set():
            signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)
            begun.wait(20)
    return change

def interrupt_generating(handler):
    \"\"\"Generates in the main thread until the handler has been called there.\"\"\"
    called = []
    def handle(*_):
        if not called and model._core.computes_here():
            called.append(1)
            handler()
    signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
    while not called:
        model.generate(prompt, gen_length=8)
    signal.setitimer(signal.ITIMER_REAL, 0)

def failing(call):
    try:
        return call()
    except Exception as raised:
        print(type(raised).__name__ + ":", raised, flush=True)
"""
ASKED = "Error: the run is computing a step: neither its callbacks"
COMPUTING = "Error: the model is computing: a callback cannot use"


class Waiting(unittest.TestCase):
    def says(self, program, wanted):
        """The program ends by itself and prints lines that begin so."""
        try:
            made = subprocess.run([sys.executable, "-c", BEGIN + textwrap.dedent(program)], capture_output=True, text=True, timeout=60)
        except subprocess.TimeoutExpired:
            self.fail("it waits for ever")
        lines = made.stdout.splitlines()
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual([line[:len(begin)] for line, begin in zip(lines, wanted)] + lines[len(wanted):], wanted, made.stdout + made.stderr)

    def test_a_callback_cannot_ask_its_own_run_for_a_step(self):
        self.says("""
            for ask in (lambda: next(run), lambda: run.finish()):
                for options in ({"change": lambda *_: ask()}, {"hooks": {"column_sums": lambda *_: ask()}}):
                    run = model.run(prompt, gen_length=4, **options)
                    failing(lambda: list(run))
            print(len(model.generate(prompt, gen_length=2).ids))
        """, [ASKED] * 4 + ["2"])

    def test_a_callback_may_close_its_own_run(self):
        self.says("""
            for options in ({"change": lambda *_: run.close()}, {"hooks": {"column_sums": lambda *_: run.close()}}):
                run = model.run(prompt, gen_length=4, **options)
                print(list(run), run.result)
                failing(run.finish)
        """, ["[] None", "Error: the run was closed"] * 2)

    def test_a_callback_cannot_use_its_model_through_another_run(self):
        self.says("""
            other = model.run(prompt, gen_length=4)
            run = model.run(prompt, gen_length=4, change=lambda *_: next(other))
            failing(lambda: list(run))
            print(len(list(other)))
        """, [COMPUTING, "4"])

    def test_a_callback_cannot_use_its_model_through_another_models_callback(self):
        self.says("""
            other = buoy.load("mini-arm")
            for call in (lambda: model.forward([1, 2]), lambda: next(model.run(prompt, gen_length=2)), lambda: model.trace(prompt, gen_length=2)):
                inner = other.run(prompt, gen_length=2, change=lambda *_: call() and None)
                failing(lambda: list(model.run(prompt, gen_length=2, change=lambda *_: next(inner) and None)))
            inner = other.run(prompt, gen_length=2, change=lambda *_: model.forward([1, 2]) is None or None)
            interrupt_generating(lambda: failing(lambda: next(inner)))
            inner = other.run(prompt, gen_length=2, change=lambda *_: model.forward([1, 2]) is None or None)
            print(len(list(inner)))
        """, [COMPUTING] * 4 + ["2"])

    def test_a_callback_may_close_or_forget_another_run_that_waits(self):
        self.says("""
            for end in (lambda: others[0].close(), lambda: others.clear()):
                others = [model.run(prompt, gen_length=4)]
                next(others[0])
                print(len(list(model.run(prompt, gen_length=4, change=lambda *_: (others and end(), None)[1]))))
        """, ["4", "4"])

    def test_a_signal_handler_cannot_ask_for_the_step_that_it_interrupts(self):
        self.says("""
            for ask in (lambda: next(run), lambda: run.finish()):
                run = model.run(prompt, gen_length=4, change=interrupted_by(lambda: failing(ask)))
                print(len(list(run)))
        """, [ASKED, "4"] * 2)

    def test_a_signal_handler_may_close_the_run_that_it_interrupts(self):
        self.says("run = model.run(prompt, gen_length=4, change=interrupted_by(lambda: run.close()))\nprint(list(run), run.result)", ["[] None"])

    def test_a_signal_handler_that_interrupts_a_run_may_generate(self):
        self.says("""
            run = model.run(prompt, gen_length=4, change=interrupted_by(lambda: print(len(model.generate(prompt, gen_length=2).ids))))
            print(len(list(run)))
        """, ["2", "4"])

    def test_a_signal_handler_that_interrupts_a_generation_cannot_wait_for_its_model(self):
        self.says("""
            for call in (lambda: next(run), lambda: model.generate(prompt, gen_length=2), lambda: model.forward([1])):
                run = model.run(prompt, gen_length=4)
                interrupt_generating(lambda: failing(call))
                print(len(list(run)))
        """, [COMPUTING, "4"] * 3)

    def test_a_signal_handler_that_interrupts_a_generation_may_close_a_run(self):
        self.says("run = model.run(prompt, gen_length=4)\nnext(run)\ninterrupt_generating(run.close)\nprint(list(run))", ["[]"])

    def test_of_threads_that_ask_one_run_one_gets_each_step(self):
        self.says("""
            run, found, refused = model.run(prompt, gen_length=16, steps=16), [], []
            def work():
                while True:
                    try:
                        found.append(next(run).number)
                    except StopIteration:
                        return
                    except buoy.Error as error:
                        refused.append(str(error))
                        time.sleep(0.001)
            threads = [threading.Thread(target=work) for _ in range(4)]
            for one in threads: one.start()
            for one in threads: one.join()
            print(sorted(found) == list(range(16)), len(run.result.ids))
        """, ["True 16"])

    def test_ctrl_c_ends_waiting_for_a_model_that_another_thread_uses(self):
        self.says("""
            over = []
            def work():
                model.generate([5] * 400, gen_length=600)
                over.append(1)
            threading.Thread(target=work, daemon=True).start()
            while not model._core.holder(): time.sleep(0.001)
            signal.signal(signal.SIGALRM, signal.default_int_handler)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            try:
                model.forward([1, 2])
            except KeyboardInterrupt:
                print("interrupted", over, flush=True)
            os._exit(0)
        """, ["interrupted []"])

    def test_what_a_callback_raises_never_looks_like_the_end(self):
        self.says("""
            def stop(*_): raise StopIteration
            def cancel(*_): raise buoy.Cancelled("mine")
            for callback in (stop, cancel):
                for options in ({"change": callback}, {"hooks": {"column_sums": callback}}):
                    failing(lambda: list(model.run(prompt, gen_length=4, **options)))
        """, ["RuntimeError: a callback raised StopIteration"] * 2 + ["Cancelled: mine"] * 2)


if __name__ == "__main__":
    unittest.main()
