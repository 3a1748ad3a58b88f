"""Models: loading, passes, generation, text."""
from __future__ import annotations

import dataclasses
import json
import os
import warnings
from typing import TYPE_CHECKING, Any, Callable, Iterable, Literal, Mapping, Sequence, Union, overload

import numpy as np

from . import _core, given
from .arrays import Array
from .exchange import refuse_circle
from .plan import Record, hook_names
from .run import Change, Run

if TYPE_CHECKING:
    from .traces import Trace

#: Text, token ids, or messages of a conversation.
Prompt = Union[str, Sequence[int], np.ndarray[Any, Any], Sequence[Mapping[str, str]]]


def load(model: str | os.PathLike[str] = "mini-mdm", *, device: str = "auto", dtype: str = "auto", threads: int = 0, family: str = "") -> Model:
    """Loads a model.

    Args:
        model: A bundled model (see :func:`models`), a checkpoint directory, or a Hub name (``"ORG/NAME"``) that lies in the
            local Hugging Face cache (``HF_HUB_CACHE``, ``HF_HOME``, ``~/.cache/huggingface``). Nothing is downloaded.
        device: ``"auto"`` (a card where there is one), ``"cpu"``, ``"cuda"`` or ``"reference"`` (slow, exact).
        dtype: ``"auto"``, ``"f32"`` or ``"bf16"`` (cuda only).
        threads: Of the cpu; 0 means all cores. Results do not depend on it.
        family: What the model is, whatever its config.json says.

    Raises:
        Error: The checkpoint is not there or has problems; all of them are listed.
        UsageError: A device or type that makes no sense.
    """
    place, names = given.path(model, "model"), {"device": device, "dtype": dtype, "family": family}
    device, dtype, family = (given.text(value, name) for name, value in names.items())
    core = _core.load(place, device, dtype, given.whole(threads, "threads"), family, lambda line: warnings.warn(line, stacklevel=3))
    return Model(core, family)


@dataclasses.dataclass
class Generation:
    """What a model wrote.

    Attributes:
        tokens: The whole sequence, ``[N] int32``: prompt, then what was generated.
        prompt_length: How many of them are the prompt.
        ids: What was generated, ``[G] int32``; a view of ``tokens``.
        text: The same as text, up to the first EOS; None for a model without a tokenizer.
        steps: Passes of the model.
        commit_step: ``[G] int64``, the pass that wrote each token, from 0; -1 where none did.
        confidence: ``[G] float64``, what the sampler ranked or drew by.
    """
    tokens: Array
    prompt_length: int
    text: str | None
    steps: int
    commit_step: Array
    confidence: Array

    @property
    def ids(self) -> Array:
        return self.tokens[self.prompt_length:]

    def __str__(self) -> str:
        return self.text if self.text is not None else " ".join(map(str, self.ids))


class Tokenizer:
    """Text to token ids and back, as the model's own tokenizer does it."""

    def __init__(self, core: _core.Model):
        self._core = core

    def encode(self, text: str, add_special_tokens: bool = True) -> Array:
        """Token ids of a text, ``[N] int32``; with the special tokens (BOS) that the tokenizer adds, or without."""
        return self._core.encode(given.text(text, "text"), given.flag(add_special_tokens, "add_special_tokens"))

    def decode(self, ids: Any, skip_special_tokens: bool = False) -> str:
        """Text of token ids. Raises Error for an id outside the vocabulary."""
        return self._core.decode(ids, given.flag(skip_special_tokens, "skip_special_tokens"))

    def tokens(self, ids: Any) -> list[str]:
        """Each token by itself, as a label."""
        return self._core.token_texts(ids)

    def apply_chat_template(self, messages: Sequence[Mapping[str, str]], *, add_generation_prompt: bool = True,
                            tokenize: bool = False, date: str | None = None) -> str | Array:
        """A conversation as the prompt that the model was trained on.

        Args:
            messages: ``[{"role": "user", "content": "…"}, …]``.
            add_generation_prompt: Whether it ends where the assistant's answer begins.
            tokenize: Token ids instead of text.
            date: See :meth:`Model.prompt_ids`.
        """
        wants_ids = given.flag(tokenize, "tokenize")
        text = self._core.render_chat(_messages(messages), given.flag(add_generation_prompt, "add_generation_prompt"), _day(date))
        return self._core.encode(text, False) if wants_ids else text

    @property
    def has_chat_template(self) -> bool:
        return self._core.has_chat_template()

    def __len__(self) -> int:
        return self._core.vocab_size()

    @property
    def bos_id(self) -> int | None:
        """Of the token that begins a text; None where there is none, as below."""
        return self._core.special_ids()["bos_id"]

    @property
    def eos_id(self) -> int | None:
        """Of the token that ends one; ``Model.config["eos_ids"]`` are all that end a generation."""
        return self._core.special_ids()["eos_id"]

    @property
    def mask_id(self) -> int | None:
        """Of the token that stands for what is not written yet."""
        return self._core.special_ids()["mask_id"]

    @property
    def pad_id(self) -> int | None:
        """Of the token that fills up batches."""
        return self._core.special_ids()["pad_id"]


class Model:
    """A model ready to use. Made by :func:`load`; another process loads it again.

    One thread computes at a time; others wait for it. A process that was forked after a model computed cannot compute.
    """

    def __init__(self, core: _core.Model, family: str = ""):
        self._core = core
        self._family = family
        self._config = core.config()
        self._directory = os.path.abspath(core.directory())  # notebooks change the folder they work in

    @property
    def name(self) -> str:
        """What it is called in figures and files."""
        return self._core.name()

    @property
    def directory(self) -> str:
        """Where its checkpoint lies."""
        return self._directory

    @property
    def family(self) -> str:
        """What it was said to be when it was loaded, whatever its config.json says; "" where nothing was."""
        return self._family

    @property
    def device(self) -> str:
        """Where it computes: "cpu, f32, 2 threads"."""
        return self._core.device()

    @property
    def config(self) -> dict[str, Any]:
        """family, family_key (what ``family`` of :func:`load` takes), writing, sampler, mask, layers, heads, key_heads, head_size, width, mlp_width, vocabulary, context, mask_id, eos_ids."""
        return dict(self._config)

    @property
    def tokenizer(self) -> Tokenizer:
        """Raises Error where the checkpoint has none."""
        if not self._core.has_tokenizer():
            raise _core.Error(f"{self.directory}: has no tokenizer files")
        return Tokenizer(self._core)

    def __copy__(self) -> Model:
        return self  # nothing of it changes

    def __deepcopy__(self, memo: Any) -> Model:
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"a model cannot be stored; load {self.directory!r} where it is wanted")

    def __repr__(self) -> str:
        return f"<buoy.Model {self.name}: {self._config['family']}, {self._config['layers']} layers, on {self.device}>"

    def prompt_ids(self, prompt: Prompt, chat: bool | None = None, date: str | None = None) -> Any:
        """Token ids of a prompt.

        Args:
            prompt: Text (one user message where the model has a chat template), messages, or ids, which stay as they are.
            chat: Whether text goes into the chat template; None: where there is one.
            date: For templates that ask for the day, or "today"; None: 2024-07-26, so that a prompt does not depend on when it is made.
        """
        chat = None if chat is None else given.flag(chat, "chat")
        day = _day(date)
        if isinstance(prompt, str):
            return self._core.encode_prompt(given.text(prompt, "prompt"), chat, day)
        if isinstance(prompt, (list, tuple)) and prompt and isinstance(prompt[0], Mapping):
            if chat is False:
                raise _core.UsageError("chat is False, and messages are for a chat template")
            return self._core.encode(self._core.render_chat(_messages(prompt), True, day), False)
        if chat is not None:
            raise _core.UsageError("chat has no effect on token ids")
        if date is not None:
            raise _core.UsageError("date has no effect on token ids")
        return prompt

    @overload
    def forward(self, ids: Any, *, attentions: Literal[False] = False, hidden: Literal[False] = False) -> Array: ...

    @overload
    def forward(self, ids: Any, *, attentions: bool = False, hidden: bool = False) -> Any: ...

    def forward(self, ids: Any, *, attentions: bool = False, hidden: bool = False) -> Array | dict[str, Array]:
        """One pass over a sequence.

        Args:
            ids: Token ids: a list, an array, or anything that speaks DLPack.
            attentions: All weights too; only where they stay under the memory limit.
            hidden: The residual stream at every depth too, the last one after the final norm.

        Returns:
            Logits ``[T, V] float32``; with ``attentions`` or ``hidden`` a dict with ``logits``, ``attentions [L, H, T, T]`` and
            ``hidden [L + 1, T, E]``.
        """
        refuse_circle(self._core)
        made = self._core.forward(ids, given.flag(attentions, "attentions"), given.flag(hidden, "hidden"))
        return made if attentions or hidden else made["logits"]

    @overload  # type: ignore  # a text is also a sequence of texts: the first that fits goes
    def generate(self, prompt: Prompt, *, sampler: Mapping[str, Any] | None = None, chat: bool | None = None, date: str | None = None,
                 **settings: Any) -> Generation: ...

    @overload
    def generate(self, prompt: Sequence[Prompt], *, sampler: Mapping[str, Any] | None = None, chat: bool | None = None, date: str | None = None,
                 **settings: Any) -> list[Generation]: ...

    def generate(self, prompt: Prompt | Sequence[Prompt], *, sampler: Mapping[str, Any] | None = None, chat: bool | None = None,
                 date: str | None = None, **settings: Any) -> Generation | list[Generation]:
        """Continues a prompt with the sampler of the model's family.

        Args:
            prompt: Text, ids or messages; a list of texts or of ids is answered in one batch.
            sampler: Settings as a dict, for those who keep them; ``settings`` come on top.
            chat, date: See :meth:`prompt_ids`.
            **settings: As on the command line: gen_length, steps, block_length, temperature, seed, remasking, threshold, alg, …
                (docs/sampling.md). One without effect on this model is an error.

        Returns:
            A :class:`Generation`, or a list of them for a list of prompts. Ctrl-C stops it before its next pass.
        """
        many = _is_batch(prompt)
        prompts: Any = prompt if many else [prompt]
        ids = [self.prompt_ids(one, chat, date) for one in prompts]
        refuse_circle(self._core)
        made = [self._generation(one) for one in self._core.generate(ids, _settings(sampler, settings))]
        return made if many else made[0]

    def run(self, prompt: Prompt, *, record: Record = (), layers: Iterable[int] | None = None, heads: Iterable[int] | None = None,
            masses: Mapping[str, Sequence[int]] | None = None, change: Callable[..., Change | None] | None = None,
            hooks: Mapping[str, Callable[..., Change | None]] | None = None, sampler: Mapping[str, Any] | None = None,
            chat: bool | None = None, date: str | None = None, **settings: Any) -> Run:
        """Generates step by step, and records.

            for step in model.run(prompt, steps=16, record=["column_sums", "blocks.5.attn.hook_pattern"]):
                print(step.number, step.column_sums[5, 3].argmax(), step["blocks.5.attn.hook_pattern"].shape)

        The next step is computed when it is asked for; leaving the loop ends the generation.

        Args:
            prompt: Text, ids or messages.
            record: What to keep of every step: ``column_sums``, ``rows``, ``masses``, ``row_means``, ``norms``, ``qk_means``,
                ``pattern``, ``states``, ``logits``, ``residual``; names as TransformerLens has them
                (``blocks.5.attn.hook_pattern``, with ``*`` and ``?``; :meth:`hook_names` lists them); or a function from such a
                name to True or False.
            layers: Which layers the short names mean; None: all.
            heads: Which heads whole patterns are kept of, in ascending order; None: all.
            masses: Groups of key positions by name: the attention that read rows pay to each.
            change: Called before every layer's attention as ``change(step, layer, tokens)``; returns a :class:`Change` or None.
            hooks: ``{name: function(value, hook)}``, called when a layer has been measured; names as ``record`` has them, of
                attention. A function that returns a :class:`Change` has the layer's attention computed again with it, once, in
                place of what ``change`` said; two of one layer cannot both.
            sampler, chat, date, **settings: See :meth:`generate`.

        Returns:
            A :class:`Run`, an iterator over :class:`Step`; its ``result`` is the :class:`Generation` when it is over.
        """
        if _is_batch(prompt):
            raise _core.UsageError("prompt: got several, expected one; generate() answers them in a batch")
        return Run(self, self.prompt_ids(prompt, chat, date), _settings(sampler, settings), record=record, layers=layers, heads=heads,
                   masses=masses, change=change, hooks=hooks)

    def hook_names(self) -> list[str]:
        """All names that ``record`` and ``hooks`` of :meth:`run` know, in the order of the pass."""
        return hook_names(self._config["layers"])

    def trace(self, prompt: str, *, chat: bool | None = None, date: str | None = None, record: str | Sequence[str] | None = None,
              record_steps: str | None = None, layers: str | Iterable[int] | None = None, per_head: bool | None = None,
              implicit: str | None = None, **settings: Any) -> Trace:
        """Generates from a text and records it as a trace (docs/trace.md).

        Args:
            prompt: Plain text; :func:`trace` records datasets.
            chat, date: See :meth:`prompt_ids`.
            record: Some of received, flow, answer, qk, keys, experts, as a list or "received,qk"; None: the first four.
            record_steps: "all", "every:4", or "0,3,7".
            layers: "all", "0,4-7", or numbers.
            per_head: Whether received attention is kept head by head at every step.
            implicit: What stands for attention in state space layers: "energy" or "magnitude" (docs/ssd.md).
            **settings: See :meth:`generate`.
        """
        from .traces import Trace
        if isinstance(record, str):
            record = record.split(",")
        if not isinstance(layers, str) and layers is not None:
            layers = ",".join(map(str, given.numbers(layers, "layers")))
        wanted = {"record": record, "record_steps": record_steps, "layers": layers, "per_head": per_head, "implicit": implicit}
        chat = None if chat is None else given.flag(chat, "chat")
        day = _day(date)
        refuse_circle(self._core)
        return Trace(_core.trace_prompt(self._core, given.text(prompt, "prompt"), chat, day, settings, wanted))

    def _generation(self, made: dict[str, Any]) -> Generation:
        text = self._core.answer_text(made["tokens"][made["prompt_length"]:]) if self._core.has_tokenizer() else None
        return Generation(text=text, **made)


def _day(date: str | None) -> str | None:
    return None if date is None else given.text(date, "date")


def _messages(messages: Any) -> str:
    try:
        return given.text(json.dumps(list(messages), ensure_ascii=False, allow_nan=False), "messages")
    except (TypeError, ValueError) as wrong:
        raise _core.UsageError(f"messages: {wrong}, expected [{{\"role\": \"user\", \"content\": text}}, …]") from None


def _settings(sampler: Mapping[str, Any] | None, settings: Mapping[str, Any]) -> dict[str, Any]:
    if sampler is not None and not isinstance(sampler, Mapping):
        raise TypeError(f"sampler is {given.short(sampler)}, expected settings by name, as in {{\"steps\": 8}}")
    return {**(sampler or {}), **settings}


def _is_batch(prompt: Any) -> bool:
    """A list of prompts, and not one prompt of ids or messages."""
    if isinstance(prompt, str) or not isinstance(prompt, (list, tuple)) or not prompt:
        return False
    return not isinstance(prompt[0], (int, np.integer, Mapping))
