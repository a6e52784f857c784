"""Every sentence that the tests say to a student, in English and Chinese, in one table."""

import locale
import os
import re
from collections.abc import Mapping
from typing import Literal

Language = Literal["en", "zh"]
LANGUAGES: tuple[Language, Language] = ("en", "zh")
Words = Mapping[Language, str]  # a field of a sentence that has a word for each language

Sentences = Mapping[str, tuple[str, str]]  # by key, in each of the languages

_SENTENCES: Sentences = {
    # The table
    "task": ("Task {number}  {title}", "任务 {number}  {title}"),
    "bonus_task": ("Task {number}  {title} (bonus)", "任务 {number}  {title}（附加）"),
    "todo_state": ("TODO", "待做"),
    "total": ("Total", "总分"),
    "bonus": ("Bonus", "附加分"),
    "public_only": (
        "These are the public tests; hidden tests decide the score.",
        "以上只是公开测试；最终得分由隐藏测试决定。",
    ),
    # Below the table
    "to_write": ("To implement next", "接下来要写"),
    "broken": ("Files that could not be imported", "无法导入的文件"),
    "other_tests": ("Tests of your own that fail", "你自己的测试中未通过的"),
    "wrong": ("To correct", "需要修正"),
    "missing_file": ("this file is missing", "缺少这个文件"),
    "own_module": (
        "{error}. Files of src/ are imported relatively, as in: from {relative} import …",
        "{error}。src/ 中的文件要用相对导入，例如：from {relative} import …",
    ),
    "elsewhere_in_src": (
        "there is no {missing}, but there is {found}: from {relative} import …",
        "没有 {missing}，但有 {found}：from {relative} import …",
    ),
    "exits": ("this file exits the program on import", "这个文件一导入就结束了程序"),
    "costs": (" (no test of task {tasks} could run)", "（任务 {tasks} 的测试都无法运行）"),
    "nor": (" or ", "、"),
    "tested": ("tested", "测试"),
    "law": ("law", "依据"),
    "got": ("result", "结果"),
    "call": ("called", "调用"),
    "question": ("question", "问题"),
    "asked_below": ("a question about: {title}", "关于“{title}”的问题"),
    "where": ("where", "位置"),
    "mistake": ("mistake", "错误"),
    "asked": ("required", "要求"),
    "read": ("read", "阅读"),
    "place": ("raised at", "出错处"),
    "meet": ("operands", "操作数"),
    "printed": ("you print", "你的输出"),
    "rerun": ("debug", "调试"),
    "more_tests": ("other failing tests of this property: {count}", "该性质未通过的其他测试：{count} 个"),
    "heading": ("{title}: {rest}", "{title}：{rest}"),
    "show_all": ("To explain all of them: {command}", "逐条解释全部问题：{command}"),
    "ask_where": (
        "To see where to look, and the mistake's name if it is a known one: {command}",
        "该看哪里，是什么错误（若是已知的错误）：{command}",
    ),
    "watching": (
        "Watching src/ and tests/: save a file to test it, press Ctrl-C to stop.",
        "正在等待 src/ 和 tests/ 的改动：保存文件即测试，按 Ctrl-C 结束。",
    ),
    "watch_slowly": (
        "This system cannot fork Python, so each run starts a new process, which takes a few seconds.",
        "这个系统不能复制正在运行的 Python，每次都要重新启动，需要几秒钟。",
    ),
    "left": ("Task {number}: {piece}", "任务 {number}：{piece}"),
    "since": ("Since the last save", "上次保存以来"),
    "next": ("Next", "下一步"),
    "next_task": ("Next: {task}, in {file}", "下一步：{task}，文件 {file}"),
    "complete": ("{task}: complete. Well done!", "{task}：全部完成，做得好！"),
    "watch_it": ("See what it does in a language model: {command}", "看看它在语言模型里起什么作用：{command}"),
    "hand_in": (
        "Every public test outside the bonus passes. To submit: {command}",
        "附加题以外的公开测试全部通过。提交：{command}",
    ),
    "unknown_mistake": ("no ready explanation; the question above is the way in", "没有现成的解释，请从上面的问题入手"),
    "or": ("or:", "或者："),
    "mistake_named": ("{text} [{name}]", "{text} [{name}]"),
    "all_done": ("Every test that ran passes.", "运行的测试全部通过。"),
    "nothing_ran": ("No test was selected.", "没有选中任何测试。"),
    "interrupted": ("Stopped by Ctrl-C at {place}", "被 Ctrl-C 中断于 {place}"),
    "meant": (". Did you mean {own}?", "。是否想写 {own}？"),
    "no_method": (
        ". The class has no method {asked}: is its def spelt and indented as in the stub?",
        "。这个类没有 {asked} 方法：它的 def 与模板中的拼写和缩进一致吗？",
    ),
    "nothing": ("", ""),
    "yours": (". Your code has {own}: did you mean {asked}?", "。你的代码里有 {own}：是否应为 {asked}？"),
    "returned": ("your code returned {what}", "你的代码返回的是 {what}"),
    "same_error": ("the same error", "同样的错误"),
    "too_long": (
        "no result after {seconds:g} s: is there an infinite loop?",
        "{seconds:g} 秒后仍无结果：是否有不会结束的循环？",
    ),
    "untried": (
        "- not run: after {most} timeouts in a task, its other tests are skipped",
        "- 没有测试：一个任务有 {most} 个测试没有按时给出结果之后，其余测试不再运行",
    ),
    # Handing in
    "lines": ("{count} lines", "{count} 行"),
    "todo_lines": ("to implement, line {lines}", "尚待完成：第 {lines} 行"),
    "not_defined": ("{names} is not defined", "其中没有定义 {names}"),
    "source_too_large": ("larger than {most} MiB", "超过 {most} MiB"),
    "source_wide": ("is UTF-16 or UTF-32; save it as UTF-8", "是 UTF-16 或 UTF-32 编码；请另存为 UTF-8"),
    "source_nul": ("contains NUL bytes, so it is not Python source", "含有 NUL 字节，不是 Python 源文件"),
    "source_encoding": (
        "declares an encoding that Python cannot read ({why}); save it as UTF-8",
        "声明了 Python 无法读取的编码（{why}）；请另存为 UTF-8",
    ),
    "source_undecodable": (
        "is not {encoding} (byte {place}); save it as UTF-8",
        "不是 {encoding} 编码（第 {place} 字节）；请另存为 UTF-8",
    ),
    "own_import": (
        "{name} is not found during grading ({file}:{line}). Import it relatively, as in: from {relative} import …",
        "评分时找不到 {name}（{file}:{line}）。请用相对导入，例如：from {relative} import …",
    ),
    "newer_syntax": (
        "{what}: Python {version} does not support this, and the grader may use it ({file}:{line})",
        "{what}：Python {version} 不支持这种写法，而评分可能使用该版本（{file}:{line}）",
    ),
    "starts": (
        "{what}() starts a thread or a process, which the grader does not allow ({file}:{line})",
        "{what}() 会启动线程或进程，评分时不允许（{file}:{line}）",
    ),
    "before_submit": ("Before you submit", "提交之前"),
    "other_packages": (
        "imports {names}; only Python and torch are guaranteed during grading",
        "导入了 {names}；评分时只保证有 Python 和 torch",
    ),
    "not_packed": (
        "Nothing was packed. Fix this and run again, or pack it anyway: {command}",
        "没有打包。请修正后再运行；若要照现状提交：{command}",
    ),
    "packed": (
        "{zip} contains {files} files of src/ ({others} besides those above). Submit it unchanged.",
        "{zip} 已写好，含 src/ 中的 {files} 个文件（除以上文件外另有 {others} 个）。请直接提交它。",
    ),
    "packed_practice": (
        "It also contains your own tests, {file}, for practice points.",
        "其中还有你自己写的测试 {file}，用于练习分。",
    ),
    # Comparisons
    "nothing_returned": (
        "received None, expected one tensor: is a return missing?",
        "得到的是 None，应为一个张量：是否漏了 return？",
    ),
    "not_reset": (
        "After a call of reset_parameters(), the values are correct.",
        "调用一次 reset_parameters 之后就对了。",
    ),
    "same_stream": (
        "They are the right random numbers, scaled or shifted.",
        "随机数是对的，只是经过了缩放或平移。",
    ),
    "constant": ("Every value is the same.", "所有值都相同。"),
    "not_a_tensor": (
        "received an object of type {received}{value}, expected one tensor: what does your return statement return?",
        "得到的是 {received} 类型的对象{value}，应为一个张量：return 后面写的是什么？",
    ),
    "shape": ("received shape {received}, expected {expected}", "得到的形状是 {received}，应为 {expected}"),
    "dtype": ("received {received}, expected {expected}", "得到的 dtype 是 {received}，应为 {expected}"),
    "device": (
        "received a tensor on {received}, expected {expected}",
        "得到的张量在 {received} 上，应在 {expected} 上",
    ),
    "values": (
        "{wrong} of {all} values of the {dtype} tensor {shape} are wrong. Starting at the first, {index}:",
        "{dtype} 张量 {shape} 的 {all} 个值中有 {wrong} 个不对。从第一个（位于 {index}）起：",
    ),
    "column": ("  column   {columns}", "  列   {columns}"),
    "received": ("  received {values}", "  得到 {values}"),
    "about": ("In {what}:", "{what} 中："),
    "not_finite": ("Some are not finite.", "其中有的不是有限数。"),
    "all_zero": ("All wrong values are zero.", "所有不对的值都是零。"),
    "opposite": ("All wrong values have the opposite sign.", "所有不对的值符号都相反。"),
    "too_large": ("All wrong values are too large by the same factor.", "所有不对的值都偏大，且倍数相同。"),
    "too_small": ("All wrong values are too small by the same factor.", "所有不对的值都偏小，且倍数相同。"),
    "elsewhere": ("The right numbers are there, but in the wrong places.", "数是对的，位置不对。"),
    "of_ids": ("Wrong for these ids: {ids}.", "出错的 id：{ids}。"),
    "one_id": ("Wrong only for id {ids}.", "只有 id {ids} 出错。"),
    "along": ("dimension {dim}, of {size}: only at {indices}", "第 {dim} 维（大小 {size}）：只在 {indices} 处"),
    "rows": ("every value of these rows: {rows}", "这些行整行不对：{rows}"),
    "factor": ("The factor is {factor}.", "得到的是应有值的 {factor} 倍。"),
    "spread": ("spread over the whole tensor", "遍布整个张量"),
    "modes_differ": (
        "in evaluation mode, the same input gives a different output than in training:",
        "同样的输入，在评估模式下的输出与训练模式不同：",
    ),
    "not_as_new": (
        "after earlier calls, the output differs from that of a new module:",
        "有过之前的调用，输出就与新建的模块不同：",
    ),
    "changed": ("the call changed {name}", "调用改变了 {name}"),
    "no_error": ("{sizes} was accepted, expected a ValueError", "{sizes} 被接受了，应抛出 ValueError"),
    "unnamed_number": (
        "the error does not name {number}: {error}",
        "报错信息里没有写出 {number}：{error}",
    ),
    "parameters": (
        "registered parameters: {found}; expected {expected}",
        "注册的参数：{found}；应有 {expected} 个",
    ),
    "no_parameter_of": (
        "no parameter has {elements} elements; registered: {found}",
        "没有含 {elements} 个元素的参数；注册的是：{found}",
    ),
    "no_buffer_of": (
        "no buffer of {dtype} has {rows} rows; registered: {found}",
        "没有 {rows} 行的 {dtype} buffer；注册的是：{found}",
    ),
    "buffers": ("registered buffers: {found}; expected {expected}", "注册的 buffer：{found}；应为 {expected}"),
    "state_dict": ("state_dict() lists {found}, expected nothing", "state_dict() 里有 {found}，应为空"),
    "only_zeros": ("every value is zero, even {where}", "所有值都是零，{where} 也是零"),
    "frozen": ("the parameter does not require gradients", "参数的 requires_grad 不是 True"),
    "no_gradient": ("no gradient reached {name}", "{name} 没有收到梯度"),
}


_WORDS = {"input": "输入", "none": "无"}  # translations of words that tests use as fields


def say(language: Language, key: str, sentences: Sentences = _SENTENCES, **fields: object) -> str:
    """Return the sentence ``key`` in ``language``, with its ``fields`` filled in; a field may be ``Words``.

    Chinese is written without spaces, so those that meet no other script around a field are left out.
    """
    filled = {name: _word(language, field) for name, field in fields.items()}
    told = sentences[key][LANGUAGES.index(language)].format(**filled)
    return re.sub(r"(?<=[\u3000-\uff60]) (?=[\u3000-\uff60])", "", told) if language == "zh" else told


def _word(language: Language, field: object) -> object:
    if isinstance(field, Mapping):
        return field[language]
    return _WORDS.get(field, field) if language == "zh" and isinstance(field, str) else field


def language_of(environ: Mapping[str, str] = os.environ) -> Language:
    """Choose the language of the locale; where the environment is silent (Windows), ask the system."""
    chosen = next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), None)
    chosen = chosen or locale.getlocale()[0] or ""
    return "zh" if chosen.lower().startswith(("zh", "chinese")) else "en"
