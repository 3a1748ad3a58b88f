"""What docs/python.md and the notebooks show runs, and docs/python_api.md is what the docstrings say."""
import ast
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

    def test_stubs_name_the_arguments_that_the_module_takes(self):
        import buoy
        tree = ast.parse((SOURCE / "python" / "buoy" / "_core.pyi").read_text())
        functions = [(buoy._core, node) for node in tree.body if isinstance(node, ast.FunctionDef)]
        for kind in (node for node in tree.body if isinstance(node, ast.ClassDef)):
            functions += [(getattr(buoy._core, kind.name), node) for node in kind.body if isinstance(node, ast.FunctionDef)]
        for owner, node in functions:
            said = getattr(owner, node.name).__doc__.splitlines()[0]  # pybind11's: name(first: type, second: type) -> type
            names = re.findall(r"[(,] ?(\w+): ", said[:said.rindex(")") + 1])
            stub = [argument.arg for argument in node.args.args]
            names = [name for name in names if not re.fullmatch(r"arg\d+", name)]  # without a name of their own
            self.assertEqual([name for name in names if name != "self"], [name for name in stub if name != "self"] if names else names, said)
        self.assertGreater(len(functions), 30)

    def test_types_hold_where_there_is_mypy(self):
        if importlib.util.find_spec("mypy") is None:
            self.skipTest("there is no mypy")
        with tempfile.TemporaryDirectory() as folder:
            settings = os.path.join(folder, "mypy.ini")
            with open(settings, "w") as file:  # whether other packages are there makes no difference
                file.write("[mypy]\n[mypy-torch.*,transformers.*,pandas.*]\nignore_missing_imports = True\nfollow_imports = skip\n"
                           "[mypy-buoy.model]\nwarn_unused_ignores = False\n")  # an overload that older ones want an ignore for, and newer ones do not
            done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--config-file", settings, "--cache-dir", folder, "-p", "buoy"],
                                  cwd=SOURCE / "python", capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
