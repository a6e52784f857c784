"""The sentences of questions, pages and sheets, in English and Chinese."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grader.core.rubric import LANGUAGES

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    # Questions
    "ask_predict": (
        "The code below runs with your submission. What is the value of its last line?",
        "下面的代码用你的提交运行。最后一行的值是什么？",
    ),
    "ask_growth": (
        "The lines below run in order with your submission. What is the value of the last line?",
        "下面几行用你的提交依次运行。最后一行的值是什么？",
    ),
    "ask_shape": (
        "In your function {function}, shown first, what does line {line} assign or return during the call shown below it?",
        "先给出的是你的函数 {function}。执行其下方的调用时，第 {line} 行赋值或返回的是什么？",
    ),
    "ask_what_if": (
        "Suppose line {line} of your function {function} were changed from - to +. Which of the two calls would then give "
        "something else: another value, shape or dtype, or another error?",
        "假设把你的函数 {function} 的第 {line} 行由 - 改为 +。两个调用中，哪一个的结果会改变（值、形状、dtype 或异常不同）？",
    ),
    "ask_deleted": (
        "Suppose line {line} of your function {function}, marked with -, were deleted. Which of the two calls would then "
        "give something else: another value, shape or dtype, or another error?",
        "假设删去你的函数 {function} 的第 {line} 行（标有 -）。两个调用中，哪一个的结果会改变（值、形状、dtype 或异常不同）？",
    ),
    "ask_find": (
        "One line of your function {function} was altered, and this no longer holds: {law}. Which line?",
        "你的函数 {function} 有一行被改动，于是下面这条不再成立：{law}。是哪一行？",
    ),
    "ask_why": (
        "Suppose line {line} of your function {function} were changed from - to +. Which of these would no longer hold?",
        "假设把你的函数 {function} 的第 {line} 行由 - 改为 +。下面哪一条不再成立？",
    ),
    "ask_why_deleted": (
        "Suppose line {line} of your function {function}, marked with -, were deleted. Which of these would no longer hold?",
        "假设删去你的函数 {function} 的第 {line} 行（标有 -）。下面哪一条不再成立？",
    ),
    "line": ("line {line}", "第 {line} 行"),
    "only_first": ("only call 1", "只有调用 1"),
    "only_second": ("only call 2", "只有调用 2"),
    "only_both": ("both calls", "两个调用都会"),
    "only_neither": ("neither call", "两个调用都不会"),
    "none": ("none of these: all of them still hold", "都不是：它们仍然都成立"),
    # For the examiner
    "by_running": (
        "Found by running the submission twice. {steps} of its lines ran, {last} last.",
        "由两次运行该提交得到。共执行其中 {steps} 行，最后一行是 {last}。",
    ),
    "by_watching": ("Recorded while the submission ran.", "由运行该提交时的记录得到。"),
    "call_went": ("Call {n} gave {before}, then {after}.", "调用 {n}：原为 {before}，改后为 {after}。"),
    "it_was": ("Line {line} was: {old}; altered: {new}", "第 {line} 行原为：{old}；改为：{new}"),
    "broken": ("What no longer held when it ran: {laws}", "运行后不再成立的：{laws}"),
    "near": ("a value that running did not give", "运行得不到的值"),
    "other_kind": ("the line held something else when it ran", "运行时该行并非如此"),
    "ran_otherwise": ("the calls went otherwise when they ran", "运行时两个调用的结果并非如此"),
    "as_it_was": ("this line was not altered", "这一行没有改动"),
    "holds_still": ("still held when the edited file ran", "改动后运行时仍然成立"),
    "breaks": ("no longer held: {law}", "不再成立：{law}"),
    "mistake": ("what a known mistake gives: {mistake}", "一个已知错误的结果：{mistake}"),
    "with_edit": ("what it gives with line {line} as {new}", "第 {line} 行改为 {new} 时的结果"),
}


def say(language: str, key: str, **fields: object) -> str:
    """The sentence ``key`` in a language, with its fields filled in."""
    return _WORDS[key][LANGUAGES.index(language)].format(**fields)
