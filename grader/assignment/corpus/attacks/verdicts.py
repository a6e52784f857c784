"""Forging a verdict: exit codes, reports, replies and frames of the student's own making."""

from grader.specimens.attacks import on_import, replaces, text

from .points import FORGES, NO_ANSWER, NORM_LOST, REFUSES, WRONG_ANSWER

RAW = """
import json as _json, os as _os, struct as _struct

def send_header(header, body=b""):
    packed = _struct.pack("<I", len(header)) + header + body
    _os.write(60, _struct.pack("<I", len(packed)) + packed)

def reply(tree, entries=(), body=b""):
    send_header(_json.dumps([{"list": [tree]}, list(entries)]).encode(), body)

def answer(output, *entry, body=b""):
    reply({"dict": [["value", output]]}, entry, body)
"""
TENSOR = '{"tensor": 0}'


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def exits_with_zero(self, input):
    """Ends the process with the exit code of success."""
    import os

    os._exit(0)


@on_import("src/modeling/norm.py", score=NORM_LOST)
def exits_while_imported():
    """Ends the process before any test can run."""
    raise SystemExit(0)


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def prints_a_passing_summary(self, input):
    """Prints what pytest prints when all is well."""
    print("\n===== 60 passed in 0.01s =====\n" + '{"score": 100, "outcome": "passed"}')
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def raises_pytests_skip(self, input):
    """Raises a class that is called like pytest's own outcome."""
    raise type("Skipped", (BaseException,), {"__module__": "_pytest.outcomes"})("no verdict, please")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def claims_to_be_not_assessed(self, input):
    """Answers with an outcome in place of a value."""
    return {"outcome": "passed", "value": input, "error": {"kind": "not_assessed"}}


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def reports_an_unknown_error(self, input):
    """Sends an error of the kind that is the grader's own."""
    reply({"dict": [["error", {"dict": [["kind", "grader_error"], ["message", "yours"]]}]]})


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def reports_an_error_of_wrong_types(self, input):
    """Sends an error whose every field has a type that nobody expects."""
    fields = [["kind", "crashed"], ["message", 3], ["types", {"list": [None, 1]}], ["frames", {"list": [1, None]}]]
    reply({"dict": [["error", {"dict": fields}]]})


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_reply_without_tensors(self, input):
    """Writes a reply to the request socket whose output is the text "passed"."""
    answer("passed")


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_an_unhashable_dtype(self, input):
    """Names a dtype by a list, which no table can be asked for."""
    answer({"dtype": []})


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_an_empty_tensor_on_a_missing_gpu(self, input):
    """Claims that a tensor without elements lies on a GPU."""
    answer({"tensor": 0}, ["float32", "cuda:0", [0], [1]])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_shape_that_overflows(self, input):
    """Claims a shape whose product is zero and whose strides do not fit into 64 bits."""
    answer({"tensor": 0}, ["float32", "cpu", [0] + [1 << 26] * 15, [1] * 16])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_device_of_odd_digits(self, input):
    """Names a device by a digit that is no ASCII number."""
    answer({"tensor": 0}, ["float32", "cuda:²", [0], [1]])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_huge_expanded_tensor(self, input):
    """Claims 2^26 elements that all lie in the same four bytes."""
    answer({"tensor": 0}, ["float32", "cpu", [1 << 26], [0]], body=bytes(4))


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, prelude=RAW)
def forges_a_header_of_four_gigabytes(self, input):
    """Announces a message that would fill the judge's memory."""
    import os

    os.write(60, b"\xff\xff\xff\xff")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER, prelude=RAW)
def forges_a_header_that_nests_without_end(self, input):
    """Sends half a megabyte of opening brackets."""
    import os

    os.set_blocking(60, True)
    send_header(b"[" * (1 << 19))


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_numbers_that_are_none(self, input):
    """Sends JSON with an integer of five thousand digits."""
    send_header(b"[" + b"9" * 5000 + b", []]")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def answers_by_the_drop(self, input):
    """Sends a byte every now and then, so that the answer is always just on its way."""
    import os
    import time

    os.write(60, b"\x00\xff\x0f\x00")
    while True:
        os.write(60, b" ")
        time.sleep(0.05)


@replaces("GroupRMSNorm.forward", score=REFUSES, prelude=RAW)
def answers_twice(self, input):
    """Leaves a second answer for the next request, after a wrong one for this."""
    for _ in range(2):
        answer({"list": []})
    return input


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def closes_the_request_socket(self, input):
    """Hangs up in the middle of a request."""
    import os

    os.close(60)


@text()
def brings_a_report_and_a_conftest():
    """Hands in tests, a conftest and a report beside an honest solution: nobody reads them."""
    passing = "import pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_runtest_protocol():\n    return True\n"
    return {"src/conftest.py": passing, "src/report.py": '{"score": 1000}', "src/test_norm.py": "assert False\n"}


@text(score=NORM_LOST)
def brings_a_torch_of_its_own():
    """Hands in packages called torch, pytest and grader below src, and a norm that wants them."""
    fake = "def __getattr__(name):\n    raise SystemExit(0)\n"
    norm = "from ..torch import Tensor\n\nclass GroupRMSNorm: ...\n"
    return {"src/torch.py": fake, "src/pytest.py": fake, "src/grader/__init__.py": fake, "src/modeling/norm.py": norm}
