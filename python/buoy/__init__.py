"""Buoy: an engine and laboratory for the attention of language models.

    import buoy

    model = buoy.load("mini-mdm")
    print(model.generate("Question: Who wrote The Delmar Letters?\\nShort Answer:", gen_length=16, steps=8).text)
    for step in model.run("Question: Who?", gen_length=8, record=["column_sums"]):
        print(step.number, step.column_sums.shape)

Numbers are defined in docs/definitions.md; docs/python.md tells more of this package.
"""
from ._core import Cancelled, Error, InternalError, UsageError, __version__
from ._core import bundled_models as _bundled_models
from .bridge import Statistics, attention
from .figure import Figure, Page
from .lab import (Result, analyze, audit, command, evaluate, intervene, replay, score, shuffle, stress, study, table, trace, verbs, world)
from .model import Generation, Model, Tokenizer, load
from .run import Change, Run, Step
from .traces import Trace, analyses, read_trace, read_traces

eval = evaluate  # as the command line calls it


def models() -> list[str]:
    """Names of the models that come with Buoy.

    Returns:
        A sorted list, such as ``["mini-arm", "mini-hybrid", "mini-mdm", "mini-ssm"]``.
    """
    return _bundled_models()


__all__ = [
    "Cancelled", "Change", "Error", "Figure", "Generation", "InternalError", "Model", "Page", "Result", "Run", "Statistics", "Step", "Tokenizer", "Trace",
    "UsageError", "__version__", "analyses", "analyze", "attention", "audit", "command", "eval", "evaluate", "intervene", "load", "models", "read_trace", "read_traces",
    "replay", "score", "shuffle", "stress", "study", "table", "trace", "verbs", "world"
]
