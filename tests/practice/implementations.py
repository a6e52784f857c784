"""What ``make practice`` runs your tests on: right implementations of ``visible``, and wrong ones.

``right_1`` has the contract. What should your tests ask the wrong ones?
"""

import torch
from torch import Tensor


def right_1(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """Which tokens of packed documents each token may attend to.

    Args:
        documents: ``[s]``, int64: the id of each token's document. Ids are any numbers, in any order; tokens with equal
            ids are of one document, also where tokens of others stand between them. ``s`` may be 0.
        window: A token sees the last ``window`` places, its own among them; places are those of the whole sequence.
        sinks: The first ``sinks`` tokens of each document are seen from any distance.

    Returns:
        ``[s, s]``, bool, a new tensor: ``[i, j]`` is True exactly if ``j`` is of the document of ``i``, is not later
        than ``i``, and is in the window or a sink. ``documents`` stays as it is.

    Raises:
        ValueError: If ``window < 1`` or ``sinks < 0``.
    """
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)  # tokens of the same document before each one
    return same & (back >= 0) & ((back < window) | (earlier[None, :] < sinks))


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
    """What is wrong here?"""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return same & (back >= 0) & ((back <= window) | (earlier[None, :] < sinks))


def wrong_2(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What is wrong here?"""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return same & (((back >= 0) & (back < window)) | (earlier[None, :] < sinks))


def wrong_3(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What is wrong here?"""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    return same & (back >= 0) & ((back < window) | (place[None, :] < sinks))


def wrong_4(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What is wrong here?"""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    run = torch.cumsum(torch.diff(documents, prepend=documents[:1]) != 0, dim=0)
    same = run[:, None] == run[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return same & (back >= 0) & ((back < window) | (earlier[None, :] < sinks))


def wrong_5(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What is wrong here?"""
    if window < 1 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return (back >= 0) & (same & (back < window) | (earlier[None, :] < sinks))


def wrong_6(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
    """What is wrong here?"""
    if window < 0 or sinks < 0:
        raise ValueError(f"window={window} has to be at least 1, and sinks={sinks} at least 0.")
    place = torch.arange(len(documents))
    back = place[:, None] - place[None, :]
    same = documents[:, None] == documents[None, :]
    earlier = (same & (back > 0)).sum(dim=1)
    return same & (back >= 0) & ((back < window) | (earlier[None, :] < sinks))
