"""The checks that students see refuse the slips that the text warns of."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

pytest.importorskip("nbformat", reason="the extra 'notebooks' is not installed: make notebooks")

from grader.lab.selftest.exercises import cells, check


@dataclass(frozen=True)
class Slip:
    """A wrong answer to an exercise, by an edit of the right one.

    Attributes:
        exercise: The ``grade_id`` of its cell.
        law: What the check that refuses it says.
    """

    notebook: str
    exercise: str
    right: str
    wrong: str
    law: str


SLIPS = {
    "0.1 signed": Slip("0_why_position", "order_gap", ".abs()", "", "so the gap is 3"),
    "0.2 nan": Slip(
        "0_why_position",
        "causal_attend",
        "scores.masked_fill(future, -torch.inf)",
        "scores + future.float() * -torch.inf",
        "zero times infinity",
    ),
    "0.2 a finite mask": Slip(
        "0_why_position", "causal_attend", "-torch.inf", "-1e4", "however high or low the scores"
    ),
    "0.3 cut off": Slip("0_why_position", "position_from_share", ".round()", "", "round"),
    "0.3 no whole numbers": Slip("0_why_position", "position_from_share", ".long()", "", "convert them to long"),
    "1.1 driver": Slip("1_before_rope", "shift_residual", 'driver="gelsd"', 'driver="gels"', "twice"),
    "1.1 float32": Slip(
        "1_before_rope",
        "shift_residual",
        "before, after = before.double(), after.double()",
        "before, after = before.float(), after.float()",
        "float64 sees it",
    ),
    "1.1 a sum over features": Slip(
        "1_before_rope", "shift_residual", ".square().mean().sqrt()", ".square().sum(-1).mean().sqrt()", "all entries"
    ),
    "1.2 positions in a row": Slip(
        "1_before_rope", "sinusoidal", "positions[:, None]", "torch.arange(len(positions))[:, None]", "At position 0"
    ),
    "1.2 precision": Slip(
        "1_before_rope",
        "sinusoidal",
        "-torch.arange(0, dim, 2) ",
        "-torch.arange(0.0, dim, 2).double() ",
        "dtype float32",
    ),
    "1.3 one frequency": Slip("1_before_rope", "shift_matrix", " * base ** (-2 * pair / dim)", "", "pair 1 by 3/10"),
    "1.3 base ignored": Slip("1_before_rope", "shift_matrix", " * base **", " * 10000.0 **", "pair 1 by 3/10"),
    "2.1 stacked in front": Slip("2_deriving_rope", "rotate", "dim=-1", "dim=0", "one pair"),
    "2.2 base ignored": Slip("2_deriving_rope", "speeds", "return base", "return 10000.0", "base 16"),
    "2.3 precision": Slip(
        "2_deriving_rope", "rotation_matrix", "(*blocks)", "(*blocks).float()", "dtype of the angles"
    ),
    "2.4 signed": Slip("2_deriving_rope", "shift_gap", "abs(change.item())", "change.item()", "a fall of 15/16"),
    "2.4 last": Slip("2_deriving_rope", "shift_gap", "range(1, longest + 1)", "[longest]", "not the last one"),
    "2.4 one too few": Slip("2_deriving_rope", "shift_gap", "longest + 1", "longest", "from 1 * 2 to 4 * 5"),
    "2.4 from lowest to highest": Slip(
        "2_deriving_rope",
        "shift_gap",
        "max(abs(change.item()) for change in changes)",
        "float(max(0, *changes)) - float(min(0, *changes))",
        "counted from the start",
    ),
    "3.1 heads": Slip("3_three_implementations", "rotate_adjacent", ".unsqueeze(-2)", "", "angles belong to positions"),
    "3.2 heads": Slip("3_three_implementations", "rotate_complex", ".unsqueeze(-2)", "", "factors belong to positions"),
    "3.3 heads": Slip(
        "3_three_implementations", "rotate_half_split", ".unsqueeze(-2)", "", "angles belong to positions"
    ),
    "3.4 no indices": Slip(
        "3_three_implementations", "half_split_order", ".T.flatten()", ".T.flatten().float()", "dtype long"
    ),
    "3.5 in place": Slip("3_three_implementations", "convert", "dict(layer)", "layer", "belongs to the caller"),
    "3.5 heads as one": Slip(
        "3_three_implementations", "convert", "unflatten(0, (number,", "unflatten(0, (1,", "Each head by itself"
    ),
    "4.1 conjugate": Slip("4_decay_and_precision", "decay_bound", "key.conj()", "key", "With the conjugate"),
    "4.2 no content": Slip("4_decay_and_precision", "key_for", "query * ", "", "score is highest"),
    "4.2 conjugate": Slip("4_decay_and_precision", "key_for", "query * ", "query.conj() * ", "score is highest"),
    "4.3 cosines only": Slip("4_decay_and_precision", "table_error", ", rounded.sin() - exact.sin()", "", "265"),
    "4.3 angles": Slip("4_decay_and_precision", "table_error", ".to(angles_in)", "", "265"),
    "4.3 cosines in 16 bits": Slip(
        "4_decay_and_precision", "table_error", ".to(angles_in).double()", ".to(angles_in)", "265"
    ),
    "4.3 products in 16 bits": Slip(
        "4_decay_and_precision",
        "table_error",
        "p.to(positions_in).double() * theta.to(frequencies_in).double()",
        "p.to(positions_in).to(frequencies_in) * theta.to(frequencies_in)",
        "only what is asked for",
    ),
    "5.1 the last": Slip("5_longer_contexts", "reach", ".min()", ".max()", "the smaller sets the limit"),
    "5.1 the first slow pair": Slip(
        "5_longer_contexts", "reach", "[partial].min().item()", "[partial][0].item()", "the smaller sets the limit"
    ),
    "5.1 radians": Slip("5_longer_contexts", "reach", "turns(theta, trained)", "trained * theta", "less than a turn"),
    "6.1 mean first": Slip(
        "6_train_short_test_long",
        "loss_by_position",
        ".squeeze(-1).mean(dim=0)",
        ".squeeze(-1).exp().mean(dim=0).log()",
        "(ln 2 + ln 8) / 2",
    ),
    "5.4 growth": Slip(
        "5_longer_contexts",
        "dynamic_base",
        "growth * max(length, trained) / trained - (growth - 1)",
        "max(length, trained) / trained",
        "kappa = 2 * 3.5 - 1",
    ),
    "5.5 one base": Slip("5_longer_contexts", "decode", "base_at(step + 1)", "base_at(len(keys))", "The fifth row"),
    "6.1 logarithm of nothing": Slip(
        "6_train_short_test_long",
        "loss_by_position",
        "log_softmax(logits, dim=-1)",
        "softmax(logits, dim=-1).log()",
        "-500",
    ),
    "6.2 angle": Slip(
        "6_train_short_test_long",
        "clamped_angles",
        "torch.where(clamped, far.clamp(max=limit), far) * theta",
        "torch.where(clamped, (far * theta).clamp(max=limit), far * theta)",
        "pair 1 by 2 times 1/2",
    ),
    "6.2 wrong pairs": Slip(
        "6_train_short_test_long", "clamped_angles", "where(clamped", "where(~clamped", "pair 0 turns by 7"
    ),
    "6.3 ahead": Slip(
        "6_train_short_test_long", "weight_at_distances", "diagonal(-distance", "diagonal(distance", "one back"
    ),
    "6.3 all queries": Slip(
        "6_train_short_test_long", "weight_at_distances", "[..., first - distance :]", "", "Queries 1 and 2"
    ),
    "6.3 total": Slip("6_train_short_test_long", "weight_at_distances", ".mean(-1)", ".sum(-1)", "Queries 1 and 2"),
    "7.1 precision": Slip("7_alibi_and_nope", "alibi_slopes", "neat, between", "neat.double(), between", "float32"),
    "7.2 nan": Slip(
        "7_alibi_and_nope",
        "alibi_mask",
        "bias.masked_fill(distance < 0, -torch.inf)",
        "bias + (distance < 0) * -torch.inf",
        "0 times infinity",
    ),
    "8.1 scale": Slip("8_models_of_2026", "latent_scores", "] + rotated.shape[-1]", "]", "6 / sqrt(4)"),
    "8.2 one axis": Slip(
        "8_models_of_2026", "axis_angles", "positions[axes].T", "positions[0][:, None]", "Pair 0 turns"
    ),
    "8.3 one too many": Slip("8_models_of_2026", "windowed_weights", ">= window", "> window", "Token 3 sees two"),
    "8.3 a column": Slip("8_models_of_2026", "windowed_weights", "[:, :-1]", "", "none for the sink"),
    "8.3 no sink": Slip(
        "8_models_of_2026", "windowed_weights", "(with_sink, dim=-1)[:, :-1]", "(seen, dim=-1)", "Token 0 sees"
    ),
    "8.5 scale": Slip("8_models_of_2026", "turned_weights", " / keys.shape[-1] ** 0.5", "", "A quarter turn"),
    "8.5 queries alone": Slip(
        "8_models_of_2026", "turned_weights", "rotate(keys, angles).T", "keys.T", "A quarter turn"
    ),
    "8.5 a strict mask": Slip("8_models_of_2026", "turned_weights", ".triu(1)", ".triu()", "Equal scores"),
    "8.4 PI spares": Slip(
        "8_models_of_2026", "read_frequencies", "share = torch.zeros_like(theta)", "pass", "pair 0 too"
    ),
    "8.4 heat for all": Slip(
        "8_models_of_2026",
        "read_frequencies",
        'rope["rope_theta"]), 1.0',
        'rope["rope_theta"]), 0.1 * math.log(stretch) + 1',
        "Only yarn",
    ),
    "8.4 the other share": Slip(
        "8_models_of_2026", "read_frequencies", "share = kept", "share = 1 - kept", "pair 0 has 1"
    ),
    "8.4 features for pairs": Slip(
        "8_models_of_2026", "read_frequencies", "* dim / 2)", "* dim)", "the share counts pairs"
    ),
    "8.4 llama3 unread": Slip(
        "8_models_of_2026", "read_frequencies", '("llama3", "yarn")', '("yarn",)', "llama3 blends in the same way"
    ),
    "8.4 no heat": Slip("8_models_of_2026", "read_frequencies", "0.1 * math.log(stretch) + 1", "1.0", "0.1 ln 16 + 1"),
}


@pytest.fixture(autouse=True)
def _no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures open no window."""
    monkeypatch.setenv("MPLBACKEND", "agg")


@pytest.mark.slow
@pytest.mark.parametrize("slip", SLIPS.values(), ids=SLIPS)
def test_the_shown_checks_refuse_a_slip_by_its_law(slip: Slip) -> None:
    right = cells(slip.notebook)[slip.exercise]
    assert slip.right in right
    check(slip.notebook, slip.exercise, right)
    with pytest.raises((AssertionError, RuntimeError)) as refused:
        check(slip.notebook, slip.exercise, right.replace(slip.right, slip.wrong))
    if refused.type is AssertionError:  # some builds of LAPACK refuse a matrix that lacks rank, in words of their own
        assert slip.law in str(refused.value)
