"""Which failure is explained first and what is asked about it, and which known mistake it is.

A mistake is recognised by what the student's own code returned in the public tests: by a hash of these values, rounded
coarsely, that two solutions with the same mistake share. No expected value is in it, and nothing leaves this machine.
"""

import hashlib
import json
import math
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from torch import Tensor

from .compare import MismatchError
from .messages import Words
from .raised import kind_of
from .rubric import ROOT, Property

# Kinds of failure whose message says all that there is to say.
CLEAR = frozenset({"endless", "names", "python", "nothing_returned", "not_a_tensor"})

REGISTRATION: Words = {
    "en": "Only registration is checked here, not the numbers. Which tensors do parameters() and buffers() list, with "
    "how many elements, and which does the docstring ask for?",
    "zh": "这里只看注册，不看数值。parameters() 和 buffers() 列出了哪些张量，各有多少元素？docstring 要求的又是哪些？",
}

ABOUT_DEFAULTS: Words = {
    "en": "Which default does your constructor give this argument?",
    "zh": "你的构造函数给这个参数的默认值是什么？",
}

# By the kind of failure. Any other kind gets the question of its test or of its property.
QUESTIONS: Mapping[str, Words] = {
    "error": {
        "en": "What does this line expect, and what does it get? Is the line itself wrong, or does an earlier one give "
        "it a value, shape or dtype that you did not mean?",
        "zh": "这一行需要什么，得到的又是什么？是这一行本身写错了，还是前面某一行给了它不该有的值、形状或 dtype？",
    },
    "refused": {
        "en": "Your own check rejects what the docstring allows. What does its condition evaluate to for these values?",
        "zh": "你自己的检查拒绝了 docstring 允许的输入。把这些值代入它的条件，结果是什么？",
    },
    "devices": {
        "en": "Which devices meet in this line? Move tensors with .to(input.device), create new ones on that device, "
        "and draw with a generator on the parameter's device.",
        "zh": "这一行里遇到了哪两个设备上的张量？用 .to(input.device) 把不在那里的张量移过去，新张量直接建在那个设备"
        "上，采样时用参数所在设备的 generator。",
    },
    "devices_plain": {
        "en": "The module was moved, but one of its tensors stayed behind. Which of the attributes that you set in "
        "__init__ does module.to(device) move?",
        "zh": "模块移动了，它的某个张量却留在原处。module.to(device) 会移动什么：是 __init__ 里设置的哪些属性？",
    },
    "unusable": {
        "en": "This line of the test could not use the value that your code returned. What are the value's type and "
        "shape, and what does the docstring promise?",
        "zh": "测试的这一行无法使用你的代码返回的结果。它是什么类型、什么形状？docstring 里约定的又是什么？",
    },
    "no_parameter_of": REGISTRATION,
    "parameters": REGISTRATION,
    "buffers": REGISTRATION,
    "frozen": {
        "en": "What makes a tensor learnable, and which of your lines turns that off?",
        "zh": "是什么让一个张量可以学习？你的哪一行又把它关掉了？",
    },
    "not_reset": {
        "en": "Who calls reset_parameters when a module is built?",
        "zh": "新建模块时由谁来调用 reset_parameters？",
    },
    "same_stream": {
        "en": "Seed and order of the draw are right. Which range or spread is drawn, and what is done to the numbers "
        "afterwards?",
        "zh": "种子和采样的顺序都没问题。采样的范围或散布是多少？之后又对这些数做了什么？",
    },
    "constant": {
        "en": "Is anything drawn here at all? With which spread, and are the arguments in the right order?",
        "zh": "这里真的采样了吗？散布的范围由哪个参数决定，参数的顺序对吗？",
    },
    "shape": {
        "en": "Only the shape is checked here, not the numbers. Print it after every step: which step changes it?",
        "zh": "这里只看形状，不看数值。每一步之后都打印形状：是哪一步改变了它？",
    },
    "dtype": {
        "en": "Only the dtype is checked here, not the numbers. Where does this tensor get it: from an argument that "
        "you pass on, or from the last step that made it?",
        "zh": "这里只看 dtype，不看数值。这个张量的 dtype 来自哪里：传下去的参数，还是得到它的最后一步？",
    },
    "device": {
        "en": "Only the device is checked here, not the numbers. Follow it to the last line: on which device are the "
        "input, what you create or keep, and what you return?",
        "zh": "这里只看 device，不看数值。顺着每一行看：输入、你新建或保存的张量、返回的张量各在哪个设备上？",
    },
    "in_place": {
        "en": "This line writes into a tensor that must stay as it is. Does it work in place (a name ending in _, +=, "
        "item assignment), and on whose numbers?",
        "zh": "这一行写入了不能改动的张量。它是否在原地操作（以 _ 结尾的方法、+=、下标赋值），改的是谁的数？",
    },
    "changed": {
        "en": "A call must leave this unchanged. Which line works in place (a name ending in _, +=, item assignment), "
        "on this tensor or on a view of it?",
        "zh": "调用不能改动它。是哪一行在原地操作（以 _ 结尾的方法、+=、下标赋值）它或它的视图？",
    },
    "modes_differ": {
        "en": "What differs in training: dropout, noise, running statistics, self.training?",
        "zh": "训练模式下有什么不同：dropout、噪声、滑动统计量，还是 self.training？",
    },
    "not_as_new": {
        "en": "What does your module keep on self from an earlier call: a mask, ids, a converted copy? What may have "
        "changed since: the input, the parameter, its dtype?",
        "zh": "你的模块在 self 上保存了之前调用的什么：掩码、id，还是转换过的副本？此后什么可能变了：输入、参数，"
        "还是它的 dtype？",
    },
    "no_gradient": {
        "en": "Where is the gradient cut: by detach, .data, no_grad, or a newly created tensor?",
        "zh": "梯度在哪里被切断：detach、.data、no_grad，还是新建的张量？",
    },
    "elsewhere": {
        "en": "Which reshape, transpose or index moves the numbers?",
        "zh": "是哪个 reshape、transpose 或下标移动了这些数？",
    },
}

# What comes first, since it makes other tests fail as well: no result, then changed inputs, then shapes and dtypes.
# What a test itself cannot work with comes last: another test says more exactly what is wrong.
ORDER = (
    (
        *("names", "python", "error", "refused", "devices", "devices_plain", "in_place", "endless"),
        *("nothing_returned", "not_a_tensor"),
    ),
    ("not_reset", "changed", "modes_differ"),
    ("shape", "dtype", "device", "parameters", "frozen"),
    ("no_parameter_of",),
)


def rank(kind: str) -> int:
    """How early a failure of that kind is explained; 0 is first."""
    last = len(ORDER) + (kind == "unusable")
    return next((place for place, kinds in enumerate(ORDER) if kind in kinds), last)


def question_for(item: pytest.Item, error: BaseException, prop: Property) -> Words | None:
    """The question that a failing test asks; None where the message is enough.

    A test may give one itself: ``@pytest.mark.hint("too_large", en="...", zh="...")`` for failures of some kinds, or
    without a kind for all that are about values.
    """
    kind = kind_of(error)
    if kind in CLEAR:
        return None
    marks = list(item.iter_markers("hint"))
    own = next((mark.kwargs for mark in marks if kind in mark.args), None)
    general = next((mark.kwargs for mark in marks if not mark.args), prop.question)
    return own or QUESTIONS.get(kind, general)


UNIT = 2.0**-5  # values are rounded to multiples of this, far more coarsely than correct formulas differ
SHIFTS = (0.25, 0.75)  # of a unit: a value near a border of the one grid is in the middle of a cell of the other
MOST_VALUES = 4096
MOST = 2.0**52  # the number of a cell
KEY_LENGTH = 12  # of a signature, in hexadecimal digits
ELSEWHERE = re.compile(r"cuda|simulated")  # in the ids of cases that not every machine has
ADDRESS = re.compile(r"0x[0-9a-fA-F]+")  # in messages; other numbers there are sizes, which tell errors apart
SHAPE = re.compile(r"\[[\d, ]*\]")  # in a listing of tensors, beside names, which are everybody's own


@dataclass(frozen=True)
class Look:
    """How one test failed.

    Attributes:
        test: Name and case.
        kind: What failed, without any value.
        received: The values, if values failed.
    """

    test: str
    kind: tuple[str, ...]
    received: Tensor | None = None

    def rounded(self, shift: float) -> list[object]:
        """All of it as JSON, with values as numbers of cells of the grid."""
        if self.received is None:
            return [self.test, *self.kind, None]
        values = (self.received.double().flatten()[:MOST_VALUES] / UNIT + shift).tolist()
        cells = [math.floor(max(-MOST, min(one, MOST))) if math.isfinite(one) else str(one) for one in values]
        return [self.test, *self.kind, cells]


def look_of(nodeid: str, error: BaseException) -> Look | None:
    """How a test failed; None for a case that not every machine has."""
    test = nodeid.rpartition("::")[2]
    if ELSEWHERE.search(test):
        return None
    if not isinstance(error, MismatchError):
        return Look(test, (type(error).__name__, ADDRESS.sub("#", str(error))[:200]))
    if error.received is None:
        told = [
            f"{fields.get('received', '')}{SHAPE.findall(str(fields.get('found', '')))}" for _, fields in error.parts
        ]
        return Look(test, (*(key for key, _ in error.parts), *told))
    dtype = str(error.received.dtype).removeprefix("torch.")
    # Which of a test's comparisons failed: they are told by what they are about.
    step = [
        f"{key}{fields.get('what', {}).get('en', '')}" for key, fields in error.parts if key in ("about", "changed")
    ]
    return Look(test, (dtype, str(list(error.received.shape)), *step), error.received)


def coarseness(test: str) -> int:
    """How coarse the values of a case are, by its dtypes: 16-bit rounding may move a value to another cell."""
    return 2 if "bfloat16" in test else 1 if "float16" in test else 0


def signatures(property_id: str, looks: Iterable[Look]) -> list[str]:
    """The failures of one property as a hash, once for each grid; nothing if there are none.

    Where several cases fail, only those of the finest dtypes are looked at.
    """
    found = sorted(looks, key=lambda look: look.test)
    if not found:
        return []
    finest = min(coarseness(look.test) for look in found)
    telling = [look for look in found if coarseness(look.test) == finest]
    written = (json.dumps([property_id, shift, *(look.rounded(shift) for look in telling)]) for shift in SHIFTS)
    return [hashlib.sha256(text.encode()).hexdigest()[:KEY_LENGTH] for text in written]


Explanation = Mapping[str, str]  # the mistake's name, and what it is in each language

# A student's copy, and what `make signatures` writes in the course's own repository.
PLACES = (Path(__file__).with_name("signatures.json"), ROOT / "build" / "signatures" / "signatures.json")
MOST_CAUSES = 2  # more would be no answer


@cache
def _known() -> Any:
    path = next((place for place in PLACES if place.is_file()), None)
    return json.loads(path.read_text(encoding="utf-8")) if path else {"causes": {}, "hints": {}}


def required(property_id: str) -> Explanation:
    """What a property asks for."""
    return _known()["hints"].get(property_id, {})


def mistakes(property_id: str, looks: Iterable[Look], failing: Collection[str]) -> list[list[Explanation]]:
    """The known mistakes that explain a property's failures; ``failing`` are all properties that fail."""
    return explanations(_known(), signatures(property_id, looks), failing)


def explanations(known: Mapping[str, Any], keys: Iterable[str], failing: Collection[str]) -> list[list[Explanation]]:
    """The mistakes that together explain a property's failures, or two of which either does; none if in more doubt.

    Of several causes with the same signature, those are discarded that would make other properties fail as well; of the
    rest, those are named that explain most failing properties, with the fewest mistakes.

    Args:
        known: The contents of ``signatures.json``. Under ``causes``, each signature has its possible causes: the names
            of the mistakes, and the other properties that they fail. Under ``hints``, each name has its explanation.
        keys: The signatures of the property's failures.
        failing: The ids of all properties that fail.
    """
    causes_of = known["causes"]
    found = [{(tuple(names), frozenset(also)) for names, also in causes_of[key]} for key in keys if key in causes_of]
    if not found:
        return []
    shared = set.intersection(*({names for names, _ in causes} for causes in found))
    possible = {(names, also) for causes in found for names, also in causes if names in shared and also <= set(failing)}
    most = max((len(also) for _, also in possible), default=0)
    best = {names for names, also in possible if len(also) == most}
    fewest = min(map(len, best), default=0)  # of one mistake and of two that look like it, it is the one
    best = sorted(names for names in best if len(names) == fewest)
    sure = len(best) == 1 or (len(best) == MOST_CAUSES and fewest == 1)
    return [[{"name": name, **known["hints"][name]} for name in names] for names in best] if sure else []
