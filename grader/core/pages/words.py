"""The sentences of the pages, in English and Chinese: all that come neither from a report nor from the rubric."""

from __future__ import annotations

from functools import partial
from typing import Final

from grader.core import sentences
from grader.core.results.outcome import Outcome

WORDS: Final[sentences.Sentences] = {
    # Both pages
    "score": ("Score", "得分"),
    "bonus": ("Bonus", "附加分"),
    "practice": ("Practice", "练习"),
    "understood": ("Understood", "理解"),
    "task": ("Task {number}", "任务 {number}"),
    "late": ("late", "迟交"),
    "graded_by": (
        "Graded {when} by grader {version} on {devices}.",
        "评分时间 {when}，grader {version}，设备 {devices}。",
    ),
    # A student's page
    "for_practice": (
        "The notebooks are practice: these points are separate from the score.",
        "Notebook 属于练习：这些分数单列，不计入得分。",
    ),
    "for_understood": (
        "Understood: your answers to questions about your own code. These points are separate from the score.",
        "理解：你对自己代码相关问题的回答。这些分数单列，不计入得分。",
    ),
    "unsettled": (
        "Checks that never ran, for manual review: {checks}.",
        "从未运行、将由助教查看的检查：{checks}。",
    ),
    "handed_in": ("Submitted", "提交时间"),
    "in_gradebook": ("In the gradebook", "计入成绩册"),
    "counts_as": (
        "{points} points: {penalty} deducted for lateness (days begun: {days}).",
        "{points} 分：因迟交（不足一天按一天计，共 {days} 天）扣 {penalty} 分。",
    ),
    "capped": ("{points} points: only {counted} of the bonus count.", "{points} 分：附加分最多计 {counted} 分。"),
    "excused": ("no grade: you are excused.", "不计成绩：已获免除。"),
    "other_counts": ("nothing: another submission of yours counts.", "此次提交不计入：以你的另一次提交为准。"),
    "decided": ("Decided by a person", "人工决定"),
    "by_decision": ("decided by a person", "人工决定"),
    "notices": ("About your files", "关于你的文件"),
    "all_right": ("Every property passes. No points lost.", "所有性质都成立，没有失分。"),
    "lost": (
        "{count} of {all} properties lost points. Each is explained below. In each task, fix the first before the "
        "next, since later ones often follow from it.",
        "{all} 个性质中有 {count} 个失分，下面逐个说明。请先修正每个任务的第一个问题，后面的往往由它引起。",
    ),
    "hint": ("Hint", "提示"),
    "mistake": ("Recognised mistake", "识别出的错误"),
    "case": ("Simplest case", "最简单的用例"),
    "law": ("The law", "规律"),
    "try": ("Public tests", "公开测试"),
    "try_how": (
        "Run these in the assignment folder. If they all pass, try the sizes and dtypes of the case above.",
        "在作业文件夹中运行。如果都通过，请试试上面用例中的尺寸和 dtype。",
    ),
    "read": ("Read", "阅读"),
    "same": ("Same cause", "同一原因"),
    "returns": (
        "One cause: fixing it regains {points} points, in {count} properties.",
        "同一个原因：改好之后可找回 {points} 分，共 {count} 项。",
    ),
    "holds": ("What passes", "已成立"),
    "unreadable_title": ("There was nothing to grade", "没有可以评分的内容"),
    "unreadable_why": (
        "There is no score yet, for this reason:",
        "所以还没有得分。原因如下：",
    ),
    "unreadable_do": (
        "Run make submit, or python -m tests.submit, in the assignment folder. It checks your files and packs them "
        "into submission.zip; submit that file unchanged. If the deadline has passed, contact your teaching "
        "assistant and include the reason above.",
        "请在作业文件夹中运行 make submit（或 python -m tests.submit）。它会检查你的文件并打包成 submission.zip，"
        "直接提交它即可。如果已过截止时间，请联系助教，并附上上面的原因。",
    ),
    "grader_error_title": ("The grader failed, not you", "出错的是评分程序，不是你"),
    "grader_error_why": (
        "Your submission could not be graded. This is not your fault, and you lose no points.",
        "你的作业没能评分，但这不是你的问题，也不会扣你的分。",
    ),
    "grader_error_do": (
        "You need not do anything. The course staff has been notified, and your submission will be graded again.",
        "你什么都不用做。助教已得知，并会重新评分。",
    ),
    # The class page
    "class": ("The class", "全班"),
    "attention": ("For manual review", "需要人工查看"),
    "attention_is": (
        "Something may be wrong here that the scores do not show. Check each of these before releasing grades.",
        "这些提交可能存在分数反映不出来的问题，发布成绩前请逐一查看。",
    ),
    "details": ("Details", "详情"),
    "needs_unreadable": ("nothing could be read", "无法读取"),
    "needs_grader_error": ("the grader failed", "评分程序出错"),
    "needs_left_out": ("something was left out", "有内容未被采用"),
    "needs_doubtful": ("two versions", "同一文件有两个版本"),
    "needs_renamed": ("possibly renamed", "可能改了文件名"),
    "needs_own_import": ("an import that the grader cannot find", "评分环境中找不到的导入"),
    "needs_environment": ("possibly the grader's machine, not the code", "可能是评分环境的问题，而不是代码的问题"),
    "needs_nothing_ran": ("a task without any result", "有任务完全没有运行"),
    "needs_near_zero": ("near zero, although code was submitted", "有代码但接近零分"),
    "needs_timed_out": ("no answer in time", "超时"),
    "needs_inconsistent": ("answers differ between processes", "不同进程中的回答不一致"),
    "needs_late_without_date": ("late by an unknown time", "迟交但没有时间"),
    "needs_stale_decision": ("a decision that needs another look", "有决定需要再看一遍"),
    "decisions": ("Decisions", "人工决定"),
    "decisions_are": (
        "Decisions by people; grades and pages follow them. `grader decide` adds one.",
        "人工作出的决定，成绩与页面均以此为准。可用 `grader decide` 添加。",
    ),
    "submissions": ("Submissions", "提交"),
    "status_graded": ("graded", "已评分"),
    "status_unreadable": ("unreadable", "无法读取"),
    "status_grader_error": ("grader error", "评分程序出错"),
    "spread": (
        "{title}: mean {mean}, median {median}, lowest {lowest}, highest {highest}",
        "{title}：平均 {mean}，中位数 {median}，最低 {lowest}，最高 {highest}",
    ),
    "points": ("Points", "得分分布"),
    "how_many": ("Submissions by points", "各分数段的提交数"),
    "score_spread": ("Score, of {most}", "得分（满分 {most}）"),
    "bonus_spread": ("Bonus, of {most}", "附加分（满分 {most}）"),
    "bin": ("{low} to under {high}: {count}", "{low} 至 {high}（不含）：{count}"),
    "bin_full": ("{low}: {count}", "{low}：{count}"),
    "properties": ("Properties", "性质"),
    "property": ("Property", "性质"),
    "worth": ("Worth", "分值"),
    "pass_rate": ("Pass rate", "通过率"),
    "passed_of": ("{passed} of {all}", "{passed}/{all}"),
    "discrimination": ("Discrimination", "区分度"),
    "discrimination_is": (
        "Discrimination is the correlation between passing a property and the points of all others, from -1 to 1. "
        "Near 0 or below, the property says little about the rest; check its test. “–”: all results are the same.",
        "区分度是“通过该性质”与“其余性质总分”的相关系数，介于 -1 与 1 之间。接近 0 或为负时，该性质与其余得分关系不大，"
        "值得检查它的测试。“–”表示全班结果相同。",
    ),
    "misconceptions": ("Misconceptions", "误解"),
    "misconception": ("Mistake", "作业中表现出的误解"),
    "holders": ("Submissions", "提交数"),
    "no_misconceptions": ("None recognised.", "没有识别出任何误解。"),
    "time_and_errors": ("Time and errors", "用时与错误"),
    "seconds": ("Seconds for one submission", "每份提交的评分用时（秒）"),
    "outcome": ("Outcome", "结果"),
    "in_properties": ("Properties", "性质数"),
    "in_submissions": ("Submissions", "提交数"),
    "not_graded": ("Not graded", "未评分"),
    "reason": ("Reason", "原因"),
    "environment": ("Where it was graded", "评分环境"),
    "devices": ("Devices", "设备"),
    "isolation": ("Isolation", "隔离"),
    "simulated": ("a second device (simulated)", "第二个设备（模拟）"),  # in English as environments name it
    "several_environments": (
        "Submissions were graded in different environments; compare with care.",
        "并非所有提交都在相同条件下评分，比较时请留意。",
    ),
    "students": ("Students", "学生"),
    "submission": ("Submission", "提交"),
    "name": ("Name", "姓名"),
    "find": ("Find by name, id, property or misconception", "按姓名、学号、性质或误解查找"),
    "found": ("{shown} of {all} shown", "显示 {shown}/{all}"),
    "show_holders": ("show who", "查看学生"),
    # Outcomes of a property
    Outcome.PASSED: ("passes", "成立"),
    Outcome.FAILED: ("wrong result", "结果不对"),
    Outcome.CRASHED: ("exception", "抛出异常"),
    Outcome.TIMED_OUT: ("no answer in time", "超时"),
    Outcome.MEMORY_EXCEEDED: ("too much memory", "内存超限"),
    Outcome.NOT_IMPLEMENTED: ("TODO", "待完成"),
    Outcome.MISSING: ("not found", "缺少文件或名称"),
    Outcome.INVALID_REPLY: ("not a dense tensor", "不是普通张量"),
    Outcome.INCONSISTENT: ("answers differ", "回答不一致"),
    Outcome.NOT_ASSESSED: ("not assessed", "未评判"),
    Outcome.GRADER_ERROR: ("grader error", "评分程序出错"),
}

say = partial(sentences.say, WORDS)
