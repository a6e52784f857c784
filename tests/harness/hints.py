"""Which question a failing test gets, and which failure is explained first: what the test saw decides both."""

from collections.abc import Mapping

import pytest

from .compare import MismatchError
from .messages import Words
from .rubric import Property

# By the kind of failure. Any other kind gets the question of its property.
QUESTIONS: Mapping[str, Words] = {
    "shape": {
        "en": "Only the shape is checked here, not the numbers. Print it after every step: which step changes it?",
        "zh": "这里只看形状，不看数值。每一步之后都打印形状：是哪一步改变了它？",
    },
    "dtype": {
        "en": "Only the dtype is checked here, not the numbers. Which of your last steps determines it?",
        "zh": "这里只看 dtype，不看数值。是最后的哪一步决定了它？",
    },
    "device": {
        "en": "Only the device is checked here, not the numbers. Where is each tensor that you create or keep?",
        "zh": "这里只看 device，不看数值。你新建或保存的每个张量在哪个设备上？",
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
    "no_gradient": {
        "en": "Where is the gradient cut: by detach, .data, no_grad, or a newly created tensor?",
        "zh": "梯度在哪里被切断：detach、.data、no_grad，还是新建的张量？",
    },
    "elsewhere": {
        "en": "These are the right numbers in the wrong places. Which reshape, transpose or index moves them?",
        "zh": "数是对的，位置不对。是哪个 reshape、transpose 或下标移动了它们？",
    },
}

# The causes that come first, since they make other tests fail as well: no result, then changed inputs, then dtypes.
FIRST = (
    ("error", "nothing_returned", "not_a_tensor"),
    ("changed", "modes_differ"),
    ("shape", "dtype", "device"),
)


def kind_of(error: BaseException) -> str:
    """What kind of failure an error is: ``error``, or the kind of a mismatch."""
    return error.kind if isinstance(error, MismatchError) else "error"


def rank(kind: str) -> int:
    """How early a failure of that kind is explained; 0 is first."""
    return next((place for place, kinds in enumerate(FIRST) if kind in kinds), len(FIRST))


def question_for(item: pytest.Item, error: BaseException, prop: Property) -> Words:
    """The question that a failing test asks.

    A test may give one itself: ``@pytest.mark.hint("too_large", en="...", zh="...")`` for failures of some kinds, or
    without a kind for all.
    """
    kind = kind_of(error)
    own = (mark.kwargs for mark in item.iter_markers("hint") if kind in mark.args or not mark.args)
    return next(own, QUESTIONS.get(kind, prop.question))
