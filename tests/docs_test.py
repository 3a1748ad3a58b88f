#!/usr/bin/env python3
"""Runs every command that README.md and docs/*.md show, and compares what comes out with what they say.

    docs_test.py BUOY PYTHON [--slow] [DOCUMENT …]       PYTHON has NumPy; without documents: all of them

What a document may hold:
    $ command               in an indented or fenced block: run by bash, in a scratch folder that looks like the source
    what it prints          lines below it: standard output must be so. … stands for anything, alone on its line for lines
    ```python               run by PYTHON in the same folder
and, invisible to readers, one line right before a block:
    <!-- not run: why -->            the block's commands are only checked: known verb, known flags, scripts that exist
    <!-- not run "text": why -->     those of its commands that contain the text
    <!-- slow "text" -->             likewise, but with --slow they run, in ./check --all
    <!-- run with: --limit 2 -->     flags that are added, or take the place of the command's own, where its verb has them
    <!-- output -->                  the block is what the last command or program printed
`buoy …` between backticks is checked like a command that is not run. Links must lead somewhere; docs/README.md lists every page.
Tables whose first column is "column" or "quantity" are compared with the CSV files that the commands wrote (docs_schema.py).
"""
import concurrent.futures
import functools
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import docs_schema
from docs_blocks import commands_of, inline_commands, link_problems, read_blocks
from docs_faults import FAULTS, SOUND

ROOT = pathlib.Path(__file__).resolve().parent.parent
TIMEOUT = 600  # seconds a command; it ends a hang, it judges no speed
SHELL_ENDS, REDIRECTIONS = {"|", "||", "&&", ";", "&"}, {"<", ">", ">>"}
LAUNCHERS = {"mpirun", "srun", "time", "nice"}  # that run the command after their own words
# Words that a shown command begins with. Such a line without "$ " would escape this test.
PROGRAMS = re.compile(r"(buoy|python3|cmake|ctest|mpirun|\./[a-z]+)( |$)")


class Verbs:
    """The flags of every verb, read from its --help."""

    def __init__(self, buoy):
        self.buoy, self.known = buoy, {}
        self.root = self.help([])

    def help(self, words):
        done = subprocess.run([self.buoy, *words, "--help"], capture_output=True, text=True, timeout=TIMEOUT)
        return done.stdout if done.returncode == 0 else None

    def flags(self, words):
        """None for an unknown verb."""
        key = tuple(words)
        if key not in self.known:
            text = self.help(words)
            if text is None or text == self.root:
                self.known[key] = None
            else:
                names = re.findall(r"^\s+(-[-\w]+(?:, ?-[-\w]+)*)", text, re.MULTILINE)
                self.known[key] = {"--help"} | {flag for name in names for flag in re.split(", ?", name)}
        return self.known[key]

    def problems(self, arguments):
        """What is wrong with the arguments of one call of buoy."""
        words = [a for a in arguments if not a.startswith("-")]
        if not words:
            return [f"unknown flag {a}" for a in arguments if a not in ("--help", "-h", "--version")]
        verb = words[:1]
        if verb == ["help"]:
            return [] if not words[1:] or self.flags(words[1:2]) else [f"unknown verb {words[1]}"]
        if verb == ["index"] and len(words) > 2:
            verb = ["index", "collection", words[2]]  # the verb of a collection comes after its name
        flags = self.flags(verb)
        if flags is None:
            return [f"unknown verb {' '.join(verb)}"]
        given = (re.match(r"--?[A-Za-z][\w-]*", a) for a in arguments if a.startswith("-"))
        return [f"{' '.join(verb)} has no flag {m[0]}" for m in given if m and m[0] not in flags]


def calls_of_buoy(command):
    """The arguments of every call of buoy in a shell command."""
    lexer = shlex.shlex(command.split("<<")[0], posix=True, punctuation_chars="|&;<>()")
    lexer.whitespace_split, lexer.commenters = True, "#"
    calls, current, program = [], None, None
    for word in lexer:
        if word in SHELL_ENDS or word in REDIRECTIONS:
            current, program = None, program if word in REDIRECTIONS else None
            continue
        if current is not None:
            current.append(word)
        elif word == "buoy" and program in (None, *LAUNCHERS):
            current = []
            calls.append(current)
        program = program or word
    return calls


def check_only(command, verbs):
    problems = [p for call in calls_of_buoy(command) for p in verbs.problems(call)]
    for word in shlex.split(command, comments=True):
        if re.fullmatch(r"\./\w+|(tools|tests|training)/[\w/.]+", word) and not (ROOT / word).exists():
            problems.append(f"{word} does not exist")
    return problems


def with_flags(command, extra, verbs):
    """The command with those of the extra flags that its verb has, instead of its own; its figures as SVG alone (cli_test.sh looks at the other formats)."""
    calls = calls_of_buoy(command)
    if len(calls) != 1 or "|" in command:
        return command
    flags = verbs.flags(calls[0][:1]) or set()
    # A verb that does not generate means something else by the same flags.
    pairs = re.findall(r"(--[\w-]+) ([^-\s]\S*)", extra) if "--gen-length" in flags else []
    if "--figures" in flags and "--format" not in command:
        pairs.append(("--format", "svg"))
    code, hash_sign, comment = command.partition(" #")
    code = code.rstrip()
    for flag, value in pairs:
        if flag in flags:
            code = re.sub(rf" {flag}[ =]\S+", "", code) + f" {flag} {value}"
    return code + hash_sign + comment


def matches(expected, got):
    pattern = ""
    for line in expected:
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += re.escape(line.rstrip()).replace("…", ".*") + r"[ \t]*\n"
    return re.fullmatch(pattern, got.rstrip() + "\n") is not None


@functools.cache
def project_entries():
    """What stands at the top of the project: not what its commands left there, which documents would then share."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode == 0 and listed.stdout:
        return sorted({line.split("/")[0] for line in listed.stdout.splitlines()})
    return sorted(entry.name for entry in ROOT.iterdir() if entry.name not in ("build", "out", ".git"))


class Document:
    """One document's run in a scratch folder of its own."""

    def __init__(self, path, scratch, environment, verbs, slow=False):
        self.path, self.scratch, self.environment, self.verbs, self.slow = path, scratch, environment, verbs, slow
        self.problems, self.ran, self.checked = [], 0, 0
        self.last_output = None
        for name in project_entries():
            (scratch / name).symlink_to(ROOT / name)

    def fail(self, line, text):
        self.problems.append(f"{self.path.relative_to(ROOT)}:{line}: {text}")

    def shell(self, line, command, words):
        done = subprocess.run(words, cwd=self.scratch, env=self.environment, capture_output=True, text=True, timeout=TIMEOUT)
        self.ran += 1
        self.last_output = done.stdout
        if done.returncode != 0:
            self.fail(line, f"exit code {done.returncode}: {command}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.returncode == 0

    def compare(self, line, expected):
        if expected and not matches(expected, self.last_output or ""):
            shown = "\n".join(expected)
            self.fail(line, f"the document shows\n{shown}\nbut this came out:\n{(self.last_output or '').rstrip()}")

    def run_block(self, block):
        if block.is_output:
            self.compare(block.line, block.lines)
        elif block.language == "python":
            if block.skips("", self.slow) or not self.shell(block.line, "python", ["python3", "-B", "-c", "\n".join(block.lines)]):
                return
        elif block.language in ("", "console", "bash"):
            commands = commands_of(block)
            script = block.language == "bash" and not commands  # a file's text, not a dialogue
            for number, text in enumerate(block.lines):
                if PROGRAMS.match(text) and not script and not any(c.covers(number) for c in commands):
                    self.fail(block.line + number, f"a command without \"$ \": {text}")
                if script and "buoy " in text:
                    self.check(block.line + number, text)
            for command in commands:
                line = block.line + command.first
                if block.skips(command.text, self.slow):
                    self.check(line, command.text)
                elif self.check(line, command.text):
                    text = with_flags(command.text, block.run_with, self.verbs)
                    if self.shell(line, text, ["bash", "-euo", "pipefail", "-c", text]):
                        self.compare(line, command.output)

    def check(self, line, command):
        self.checked += 1
        found = check_only(command, self.verbs)
        for problem in found:
            self.fail(line, f"{problem}: {command}")
        return not found

    def run(self):
        self.run_text(self.path.read_text())
        return self

    def run_text(self, text):
        for line, problem in link_problems(text, self.path, ROOT):
            self.fail(line, problem)
        for line, command in inline_commands(text):
            self.check(line, command)
        for block in read_blocks(text):
            self.run_block(block)


def all_documents():
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def unlisted_pages():
    index = (ROOT / "docs" / "README.md").read_text()
    return [f"docs/README.md: does not list {page.name}" for page in sorted((ROOT / "docs").glob("*.md"))
            if page.name != "README.md" and f"({page.name})" not in index]


def environment_with(buoy, python, scratch):
    """buoy and a python3 with NumPy come first on PATH."""
    programs = scratch / "bin"
    programs.mkdir()
    (programs / "python3").write_text(f'#!/bin/sh\nexec {shlex.quote(python)} "$@"\n')
    (programs / "python3").chmod(0o755)
    path = f"{programs}:{pathlib.Path(buoy).resolve().parent}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "HOME": str(scratch), "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8"}


def self_problems(scratch, environment, verbs):
    """What this test itself overlooks, or reports wrongly."""
    found = list(docs_schema.self_problems())
    for number, (report, text) in enumerate([*FAULTS.items(), (None, SOUND)]):
        folder = scratch / f"fault{number}"
        folder.mkdir()
        document = Document(ROOT / "docs" / "README.md", folder, environment, verbs)
        document.run_text(text)
        if report is None:
            found += [f"docs_faults.py: sound, yet reported: {p}" for p in document.problems]
        elif len(document.problems) != 1 or report not in document.problems[0]:
            found.append(f"docs_faults.py: {report!r} expected, reported: {document.problems}")
    return found


def main(buoy, python, *names):
    slow, names = "--slow" in names, [n for n in names if n != "--slow"]
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="buoy-docs-"))
    try:
        environment = environment_with(buoy, python, scratch)
        verbs = Verbs(buoy)
        problems = self_problems(scratch, environment, verbs)
        paths = [pathlib.Path(n).resolve() for n in names] or all_documents()
        documents = []
        for path in paths:
            folder = scratch / f"{len(documents)}-{path.stem}"
            folder.mkdir()
            documents.append(Document(path, folder, environment, verbs, slow))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(Document.run, documents))
        problems += [p for d in documents for p in d.problems]
        problems += docs_schema.problems(ROOT, [(d.path, d.scratch) for d in documents], whole=not names)
        if not names:
            problems += unlisted_pages()
    finally:
        shutil.rmtree(scratch)
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"docs: {len(documents)} documents, {sum(d.ran for d in documents)} commands run, "
          f"{sum(d.checked for d in documents)} checked, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
