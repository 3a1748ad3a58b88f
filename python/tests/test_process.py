"""Verbs as processes: warnings are Python's, models stay what they were said to be, nothing is left behind; options are the command's."""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import warnings

import numpy as np

import buoy
from helpers import GOLDENS, PROMPT


class Verbs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def test_pass_their_warnings_on_as_those_of_the_caller(self):
        options = dict(model=["mini-arm", "mini-mdm"], limit=1, gen_length=2)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            buoy.stress(self.path / "stress", ["steps=1,2", "irrelevant=0"], quiet=True, **options)
        said = [(str(one.message), one.filename) for one in caught if "means nothing" in str(one.message)]
        self.assertEqual(sorted(said), [(f"steps={count} means nothing to mini-arm: left out", __file__) for count in (1, 2)])

    def test_take_models_for_what_they_were_said_to_be(self):
        folder = str(GOLDENS / "open-dcoder")
        model = buoy.load(folder, family="open-dcoder")
        self.assertEqual((model.family, model.config["family"], buoy.load(folder).family), ("open-dcoder", "Open-dCoder", ""))
        options = dict(ids="1,2,3", gen_length=4)
        told = buoy.command("generate", model=model, **options)
        self.assertEqual(told, buoy.command("generate", model=folder, family="open-dcoder", **options))
        self.assertNotEqual(told, buoy.command("generate", model=folder, **options))
        words = lambda verb, **options: [word for word in buoy.lab._arguments((verb,), (), options) if word.startswith("--family")]
        self.assertEqual(words("eval", model=["mini-mdm", model]), [f"--family={folder}=open-dcoder"])
        self.assertEqual(words("eval", model=model, family="llama"), ["--family=llama"])
        self.assertEqual(words("tokenize", model=model) + words("eval", model="mini-mdm"), [])

    def test_take_numbers_of_numpy_and_names_that_are_no_text(self):
        self.assertEqual(buoy.world(seed=np.int64(3), items=np.uint8(1)), buoy.world(seed=3, items=1))
        for options, line in ((dict(seed=False), "seed is False, expected text or a number"), (dict(seed=np.bool_(True)), "expected text or a number"),
                              (dict(seed=[1, 2]), "--seed is given 2 times"), (dict(seed=object()), "expected text or a number")):
            with self.subTest(options), self.assertRaisesRegex(buoy.UsageError, line):
                buoy.world(items=1, **options)
        trace = buoy.load("mini-mdm").trace(PROMPT, gen_length=2, steps=1)
        trace.save(self.path / "one.npz")
        odd = os.fsdecode(os.fsencode(self.path) + b"/\xff.npz")
        os.rename(self.path / "one.npz", odd)
        self.assertIn("mini-mdm", buoy.command("inspect", odd))

    def test_leave_results_that_are_found_from_any_folder(self):
        trace = buoy.load("mini-mdm").trace(PROMPT, gen_length=2, steps=1)
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.path)
        result = buoy.analyze(trace, "out", quiet=True, format="svg", figures=["drift"])
        os.chdir("/")
        self.assertEqual((result.path, "samples" in result.tables, result.page.exists()), (self.path / "out", True, True))

    def test_say_their_failure_once(self):
        done = subprocess.run([sys.executable, "-c", "import buoy\ntry: buoy.eval('out', model='nobody')\nexcept buoy.Error as error: print(error)"], cwd=self.path,
                              capture_output=True, text=True, timeout=120)
        self.assertIn("no such model directory", done.stdout)
        self.assertNotIn("no such model directory", done.stderr)

    def test_are_read_and_written_in_any_locale(self):
        program = textwrap.dedent(f"""
            import buoy
            trace = buoy.load("mini-mdm").trace({PROMPT!r}, gen_length=2, steps=1)
            result = buoy.analyze(trace, "out", quiet=True, format="svg", figures=["drift"])
            figure = next(iter(result.figures.values()))
            for kind in ("svg", "csv"): figure.save("figure." + kind)
            trace.show().save("page.html")
            print(len(result.tables), open("figure.svg", encoding="utf-8").read() == figure.svg)
        """)
        environment = {**os.environ, "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0"}
        done = subprocess.run([sys.executable, "-X", "utf8=0", "-W", "ignore", "-c", program], cwd=self.path, env=environment, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stdout), (0, "3 True\n"), done.stderr)

    def test_leave_no_folders_behind(self):
        program = textwrap.dedent(f"""
            import buoy, os, sys
            trace = buoy.load("mini-mdm").trace({PROMPT!r}, gen_length=2, steps=1)
            made = buoy.analyze(trace, quiet=True, format="svg", figures=["drift"])
            child = os.fork()
            if child == 0: sys.exit(0)  # with all that a process does at its end
            os.waitpid(child, 0)
            print(len(made.figures))
            try: buoy.analyze("/nowhere", quiet=True)
            except buoy.Error: pass
        """)
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], env={**os.environ, "TMPDIR": str(self.path)}, capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, int(done.stdout) > 0), (0, True), done.stderr)
        self.assertEqual(os.listdir(self.path), [])

    def test_end_with_a_second_ctrl_c_what_does_not_stop(self):
        stubborn = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); print(flush=True); time.sleep(100)"
        child = subprocess.Popen([sys.executable, "-c", stubborn], stdout=subprocess.PIPE, start_new_session=True)
        child.stdout.readline()
        self.addCleanup(child.stdout.close)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGALRM, before)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with self.assertRaises(KeyboardInterrupt):
            buoy.process._end(child)
        self.assertEqual(child.wait(60), -signal.SIGKILL)


class Options(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.model = buoy.load("mini-mdm")

    def test_of_traces_are_the_commands(self):
        known = {option["name"].lstrip("-").replace("-", "_") for option in buoy.verbs()["trace"]["options"]}
        files = {"model", "family", "device", "dtype", "threads", "data", "prompt_file", "template", "data_format", "no_chat", "limit", "batch_size", "output", "too_long",
                 "overwrite", "rank_timeout"}  # of models, files and many prompts
        for name in known - files - {"prompt"}:
            with self.subTest(name), self.assertRaises((buoy.UsageError, TypeError)) as caught:
                self.model.trace(PROMPT, **{name: object()})
            self.assertNotIn("is no setting", str(caught.exception))

    def test_of_traces_are_written_as_lists_or_as_on_the_command_line(self):
        one = self.model.trace(PROMPT, gen_length=2, steps=1, record="received,qk", layers="0,3-4", implicit="energy")
        two = self.model.trace(PROMPT, gen_length=2, steps=1, record=["received", "qk"], layers=[4, 3, 0])
        self.assertEqual((sorted(one), list(two["layers"])), (sorted(two), [0, 3, 4]))
        np.testing.assert_array_equal(one["received"], two["received"])
        for options, line in (({"implicit": "heat"}, "heat"), ({"layers": [99]}, "99"), ({"layers": [1.5]}, "expected whole numbers"), ({"record": "heat"}, "record holds"),
                              ({"record_steps": "1,2"}, "step 2 is to be recorded, the last of mini-mdm is 1"),
                              ({"record": "experts"}, "has no experts"), ({"implicit": "magnitude"}, "no state space layers")):
            with self.subTest(options), self.assertRaisesRegex(buoy.UsageError, line):
                self.model.trace(PROMPT, gen_length=2, **options)

    def test_of_the_day_reach_the_template(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in os.listdir(self.model.directory):
                if name != "chat_template.jinja":
                    os.symlink(os.path.join(self.model.directory, name), os.path.join(folder, name))
            with open(os.path.join(folder, "chat_template.jinja"), "w") as file:
                file.write("{{ strftime_now('%d %b %Y') }} {% for m in messages %}{{ m.content }}{% endfor %}")
            model = buoy.load(folder)
            message = [{"role": "user", "content": "Who?"}]
            for date, day in ((None, "26 Jul 2024"), ("2026-02-03", "03 Feb 2026")):
                wanted = list(model.tokenizer.encode(f"{day} Who?", add_special_tokens=False))
                for found in (model.prompt_ids("Who?", date=date), model.prompt_ids(message, date=date),
                              model.generate("Who?", date=date, gen_length=2).tokens[:-2], next(model.run(message, date=date, gen_length=2)).tokens[:-2],
                              model.trace("Who?", date=date, gen_length=2)["tokens"][:-2]):
                    self.assertEqual(list(found), wanted)
            for call in (lambda: self.model.prompt_ids("Who?", date="2026-02-03"), lambda: self.model.trace("Who?", date="2026-02-03", gen_length=2),
                         lambda: model.prompt_ids("Who?", date="2026-02-03", chat=False), lambda: self.model.tokenizer.apply_chat_template(message, date="2026-02-03"),
                         lambda: model.prompt_ids("Who?", date="someday"), lambda: model.trace("Who?", date="someday"), lambda: model.generate([1, 2], date="2026-02-03")):
                with self.assertRaisesRegex(buoy.UsageError, "date|someday"):
                    call()


if __name__ == "__main__":
    unittest.main()
