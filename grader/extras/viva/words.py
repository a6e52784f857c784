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
        "This is your function {function}. What does its line {line} assign or return during the call below?",
        "这是你的函数 {function}。执行下面的调用时，其中第 {line} 行赋值或返回的是什么？",
    ),
    "changed": (
        "Suppose line {line} of your function {function} were changed from - to +.",
        "假设把你的函数 {function} 的第 {line} 行由 - 改为 +。",
    ),
    "deleted": (
        "Suppose line {line} of your function {function}, marked with -, were deleted.",
        "假设删去你的函数 {function} 的第 {line} 行（标有 -）。",
    ),
    "ask_what_if": (
        "{edit} Which of the two calls would then differ in its value, shape or dtype, or in the error that it raises?",
        "{edit}两个调用中，哪一个的结果会改变（值、形状、dtype 或异常不同）？",
    ),
    "ask_find": (
        "One line of your function {function} was altered, and this no longer holds: {law}. Which line?",
        "你的函数 {function} 有一行被改动，于是下面这条不再成立：{law}。是哪一行？",
    ),
    "ask_why": ("{edit} Which of these would no longer hold?", "{edit}下面哪一条不再成立？"),
    "line": ("line {line}", "第 {line} 行"),
    "only_first": ("only call 1", "只有调用 1"),
    "only_second": ("only call 2", "只有调用 2"),
    "only_both": ("both calls", "两个调用都会"),
    "only_neither": ("neither call", "两个调用都不会"),
    "none": ("none of these: all of them still hold", "都不是：它们仍然都成立"),
    # The student's page
    "title": ("Questions about your code", "关于你的代码的问题"),
    "intro": (
        "Six questions about the code that you submitted. Every answer was found by running it. Read the code; do not "
        "run it. Your choices stay on this page until you save them.",
        "关于你所提交代码的六个问题。每个答案都由运行你的代码得到。请阅读代码，不要运行。保存之前，你的选择只留在本页。",
    ),
    "number": ("Question {number} of {all}", "第 {number} 题，共 {all} 题"),
    "finish": ("Finish and see the result", "完成并查看结果"),
    "answer_all": ("Answer every question first.", "请先回答所有问题。"),
    "checking": ("Checking …", "正在检查……"),
    "result": ("{right} of {all} right.", "答对 {right} 题，共 {all} 题。"),
    "right_one": ("Right.", "正确。"),
    "wrong_one": (
        "Not what happened when it ran. Try the call yourself and follow it line by line.",
        "与运行结果不符。请自己运行这个调用，逐行跟踪。",
    ),
    "save": ("Save the answers", "保存答案"),
    "needs_script": ("This page needs JavaScript.", "本页需要 JavaScript。"),
    # The examiner's sheet
    "sheet": ("Oral exam: {name}", "口试：{name}"),
    "sheet_is": (
        "For the examiner only: it holds the answers. Have the student explain an answer before you show the options.",
        "仅供考官使用：其中有答案。请先让学生解释答案，再出示选项。",
    ),
    "answer": ("Answer", "答案"),
    "how_found": ("Why", "依据"),
    "about_line": ("Line", "行"),
    "pool": ("Drawn from {count} questions.", "从 {count} 个问题中抽取。"),
    "kind_predict": ("predict", "预测"),
    "kind_shape": ("shape and dtype", "形状与 dtype"),
    "kind_what_if": ("what if", "如果改动"),
    "kind_find": ("find it", "找出改动"),
    "kind_why": ("why", "为什么"),
    "kind_growth": ("growth or seed", "扩展或种子"),
    "easy": ("easy", "容易"),
    "medium": ("medium", "中等"),
    "hard": ("hard", "较难"),
    # The class page
    "understood": ("Understood", "理解"),
    "picture": ("Right code and understood code", "代码正确与理解代码"),
    "picture_is": (
        "Each circle stands for the submissions with that score and that many right answers about their own code; the "
        "number says how many. These points are separate from the score.",
        "每个圆代表得分与关于自己代码的答对题数都相同的提交，数字是提交数。这些分数单列，不计入得分。",
    ),
    "dot": ("score {score}, {right} answers right: {count}", "得分 {score}，答对 {right} 题：{count} 份"),
    "answers_right": ("answers right", "答对题数"),
    "score_axis": ("score", "得分"),
    # For the examiner, of each question
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
