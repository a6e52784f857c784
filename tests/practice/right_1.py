"""A right implementation: all pairs of places at once."""

import torch
from torch import Tensor


def visible(documents: Tensor, window: int, sinks: int = 0) -> Tensor:
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
