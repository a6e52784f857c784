"""The sentences of ``grader appeal``, in English and Chinese."""

from __future__ import annotations

from typing import Final

WORDS: Final = {
    "same": {
        "en": "{id}: graded again, and every outcome is the same.",
        "zh": "{id}：重新评分，所有结果都相同。",
    },
    "lost": {
        "en": "fewer points now, and so left out of the draft: {names}. Decide about that yourself.",
        "zh": "现在得分更低、未写入草稿的评分项：{names}。请自行决定。",
    },
    "alike": {
        "en": "{title} ({why}): others who ended in the same way: {count}",
        "zh": "{title}（{why}）：结果相同的其他提交：{count} 份",
    },
    "nobody": {
        "en": "Nobody else ended in the same way.",
        "zh": "没有其他提交有同样的结果。",
    },
    "unchecked": {
        "en": "What moves one of them may move the others: --check grades them again, too, in the scratch place.",
        "zh": "影响其中一份的改动也可能影响其他人：加上 --check，会在临时目录中一并重新评分。",
    },
    "checked": {
        "en": "Of {count} who were graded again, {moved} would move:",
        "zh": "重新评分的 {count} 份中，{moved} 份会变动：",
    },
    "class": {
        "en": "The grader has changed since then, so others may move, too: grade the class into a copy of {out}, and "
        "compare with `grader diff`.",
        "zh": "评分程序在那之后有改动，其他人也可能变动：请把全班评分到 {out} 的副本中，再用 `grader diff` 比较。",
    },
    "draft": {
        "en": "To follow it (--write does that):",
        "zh": "采纳的命令（--write 会直接写入）：",
    },
    "nothing": {
        "en": "Nothing to decide. If you read the task as the student does: `grader decide {out} {id} --override …`.",
        "zh": "没有需要决定的内容。如果你认同学生的理解：`grader decide {out} {id} --override …`。",
    },
    "kept": {"en": "The scratch place: {place}", "zh": "临时目录：{place}"},
    "why": {
        "en": "Graded again after your appeal: this is right.",
        "zh": "复核后重新评分：这一项正确。",
    },
    "why_files": {
        "en": "Graded again after your appeal, with the files that you sent: this is right.",
        "zh": "复核时用你补交的文件重新评分：这一项正确。",
    },
    "why_whole": {"en": "Graded again after your appeal.", "zh": "复核后重新评分。"},
    "why_whole_files": {
        "en": "Graded again after your appeal, with the files that you sent.",
        "zh": "复核时用你补交的文件重新评分。",
    },
}


def sentence(name: str, language: str, **values: object) -> str:
    """A sentence in a language, with its values filled in."""
    return WORDS[name][language].format(**values)
