"""The implementations of ``visible`` on which ``make practice`` runs your tests: correct and wrong ones.

The docstring of ``right_1`` is the contract; that of a wrong one is the question asked until one of your tests catches
it.
"""

import torch
from torch import Tensor

FUNCTION = "visible"


def right_1(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which tokens of packed documents each token may attend to.

    Args:
        documents: ``[s]``, int64: the id of each token's document. Ids are any numbers, in any order; tokens with equal
            ids belong to one document, even with tokens of other documents between them. ``s`` may be 0.
        window: A token sees the last ``window`` positions of the whole sequence, including its own.
        sinks: The first ``sinks`` tokens of each document are seen from any distance.

    Returns:
        ``[s, s]``, bool, a new tensor: ``[i, j]`` is True exactly if ``j`` belongs to the document of ``i``, is not
        later than ``i``, and is in the window or a sink. ``documents`` is not modified.

    Raises:
        ValueError: If ``window < 1`` or ``sinks < 0``.
    """
    _refuse(window, sinks)
    back, same, earlier = _compared(documents)
    return same & (back >= 0) & ((back < window) | (earlier < sinks))


def _refuse(window: int, sinks: int, least: int = 1) -> None:
    if window < least or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")


def _compared(documents: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """How far back ``j`` is from ``i``, whether both are in one document, and how many of that come before ``j``."""
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    return back, same, (same & (back > 0)).sum(dim=1)


def right_2(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """The same, token by token."""
    if window <= 0:
        raise ValueError(f"window={window}: a token sees itself")
    if sinks <= -1:
        raise ValueError(f"sinks={sinks} is negative")
    mask = torch.zeros(len(documents), len(documents), dtype=torch.bool)
    members: dict[int, list[int]] = {}
    for token, document in enumerate(documents.tolist()):
        mine = members.setdefault(document, [])
        mine.append(token)
        for other in mine:
            mask[token, other] = other > token - window or other in mine[:sinks]
    return mask


def wrong_1(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Where exactly does the window end? Compare the last position inside it with the first one outside.

    窗口究竟到哪里为止？请比较窗口内的最后一个位置和窗口外的第一个位置。
    """
    _refuse(window, sinks)
    back, same, earlier = _compared(documents)
    return same & (back >= 0) & ((back <= window) | (earlier < sinks))


def wrong_2(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """May a token see one that comes after it, when `sinks` is not 0?

    `sinks` 不为 0 时，token 可以看到它后面的 token 吗？
    """
    _refuse(window, sinks)
    back, same, earlier = _compared(documents)
    return same & (((back >= 0) & (back < window)) | (earlier < sinks))


def wrong_3(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Whose first tokens are the sinks? Try a sequence with more than one document.

    sink 是谁的开头几个 token？请试试含有多个文档的序列。
    """
    _refuse(window, sinks)
    back, same, _ = _compared(documents)
    return same & (back >= 0) & ((back < window) | (torch.arange(len(documents)) < sinks))


def wrong_4(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What does the contract say about tokens of one document with other tokens between them?

    同一文档的 token 被隔开时，约定是怎么说的？
    """
    _refuse(window, sinks)
    back, same, earlier = _compared(torch.cumsum(torch.diff(documents, prepend=documents[:1]) != 0, dim=0))
    return same & (back >= 0) & ((back < window) | (earlier < sinks))


def wrong_5(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which of the conditions holds for sinks, too? Look at the sinks of another document.

    哪些条件对 sink 也成立？请看看别的文档的 sink。
    """
    _refuse(window, sinks)
    back, same, earlier = _compared(documents)
    return (back >= 0) & (same & (back < window) | (earlier < sinks))


def wrong_6(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which arguments must raise an error? Do you test the one closest to the boundary?

    哪些参数应当抛出异常？你试过其中最接近边界的那个吗？
    """
    _refuse(window, sinks, least=0)
    back, same, earlier = _compared(documents)
    return same & (back >= 0) & ((back < window) | (earlier < sinks))
