"""What the tests share: where the goldens lie, and attention written out."""
import os
import pathlib

import numpy as np

SOURCE = pathlib.Path(os.environ.get("BUOY_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
GOLDENS = SOURCE / "tests" / "goldens"
PROMPT = "Question: Who wrote The Delmar Letters?\nShort Answer:"


def softmax(scores):
    raised = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return raised / raised.sum(axis=-1, keepdims=True)


def visible(T, N, block=0, offset=0):
    """[T, N]: which keys a query sees; block 0 is full attention, 1 causal."""
    positions = np.arange(N - T, N)
    if block == 0:
        return np.ones((T, N), bool)
    return np.arange(N)[None, :] < (((positions + offset) // block + 1) * block - offset)[:, None]


def written_out(q, k, v, seen, bias=None):
    """Attention of one sequence in double precision: weights [H, T, N] and output [H, T, D]. q [H, T, D], k and v [Hkv, N, D]."""
    H, _, D = q.shape
    shared = H // k.shape[0]
    k, v = np.repeat(k.astype(float), shared, 0), np.repeat(v.astype(float), shared, 0)
    scores = np.einsum("htd,hnd->htn", q.astype(float), k) / np.sqrt(D)
    if bias is not None:
        scores = scores + bias
    weights = softmax(np.where(seen, scores, -np.inf))
    return weights, np.einsum("htn,hnd->htd", weights, v)
