"""Every sentence of `make practice`, in English and Chinese."""

from __future__ import annotations

from ..messages import Language

_SENTENCES: dict[str, tuple[str, str]] = {
    "title": ("Break this implementation: {function}", "找出错误的实现：{function}"),
    "right": ("Correct implementations: your tests must pass", "正确的实现：你的测试必须通过"),
    "wrong": ("Wrong implementations: a test must fail", "错误的实现：至少要有一个测试失败"),
    "passes": ("all your tests pass", "没有测试误判它"),
    "refused_by": ("fails {tests}", "被误判为错：{tests}"),
    "caught": ("caught by {tests}", "被发现：{tests}"),
    "survives": ("not caught", "未被发现"),
    "score": ("Caught: {caught} of {all}", "已发现：{caught} / {all}"),
    "most_tests": ("Only the first {most} tests are run.", "最多运行 {most} 个测试：只取最前面的。"),
    "slow": (
        "Your tests take {spent:.1f} s on one implementation; the limit during grading is {most} s.",
        "你的测试在一个实现上计算了 {spent:.1f} 秒；评分时只有 {most} 秒。",
    ),
    "to_correct": ("Tests that do not count yet", "暂时不算数的测试"),
    "test_refuses": (
        "your test fails on a correct implementation, {name}. Does the contract promise what this line asserts?",
        "你的测试误判了正确的实现 {name}。约定里写了这一行所要求的事吗？",
    ),
    "test_arguments": (
        "takes {arguments} arguments; a test takes one, the implementation.",
        "有 {arguments} 个参数；测试只接收一个参数，即要检查的实现。",
    ),
    "test_endless": (
        "did not finish in time: is there an infinite loop?",
        "没有按时结束：是否有不会结束的循环？",
    ),
    "test_ended": ("exited the whole program. Use assert to fail.", "结束了整个程序。要让测试失败，请用 assert。"),
    "printed": ("your test prints: {text}", "你的测试输出：{text}"),
    "file_missing": ("{file} is missing.", "缺少 {file}。"),
    "file_no_tests": (
        "{file} has no test: write functions whose names begin with test_, with one argument.",
        "{file} 里没有测试：请写名字以 test_ 开头、只有一个参数的函数。",
    ),
    "file_endless": (
        "{file} could not be imported in time: is there a loop outside your tests?",
        "{file} 没有按时导入完毕：测试之外是否有循环？",
    ),
    "file_ended": ("{file} exits the program on import.", "{file} 一导入就结束了程序。"),
    "file_broken": ("{file} cannot be imported. {why}", "无法导入 {file}。{why}"),
    "all_caught": (
        "All caught. Your tests will also run on implementations that you have not seen.",
        "全部发现。评分时，你的测试还会遇到你没见过的实现。",
    ),
    "others": (
        "Your tests will also run on implementations that you have not seen: test what the contract says.",
        "评分时，你的测试还会遇到你没见过的实现：请对照约定来写测试。",
    ),
}


def say(language: Language, key: str, **fields: object) -> str:
    """Return the sentence ``key`` in ``language``, with its ``fields`` filled in."""
    return _SENTENCES[key][("en", "zh").index(language)].format(**fields)
