"""Messages in Chinese say the same with the same fields, and nothing that the grader says stays English."""

from __future__ import annotations

import re

from grader.assignment import ASSIGNMENT
from grader.core.judge.faults import Crashed, fault_from_reply
from grader.core.messages import say
from grader.core.results.language import chinese_words, in_words


def test_every_phrase_of_several_words_is_chinese() -> None:
    """That it has the same fields, ``grader.lab.missing`` says."""
    chinese = re.compile(r"[\u4e00-\u9fff\u3000-\u303f\uff00-\uffef]")
    phrases = {
        english: text for english, text in chinese_words(ASSIGNMENT).items() if re.search("[a-z] [a-z]", english)
    }
    assert len(phrases) > 100
    assert [english for english, text in phrases.items() if not chinese.search(text)] == []


def test_a_message_is_translated_statement_by_statement_and_field_by_field() -> None:
    what = say("{dtype} output for group_size={group_size}", dtype="float32", group_size=2)
    places = "{what}: shape {shape}, {n} of {all} elements wrong, the first at {place}"
    message = say(places, what=what, shape=[1, 1, 6], n=2, all=6, place=[0, 0, 4])
    message = message.then(say("all of these have the opposite sign"))
    assert message == (
        "float32 output for group_size=2: shape [1, 1, 6], 2 of 6 elements wrong, the first at [0, 0, 4]; "
        "all of these have the opposite sign"
    )
    assert in_words(message, ASSIGNMENT, "en") == message
    assert in_words(message, ASSIGNMENT, "zh") == (
        "float32 输出（group_size=2）：形状 [1, 1, 6]，6 个元素中有 2 个不对，第一个在 [0, 0, 4]；它们的符号全都相反"
    )


def test_what_a_student_has_written_stays_as_it_is() -> None:
    error = {"kind": "crashed", "types": ["ValueError"], "message": "zeros; {n} none", "frames": [["src/a.py", 1, "f"]]}
    fault = fault_from_reply(error, {"src/a.py": "raise ValueError"}, 0)
    assert isinstance(fault, Crashed)
    assert fault.message == "ValueError: zeros; {n} none\n  src/a.py:1 in f: raise ValueError"
    first, second = in_words(fault.message, ASSIGNMENT, "zh").splitlines()
    assert (first, second) == ("ValueError: zeros; {n} none", "  src/a.py:1，f 中：raise ValueError")
    assert in_words("any other text", ASSIGNMENT, "zh") == "any other text"
