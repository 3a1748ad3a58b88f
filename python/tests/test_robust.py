"""What users do wrong, threads, forks and Ctrl-C: an exception each, never a crash."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest

import numpy as np

import buoy
from helpers import GOLDENS, PROMPT


def run(program, **options):
    """A program of its own: a crash would end it with a signal."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=120, **options)


class WrongInput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load(str(GOLDENS / "llada"))

    def test_to_a_pass_is_told_by_place_and_kind(self):
        for given, line in ((["a"], "expected integers"), ([[1, 2]], "got shape .1,2., expected one dimension"), ([1.5], "got float64, expected integers"),
                            ([], "ids is empty"), ([-1], "-1 at 0 is no token id"), ([2**40], "is no token id"), (None, "ids: "), ({1}, "ids: "),
                            ("text", "got text, expected token ids"), (np.array([1], np.uint64), "got uint64"), (np.array([True]), "got bool"),
                            (np.zeros((2, 0), int), "expected one dimension"), (object(), "ids: ")):
            with self.subTest(repr(given)), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.forward(given)

    def test_outside_vocabulary_and_context_is_an_error(self):
        with self.assertRaises(buoy.Error):
            self.model.forward([self.model.config["vocabulary"]])
        with self.assertRaises(buoy.Error):
            self.model.forward([1] * (self.model.config["context"] + 1))
        with self.assertRaisesRegex(buoy.UsageError, "outside the vocabulary"):
            self.model.generate([self.model.config["vocabulary"]])

    def test_to_generate_is_an_error(self):
        for given, line in (({"role": "user"}, "prompt: got dict, expected token ids"), ({1, 2}, "prompt: got set"), (np.array(5), "prompt: got shape"), (iter([5]), "prompt: got list_iterator")):
            with self.subTest(line), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.generate(given, gen_length=2)
        for given in ([], [[]], b"bytes", 3, None, [["a"]], [1, "a"], [np.zeros((2, 2), int)]):
            with self.subTest(repr(given)), self.assertRaises((buoy.Error, TypeError)):
                self.model.generate(given, gen_length=2)

    def test_of_the_wrong_type_is_a_type_error(self):
        with self.assertRaises(TypeError):
            buoy.load(3.5, threads="two")
        with self.assertRaises(buoy.UsageError):
            buoy.load("mini-mdm", threads=-1)

    def test_is_never_a_crash_of_a_half_made_object(self):
        for kind in (buoy._core.Model, buoy._core.Trace, buoy._core.DrawnFigure, buoy._core.Stop):
            with self.subTest(kind), self.assertRaises(TypeError):
                kind.__new__(kind)
            with self.assertRaises(TypeError):
                type("Mine", (kind,), {})()
            with self.assertRaises(TypeError):
                kind()

    def test_is_told_in_one_line(self):
        model = buoy.load("mini-mdm")
        trace, text = model.trace(PROMPT, gen_length=2, steps=1), model.tokenizer
        for call in (lambda: text.encode(3), lambda: text.encode("a\ud800"), lambda: text.encode("a", 1), lambda: text.decode([1], "yes"),
                     lambda: text.apply_chat_template([{"role": object()}]), lambda: text.apply_chat_template(3), lambda: text.apply_chat_template([], date=3),
                     lambda: model.generate("\ud800"), lambda: model.generate(PROMPT, chat=3), lambda: model.run([PROMPT, PROMPT]),
                     lambda: model.forward([1], attentions="all"), lambda: model.trace(3), lambda: model.trace(PROMPT, chat="no"),
                     lambda: buoy.load(None), lambda: buoy.load("mini-mdm", device=3), lambda: buoy.load("mini-mdm", threads="two"),
                     lambda: buoy.load("mini-mdm", threads=2**40), lambda: buoy.load("mini-mdm", family=None), lambda: trace.analyze([3]), lambda: trace.show(3),
                     lambda: trace.show("drift", epsilon="a"), lambda: trace.show("drift", top_anchors=1.5), lambda: trace.save(3), lambda: buoy.read_trace(3),
                     lambda: buoy.command(""), lambda: buoy.command(3), lambda: buoy.Result(pathlib.Path("."), "").json("none"),
                     lambda: model.run(PROMPT, record="blocks.0.attn.hook_q"), lambda: next(model.run(PROMPT, masses={"far": [10**6]})),
                     lambda: buoy.load("a\0b"), lambda: buoy.load("a\nb"), lambda: buoy.read_trace("a\0b"), lambda: trace.explore(height="a"), lambda: buoy.analyze(3),
                     lambda: buoy.stress("out", 3), lambda: buoy.eval(None), lambda: buoy.eval(3), lambda: buoy.trace(None), lambda: model.generate(PROMPT, sampler=[1]),
                     lambda: trace.show(np.ones(2)), lambda: trace.analyze(epsilon=np.array(["a"])), lambda: trace.null("a\nb"), lambda: buoy.read_traces("a\0b"),
                     lambda: trace.show().save("a\0b"), lambda: trace.figure().save(3), lambda: model.run(PROMPT, record=["a\nb"]),
                     lambda: text.apply_chat_template([{"role": "user", "content": float("nan")}]), lambda: text.apply_chat_template([{"role": "user", "content": "\ud800"}]),
                     lambda: text.apply_chat_template([{"role": "user", "content": "a"}], tokenize=np.ones(2))):
            with self.assertRaises((buoy.Error, TypeError)) as caught:
                call()
            self.assertNotIn("\n", str(caught.exception))

    def test_to_record_is_answered_with_what_there_is(self):
        for name in ("blocks.0.attn.hook_q", "blocks.0.hook_resid_mid", "hook_pos_embed"):
            with self.assertRaisesRegex(buoy.UsageError, "expected one of column_sums, .*attn.hook_pattern.*hook_logits"):
                self.model.run([1, 2], record=name)

    def test_in_another_interpreter_is_no_module(self):
        made = run("""
            import sys, buoy
            try: import _interpreters as interpreters
            except ImportError: import _xxsubinterpreters as interpreters
            other = interpreters.create()
            program = f"import sys; sys.path[:] = {sys.path}; import buoy"
            try: said = str((getattr(interpreters, "exec", None) or interpreters.run_string)(other, program))
            except Exception as error: said = str(error)
            print("interpreter" in said, buoy.load("mini-mdm").generate([5], gen_length=2).steps)
        """)
        self.assertEqual((made.returncode, made.stdout), (0, "True 2\n"), made.stderr)

    def test_in_a_list_that_raises_while_read_passes_on(self):
        class Evil:
            def __array__(self, *_, **__):
                raise KeyError("mine")

        with self.assertRaises((buoy.UsageError, KeyError)):
            self.model.forward(Evil())


class Threads(unittest.TestCase):
    def test_share_a_model_and_get_what_one_gets(self):
        model = buoy.load(str(GOLDENS / "llada"))
        wanted = [model.forward([1 + i, 2, 3]) for i in range(4)]
        found = [None] * 4
        def work(i):
            for _ in range(5):
                found[i] = model.forward([1 + i, 2, 3])
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(4):
            np.testing.assert_array_equal(found[i], wanted[i])

    def test_take_turns(self):
        model = buoy.load(str(GOLDENS / "llada"))
        def passes():
            counts, begin = [0] * 3, threading.Barrier(3)
            def work(i):
                begin.wait()
                while sum(counts) < 150:
                    model.forward([1, 2, 3])
                    counts[i] += 1
            threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            return counts
        self.assertTrue(any(min(counts) > max(counts) / 2 for counts in (passes() for _ in range(5))))

    def test_run_while_a_model_computes(self):
        model = buoy.load("mini-mdm")
        self.assertTrue(any(self.ticks_during(lambda: model.generate(PROMPT, gen_length=16)) > 2 for _ in range(5)))

    def ticks_during(self, work):
        """How often another thread moved meanwhile: none where the work keeps it from that, and on a loaded machine by chance."""
        ticks, ready, done = [], threading.Event(), threading.Event()
        def tick():
            while not done.is_set():
                ticks.append(time.monotonic())
                ready.set()
                time.sleep(0.0005)
        thread = threading.Thread(target=tick)
        thread.start()
        ready.wait()
        begun = time.monotonic()
        work()
        ended = time.monotonic()
        done.set()
        thread.join()
        return sum(begun < at < ended for at in ticks)

    def test_run_while_text_is_read_and_figures_are_drawn(self):
        model = buoy.load("mini-mdm")
        trace, tokenizer = model.trace(PROMPT, gen_length=64, steps=16, per_head=True), model.tokenizer
        text = " ".join(f"word{i}" for i in range(60000))
        ids, drawn = tokenizer.encode(text), trace.figure()._drawn
        for name, work in (("encode", lambda: tokenizer.encode(text)), ("prompt", lambda: model.prompt_ids(text)), ("decode", lambda: tokenizer.decode(ids)),
                           ("tokens", lambda: tokenizer.tokens(ids)), ("null", lambda: [trace._core.recency() for _ in range(5)]),
                           ("draw", lambda: [trace._core.draw("qk", "excess", 3.0, 2.0, 5) for _ in range(5)]), ("render", lambda: drawn.render("png")),
                           ("page", trace.show), ("analyze", trace.analyze)):
            with self.subTest(name):
                self.assertTrue(any(self.ticks_during(work) > 2 for _ in range(5)))

    def test_may_be_at_work_when_the_process_ends(self):
        made = run(f"""
            import os, sys, threading, time
            import numpy as np
            import buoy
            model = buoy.load("mini-mdm")
            many = [np.ones((1, 4, 1500, 64), np.float32)] * 3
            def work(call):
                while True: call()
            for call in (lambda: model.forward([5] * 200), lambda: buoy.attention(*many), lambda: model.trace("word " * 200, gen_length=200),
                         lambda: list(model.run([5] * 200, gen_length=200, record="rows", change=lambda *_: None)), lambda: model.tokenizer.encode("word " * 9999)):
                threading.Thread(target=work, args=(call,), daemon=True).start()
            time.sleep(0.3)
            child = os.fork()  # has none of these threads, and does not wait for them
            if child == 0: sys.exit(5)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
        self.assertEqual((made.returncode, made.stdout), (0, "5\n"), made.stderr)
        self.assertNotIn("terminate", made.stderr)

    def test_may_forget_a_run_that_waits(self):
        made = run(f"""
            import buoy
            runs = [buoy.load("mini-mdm").run({PROMPT!r}, gen_length=4) for _ in range(2)]
            for one in runs: next(one)
            print("left")
        """)
        self.assertEqual((made.returncode, made.stdout), (0, "left\n"), made.stderr)


class Forks(unittest.TestCase):
    def test_of_a_process_that_computed_are_refused_in_words(self):
        made = run(f"""
            import os, sys, warnings
            warnings.simplefilter("ignore")
            import buoy
            model = buoy.load({str(GOLDENS / "llada")!r})
            model.forward([1, 2])
            child = os.fork()
            if child == 0:
                try:
                    model.forward([1, 2])
                except buoy.Error as error:
                    print(error, flush=True)
                    os._exit(7)
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            print(model.forward([1, 2]).shape)
        """)
        self.assertIn("was forked from", made.stdout, made.stderr)
        self.assertIn("spawn", made.stdout)
        self.assertIn("\n7\n", made.stdout)

    def test_before_anything_computed_may_compute(self):
        made = run(f"""
            import os
            import buoy
            child = os.fork()
            if child == 0:
                print(buoy.load({str(GOLDENS / "llada")!r}).forward([1, 2]).shape[0], flush=True)
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
        self.assertEqual(made.stdout, "2\n0\n", made.stderr)

    def test_cannot_go_on_with_a_run(self):
        made = run(f"""
            import os, warnings
            warnings.simplefilter("ignore")
            import buoy
            steps = buoy.load({str(GOLDENS / "llada")!r}).run([1, 2], gen_length=4)
            next(steps)
            child = os.fork()
            if child == 0:
                try:
                    next(steps)
                except buoy.Error as error:
                    print(error, flush=True)
                steps.close()
                os._exit(7)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            print(next(steps).number)
        """)
        self.assertRegex(made.stdout, r"the run belongs to process \d+, of which \d+ is a fork\n7\n1\n", made.stderr)

    def test_may_run_verbs(self):
        made = run("""
            import os
            import buoy
            buoy.load("mini-mdm").forward([1, 2])
            child = os.fork()
            if child == 0:
                print(len(buoy.world(seed=1, items=1)), flush=True)
                os._exit(0)
            print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """)
        self.assertEqual(made.stdout, "1\n0\n", made.stderr)


class CtrlC(unittest.TestCase):
    def interrupted(self, body, ready=lambda: True):
        """Begins a long work, interrupts it when it is under way, and returns what it said and how it ended."""
        program = textwrap.dedent("""
            import sys, time
            import buoy
            model = buoy.load("mini-mdm")
            print("begun", flush=True)
            try:
                BODY
            except KeyboardInterrupt:
                print("stopped", flush=True)
                print(len(model.generate([5, 6], gen_length=2).ids))
        """).replace("BODY", body)
        child = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(child.stdout.readline(), "begun\n")
        while not ready():
            self.assertIsNone(child.poll(), "it ended before it was interrupted")
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        try:
            out, err = child.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            child.kill()
            self.fail("Ctrl-C did not end it")
        return child.returncode, out, err

    def test_stops_a_generation(self):
        code, out, err = self.interrupted("model.generate([5] * 400, gen_length=512)")
        self.assertEqual((code, out), (0, "stopped\n2\n"), err)

    def test_stops_a_run(self):
        code, out, err = self.interrupted("list(model.run([5] * 400, gen_length=512, record='column_sums'))")
        self.assertEqual((code, out), (0, "stopped\n2\n"), err)

    def test_stops_a_trace(self):
        code, out, err = self.interrupted("model.trace('word ' * 300, gen_length=512)")
        self.assertEqual((code, out), (0, "stopped\n2\n"), err)

    def test_stops_a_verb_and_keeps_what_it_stored(self):
        with tempfile.TemporaryDirectory() as folder:
            output = pathlib.Path(folder) / "eval"
            code, out, err = self.interrupted(f"buoy.eval({str(output)!r}, model='mini-mdm', gen_length=64, batch_size=1)", (output / "run.db").exists)
            self.assertEqual((code, out), (0, "stopped\n2\n"), err)
            self.assertTrue((output / "run.db").exists())


if __name__ == "__main__":
    unittest.main()
