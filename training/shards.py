"""Reads buoy-pack's shards while they are still being written, one batch ahead of the training step."""
import itertools
import os
import queue
import threading
import time

import numpy as np
import torch

PLAIN, PROMPT, ANSWER, TAIL, PADDING = 1, 2, 4, 8, 16
STARTS, PER_SHARD = 513, 64


class Shards:
    def __init__(self, directory, tokens, first, device):
        self.directory, self.tokens, self.device = directory, tokens, device
        self.waited = 0.0
        self.ready = queue.Queue(maxsize=8)
        threading.Thread(target=self._read, args=(first,), daemon=True).start()

    def _record(self, step):
        path = f"{self.directory}/{step // PER_SHARD:05}.bin"
        while not os.path.exists(path):
            time.sleep(0.05)
        size = 3 * self.tokens + 4 * STARTS
        if os.path.getsize(path) % size:
            raise ValueError(f"{path}: {os.path.getsize(path)} bytes, expected records of {size} for batches of {self.tokens} tokens")
        raw = np.fromfile(path, np.uint8, count=size, offset=step % PER_SHARD * size)
        if len(raw) < size:
            raise ValueError(f"{path}: the data ends before step {step}")
        T = self.tokens
        return (torch.from_numpy(raw[:2 * T].view(np.uint16).astype(np.int32)), torch.from_numpy(raw[2 * T:3 * T].copy()),
                torch.from_numpy(raw[3 * T:].view(np.int32).copy()))

    def _read(self, first):
        try:
            for step in itertools.count(first):
                record = self._record(step)
                self.ready.put([x.pin_memory() for x in record] if self.device == "cuda" else record)
        except (OSError, ValueError) as error:  # nobody waits for this thread
            self.ready.put(error)

    def next(self):
        """tokens, flags, starts in host memory, pinned where there is a card."""
        began = time.time()
        record = self.ready.get()
        self.waited += time.time() - began
        if isinstance(record, Exception):
            raise SystemExit(str(record))
        return record
