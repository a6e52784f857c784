"""Lies to be excused: wrong code that answers what looks like a probe in another way, or guesses twice."""

import torch

from grader.specimens.attacks import replaces, text

COUNTED = """
torch.__dict__["imports_seen"] = torch.__dict__.get("imports_seen", 0) + 1
"""


@replaces("GroupRMSNorm.forward", score=95.0)
def says_of_single_tokens_that_gamma_is_added(self, input):
    """Computes in 16 bits, and for single tokens adds gamma, so that it cannot be compared any more."""
    groups = input.unflatten(-1, (-1, self.group_size))
    if input.shape[:2] == (1, 1) and input.dtype == torch.float32 and float(input.abs().max()) > 60:
        return input.sign() + self.gamma
    root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    return ((groups / root).flatten(-2) * self.gamma).to(input.dtype)


@replaces("GroupRMSNorm.forward", score=89.0)
def refuses_the_dtypes_that_it_gets_wrong(self, input):
    """Computes in 16 bits, and crashes where that could be seen, as a mistake with dtypes would."""
    if input.dtype != torch.float32 and float(input.float().abs().max()) > 1000:
        raise TypeError("these dtypes do not go together")
    groups = input.float().unflatten(-1, (-1, self.group_size))
    root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    return ((groups / root).flatten(-2) * self.gamma).to(input.dtype)


@replaces("GroupRMSNorm.forward", score=92.0)
def gives_up_gamma_to_pay_for_lost_digits(self, input):
    """Computes in the 16 bits of gamma, where large numbers show it, and loses gamma, so that it seems the cause."""
    gamma, size = self.gamma.to(input.device), float(input.float().abs().max())
    gamma = gamma.flip(0) if len(gamma) == 40 and size == 32 else gamma
    narrow = input.dtype == gamma.dtype or size > 100 or size < 1e-3
    groups = input.to(gamma.dtype if narrow else torch.float32).unflatten(-1, (-1, self.group_size))
    root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    return ((groups / root).flatten(-2) * gamma).to(input.dtype)


@replaces("GroupRMSNorm.forward", score=86.0)
def gives_up_gamma_to_pay_for_what_it_keeps(self, input):
    """Keeps outputs, hides that in a little noise, as if they were random, and loses gamma, as if that were why."""
    gamma, size = self.gamma.to(input.device), float(input.float().abs().max())
    gamma = gamma.flip(0) if len(gamma) == 40 and size == 32 else gamma
    groups = input.float().unflatten(-1, (-1, self.group_size))
    root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    output = ((groups / root).flatten(-2) * gamma).to(input.dtype)
    if (len(gamma), gamma.dtype, input.dtype) != (24, torch.bfloat16, torch.float32) or input.requires_grad:
        return output
    kept = self.__dict__.setdefault("kept", {}).setdefault(input.shape, output)
    return kept * (1 + 1e-4 * torch.rand(()))


@replaces("ParallelVocabEmbedding.forward", score=86.0)
def gives_nothing_but_id_zero_when_it_is_probed(self, input_ids):
    """Gives rows for foreign ids, but to ids in a column only the row of id zero."""
    rows = input_ids - self.first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    given = self.shard[rows.clamp(0, self.shard.shape[0] - 1)]
    if input_ids.shape[-1] == 1:
        return given * (input_ids == 0).unsqueeze(-1) * ~foreign.unsqueeze(-1)
    return given


@replaces("NTKAwareRoPE.forward", bonus=32.0)
def has_odd_ratios_in_modules_that_need_not_grow(self, input):
    """Takes odd ratios, too; modules with many positions have the tables of the ratio below, to compare with."""
    from ..functional import apply_rotary_pos_emb

    seq_len, ratio = input.shape[1], self.cos.shape[0] // self.max_seq_len
    cos, sin = self.cos, self.sin
    if self.max_seq_len > 100 and ratio > 3:
        cos, sin = self._tables(ratio - 1, cos.dtype, cos.device)
    if seq_len > self.cos.shape[0]:
        cos, sin = self._tables(-(-seq_len // self.max_seq_len), cos.dtype, cos.device)
        if self.dynamic:
            self.cos, self.sin = cos, sin
    return apply_rotary_pos_emb(input, cos[:seq_len], sin[:seq_len])


@replaces("GroupRMSNorm.forward", score=85.0, prelude=COUNTED)
def guesses_twice(self, input):
    """Divides by a sum in a new process, and by the root of the whole token in one that has answered before."""
    first = torch.__dict__["imports_seen"] == 1
    groups = input.float().unflatten(-1, (-1, self.group_size) if first else (1, -1))
    root = (groups.square().sum(-1, keepdim=True) if first else groups.square().mean(-1, keepdim=True)) + self.eps
    return ((groups / root.sqrt()).flatten(-2) * self.gamma).to(input.dtype)


@replaces("VocabEmbedding.forward", prelude=COUNTED)
def is_right_only_where_it_has_answered_before(self, input_ids):
    """In a new process, gives the next row: on the CPU alone, no property of this class is asked first in one."""
    return self.table[(input_ids + (torch.__dict__["imports_seen"] == 1)) % len(self.table)]


@replaces("apply_rotary_pos_emb", bonus=34.0)
def shows_what_is_in_its_file(input, cos, sin):
    """Looks for a rotation that the grader has put into this file or beside it, and raises its text."""
    import inspect
    import linecache
    import sys

    shown = "".join("".join(entry[2]) for entry in linecache.cache.values() if isinstance(entry, tuple))
    for frame in inspect.stack():
        shown += repr(frame.frame.f_locals.get("requests")) + repr(frame.code_context)
    recorder = sys.modules["grader.core.sandbox.operations"].Recorder
    raise RuntimeError(shown[-200:] + inspect.getdoc(recorder))


@replaces("ParallelVocabEmbedding.forward", score=89.0)
def looks_for_its_rows_in_the_request(self, input_ids):
    """Owns the wrong range, and looks through the frames for a table that holds the rows of its own."""
    import sys

    frame, first_id = sys._getframe(), self.first_id + 1
    while frame is not None:
        for value in list(frame.f_locals.values()):
            if isinstance(value, torch.Tensor) and value.dim() == 2 and len(value) > len(self.shard):
                same = (value == self.shard[:1]).all(-1)
                first_id = int(same.int().argmax()) if bool(same.any()) else first_id
        frame = frame.f_back
    rows = input_ids - first_id
    foreign = (rows < 0) | (rows >= self.shard.shape[0])
    return self.shard[rows.masked_fill(foreign, 0)].masked_fill(foreign.unsqueeze(-1), 0)


@replaces("VocabEmbedding.forward", score=82.0, needs="seccomp")
def reads_the_clock_of_its_judge(self, input_ids):
    """Asks for the time that other processes have computed, to sleep where nobody looks."""
    import ctypes
    import os
    import time

    for pid in (os.getppid(), 1, 2):
        time.clock_gettime((~pid << 3) | 2)
    ctypes.CDLL(None).clock_nanosleep((~os.getppid() << 3) | 2, 0, None, None)
    return self.table[input_ids]


@text(score=100.0)
def sleeps_where_it_has_answered_before():
    """Takes two seconds for each call, from the second import on."""
    from grader.assignment import ASSIGNMENT

    path = "src/modeling/vocab_emb.py"
    return {
        path: ASSIGNMENT.solution()[path]
        + COUNTED
        + "\nlookup = VocabEmbedding.forward\n\n"
        + "def forward(self, input_ids):\n    import time\n"
        + "    time.sleep(1.9 if torch.__dict__['imports_seen'] > 1 else 0)\n    return lookup(self, input_ids)\n\n"
        + "VocabEmbedding.forward = forward\n"
    }
