"""The laboratory: the verbs of the command line as functions, with the same names and the same files.

A verb runs as a process of its own (``python -m buoy VERB …``): it is resumable, Ctrl-C ends it with all that was stored, and
nothing of it is left in this one. Options are spelled as in C++ and JSON, ``gen_length=32`` for ``--gen-length 32``.
"""
from __future__ import annotations

import functools
import json
import os
import pathlib
import tempfile
from typing import Any, Iterable

import numpy as np

from . import _core, given, process
from .figure import Figure
from .model import Model
from .tables import read_csv
from .traces import Trace, read_trace, read_traces


@functools.lru_cache(maxsize=None)
def verbs() -> dict[str, dict[str, Any]]:
    """The verbs of the command line: name, summary, options with their help, and actions of verbs that have some."""
    return {verb["name"]: verb for verb in _core.verbs()}


def _python_name(option: dict[str, Any]) -> str:
    return str(option["name"]).lstrip("-").replace("-", "_")


def _arguments(path: tuple[str, ...], places: Iterable[Any], options: dict[str, Any]) -> list[str]:
    """The words of a command line. Raises UsageError for options that the verb does not have."""
    verb = verbs().get(path[0])
    if verb is None:
        raise _core.UsageError(f"there is no verb {path[0]!r}, expected one of {', '.join(verbs())}")
    for name in path[1:]:
        verb = next((action for action in verb["actions"] if action["name"] == name), None)
        if verb is None:
            raise _core.UsageError(f"{path[0]} has no action {name!r}")
    known = {_python_name(option): option for option in verb["options"] if not option["positional"]}
    words = list(path)
    if "family" in known and options.get("family") is None:
        options = {**options, "family": _families(options.get("model"), known["family"]["list"])}
    for name, value in options.items():
        option = known.get(name)
        if option is None:
            raise _core.UsageError(f"{' '.join(path)} has no option {name}, expected some of {', '.join(sorted(known))}")
        if value is None:
            continue
        if not option["argument"]:
            if not isinstance(value, (bool, np.bool_)):
                raise _core.UsageError(f"{name} is {given.short(value)}, expected True or False")
            words += [option["name"]] if value else []
            continue
        for one in value if isinstance(value, (list, tuple, range, np.ndarray)) else [value]:
            words.append(f"{option['name']}={_word(name, one)}")
    last = [_word("argument", one) for one in places]
    return words + (["--", *last] if any(one.startswith("-") for one in last) else last)


def _families(models: Any, several: bool) -> list[str]:
    """What models were said to be when they were loaded: they are no other ones here."""
    every = models if isinstance(models, (list, tuple)) else [models]
    told = [(one.directory, one.family) for one in every if isinstance(one, Model) and one.family]
    return [f"{directory}={family}" if several else family for directory, family in dict(told).items()]


def _word(name: str, value: Any) -> str:
    value = value.directory if isinstance(value, Model) else value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise _core.UsageError(f"{name} is {given.short(value)}, expected text or a number")
    word = str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)
    if "\0" in word:
        raise _core.UsageError(f"{name} holds a zero byte")
    return word


def command(verb: str, *arguments: Any, quiet: bool = True, **options: Any) -> str:
    """Runs a verb of the command line and returns what it printed.

        buoy.command("inspect", model="mini-mdm")
        buoy.command("index add", "micro.db", "data/micro_test.jsonl")

    Args:
        verb: The verb, with its action where it has some.
        *arguments: What the command line takes without a name.
        quiet: Whether its remarks and progress stay unseen.
        **options: Its options; True sets a flag, a list gives an option several times.

    Raises:
        UsageError: Options that there are not or that make no sense.
        Error: The work failed; the message is the command's one line.
    """
    return process.run(_arguments(tuple(given.text(verb, "verb").split()) or ("",), arguments, options), quiet)


class Result:
    """What a run left in its folder: tables, figures, the page.

    Attributes:
        path: The folder.
        text: What the command printed.
    """

    def __init__(self, path: pathlib.Path, text: str):
        self.path = pathlib.Path(path).absolute()  # notebooks change the folder they work in
        self.text = text

    @property
    def tables(self) -> list[str]:
        """Names for :meth:`table`."""
        return sorted(path.stem for path in self.path.glob("*.csv"))

    def table(self, name: str) -> Any:
        """A CSV file of the run as a DataFrame (a dict of arrays without pandas): docs say its columns."""
        path = self.path / f"{name}.csv"
        if not path.exists():
            raise _core.Error(f"{self.path}: has no table {name!r}, expected one of {', '.join(self.tables)}")
        return read_csv(path.read_text(encoding="utf-8"))

    @property
    def figures(self) -> dict[str, Figure]:
        """The figures by name."""
        made = {}
        for path in sorted((self.path / "figures").glob("*.svg")):
            numbers = path.with_suffix(".csv")
            csv = numbers.read_text(encoding="utf-8") if numbers.exists() else ""
            made[path.stem] = Figure(path.read_text(encoding="utf-8"), path.stem.replace("_", " "), csv)
        return made

    def json(self, name: str) -> Any:
        """A JSON file of the run."""
        path = self.path / f"{name}.json"
        if not path.exists():
            raise _core.Error(f"{self.path}: has no {name}.json, expected one of {', '.join(sorted(one.stem for one in self.path.glob('*.json')))}")
        return json.loads(path.read_text(encoding="utf-8"))

    @property
    def page(self) -> pathlib.Path:
        """report.html."""
        return self.path / "report.html"

    def __repr__(self) -> str:
        return f"<buoy.Result in {self.path}: {', '.join(self.tables)}>"


def _to_folder(verb: str, output: Any, arguments: Iterable[Any], quiet: bool, options: dict[str, Any]) -> Result:
    output = given.path(output, "output")
    text = process.run(_arguments((verb,), arguments, {**options, "output": output}), quiet)
    lines = text.strip().splitlines()
    # --new may have begun beside the folder that was asked for: the last line says where.
    said = pathlib.Path(lines[-1]).parent if lines and lines[-1].endswith("report.html") else pathlib.Path(output)
    return Result(said if said.is_dir() else pathlib.Path(output), text)


def evaluate(output: Any, *, quiet: bool = False, **options: Any) -> Result:
    """Question answering with and without passages: ``buoy eval``. Tables: scores, and with ``trace=True`` attention.

        buoy.evaluate("eval", model="mini-mdm", limit=20, steps=16).table("scores")

    Broken off, the same call goes on where it stopped. Also called ``buoy.eval``.
    """
    return _to_folder("eval", output, (), quiet, options)


def stress(output: Any, stressors: Any = (), *, quiet: bool = False, **options: Any) -> Result:
    """The same questions under growing stress: ``buoy stress``.

        buoy.stress("stress", ["irrelevant=0,0.5", "gold-position"], model="mini-mdm", limit=20)
    """
    return _to_folder("stress", output, _listed(stressors), quiet, options)


def intervene(output: Any, interventions: Any = (), *, quiet: bool = False, **options: Any) -> Result:
    """Questions under interventions, each beside its control: ``buoy intervene``.

        buoy.intervene("intervene", ["mask-bos", "mask-anchors=5"], limit=20)
    """
    return _to_folder("intervene", output, _listed(interventions), quiet, options)


def replay(output: Any, events: Any, *, quiet: bool = False, **options: Any) -> Result:
    """Questions asked while documents change: ``buoy replay``. Table: replay, over time and around changes.

        buoy.command("world", events=200, seed=1, output="events.jsonl")
        buoy.replay("replay", "events.jsonl", limit=30).figures["timeline"]
    """
    return _to_folder("replay", output, [events], quiet, options)


def audit(output: Any, *, quiet: bool = False, **options: Any) -> Result:
    """Approximate caches beside exact generation: ``buoy audit``. Tables: audit, audit_steps.

        buoy.audit("audit", cache=["dual", "delayed"], model="mini-mdm", limit=20).table("audit")
    """
    return _to_folder("audit", output, (), quiet, options)


def _listed(one_or_more: Any) -> list[Any]:
    if isinstance(one_or_more, (str, os.PathLike, Trace)):
        return [one_or_more]
    if not isinstance(one_or_more, Iterable):
        raise TypeError(f"got {given.short(one_or_more)}, expected one or a list")
    return list(one_or_more)


def study(output: Any, *, quiet: bool = False, **options: Any) -> Result:
    """Traces, answers, stress, interventions, and verdicts on claims: ``buoy study``. Tables: summaries, samples, questions, claims.

        buoy.study("study", model=["mini-mdm", "mini-arm"], limit=12).table("claims")
    """
    return _to_folder("study", output, (), quiet, options)


def analyze(traces: Any, output: Any = None, *, quiet: bool = False, **options: Any) -> Result:
    """From traces to tables and figures: ``buoy analyze``.

    Args:
        traces: :class:`Trace` objects of one model, paths, or directories of them; one or a list.
        output: The folder; None: one that is there until the process ends.
    """
    every = _listed(traces)
    own = process.temporary_folder() if output is None else None
    try:
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for at, one in enumerate(every):
                if isinstance(one, Trace):
                    paths.append(os.path.join(folder, f"{at:06}.npz"))
                    one.save(paths[-1])
                else:
                    paths.append(os.fspath(one))
            return _to_folder("analyze", output if own is None else os.path.join(own, "analysis"), paths, quiet, options)
    except BaseException:
        if own is not None:
            process.remove_folder(own)
        raise


def trace(output: Any, *, quiet: bool = False, **options: Any) -> list[Trace]:
    """Records the questions of a dataset, or prompts: ``buoy trace``. Returns the traces.

        buoy.trace("traces", data="data/micro_test.jsonl", limit=5, steps=16)
    """
    output = given.path(output, "output")
    process.run(_arguments(("trace",), (), {**options, "output": output}), quiet)
    return [read_trace(output)] if os.path.isfile(output) else read_traces(output)


def shuffle(model: Any, output: Any, *, quiet: bool = True, **options: Any) -> pathlib.Path:
    """Writes a checkpoint's shuffled twin: ``buoy shuffle``. Returns where it is."""
    output = given.path(output, "output")
    process.run(_arguments(("shuffle",), (), {**options, "model": model, "output": output}), quiet)
    return pathlib.Path(output)


def world(*, quiet: bool = True, **options: Any) -> list[dict[str, Any]]:
    """Questions about worlds that do not exist: ``buoy world``. Returns the items."""
    return [json.loads(line) for line in process.run(_arguments(("world",), (), options), quiet).splitlines() if line]


def table(*runs: Any, quiet: bool = True, **options: Any) -> Any:
    """Runs of eval (folders, or results of :func:`evaluate`) as one table: ``buoy table``. A ``format`` gives text instead."""
    return _printed("table", [run.path if isinstance(run, Result) else run for run in runs], quiet, options)


def score(*predictions: Any, quiet: bool = True, **options: Any) -> Any:
    """Scores answers that another program gave: ``buoy score``. Returns a table; a ``format`` gives text instead."""
    return _printed("score", predictions, quiet, options)


def _printed(verb: str, arguments: Iterable[Any], quiet: bool, options: dict[str, Any]) -> Any:
    text = process.run(_arguments((verb,), arguments, {"format": "csv", **options}), quiet)
    return text if "format" in options else read_csv(text)
