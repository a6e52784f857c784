"""The Chinese of the grader's own messages; an assignment has a table of its own."""

from __future__ import annotations

from typing import Final

# From a message's template to its translation; :mod:`grader.messages` fills both.
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
    "off by up to {n}% of their size": "最大偏差是应有大小的 {n}%",
    "off by up to {n} times their size": "最大偏差是应有大小的 {n} 倍",
    "off by more than {n} times their size": "偏差超过应有大小的 {n} 倍",
    "off by up to {worst} rounding steps, where {limit} are allowed": "最大偏差 {worst} 个舍入单位，允许 {limit} 个",
    "the shape is {actual}, not {wanted}": "形状是 {actual}，应为 {wanted}",
    "the output is {actual}, not {wanted}": "输出的 dtype 是 {actual}，应为 {wanted}",
    "the output is {actual}, no real number": "输出的 dtype 是 {actual}，不是实数",
    # Which tensor is wrong.
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
    "none": "没有",
    "the parameter does not require gradients": "参数不需要梯度（requires_grad 为 False）",
    "the parameter is {actual}; {wanted} was asked for": "参数的 dtype 是 {actual}，应为 {wanted}",
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
    "\nOn {here}: {advice}": "\n在 {here} 上：{advice}",
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
    # What student code raises, or sends back.
    "an exception": "一个异常",
    "{exception}: {message} (the grader runs Python {python})": (
        "{exception}: {message}（评分程序运行 Python {python}）"
    ),
    "{exception}: {message} (raised in {file})": "{exception}: {message}（在 {file} 中抛出）",
    "\n  {path}:{line} in {function}: {code}": "\n  {path}:{line}，{function} 中：{code}",
    "still a stub": "仍是模板",
    "the process ended by itself": "进程自己结束了",
    "the process ended by signal {n}": "进程被信号 {n} 终止",
    "no answer in time": "没有按时给出结果",
    "no answer: {problem}": "没有结果：{problem}",
    "the reply was {problem}": "返回的内容有误：{problem}",
    "returned {problem}": "返回的是 {problem}",
    "no outcome": "没有结果",
    "no tensor of real numbers": "不是实数张量",
    "a malformed error report": "错误报告格式不对",
    "a malformed reply": "返回的内容格式不对",
    "{name} has used up its {time} s": "{name} 已用完它的 {time} 秒",
    "what came back for this piece is more than can be judged": "这一部分返回的内容太多，无法评判",
    "what came back takes more memory to judge than there is": "评判返回的内容所需的内存超过了现有的内存",
    "the same calls were answered in one way here, and in another way there; the worse answer counts": (
        "同样的调用在不同进程中得到了不同的回答；以较差的回答为准"
    ),
    "the grader failed here, not you": "这里是评分程序出错，不是你的问题",
    "the test left no verdict": "测试没有给出结论",
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
