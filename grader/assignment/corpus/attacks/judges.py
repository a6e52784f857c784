"""Aimed at the judge: replies that keep the protocol, or nearly, and are too much for whoever looks at them."""

import torch

from grader.specimens.attacks import on_import, replaces

from .points import FORGES, NO_ANSWER
from .verdicts import RAW

NO_PURITY = 99.0  # everything but that both modes agree
REGISTRATION_LOST = 98.0  # nothing else asks what `named_parameters` lists
FORGE = f"""
{RAW}

def forge_error(fields, entries=(), body=b""):
    reply({{"dict": [["error", {{"dict": fields}}]]}}, list(entries), body)

EXPANDED = ["uint8", "cpu", [2] * 14, [0] * 14]
WIDE = ["uint8", "cpu", [16] * 6, [0] * 6]
"""


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def message_that_is_a_tensor(self, input):
    """An error whose message is a tensor of one byte and fourteen dimensions."""
    forge_error([["kind", "crashed"], ["message", {"tensor": 0}]], [EXPANDED], bytes(1))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def message_that_is_a_wide_tensor(self, input):
    """The same with as many elements as a message may have."""
    forge_error([["kind", "crashed"], ["message", {"tensor": 0}]], [WIDE], bytes(1))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def message_in_a_list(self, input):
    """The same inside a list, inside a dictionary."""
    inner = {"list": [{"dict": [["deep", {"tensor": 0}]]}]}
    forge_error([["kind", "crashed"], ["message", inner]], [WIDE], bytes(1))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def kind_that_is_a_tensor(self, input):
    """An error whose kind is a tensor, which no table can be asked for."""
    forge_error([["kind", {"tensor": 0}], ["message", "x"]], [WIDE], bytes(1))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def types_that_are_tensors(self, input):
    """An error of a hundred classes, each a tensor."""
    types = {"list": [{"tensor": 0}] * 100}
    forge_error([["kind", "crashed"], ["message", "x"], ["types", types]], [WIDE], bytes(1))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def frames_with_endless_numbers(self, input):
    """Frames whose lines have four thousand digits."""
    frame = {"list": ["src/modeling/norm.py", 10**4000, "f"]}
    forge_error([["kind", "crashed"], ["message", "x"], ["frames", {"list": [frame] * 3}]])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def frames_that_are_tensors(self, input):
    """Frames whose every part is a tensor."""
    frame = {"list": [{"tensor": 0}] * 3}
    forge_error([["kind", "crashed"], ["message", "x"], ["frames", {"list": [frame] * 3}]], [WIDE], bytes(1))


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, prelude=FORGE)
def twenty_thousand_classes(self, input):
    """An error with as many bases as a header has room for."""
    forge_error([["kind", "crashed"], ["message", "x"], ["types", {"list": ["=cmd|' /C calc'!A0"] * 20_000}]])


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def one_byte_in_sixteen_dimensions(self, input):
    """One byte that pretends to be 2^26 elements, another one in each mode."""
    return torch.full((1,), int(self.training), dtype=torch.uint8).expand(2**26).view([2] * 10 + [2**16])


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def one_byte_in_eight_dimensions(self, input):
    """The same within what a message may have."""
    return torch.full((1,), int(self.training), dtype=torch.uint8).expand([8] * 8)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def one_byte_for_each_number(self, input):
    """The right shape and no real numbers, the same in each mode: there is nothing to compare in steps of rounding."""
    return torch.ones_like(input, dtype=torch.uint8)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def wide_numbers_in_each_mode(self, input):
    """Sixteen million numbers that are one, as large as a reply may say that it is, the same in each mode."""
    return input.new_ones(1).expand(1 << 24)


@replaces("GroupRMSNorm.forward", score=94.0, prelude="import sys as _sys\n_honest = GroupRMSNorm.forward")
def wide_in_evaluation_mode_only(self, input):
    """Right in training mode; otherwise one number expanded to sixteen million."""
    return _honest(self, input) if self.training else input.flatten()[:1].expand(1 << 24)


@replaces("GroupRMSNorm.named_parameters", score=98.0)
def parameters_expanded_without_end(self, *_, **__):
    """Two hundred parameters of sixty thousand elements in four bytes each."""
    import sys

    if sys._getframe(1).f_code.co_name == "parameters":
        return iter([("gamma", self.gamma)])
    return iter([(f"p{number}", torch.zeros(1).expand(60_000)) for number in range(200)])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def two_hundred_wide_tensors(self, input):
    """As many tensors as a message may have, each as large as it may be."""
    answer({"list": [{"tensor": number} for number in range(200)]}, *[WIDE] * 200, body=bytes(200))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=FORGE)
def a_number_of_four_thousand_digits(self, input):
    """A shape that is longer to write down than to compute."""
    answer({"tensor": 0}, ["uint8", "cpu", [10**4000], [0]], body=bytes(1))


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, prelude=FORGE)
def a_dictionary_of_a_hundred_thousand_keys(self, input):
    """A value with as many names as a header has room for."""
    answer({"dict": [[f"{number}", 0] for number in range(50_000)]})


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, prelude=FORGE)
def brackets_without_end(self, input):
    """A header nested deeper than any parser's stack."""
    send_header(b"[" * 500_000)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def class_that_is_a_formula(self, input):
    """An exception whose class is what a spreadsheet would run."""
    raise type('=HYPERLINK("http://x.example/")', (Exception,), {})("+1+1")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def sleeps_between_bursts(self, input):
    """Sleeps and computes by turns, so that whoever looks now and then finds it at work."""
    import time

    while True:
        end = time.process_time() + 0.02
        while time.process_time() < end:
            pass
        time.sleep(0.02)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def sleeps_for_ever(self, input):
    """Uses no time to compute, of which there is a limit."""
    import time

    while True:
        time.sleep(3600)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def waits_for_itself(self, input):
    """Waits for a lock that it holds."""
    import threading

    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


@on_import("src/modeling/norm.py")
def looks_around():
    """Asks for the sizes of files that it may not read, beside an honest solution."""
    import os

    for path in ("/etc/shadow", "/root", "/proc/1/status", "/var/log"):
        try:
            os.stat(path)
        except OSError:
            continue
