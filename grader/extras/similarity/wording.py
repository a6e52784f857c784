"""The words and sentences of the page, in English and Chinese."""

from __future__ import annotations

from typing import Final

from grader.core.sentences import Sentences

# Names of what is compared beside the files of the tasks; the key is used in place of a path.
FILES: Final = {"": "everything", "*": "other files"}

WORDS: Final[Sentences] = {
    "title": ("Similar submissions", "相似的提交"),
    "": (FILES[""], "全部文件"),
    "*": (FILES["*"], "其他文件"),
    "care": (
        "A resemblance is a reason to look and to ask; it proves nothing. Two students who learnt from the same "
        "page, or who solved a short task in the obvious way, also write similar code. Nothing on this page "
        "changes a score.",
        "相似只是值得查看和询问的理由，不能证明什么。两个人学自同一份资料，或者用最自然的写法完成一个很短的任务，写出来也会相像。本页不改变任何分数。",
    ),
    "summary": (
        "Submissions compared: {works}. Pairs to review: {pairs}. Subtracted first: the stubs, {answers}.",
        "比较了 {works} 份提交，值得查看的有 {pairs} 对。比较前已减去：代码骨架、{answers}。",
    ),
    "pairs": ("Pairs", "提交对"),
    "no_pairs": (
        "No two submissions share enough of their own code to be listed.",
        "没有哪两份提交的自写代码相同到需要列出。",
    ),
    "first": ("first", "甲"),
    "second": ("second", "乙"),
    "strongest": ("strongest in", "最相似之处"),
    "file": ("file", "文件"),
    "distinctive": ("distinctive", "独特"),
    "shared": ("shared", "相同"),
    "of": ("of {}", "占 {}"),
    "of_first": ("of first", "占甲"),
    "of_second": ("of second", "占乙"),
    "more_pairs": ("{} more in similar.csv.", "另有 {} 对，见 similar.csv。"),
    "groups": ("Groups", "成组的提交"),
    "groups_about": (
        "Each member is linked to another by a pair that shares nearly all of a file or of everything.",
        "组内每一份都至少与另一份在某个文件或全部文件上几乎相同。",
    ),
    "numbers": ("What the numbers mean", "数字的含义"),
    "characters": (
        "Characters are counted after removing comments and spaces and replacing every name and string by one "
        "letter. So changed names, layout or comments make no difference.",
        "字符数是去掉注释和空白、并把每个名字和每个字符串都换成一个字母之后的数目，因此改名、改排版、改注释都不影响结果。",
    ),
    "means_shared": (
        "Shared: characters of own code in a passage of {passage} or more that the other one also has. Own code "
        "is in no stub and in no known answer.",
        "相同：自写代码中，位于对方也有的、不短于 {passage} 个字符的片段里的字符数。"
        "自写指不在代码骨架、也不在任何已知答案中的部分。",
    ),
    "means_distinctive": (
        "Distinctive: the same, weighted by rarity, from 1 (only these two have it) towards 0 (everyone has it). "
        "Pairs are ranked by this, times the larger of the two parts.",
        "独特：同上，但按有多少份提交也这样写加权：只有这两份有时为 1，人人都有时趋近 0。"
        "提交对按它与较大占比的乘积排序。",
    ),
    "means_parts": (
        "Of first, of second: the part of each submission's own code that is shared.",
        "占甲、占乙：相同部分在各自自写代码中所占的比例。",
    ),
    "means_short": (
        "Too short to tell: one of the two has fewer than {short} characters of own code there, about four "
        "statements. They count only in the comparison of everything.",
        "太短，无法判断：其中一份在该处的自写代码不足 {short} 个字符，约四条语句；只在合并全部文件时计入。",
    ),
    "short": ("too short to tell", "太短，无法判断"),
    "sides": ("Side by side", "并排对照"),
    "sides_about": (
        "Only shared own code is marked. Passages are in the order of the first submission.",
        "只标出相同且属于自写的行；片段按甲的顺序排列。",
    ),
    "nothing": ("No lines of own code in common.", "没有相同的自写代码行。"),
    "near": ("Close to a known answer", "接近已知答案"),
    "near_about": (
        "At least four fifths of what these files add to the stubs is in the answer named. A public answer may "
        "be their source. One that is not public, such as ref, raises the question how it got out; but there are "
        "only so many ways to write a short task.",
        "这些文件在代码骨架之外的内容，有五分之四以上出现在所列答案中。答案若已公开，可能就是来源；若未公开（如 ref），"
        "就要问它是怎样流出的。不过，很短的任务本来也没有几种写法。",
    ),
    "answer": ("answer", "答案"),
    "part": ("part", "占比"),
    "submission": ("submission", "提交"),
    "library": ("Libraries", "库的使用"),
    "library_about": (
        "Found in the syntax tree, also through aliases: calls that may do a whole task, and imports that the "
        "task does not require. A person has to judge whether a use is fair.",
        "由语法树找出，别名也会追踪：可能直接完成整个任务的调用，以及任务没有要求的导入。是否合理，由人来判断。",
    ),
    "use": ("what", "内容"),
    "where": ("where", "位置"),
    "task": ("may do all of", "可能直接完成"),
    "foreign": ("not required", "未要求使用"),
    "notices": ("Not examined", "没有检查的部分"),
    "none": ("None.", "无。"),
}
