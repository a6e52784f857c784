"""The checks that students see refuse the slips that the text warns of."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

from grader.lab.selftest.exercises import cells, check
from grader.lab.site.notebooks import sources


@dataclass(frozen=True)
class Slip:
    """A wrong answer to an exercise, by an edit of the right one.

    Attributes:
        exercise: The ``grade_id`` of its cell.
        law: What the check that refuses it says.
    """

    exercise: str
    right: str
    wrong: str
    law: str


SLIPS = {  # by the number of the exercise, which begins with that of its notebook
    "0.1 signed": Slip("order_gap", ".abs()", "", "so the gap is 3"),
    "0.2 nan": Slip(
        "causal_attend",
        "scores.masked_fill(future, -torch.inf)",
        "scores + future.float() * -torch.inf",
        "zero times infinity",
    ),
    "0.2 a finite mask": Slip("causal_attend", "-torch.inf", "-1e4", "however high or low the scores"),
    "0.3 cut off": Slip("position_from_share", ".round()", "", "round"),
    "0.3 no whole numbers": Slip("position_from_share", ".long()", "", "convert them to long"),
    "1.1 driver": Slip("shift_residual", 'driver="gelsd"', 'driver="gels"', "twice"),
    "1.1 float32": Slip(
        "shift_residual",
        "before, after = before.double(), after.double()",
        "before, after = before.float(), after.float()",
        "float64 sees it",
    ),
    "1.1 a sum over features": Slip(
        "shift_residual", ".square().mean().sqrt()", ".square().sum(-1).mean().sqrt()", "all entries"
    ),
    "1.2 positions in a row": Slip(
        "sinusoidal", "positions[:, None]", "torch.arange(len(positions))[:, None]", "At position 0"
    ),
    "1.2 precision": Slip(
        "sinusoidal", "-torch.arange(0, dim, 2) ", "-torch.arange(0.0, dim, 2).double() ", "dtype float32"
    ),
    "1.3 one frequency": Slip("shift_matrix", " * base ** (-2 * pair / dim)", "", "pair 1 by 3/10"),
    "1.3 base ignored": Slip("shift_matrix", " * base **", " * 10000.0 **", "pair 1 by 3/10"),
    "2.1 stacked in front": Slip("rotate", "dim=-1", "dim=0", "one pair"),
    "2.2 base ignored": Slip("speeds", "return base", "return 10000.0", "base 16"),
    "2.3 precision": Slip("rotation_matrix", "(*blocks)", "(*blocks).float()", "dtype of the angles"),
    "2.4 signed": Slip("shift_gap", "abs(change.item())", "change.item()", "a fall of 15/16"),
    "2.4 last": Slip("shift_gap", "range(1, longest + 1)", "[longest]", "not the last one"),
    "2.4 one too few": Slip("shift_gap", "longest + 1", "longest", "from 1 * 2 to 4 * 5"),
    "2.4 from lowest to highest": Slip(
        "shift_gap",
        "max(abs(change.item()) for change in changes)",
        "float(max(0, *changes)) - float(min(0, *changes))",
        "counted from the start",
    ),
    "3.1 heads": Slip("rotate_adjacent", ".unsqueeze(-2)", "", "angles belong to positions"),
    "3.2 heads": Slip("rotate_complex", ".unsqueeze(-2)", "", "factors belong to positions"),
    "3.3 heads": Slip("rotate_half_split", ".unsqueeze(-2)", "", "angles belong to positions"),
    "3.4 no indices": Slip("half_split_order", ".T.flatten()", ".T.flatten().float()", "dtype long"),
    "3.5 in place": Slip("convert", "dict(layer)", "layer", "belongs to the caller"),
    "3.5 heads as one": Slip("convert", "unflatten(0, (number,", "unflatten(0, (1,", "Each head by itself"),
    "4.1 conjugate": Slip("decay_bound", "key.conj()", "key", "With the conjugate"),
    "4.2 no content": Slip("key_for", "query * ", "", "score is highest"),
    "4.2 conjugate": Slip("key_for", "query * ", "query.conj() * ", "score is highest"),
    "4.3 cosines only": Slip("table_error", ", rounded.sin() - exact.sin()", "", "265"),
    "4.3 angles": Slip("table_error", ".to(angles_in)", "", "265"),
    "4.3 cosines in 16 bits": Slip("table_error", ".to(angles_in).double()", ".to(angles_in)", "265"),
    "4.3 products in 16 bits": Slip(
        "table_error",
        "p.to(positions_in).double() * theta.to(frequencies_in).double()",
        "p.to(positions_in).to(frequencies_in) * theta.to(frequencies_in)",
        "only what is asked for",
    ),
    "5.1 the last": Slip("reach", ".min()", ".max()", "the smaller sets the limit"),
    "5.1 the first slow pair": Slip(
        "reach", "[partial].min().item()", "[partial][0].item()", "the smaller sets the limit"
    ),
    "5.1 radians": Slip("reach", "turns(theta, trained)", "trained * theta", "less than a turn"),
    "6.1 mean first": Slip(
        "loss_by_position", ".squeeze(-1).mean(dim=0)", ".squeeze(-1).exp().mean(dim=0).log()", "(ln 2 + ln 8) / 2"
    ),
    "5.4 growth": Slip(
        "dynamic_base",
        "growth * max(length, trained) / trained - (growth - 1)",
        "max(length, trained) / trained",
        "kappa = 2 * 3.5 - 1",
    ),
    "5.5 one base": Slip("decode", "base_at(step + 1)", "base_at(len(keys))", "The fifth row"),
    "6.1 logarithm of nothing": Slip(
        "loss_by_position", "log_softmax(logits, dim=-1)", "softmax(logits, dim=-1).log()", "-500"
    ),
    "6.2 angle": Slip(
        "clamped_angles",
        "torch.where(clamped, far.clamp(max=limit), far) * theta",
        "torch.where(clamped, (far * theta).clamp(max=limit), far * theta)",
        "pair 1 by 2 times 1/2",
    ),
    "6.2 wrong pairs": Slip("clamped_angles", "where(clamped", "where(~clamped", "pair 0 turns by 7"),
    "6.3 ahead": Slip("weight_at_distances", "diagonal(-distance", "diagonal(distance", "one back"),
    "6.3 all queries": Slip("weight_at_distances", "[..., first - distance :]", "", "Queries 1 and 2"),
    "6.3 total": Slip("weight_at_distances", ".mean(-1)", ".sum(-1)", "Queries 1 and 2"),
    "7.1 precision": Slip("alibi_slopes", "neat, between", "neat.double(), between", "float32"),
    "7.2 nan": Slip(
        "alibi_mask",
        "bias.masked_fill(distance < 0, -torch.inf)",
        "bias + (distance < 0) * -torch.inf",
        "0 times infinity",
    ),
    "8.1 scale": Slip("latent_scores", "] + rotated.shape[-1]", "]", "6 / sqrt(4)"),
    "8.2 one axis": Slip("axis_angles", "positions[axes].T", "positions[0][:, None]", "Pair 0 turns"),
    "8.3 one too many": Slip("windowed_weights", ">= window", "> window", "Token 3 sees two"),
    "8.3 a column": Slip("windowed_weights", "[:, :-1]", "", "none for the sink"),
    "8.3 no sink": Slip("windowed_weights", "(with_sink, dim=-1)[:, :-1]", "(seen, dim=-1)", "Token 0 sees"),
    "8.5 scale": Slip("turned_weights", " / keys.shape[-1] ** 0.5", "", "A quarter turn"),
    "8.5 queries alone": Slip("turned_weights", "rotate(keys, angles).T", "keys.T", "A quarter turn"),
    "8.5 a strict mask": Slip("turned_weights", ".triu(1)", ".triu()", "Equal scores"),
    "8.4 PI spares": Slip("read_frequencies", "share = torch.zeros_like(theta)", "pass", "pair 0 too"),
    "8.4 heat for all": Slip(
        "read_frequencies", 'rope["rope_theta"]), 1.0', 'rope["rope_theta"]), 0.1 * math.log(stretch) + 1', "Only yarn"
    ),
    "8.4 the other share": Slip("read_frequencies", "share = kept", "share = 1 - kept", "pair 0 has 1"),
    "8.4 features for pairs": Slip("read_frequencies", "* dim / 2)", "* dim)", "the share counts pairs"),
    "8.4 llama3 unread": Slip("read_frequencies", '("llama3", "yarn")', '("yarn",)', "llama3 blends in the same way"),
    "8.4 no heat": Slip("read_frequencies", "0.1 * math.log(stretch) + 1", "1.0", "0.1 ln 16 + 1"),
}


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures open no window."""
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.slow
@pytest.mark.parametrize("name", SLIPS)
def test_the_shown_checks_refuse_a_slip_by_its_law(name: str) -> None:
    slip, notebook = SLIPS[name], next(one.stem for one in sources.scripts() if one.stem[0] == name[0])
    right = cells(notebook)[slip.exercise]
    assert slip.right in right
    check(notebook, slip.exercise, right)
    with pytest.raises((AssertionError, RuntimeError)) as refused:
        check(notebook, slip.exercise, right.replace(slip.right, slip.wrong))
    if refused.type is AssertionError:  # some builds of LAPACK refuse a matrix that lacks rank, in words of their own
        assert slip.law in str(refused.value)
