"""Messages to students about the tests that they submitted, in English and Chinese."""

from __future__ import annotations

from typing import Final

from grader.core import sentences
from grader.core.sentences import Sentences

WORDS: Final[Sentences] = {
    "space": (" ", ""),
    "caught": (
        "Your tests catch {caught} of {all} wrong implementations: {points} of {most} practice points.",
        "你的测试发现了 {all} 个错误实现中的 {caught} 个：练习分 {points} / {most}。",
    ),
    "test_right": (
        "{test} does not count: it fails on a correct implementation ({place}).",
        "{test} 不算数：它误判了一个正确的实现（{place}）。",
    ),
    "test_arguments": (
        "{test} does not count: it takes {arguments} arguments; a test takes one.",
        "{test} 不算数：它有 {arguments} 个参数，而测试只接收一个参数。",
    ),
    "test_endless": (
        "{test} does not count: it did not finish in time.",
        "{test} 不算数：它没有按时结束。",
    ),
    "test_ended": (
        "{test} does not count: it exited the program instead of failing.",
        "{test} 不算数：它没有失败，而是结束了程序。",
    ),
    "test_unsteady": (
        "{test} does not count: two runs on the same implementation gave different results.",
        "{test} 不算数：在同一个实现上运行两次，结果不同。",
    ),
    "missing": ("No {file} was submitted.", "没有提交 {file}。"),
    "no_tests": (
        "{file} has no test: no function named test_… with one argument.",
        "{file} 里没有测试，即名字以 test_ 开头、只有一个参数的函数。",
    ),
    "endless": (
        "{file} could not be imported in time; there may be a loop outside the tests.",
        "{file} 没有按时导入完毕：测试之外可能有循环。",
    ),
    "ended": ("{file} exited the program on import.", "{file} 一导入就结束了程序。"),
    "stops": (
        "{file} was abandoned: too many of its tests hang, exit the program or give inconsistent results.",
        "已放弃 {file}：其中太多测试不结束、结束了程序，或者前后结果不同。",
    ),
    "slow": ("{file} was abandoned: its tests take too long in total.", "已放弃 {file}：全部测试用时过长。"),
    "unsteady": (
        "{file} was abandoned: its tests differ from one import to the next.",
        "已放弃 {file}：每次导入时，其中的测试不一样。",
    ),
    "grader_error": (
        "The grader failed to judge the tests; they will be judged again.",
        "测试未能评判，问题不在测试；将会重新评判。",
    ),
    "not_imported": ("{place} cannot be imported: {type}.", "{place} 无法导入：{type}。"),
}


def say(language: str, key: str, **fields: object) -> str:
    """The sentence ``key``, or that of a file that cannot be imported, with its ``fields`` filled in."""
    return sentences.say(WORDS, language, key if key in WORDS else "not_imported", **fields)
