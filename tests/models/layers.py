"""The student's layers with a model's weights, for the places that a model has, and what went wrong with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module

import torch
from torch import Tensor, nn

from ..harness import rubric
from ..harness.compare import MismatchError, assert_kind
from ..harness.feedback import why_not_imported
from ..harness.parameters import listing, set_values
from ..harness.raised import place_of
from ..harness.student import is_todo, module_of, time_limit
from ..harness.terminal import Language, say

LIMIT_S = 20.0  # for one call of a layer, which takes milliseconds
OUTPUT = {"en": "output", "zh": "输出"}
IDS = torch.tensor([[0, 1]])
Layer = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model, as it was trained.

    Attributes:
        vocab: Characters or tokens that the model knows.
        hidden: Features of a token.
        heads: Attention heads of a block; each has ``hidden // heads`` features.
        blocks: Transformer blocks.
        inner: Features between the two linear layers of a block.
        trained: The longest sequence in training.
        base: Of the rotary embedding.
        eps: Of the norms.
    """

    vocab: int
    hidden: int
    heads: int
    blocks: int
    inner: int
    trained: int
    base: int
    eps: float

    @property
    def head_dim(self) -> int:
        """Features of a head, which are also a group of each norm."""
        return self.hidden // self.heads

    @property
    def norms(self) -> int:
        """How many norms there are: two in a block, and a last one."""
        return 2 * self.blocks + 1


@dataclass(frozen=True)
class Slots:
    """The layers that a model is handed.

    Attributes:
        embed: From ids ``[b, s]`` to ``[b, s, hidden]``.
        norms: As many as ``Sizes.norms``, each from ``[b, s, hidden]`` to the same shape.
        positions: Puts positions into queries and keys, ``[b, s, heads, head_dim]``.
    """

    embed: Layer
    norms: list[Layer]
    positions: Layer


class Stopped(Exception):
    """A student's layer raised an error, never ended, or gave what no model can go on with.

    Attributes:
        name: Of the layer.
        why: What happened, and where, in one line.
    """

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name, self.why = name, why


@dataclass(frozen=True)
class Report:
    """Whether a student's layer runs in the model.

    Attributes:
        name: Of the class.
        state: ``yours``, ``todo`` while a stub is left, or ``stopped``.
        why: The place that is still to write, or the error; empty if there is none.
    """

    name: str
    state: str
    why: str = ""


@contextmanager
def stopping(name: str, file: str, language: Language) -> Iterator[None]:
    """Turn an error in the student's class into :class:`Stopped`, and end what takes too long."""
    try:
        with time_limit(LIMIT_S, say(language, "too_long", seconds=LIMIT_S)):
            yield
    except (Exception, SystemExit) as error:
        place, message = why_not_imported(error, language)
        raise Stopped(name, f"{' '.join(message.split())} ({place or file})") from error


class Desk:
    """Makes layers of the student's classes, with the weights of a model, and keeps a report on each class."""

    def __init__(self, language: Language) -> None:
        self._language = language
        self._files = {name: file for task in rubric.load().tasks for name, file in task.names.items()}
        self.reports: list[Report] = []

    def norms(self, gammas: Tensor, group_size: int, eps: float) -> list[Layer] | None:
        """The student's norm for each row of ``gammas: [norms, hidden]``; None if it does not run."""
        fields = {"hidden_size": gammas.shape[1], "group_size": group_size, "eps": eps}
        probe = torch.ones(1, 2, gammas.shape[1])
        return self._made("GroupRMSNorm", lambda norm: [filled(norm(**fields), gamma) for gamma in gammas], probe)

    def embedding(self, table: Tensor) -> Layer | None:
        """The student's whole table; None if it does not run."""
        fields = dict(zip(("vocab_size", "emb_size"), table.shape, strict=True))
        made = self._made("VocabEmbedding", lambda whole: [filled(whole(**fields), table)], IDS, table.shape[1])
        return made[0] if made else None

    def shards(self, table: Tensor, ranks: int) -> Layer | None:
        """The student's shards of all ranks, added up as a cluster would; None if they do not run."""
        fields = dict(zip(("vocab_size", "emb_size"), table.shape, strict=True)) | {"world_size": ranks}

        def make(shard: Callable[..., nn.Module]) -> list[Layer]:
            return [filled(shard(rank=rank, **fields), part, table) for rank, part in enumerate(table.chunk(ranks))]

        made = self._made("ParallelVocabEmbedding", make, IDS, table.shape[1])
        return (lambda ids: torch.stack([shard(ids) for shard in made]).sum(0)) if made else None

    def ropes(self, head_dim: int, ways: Mapping[str, Mapping[str, int]]) -> dict[str, Layer]:
        """The student's rotary embedding, made in several ways, by their names; nothing if it does not run."""
        probe = torch.ones(1, 2, 3, head_dim)
        made = self._made("NTKAwareRoPE", lambda rope: [rope(dim=head_dim, **way) for way in ways.values()], probe)
        return dict(zip(ways, made or [], strict=False))

    def _made(self, name: str, make: Callable[..., list[Layer]], probe: Tensor, width: int = 0) -> list[Layer] | None:
        """Layers of the student's class ``name``, each of which has taken ``probe``.

        One that raises an error, never ends, or returns something else than finite numbers in float32, in the shape of
        its input with a dimension of ``width`` added if that is not 0, raises :class:`Stopped`.
        """
        file = self._files.get(name)
        if not file:  # a task that was deleted: the model keeps its stand-in
            return None

        def guarded(layer: Layer, x: Tensor) -> Tensor:
            with stopping(name, file, self._language):
                output = layer(x.clone())
                shape = (*x.shape, width) if width else tuple(x.shape)
                assert_kind(output, shape=shape, dtype=torch.float32, device=x.device)
                if not output.isfinite().all():
                    raise MismatchError(("about", {"what": OUTPUT}), ("not_finite", {}))
            return output

        try:
            with stopping(name, file, self._language):
                layers = make(getattr(import_module(module_of(file)), name))
            for layer in layers:
                guarded(layer, probe)
        except Stopped as stop:
            todo = is_todo(stop.__cause__) and Report(name, "todo", place_of(stop.__cause__))
            self.reports.append(todo or Report(name, "stopped", stop.why))
            return None
        self.reports.append(Report(name, "yours"))
        return [partial(guarded, layer) for layer in layers]


def filled(module: nn.Module, *choices: Tensor) -> nn.Module:
    """Write those of the weights in ``choices`` into a module that it has room for, whatever its parameters are."""
    parameters = list(module.parameters())
    room = sum(parameter.numel() for parameter in parameters)
    for weights in choices:
        if weights.numel() == room:
            parts = weights.flatten().split([parameter.numel() for parameter in parameters])
            for parameter, part in zip(parameters, parts, strict=True):
                set_values(parameter, part)
            return module
    found = listing(module.named_parameters())
    raise MismatchError(("parameters", {"found": found, "expected": str(list(choices[0].shape))}))
