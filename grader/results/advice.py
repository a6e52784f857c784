"""What to tell a student about an outcome that is no wrong value, in each language."""

from __future__ import annotations

from collections.abc import Mapping

from .outcome import Outcome

ADVICE: Mapping[Outcome, Mapping[str, str]] = {
    Outcome.CRASHED: {
        "en": "Your code stopped with an error. The first case below names it and its line: correct that first.",
        "zh": "你的代码报错了。下面第一个用例给出了错误和所在行；请先解决它。",
    },
    Outcome.TIMED_OUT: {
        "en": "Your code gave no answer in time. Look for a loop that never ends.",
        "zh": "你的代码没有按时给出结果。检查是否有不会结束的循环。",
    },
    Outcome.MEMORY_EXCEEDED: {
        "en": "Your code used too much memory. Look for a tensor that is far larger than its inputs.",
        "zh": "你的代码占用了过多内存。检查是否有远大于输入的张量。",
    },
    Outcome.NOT_IMPLEMENTED: {
        "en": "This is still a TODO.",
        "zh": "这里仍是 TODO。",
    },
    Outcome.MISSING: {
        "en": "A file or a name was not found. Keep the names and places of the stubs.",
        "zh": "找不到文件或名称。请保留原来的文件位置和名称。",
    },
    Outcome.INVALID_REPLY: {
        "en": "Your code returned something else than one ordinary, dense tensor. Look at its return.",
        "zh": "你的代码返回的不是一个普通的稠密张量。检查 return。",
    },
    Outcome.NOT_ASSESSED: {
        "en": "This could not be judged on this machine.",
        "zh": "这一项无法在这台机器上评判。",
    },
    Outcome.GRADER_ERROR: {
        "en": "The grader failed here; it is not your fault, and it costs you nothing. Your assistant has been told.",
        "zh": "这里是评分程序出错，不是你的问题，也不会扣你的分。助教已得知。",
    },
}

# Before the hint of a property that no known mistake explains, when an earlier one of its task has failed already.
CONSEQUENCE: Mapping[str, str] = {
    "en": "This may follow from “{first}”: correct that first. If it is still wrong then: {hint}",
    "zh": "这可能是“{first}”引起的，请先改好它。如果仍有问题：{hint}",
}
