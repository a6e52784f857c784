"""The Chinese of the grader's own messages; an assignment has a table of its own."""

from __future__ import annotations

from typing import Final

# From a message's template to its translation; :mod:`grader.core.messages` fills both.
PHRASES: Final = {
    "No submission.": "没有提交。",
    "{n} day late": "迟交 {n} 天",
    "{n} days late": "迟交 {n} 天",
    "{late} beyond {n} free": "除免扣的 {n} 天外，{late}",
    "Late by an unknown time, counted as 1 day": "迟交时间不明，按 1 天计",
    "{late}: {share}, {points} points, deducted.": "{late}：扣 {share}，即 {points} 分。",
    "Bonus points beyond the cap of {n} do not count.": "附加分超出上限 {n} 的部分不计。",
    # Where and how a tensor is wrong.
    "{what}: shape {shape}, {n} of {all} elements are wrong, the first at {place}": (
        "{what}：形状 {shape}，{all} 个元素中有 {n} 个不对，第一个在 {place}"
    ),
    "{n} are not finite": "其中 {n} 个不是有限数",
    "all of these are zero": "它们全是零",
    "all of these are the same number": "它们全是同一个数",
    "all of these have the opposite sign": "它们的符号全都相反",
    "all of these are {factor} times the expected value": "它们都是应有值的 {factor} 倍",
    "all of these are clamped to the same magnitude": "它们的绝对值都被截断到同一个上限",
    "all of these are off by the same constant": "它们都多加了同一个数",
    "along dimension {dim}, {here} hold the values that belong at {there}": (
        "在第 {dim} 维上，{here} 处依次是应在 {there} 处的内容"
    ),
    "only indices {places} of dimension {dim} are wrong": "第 {dim} 维上只有下标 {places} 处不对",
    "off by up to {n}% of their magnitude": "最大偏差是应有大小的 {n}%",
    "off by up to {n} times their magnitude": "最大偏差是应有大小的 {n} 倍",
    "off by more than {n} times their magnitude": "偏差超过应有大小的 {n} 倍",
    "off by up to {worst} rounding steps; {limit} are allowed": "最大偏差 {worst} 个舍入单位，允许 {limit} 个",
    "cases with {failing} fail; those with {working} pass": "用到 {failing} 的用例未通过，用到 {working} 的用例通过",
    "the shape is {actual}, not {wanted}": "形状是 {actual}，应为 {wanted}",
    "the output is {actual}, not {wanted}": "输出的 dtype 是 {actual}，应为 {wanted}",
    "the output has dtype {actual}; a real dtype is required": "输出的 dtype 是 {actual}，不是实数",
    # Which tensor is wrong.
    "the output": "输出",
    "{dtype} output": "{dtype} 输出",
    "the output in evaluation mode, compared with training mode": "eval 模式的输出（与 train 模式相比）",
    "{dtype} gradient of the input": "输入的 {dtype} 梯度",
    "{dtype} uniform draw with seed {seed}": "种子 {seed} 的 {dtype} 均匀采样",
    "{dtype} normal draw with seed {seed}": "种子 {seed} 的 {dtype} 正态采样",
    "{what} after reset_parameters()": "reset_parameters() 之后：{what}",
    "{what} after the call": "调用之后的{what}",
    "the input": "输入",
    # Parameters and buffers of a module.
    "{n} parameters are registered, not {wanted}": "注册了 {n} 个参数，应为 {wanted} 个",
    "the parameter has {n} elements; {wanted} are required": "参数有 {n} 个元素，应为 {wanted} 个",
    "the parameter has {n} elements": "参数有 {n} 个元素",
    "a parameter of {n} elements was expected; registered: {shapes}": "应有含 {n} 个元素的参数；已注册的形状：{shapes}",
    "a parameter {name} was expected; registered: {names}": "应有名为 {name} 的参数；已注册：{names}",
    "the parameter {name} is {actual}, not {wanted}": "参数 {name} 的形状是 {actual}，应为 {wanted}",
    "none": "没有",
    "the parameter does not require gradients": "参数不需要梯度（requires_grad 为 False）",
    "the parameter has dtype {actual}; {wanted} was requested": "参数的 dtype 是 {actual}，应为 {wanted}",
    "a buffer is registered; this module has none": "注册了 buffer；这个模块不应有 buffer",
    "a parameter is registered; this module has none": "注册了参数；这个模块不应有参数",
    "{what} is on {here}, not on {there}": "{what}在 {here} 上，应在 {there} 上",
    # Mistakes that a second device shows.
    "a second device (simulated)": "第二个设备（模拟）",
    "needs a second device": "需要第二个设备",
    "assessed on a GPU only: the simulated device does not support {what}": "只能在 GPU 上评分：模拟设备没有 {what}",
    "assessed on a GPU only: {path} requires CUDA, which the simulated device is not": (
        "只能在 GPU 上评分：{path} 询问是否为 CUDA，而模拟设备不是"
    ),
    "tensors that are sparse, nested, quantized or of another layout": "稀疏、嵌套、量化或其他布局的张量",
    "tensors that are pickled": "经过 pickle 的张量",
    "\nOn {here}: {advice}": "\n在 {here} 上：{advice}",
    "before": "在其之前",
    "after": "在其之后",
    "state_dict() lists {names}": "state_dict() 中有 {names}",
    "the error raised for {sizes} does not name {size}": "{sizes} 时的报错信息没有写出 {size}",
    "{sizes} is accepted; it must raise an error": "{sizes} 被接受了；应当报错",
    "{sizes} raises {kind}; expected a ValueError or an AssertionError": (
        "{sizes} 时抛出的是 {kind}；应为 ValueError 或 AssertionError"
    ),
    "no gradient reaches {where}": "梯度没有传到：{where}",
    "{name} returned {kind} instead of one tensor": "{name} 返回的不是一个张量，而是：{kind}",
    "several values": "多个值",
    "{name} is not defined in {path}": "{path} 中没有定义 {name}",
    "{path} is not in the submission": "提交中没有 {path}",
    "memory use exceeded the limit of {n} MiB": "使用的内存超过了一份提交可增加的 {n} MiB",
    "no answer within {time} s": "{time} 秒内没有结果",
    "not tried: an earlier case of this property exceeded the memory limit": "没有再试：这一项更早的用例耗尽了内存",
    "not tried: an earlier case of this property timed out": ("没有再试：这一项更早的用例没有按时给出结果"),
    # What student code raises, or sends back.
    "an exception": "一个异常",
    "{exception}: {message} (the grader runs Python {python})": (
        "{exception}: {message}（评分程序运行 Python {python}）"
    ),
    "{exception}: {message} (raised in {file})": "{exception}: {message}（在 {file} 中抛出）",
    "\n  {path}:{line} in {function}: {code}": "\n  {path}:{line}，{function} 中：{code}",
    "still a stub": "仍是模板",
    "the process exited": "进程自己结束了",
    "the process was killed by signal {n}": "进程被信号 {n} 终止",
    "no answer in time": "没有按时给出结果",
    "the reply was {problem}": "返回的内容有误：{problem}",
    "returned {problem}": "返回的是 {problem}",
    "no outcome": "没有结果",
    "not a real tensor": "不是实数张量",
    "a malformed error report": "错误报告格式不对",
    "a malformed reply": "返回的内容格式不对",
    "not tried: {name} has timed out before, and calls that time out have taken {time} s": (
        "没有再试：{name} 之前已经超时，超时的调用总共用掉了 {time} 秒"
    ),
    "{name} has used up its {time} s": "{name} 已用完它的 {time} 秒",
    "judging this output exceeded the judge's limits; not tried again": "这一部分返回的内容太多，无法评判",
    "judging this output takes more memory than is available": "评判返回的内容所需的内存超过了现有的内存",
    "the same calls gave different answers in different processes; the worse answer counts": (
        "同样的调用在不同进程中得到了不同的回答；以较差的回答为准"
    ),
    "the grader failed here, not you": "这里是评分程序出错，不是你的问题",
    # How files were found, or why nothing was graded.
    "{path} is missing.": "缺少 {path}。",
    "{path} is missing": "缺少 {path}",
    "{path} is a stub": "{path} 仍是模板",
    "{path} is empty": "{path} 是空的",
    "{path} does not define {names}": "{path} 中没有定义 {names}",
    "{first} or {other}": "{first}、{other}",
    "{called} may be that file (it defines {names}).": "{called} 可能就是它（其中定义了 {names}）。",
    "{called} may be that file.": "{called} 可能就是它。",
    "If so, rename it.": "如果是，请改名。",
    "{path} exists twice, as {one} and as {other}, with different content": "{path} 有两份，{one} 和 {other}，内容不同",
    "{path}:{line} imports {name} by its bare name, which fails during grading.": (
        "{path}:{line} 直接按名称导入 {name}，评分时找不到它。"
    ),
    "Import it relatively, as in: from {name} import …": "请用相对导入，例如：from {name} import …",
    "{path} is not {encoding} (byte {place})": "{path} 不是 {encoding} 编码（第 {place} 字节）",
    "{path} is UTF-16 or UTF-32, which Python cannot read": "{path} 是 UTF-16 或 UTF-32 编码，Python 不读取",
    "{path} declares an encoding that Python cannot read ({why})": "{path} 声明了 Python 不读取的编码（{why}）",
    "{path} is larger than {n} MiB": "{path} 超过 {n} MiB",
    "{path} contains NUL bytes, so it is not Python source": "{path} 含有 NUL 字节，不是 Python 源文件",
    "{path} is not a regular file (possibly a link)": "{path} 不是普通文件（可能是链接）",
    "{path} is not a regular file": "{path} 不是普通文件",
    "{path} is a link": "{path} 是链接",
    "{path} is a link or a special file": "{path} 是链接或特殊文件",
    "{path} is encrypted": "{path} 已加密",
    "{path} is damaged ({problem})": "{path} 已损坏（{problem}）",
    "{path} cannot be read ({problem})": "{path} 无法读取（{problem}）",
    "save it as UTF-8": "请保存为 UTF-8",
    "submit the file itself": "请提交文件本身",
    "submit a zip without a password": "请提交不带密码的 zip",
    "it was left out.": "已忽略它。",
    "it is left out.": "已忽略它。",
    "Found inside the folder {called}.": "在文件夹 {called} 中找到。",
    "{path} is an empty archive": "{path} 是空的压缩包",
    "{called} was graded as {path}.": "把 {called} 当作 {path}。",
    "{called} was submitted more than once; the latest counts.": "{called} 提交了不止一次；以最后一次为准。",
    "{called} is an earlier submission of the same students": "同样的学生更早提交过 {called}",
    "No roster entry matches this submission.": "名单中没有人与这份提交对应。",
    "No submission: {called} is in the roster but did not submit.": ("没有提交：{called} 在名单中，但没有对应的提交。"),
    "Owner unknown: {problem}.": "不知道这是谁的提交：{problem}。",
    "Gradescope names no submitter": "Gradescope 没有列出提交人",
    "{path} contains no submissions": "{path} 中没有提交",
    "{path} is nested more than {n} deep": "{path} 的嵌套超过 {n} 层",
    "{called} is a single file outside every submission. Move it into its student's folder.": (
        "{called} 是各份提交之外的单个文件，不属于任何一份。请把它放进那名学生的文件夹。"
    ),
    "{called} is a link, which may point to someone else's submission. Submit the folder or zip itself.": (
        "{called} 是链接，可能指向别人的提交。请提交文件夹或 zip 本身。"
    ),
    "{called} is neither a file nor a folder, but a pipe, a socket or a device. Submit a zip.": (
        "{called} 不是文件也不是文件夹，而是管道、套接字或设备。请提交 zip。"
    ),
    "None of {names} is in the submission.": "提交中没有 {names} 中的任何一个。",
    "the files of src/": "src/ 的文件",
    "{problem}.": "{problem}。",
    "The zip cannot be read: {problem}.": "zip 无法读取：{problem}。",
    "It cannot be read: {problem}.": "无法读取：{problem}。",
    "The folder cannot be opened: {problem}": "文件夹无法打开：{problem}",
    "File is not a zip file": "它不是 zip 文件",
    "The archive": "压缩包",
    "{path} contains more than {n} files and folders": "{path} 中的文件和文件夹超过 {n} 个",
    "{path} contains more than {n} folders": "{path} 中的文件夹超过 {n} 个",
    "{path} contains more than {n} MiB of source": "{path} 中的源代码超过 {n} MiB",
    "{path} unpacks to more than {n} MiB": "{path} 解压后超过 {n} MiB",
    "{path} lists a file twice": "{path} 中同一文件出现了两次",
    "{path} is nested too deeply in archives": "{path} 在压缩包中嵌套太深",
    "The folder contains more than {n} files and folders": "文件夹中的文件和文件夹超过 {n} 个",
    "The folder contains more than {n} folders": "文件夹中的文件夹超过 {n} 个",
    "It contains {n} Python files": "其中有 {n} 个 Python 文件",
    "{n} MiB of Python source": "Python 源代码共 {n} MiB",
    "{n} Python files under src/": "src/ 下有 {n} 个 Python 文件",
    "the limit is {n} MiB": "最多 {n} MiB",
    "the limit is {n}": "最多 {n} 个",
    "submit src/ only": "请只提交 src/",
    "submit one zip of src/": "请提交一个 src/ 的 zip",
    "repack it": "请重新打包",
    "its header is missing": "文件头缺失",
    "its checksum is wrong": "校验和不对",
    "its LZMA header is wrong": "LZMA 头不对",
    "compression method {n} is not supported": "压缩方法 {n} 在这里不受支持",
    "Reading it exceeds the memory limit of {n} MiB": "读取它需要的内存超过给定的 {n} MiB",
    "Reading it exceeds the CPU time limit of {n} s": "读取它需要的计算时间超过 {n} 秒",
    "It crashed the reader twice ({how})": "它两次使读取它的进程终止（{how}）",
    "submit the Python files of src/ in a plain zip.": "请用普通 zip 提交 src/ 的 Python 文件。",
    # What was handed in instead.
    "{what}, {called}: {remedy}.": "{what} {called}：{remedy}。",
    "And {n} more.": "另有 {n} 个。",
    "A 7z archive": "7z 压缩包",
    "A rar archive": "rar 压缩包",
    "A zst archive": "zst 压缩包",
    "A gz file": "gz 文件",
    "An xz file": "xz 文件",
    "A notebook": "notebook",
    "A PDF": "PDF",
    "A Word file": "Word 文件",
    "A picture": "图片",
    "Compiled Python": "编译过的 Python",
    "A text": "文本",
    "An online text or a link": "在线输入的文本或链接",
    "A link": "链接",
    "{path} is a 7z archive": "{path} 是 7z 压缩包",
    "{path} is a rar archive": "{path} 是 rar 压缩包",
    "{path} is a zst archive": "{path} 是 zst 压缩包",
    "{path} is a PDF": "{path} 是 PDF",
    "ask for a zip": "请要求提交 zip",
    "ask for a zip of src/": "请要求提交 src/ 的 zip",
    "ask for the Python files of src/": "请要求提交 src/ 的 Python 文件",
    "ask for the source, a .py file": "请要求提交源代码（.py 文件）",
    # Why a person should look at a submission.
    "{names}: the module {name} belongs to Python or torch, but is not installed here.": (
        "{names}：模块 {name} 属于 Python 或 torch，但这里没有找到。"
    ),
    "{names}: torch could not open a file or folder here.": "{names}：torch 在这里无法打开某个文件或文件夹。",
    "{names}: student code may not start threads here.": "{names}：学生代码在这里不能启动线程。",
    "{names}: Python {n} does not support this syntax; check whether a newer Python does.": (
        "{names}：Python {n} 不认识这种语法；请看看更新的 Python 是否认识。"
    ),
    "Timed out: {names}.": "没有按时给出结果：{names}。",
    "Different answers to the same calls in another process: {names}.": (
        "同样的调用在另一个进程中得到不同的回答：{names}。"
    ),
    "{name}: no property of this task produced a result ({how}), although code was submitted.": (
        "{name}：有代码，但没有任何一项给出结果（{how}）。"
    ),
    "{n} of {all} points, although code was submitted.": "得 {n} 分（共 {all} 分），尽管有代码。",
    "The platform marks it late, but does not say by how much: [policy] counts one day.": (
        "平台说它迟交，但没有说迟了多久：[policy] 按一天计。"
    ),
    # What `grader similar` could not compare.
    "{path}: {n} characters": "{path}：{n} 个字符",
    "at most {n} are compared": "最多比较 {n} 个",
    "{path}: syntax error in line {n}": "{path}：第 {n} 行语法错误",
    "{path}: nested too deeply to be parsed": "{path}：嵌套太深，无法解析",
    "library calls not checked.": "未查找库调用。",
    "same student as {called}": "与 {called} 是同一名学生",
    "not compared with each other.": "两者未作比较。",
}
