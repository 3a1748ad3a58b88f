"""One training step: masks are laid, the loss is computed, the weights move. On a card the whole of it is captured once as
a CUDA graph and replayed: a model of this width is done with a kernel before the host has launched the next."""
import time

import torch
import torch.nn.functional as F

from model import BOS, MASK, read_out
from muon import Muon
from packing import pack
from shards import ANSWER, PADDING, PLAIN, PROMPT, STARTS, TAIL


def weight_table(a, device):
    """Loss weight by flag; a tensor, so that every setting runs the same compiled code."""
    table = torch.zeros(32, device=device)
    table[PLAIN], table[PROMPT], table[ANSWER] = a.plain, a.prompt, a.answer
    if a.kind != "arm":
        table[TAIL] = a.tail
    return table


def arm_task(tokens, flags, which, draws, table):
    """What is read, what is to be said at each position, and what it weighs."""
    target = tokens.roll(-1)
    return tokens, target, table[flags.roll(-1).long()] * (target != BOS)  # the next sequence's start is no target


def masked_task(tokens, flags, which, draws, table):
    text, answer, per_token = draws  # shares to mask [S] in text and in answers; [T] uniform
    waits = (flags == ANSWER) | (flags == TAIL)
    level = torch.where(waits, answer[which], torch.where(flags == PLAIN, text[0][which], text[1][which]))
    masked = (per_token < level) & (flags != PADDING) & (tokens != BOS)
    return torch.where(masked, MASK, tokens), tokens, table[flags.long()] * masked


def draw(generator, a):
    """Shares of tokens to mask, per sequence: of a document, of a prompt, of an answer; a uniform number per token."""
    u = torch.rand(5, STARTS, device=a.device, generator=generator)
    document = u[0].square()  # all shares occur, small ones more often: they teach copying
    prompt = torch.where(u[1] < a.only, 0.0, a.most * u[2])
    answer = torch.where(u[3] < a.full, 1.0, u[4])
    return torch.stack([document, prompt]), answer, torch.rand(a.tokens, device=a.device, generator=generator)


def weighted(x, norm, head, target, weight):
    loss = F.cross_entropy(read_out(x, norm, head).float(), target.long(), reduction="none")
    return (loss * weight).sum() / weight.sum()


class Step:
    """The loss of a batch. Compiled, one block of each kind is, and the loss: a fraction of the time that all twelve
    blocks as one piece take."""
    def __init__(self, model, a):
        self.model, self.a, self.table = model, a, weight_table(a, a.device)
        self.blocks, self.task, self.loss = list(model.blocks), arm_task if a.kind == "arm" else masked_task, weighted

    def compile(self, **how):
        torch._dynamo.config.recompile_limit = 64  # one kernel set a block at worst
        for block in self.blocks:
            block.compile(dynamic=False, **how)
        self.task, self.loss = (torch.compile(f, dynamic=False, **how) for f in (self.task, weighted))
        return self

    def __call__(self, tokens, flags, starts, draws):
        which = pack(starts, self.a.tokens).seq
        with torch.autocast(self.a.device, torch.bfloat16, enabled=self.a.device == "cuda"):
            read, target, weight = self.task(tokens, flags, which, draws, self.table)
            x = self.model.hidden(read, starts)
            return self.loss(x, self.model.norm, self.model.head, target, weight)

    def eager(self):
        for block in self.blocks:
            block._compiled_call_impl = None
        return Step(self.model, self.a)


class Trainer:
    """Model, optimizers and the sum of losses. advance() is one step on a batch. Each has a stream of its own, so that
    several of one process fill the card together."""
    def __init__(self, model, a, seed):
        self.model, self.a, self.seed, cuda = model, a, seed, a.device == "cuda"
        self.stream = torch.cuda.Stream() if cuda else None
        self.lr, self.total = torch.zeros((), device=a.device), torch.zeros((), device=a.device)
        self.muon = Muon(model, a.decay) if a.optimizer == "muon" else None
        rest = [p for p in model.parameters() if not self.muon or id(p) not in self.muon.moved]
        groups = [dict(params=[p for p in rest if p.dim() > 1], weight_decay=a.decay),
                  dict(params=[p for p in rest if p.dim() < 2], weight_decay=0)]
        self.adam = torch.optim.AdamW(groups, lr=self.lr, betas=(0.9, a.beta2), fused=cuda, capturable=cuda)
        self.loss, self.graph, self.inputs = Step(model, a), None, None
        self.generator = torch.Generator(a.device)

    def _tensors(self):
        """Everything a step changes."""
        moments = [t for s in self.adam.state.values() for t in s.values() if torch.is_tensor(t)]
        return [*self.model.parameters(), *moments, *(self.muon.state() if self.muon else []), self.total]

    def _step(self, tokens, flags, starts, draws):
        loss = self.loss(tokens, flags, starts, draws)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        if self.muon:
            self.muon.step(self.lr)
        self.adam.step()
        self.total += loss.detach()

    def _made_up(self):
        """Tokens to try a step on while the first shard is still being written."""
        a, device = self.a, self.a.device
        self.generator.manual_seed(0)
        tokens = torch.randint(4, 2048, (a.tokens,), device=device, dtype=torch.int32, generator=self.generator)
        starts = torch.arange(STARTS, device=device, dtype=torch.int32).mul(512).clamp(max=a.tokens)
        return tokens, torch.full((a.tokens,), ANSWER, device=device, dtype=torch.uint8), starts, draw(self.generator, a)

    def prepare(self):
        """Compiles and captures; where that fails a line says so and the run goes on without. No weight changes."""
        a, began = self.a, time.time()
        made_up = self._made_up()
        if a.device != "cuda" or a.eager:
            return
        for attempt in (self.loss.compile, self.loss.eager):
            try:
                self.loss = attempt()
                self.loss(*made_up).backward()
                self.model.zero_grad(set_to_none=True)
                break
            except Exception as error:  # whatever the compiler throws: an eager run is slower, a dead one has no weights
                print(f"{a.out} torch.compile failed: {error!r}"[:2000], flush=True)
        print(f"{a.out} compiled after {time.time() - began:.0f}s", flush=True)
        if a.graph:
            self.capture(made_up)
            print(f"{a.out} captured after {time.time() - began:.0f}s", flush=True)

    def capture(self, made_up):
        self.lr.zero_()
        before = [p.detach().clone() for p in self.model.parameters()]
        old = [t.clone() for t in self._tensors()[len(before):]]  # with a state read from a file; empty at the start
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            for _ in range(3):
                self._step(*made_up)
                self.model.zero_grad(set_to_none=True)
        torch.cuda.synchronize()
        self.inputs = made_up
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, stream=self.stream):  # the libraries' scratch memory goes by the stream
            self._step(*made_up)
        torch.cuda.synchronize()
        self.restore(before, old)
        torch.cuda.synchronize()

    @torch.no_grad()
    def restore(self, weights, rest=()):
        """Back to these weights; moments back to what they were, or to 0."""
        changed = self._tensors()
        for t, value in zip(changed, weights):
            t.copy_(value)
        others = changed[len(weights):]
        for i, t in enumerate(others):
            t.copy_(rest[i]) if len(rest) == len(others) else t.zero_()

    def advance(self, batch, step, lr):
        """One step on a batch in host memory. Returns before it is done."""
        if self.stream is None:
            return self._advance(batch, step, lr)
        with torch.cuda.stream(self.stream):
            self._advance(batch, step, lr)

    def _advance(self, batch, step, lr):
        self.generator.manual_seed(self.seed * 1000003 + step)  # a resumed run draws what the unbroken one would
        draws = draw(self.generator, self.a)
        self.lr.fill_(lr)
        if self.graph is None:
            self._step(*(x.to(self.a.device) for x in batch), draws)
            self.model.zero_grad(set_to_none=True)
            return
        for held, new in zip((*self.inputs[:3], *self.inputs[3]), (*batch, *draws)):
            held.copy_(new, non_blocking=True)
        self.graph.replay()

    def wait(self):
        """Until the steps begun are done."""
        if self.stream is not None:
            self.stream.synchronize()

    def take_total(self):
        """The sum of losses since last asked."""
        self.wait()
        total = self.total.item()
        self.total.zero_()
        if self.stream is not None:
            torch.cuda.synchronize()
        return total

    def save(self, path, step):
        state = dict(model=self.model.state_dict(), adam=self.adam.state_dict(), step=step,
                     muon=self.muon.state() if self.muon else [])
        torch.save(state, path)

    def load(self, path):
        saved = torch.load(path, map_location=self.a.device)
        self.model.load_state_dict(saved["model"])
        self.adam.load_state_dict(saved["adam"])
        for group in self.adam.param_groups:
            group["lr"] = self.lr
        for held, value in zip(self.muon.state() if self.muon else [], saved["muon"]):
            held.copy_(value)
        return saved["step"]
