"""The sentences of ``grader appeal``, in English and Chinese."""

from __future__ import annotations

from functools import partial
from typing import Final

from grader.core.sentences import Sentences, say

WORDS: Final[Sentences] = {
    "same": ("{id}: regraded; every outcome is the same.", "{id}：重新评分，所有结果都相同。"),
    "lost": (
        "left out of the draft, with fewer points now: {names}. Decide these yourself.",
        "现在得分更低、未写入草稿的评分项：{names}。请自行决定。",
    ),
    "alike": (
        "{title} ({why}): other submissions with the same outcome: {count}",
        "{title}（{why}）：结果相同的其他提交：{count} 份",
    ),
    "nobody": ("No other submission has the same outcome.", "没有其他提交有同样的结果。"),
    "unchecked": (
        "A change to one of them may apply to the others: --check regrades them, too, in the scratch folder.",
        "影响其中一份的改动也可能影响其他人：加上 --check，会在临时目录中一并重新评分。",
    ),
    "checked": (
        "Of {count} regraded submissions, {moved} would change:",
        "重新评分的 {count} 份中，{moved} 份会变动：",
    ),
    "class": (
        "The grader has changed since then, so other grades may change, too: grade the class into a copy of "
        "{out}, and compare with `grader diff`.",
        "评分程序在那之后有改动，其他人也可能变动：请把全班评分到 {out} 的副本中，再用 `grader diff` 比较。",
    ),
    "draft": ("To apply it (--write does this):", "采纳的命令（--write 会直接写入）："),
    "nothing": (
        "Nothing to decide. If you accept the student's reading of the task: `grader decide {out} {id} --override …`.",
        "没有需要决定的内容。如果你认同学生的理解：`grader decide {out} {id} --override …`。",
    ),
    "kept": ("Scratch folder: {place}", "临时目录：{place}"),
    "why": ("Regraded after your appeal: this is correct.", "复核后重新评分：这一项正确。"),
    "why_files": (
        "Regraded after your appeal, with the files you sent: this is correct.",
        "复核时用你补交的文件重新评分：这一项正确。",
    ),
    "why_whole": ("Regraded after your appeal.", "复核后重新评分。"),
    "why_whole_files": ("Regraded after your appeal, with the files you sent.", "复核时用你补交的文件重新评分。"),
}


sentence = partial(say, WORDS)
