"""What docs/python.md and the notebooks show runs, and docs/python_api.md is what the docstrings say."""
import contextlib
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import unittest

from helpers import SOURCE


class Docs(unittest.TestCase):
    def test_programs_of_the_page_run(self):
        text = (SOURCE / "docs" / "python.md").read_text()
        programs = re.findall(r"<!-- not run: the tests of the package run it -->\n```python\n(.*?)```", text, flags=re.DOTALL)
        self.assertGreater(len(programs), 5)
        names, here = {}, os.getcwd()
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            os.chdir(folder)
            try:
                for number, program in enumerate(programs):
                    exec(compile(program, f"docs/python.md, program {number + 1}", "exec"), names)
            finally:
                os.chdir(here)
        self.assertEqual(names["made"].ids.size, 8)

    def test_reference_is_what_the_docstrings_say(self):
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "python_api", "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_notebooks_give_what_they_show(self):
        names = ["attention_floating", "your_own"]
        if all(importlib.util.find_spec(name) for name in ("torch", "transformers")):
            names.append("recording_transformers")
        notebooks = [SOURCE / "python" / "notebooks" / f"{name}.ipynb" for name in names]
        done = subprocess.run([sys.executable, "-B", SOURCE / "tools" / "run_notebook", "--check", *notebooks], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_everything_public_is_said_and_stubbed(self):
        import buoy
        for name in buoy.__all__:
            if not name.startswith("__"):
                self.assertTrue(getattr(buoy, name).__doc__, name)
        stub = (SOURCE / "python" / "buoy" / "_core.pyi").read_text()
        for name in dir(buoy._core):
            if not name.startswith("__"):
                self.assertRegex(stub, rf"(?m)^(def|class) {name}\b", name)
        for kind in ("Model", "Trace", "DrawnFigure", "Stop"):
            body = re.search(rf"class {kind}.*?(?=\nclass |\ndef )", stub, re.DOTALL).group(0)
            for name in vars(getattr(buoy._core, kind)):
                if not name.startswith("__") and not name.startswith("_pybind"):
                    self.assertIn(name, body, f"{kind}.{name}")


if __name__ == "__main__":
    unittest.main()
