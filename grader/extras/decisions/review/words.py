"""The sentences of the review page, in English and Chinese, beside those of the other pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from grader.core.pages import words as pages
from grader.core.rubric import LANGUAGES

_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "queue": ("The queue", "待查看"),
    "queue_is": (
        "For manual review, the most urgent first. {count} of {all} left. Open one, or press n.",
        "需要人工查看的提交，最紧急的在前。共 {all} 份，{count} 份待查看。点击打开，或按 n。",
    ),
    "queue_empty": ("Nothing left to review.", "没有待查看的提交，全部已看过。"),
    "start": ("Begin", "开始"),
    "looked_at": ("Reviewed: {count}", "已查看：{count}"),
    "unfollowed": ("Decisions that cannot be applied", "无法执行的决定"),
    "place": ("{number} of {all} in the queue", "队列第 {number} 位，共 {all} 位"),
    "not_queued": ("Not in the queue", "不在队列中"),
    "why_here": ("Reasons for review", "为什么需要查看"),
    "needs_appeal": ("an appeal", "有申诉"),
    "needs_unusual": ("an unusual pair of tasks", "两个任务的结果不寻常"),
    "needs_similar": ("similar to another", "与他人相似"),
    "unusual": (
        "{low}: {few}, but {high}: {many}. Of the {all} students this good in {high}, hardly any had this result.",
        "{high} 得 {many}，{low} 却只得 {few}。{high} 同样好的 {all} 人中几乎没有别人如此。",
    ),
    "similar": (
        "{share} of the student's own code in {file} is also in {other}. A reason to look, not proof.",
        "{file} 中自己写的部分有 {share} 也出现在 {other} 中。这只是查看的理由，不是证据。",
    ),
    "proposed": ("Proposed", "建议得分"),
    "in_force": ("With decisions", "按人工决定"),
    "grader_says": ("The grader: {score}", "评分程序：{score}"),
    "none_yet": ("no score", "没有得分"),
    "stands": ("Decisions", "已有的决定"),
    "nothing_stands": ("None yet.", "尚无。"),
    "withdraw": ("Withdraw", "撤回"),
    "put_back": ("Return to the queue", "放回队列"),
    "to_look_again": ("Needs another look.", "需要再看一遍。"),
    "source": ("Submitted code", "提交的代码"),
    "no_source": ("No files to show: {why}", "没有可显示的文件：{why}"),
    "changed": (
        "These files have changed since grading. Regrade.",
        "这些文件与评分时的不同：之后有改动。请重新评分。",
    ),
    "left_out": ("{count} more lines not shown.", "还有 {count} 行未显示。"),
    "failing": ("Lost points", "失分之处"),
    "more_cases": ("All failing cases: {count}", "全部失败用例：{count}"),
    "lines": ("Lines", "所在行"),
    "begins": ("begins here", "从这里开始"),
    "held": ("Passing: {count} properties", "成立的性质：{count} 个"),
    "accept": ("Accept", "认可"),
    "override": ("Override", "改分"),
    "comment": ("Comment", "评语"),
    "excuse": ("Excuse", "免除"),
    "next": ("Next", "下一位"),
    "previous": ("Previous", "上一位"),
    "what": ("What", "项目"),
    "reason_read": ("Reason (the student sees it)", "理由（学生会看到）"),
    "comment_read": ("Comment for the student", "给学生的话"),
    "student": ("Student", "学生"),
    "save": ("Save", "保存"),
    "keys": ("Keys", "按键"),
    "keys_are": ("Every key has a button.", "每个按键都有对应的按钮。"),
    "keys_off": ("Disable keys", "停用按键"),
    "key_a": ("accept: keep the result and open the next one", "认可：结果不变，打开下一位"),
    "key_o": ("override a property, the score or the bonus", "修改某个性质、得分或附加分"),
    "key_c": ("comment", "写评语"),
    "key_e": ("excuse", "免除"),
    "key_n": ("next in the queue (also j)", "队列中的下一位（也可按 j）"),
    "key_p": ("previous (also k)", "上一位（也可按 k）"),
    "key_l": ("next line named by a case", "用例指出的下一行"),
    "key_q": ("the queue", "回到队列"),
    "key_esc": ("leave the field, close the open panel", "离开输入框，关闭打开的部分"),
    "key_enter": ("with Ctrl, in a field: save", "按住 Ctrl，在输入框中：保存"),
    "key_help": ("this help", "显示此帮助"),
    "close": ("Close", "关闭"),
    "refused": ("Nothing written", "没有写入"),
    "meanwhile": (
        "Another decision was made meanwhile; see below. Your text is kept; save again to add it.",
        "期间这里有了别的决定，请先看下面。你填写的内容已保留，再次保存即可加入。",
    ),
    "broken": ("Cannot show this page", "无法显示"),
    "again": ("Try again", "再试一次"),
    "kept": ("Your text is kept; nothing has been written yet.", "你填写的内容已保留，尚未写入。"),
    "points_now": ("Points", "分值"),
    "by_mistake": ("By mistake", "按错误"),
    "by_mistake_is": (
        "Submissions that lost a property in the same way, the largest group first: one decision for all. Press m.",
        "以同样方式失去同一项分数的提交，人数多的在前：一次决定，全体适用。按 m。",
    ),
    "count": ("Submissions", "提交数"),
    "mistake_none": ("not recognised", "未识别"),
    "group_first": ("The first of them", "其中第一份"),
    "group_all": ("All of them, with the failing case", "全部提交及其失败用例"),
    "group_take_out": ("Clear a box to leave somebody out.", "取消勾选即可排除某人。"),
    "group_link": ("{count} with the same mistake", "同样错误的提交：{count} 份"),
    "apply": ("Apply to all checked", "应用于所有勾选者"),
    "undo": ("Undo", "撤销"),
    "key_m": ("mistakes: decide about the next group", "按错误：决定下一组"),
    "key_g": ("apply to the whole group", "应用于全组"),
    "key_u": ("undo what you decided last", "撤销你上一次的决定"),
    "at": ("Line (optional), such as {example}", "所在行（可选），如 {example}"),
    "bank": ("Comments on the same mistake so far", "此前对同样错误的评语"),
}


def say(language: str, key: str, **fields: object) -> str:
    """The sentence ``key`` in a language, with its fields filled in."""
    if key not in _WORDS:
        return pages.say(language, key, **fields)
    return _WORDS[key][LANGUAGES.index(language)].format(**fields)
