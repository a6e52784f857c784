"""Translates messages about failing cases and about files to Chinese; the grader itself writes English."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from ..definition import Assignment

# English to Chinese. Parts in braces vary; a part that is itself a phrase of this table is translated, too.
PHRASES: Final = {
    # Where and how a tensor is wrong.
    "{what}: shape {shape}, {n} of {all} elements are wrong, the first at {place}": (
        "{what}：形状 {shape}，{all} 个元素中有 {n} 个不对，第一个在 {place}"
    ),
    "{n} are not finite": "其中 {n} 个不是有限数",
    "all of these are zero": "它们全是零",
    "all of these are the same number": "它们全是同一个数",
    "all of these have the opposite sign": "它们的符号全都相反",
    "all of these are too large by the same factor": "它们都偏大，且倍数相同",
    "all of these are too small by the same factor": "它们都偏小，且倍数相同",
    "off by up to {share} of their size": "最大偏差是应有大小的 {share}",
    "off by up to {share} times their size": "最大偏差是应有大小的 {share} 倍",
    "off by more than {share} times their size": "偏差超过应有大小的 {share} 倍",
    "off by up to {worst} rounding steps, where {limit} are allowed": "最大偏差 {worst} 个舍入单位，允许 {limit} 个",
    "{what}: {n} of {all} elements carry more than one rounding to 16 bits": (
        "{what}：{all} 个元素中有 {n} 个不止一次舍入到 16 位"
    ),
    "the shape is {actual}, not {wanted}": "形状是 {actual}，应为 {wanted}",
    "the output is {actual}, not {wanted}": "输出的 dtype 是 {actual}，应为 {wanted}",
    "the output is {actual}, no real number": "输出的 dtype 是 {actual}，不是实数",
    # Which tensor is wrong.
    "{dtype} output for an input of zeros": "全零输入的 {dtype} 输出",
    "{dtype} output": "{dtype} 输出",
    "the output in evaluation mode beside that in training mode": "eval 模式的输出（与 train 模式相比）",
    "{dtype} gradient of the input": "输入的 {dtype} 梯度",
    "{dtype} uniform draw with seed {seed}": "种子 {seed} 的 {dtype} 均匀采样",
    "{dtype} normal draw with seed {seed}": "种子 {seed} 的 {dtype} 正态采样",
    "{what} after reset_parameters()": "reset_parameters() 之后：{what}",
    "{what} after the call": "调用之后的{what}",
    "the input": "输入",
    # Parameters and buffers of a module.
    "{n} parameters are registered, not {wanted}": "注册了 {n} 个参数，应为 {wanted} 个",
    "the parameter has {n} elements; {wanted} are asked for": "参数有 {n} 个元素，应为 {wanted} 个",
    "the parameter has {n} elements": "参数有 {n} 个元素",
    "a parameter of {n} elements was expected; registered: {shapes}": "应有含 {n} 个元素的参数；已注册的形状：{shapes}",
    "a parameter {name} was expected; registered: {names}": "应有名为 {name} 的参数；已注册：{names}",
    "the parameter {name} is {actual}, not {wanted}": "参数 {name} 的形状是 {actual}，应为 {wanted}",
    "one parameter was expected; registered: {shapes}": "应有一个参数；已注册的形状：{shapes}",
    "none": "没有",
    "the parameter does not require gradients": "参数不需要梯度（requires_grad 为 False）",
    "the parameter is {actual}; {wanted} was asked for": "参数的 dtype 是 {actual}，应为 {wanted}",
    "the first parameter's gradient has {n} elements": "第一个参数的梯度有 {n} 个元素",
    "a buffer is registered; this module has none": "注册了 buffer；这个模块不应有 buffer",
    "a parameter is registered; this module has none": "注册了参数；这个模块不应有参数",
    "a buffer is on {device}": "有 buffer 在 {device} 上",
    "{what} is on {here}, not on {there}": "{what}在 {here} 上，应在 {there} 上",
    # Mistakes that a second device shows.
    "a second device (simulated)": "第二个设备（模拟）",
    "needs a second device": "需要第二个设备",
    "assessed on a GPU only: the simulated device has no {what}": "只能在 GPU 上评分：模拟设备没有 {what}",
    "assessed on a GPU only: {path} asks for CUDA, which the simulated device is not": (
        "只能在 GPU 上评分：{path} 询问是否为 CUDA，而模拟设备不是"
    ),
    "tensors that are sparse, nested, quantized or of another layout": "稀疏、嵌套、量化或其他布局的张量",
    "tensors that are pickled": "经过 pickle 的张量",
    "On {here}: {advice}": "在 {here} 上：{advice}",
    "before": "在其之前",
    "after": "在其之后",
    "state_dict() lists {names}": "state_dict() 中有 {names}",
    "the error raised for {sizes} does not name {size}": "{sizes} 时的报错信息没有写出 {size}",
    "{sizes} is accepted; it must raise an error": "{sizes} 被接受了；应当报错",
    "{sizes} raises {kind}; a ValueError or an AssertionError is asked for": (
        "{sizes} 时抛出的是 {kind}；应为 ValueError 或 AssertionError"
    ),
    "no gradient reaches {where}": "梯度没有传到：{where}",
    "{name} returned {kind}, not one tensor": "{name} 返回的不是一个张量，而是：{kind}",
    "several values": "多个值",
    "{name} is not defined in {path}": "{path} 中没有定义 {name}",
    "{path} is not in the submission": "提交中没有 {path}",
    "more memory was used than the {n} MiB that a submission may add": "使用的内存超过了一份提交可增加的 {n} MiB",
    "no answer within {time} s": "{time} 秒内没有结果",
    "not tried, since an earlier case of this property filled the memory": "没有再试：这一项更早的用例耗尽了内存",
    "not tried, since an earlier case of this property gave no answer in time": (
        "没有再试：这一项更早的用例没有按时给出结果"
    ),
    # How files were found, or why nothing was graded.
    "{path} is missing.": "缺少 {path}。",
    "{path} is missing; {called} may be it (it defines {names}). Rename it if it is.": (
        "缺少 {path}；{called} 可能就是它（其中定义了 {names}）。如果是，请改名。"
    ),
    "{path} is missing; {called} may be it. Rename it if it is.": "缺少 {path}；{called} 可能就是它。如果是，请改名。",
    "{path} is not UTF-8 (byte {n})": "{path} 不是 UTF-8 编码（第 {n} 字节）",
    "{path} is larger than {n} MiB": "{path} 超过 {n} MiB",
    "{path} contains NUL bytes, so it is no Python source": "{path} 含有 NUL 字节，不是 Python 源文件",
    "{path} is not a regular file (a link, perhaps)": "{path} 不是普通文件（可能是链接）",
    "{path} is not a regular file": "{path} 不是普通文件",
    "{path} is a link": "{path} 是链接",
    "{path} is encrypted": "{path} 已加密",
    "{path} is damaged ({problem})": "{path} 已损坏（{problem}）",
    "{path} cannot be read ({problem})": "{path} 无法读取（{problem}）",
    "save it as UTF-8": "请保存为 UTF-8",
    "hand in the file itself": "请提交文件本身",
    "hand in a zip without a password": "请提交不带密码的 zip",
    "it was left out.": "已忽略它。",
    "it is left out.": "已忽略它。",
    "Found inside the folder {called}.": "在文件夹 {called} 中找到。",
    "{called} was taken as {path}.": "把 {called} 当作 {path}。",
    "{called} of the same students was handed in earlier": "同样的学生更早提交过 {called}",
    "Nobody in the roster goes with this submission.": "名单中没有人与这份提交对应。",
    "Nothing was handed in: {called} is in the roster, and no submission is theirs.": (
        "没有提交：{called} 在名单中，但没有对应的提交。"
    ),
    "None of {names} is in the submission.": "提交中没有 {names} 中的任何一个。",
    "The zip cannot be read: {problem}.": "zip 无法读取：{problem}。",
    "File is not a zip file": "它不是 zip 文件",
    "The zip is larger than {n} MiB": "zip 超过 {n} MiB",
    "The archive lists more than {n} files and folders": "压缩包中的文件和文件夹超过 {n} 个",
    "The archive holds more than {n} folders": "压缩包中的文件夹超过 {n} 个",
    "The archive lists a file twice": "压缩包中同一文件出现了两次",
    "The folder holds more than {n} files and folders": "文件夹中的文件和文件夹超过 {n} 个",
    "The folder holds more than {n} folders": "文件夹中的文件夹超过 {n} 个",
    "{n} MiB of Python source": "Python 源代码共 {n} MiB",
    "{n} Python files under src/": "src/ 下有 {n} 个 Python 文件",
    "at most {n} MiB are taken.": "最多 {n} MiB。",
    "at most {n} are taken.": "最多 {n} 个。",
    "hand in src/ only.": "请只提交 src/。",
    "pack it anew.": "请重新打包。",
    # Crashes of which the grader's machine may be the cause.
    "{names}: The module {name} belongs to Python or torch, and was not found here.": (
        "{names}：模块 {name} 属于 Python 或 torch，但这里没有找到。"
    ),
    "{names}: torch could not open a file or folder here.": "{names}：torch 在这里无法打开某个文件或文件夹。",
    "{names}: Student code may start no thread here.": "{names}：学生代码在这里不能启动线程。",
    "{names}: Python {n} does not know this syntax; look whether a newer Python does.": (
        "{names}：Python {n} 不认识这种语法；请看看更新的 Python 是否认识。"
    ),
    # What `grader similar` could not compare.
    "{path}: {n} characters": "{path}：{n} 个字符",
    "at most {n} are compared": "最多比较 {n} 个",
    "{path}: syntax error in line {n}": "{path}：第 {n} 行语法错误",
    "{path}: nested too deeply to be parsed": "{path}：嵌套太深，无法解析",
    "library calls were not looked for.": "未查找库调用。",
    "of the same student as {called}": "与 {called} 是同一名学生",
    "the two were not compared.": "两者未作比较。",
}

_DEVICE: Final = r"a second device \(simulated\)|[^ ,;:]+(?::\d+)?"
WORD: Final = r"\[[^]]*\]|[^ ,;]+"


def in_chinese(message: str, assignment: Assignment) -> str:
    """Translate a message. One that matches no phrase, such as the text of an exception, stays English."""
    if "\n" in message:
        return "\n".join(in_chinese(line, assignment) for line in message.split("\n"))
    if (whole := _phrase(message, assignment)) is not None:
        return whole
    first, separator, rest = message.partition("; ")
    if separator and (known := _phrase(first, assignment)) is not None:
        return f"{known}；{in_chinese(rest, assignment)}"
    return message


def _phrase(text: str, assignment: Assignment) -> str | None:
    for pattern, chinese in _patterns(assignment):
        if found := pattern.fullmatch(text):
            parts = found.groupdict()
            return chinese.format(**{name: _phrase(part, assignment) or part for name, part in parts.items()})
    return None


@cache
def _patterns(assignment: Assignment) -> list[tuple[re.Pattern[str], str]]:
    """Each phrase as a pattern; a part in braces matches one word or list of numbers, unless listed here by name."""
    several = dict.fromkeys(("what", "sizes", "shapes", "names", "where", "kind", "called", "problem", "advice"), ".+")
    several |= {
        "seen": "[^;]+",
        "before": "[^;]+",
        "here": _DEVICE,
        "there": _DEVICE,
        "when": ".*",
        "ids": r"\[\[[\d, \]\[]*\]\]",
    }

    def pattern(english: str) -> re.Pattern[str]:
        parts = re.split(r"\{(\w+)\}", english)
        return re.compile(
            "".join(
                f"(?P<{part}>{several.get(part, WORD)})" if index % 2 else re.escape(part)
                for index, part in enumerate(parts)
            )
        )

    return [(pattern(english), chinese) for english, chinese in {**assignment.phrases, **PHRASES}.items()]
