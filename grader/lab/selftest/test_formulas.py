"""Formulas as browsers show them: what latex2mathml gets wrong is mended, or refused."""

from __future__ import annotations

import re

import pytest

pytest.importorskip("latex2mathml", reason="the extra 'handout' is not installed: make handout")

from grader.lab.site.formulas import UnknownMathematics, mathml

SPACE = '<mspace width="0.17em"/>'
MINUS = '<mo form="prefix">&#x02212;</mo>'
BAR = '<mo form="{}fix">&#x0007C;</mo>'


def inside(latex: str) -> str:
    """The formula's elements, without the outermost and the attributes of operators that make them large."""
    return re.sub(r'^<math[^>]*><mrow>|</mrow></math>$| (?:m..size|stretchy|fence)="[^"]*"', "", mathml(latex))


@pytest.mark.parametrize(
    ("latex", "shown"),
    [
        (r"\Big\lfloor x \Big\rfloor", "<mo>&#x0230A;</mo><mi>x</mi><mo>&#x0230B;</mo>"),
        (r"\mathbb E", "<mi>&#x1D53C;</mi>"),
        (r"\mathrm{j}^2", '<msup><mi mathvariant="normal">j</mi><mn>2</mn></msup>'),
        (r"\texttt{long}", '<mtext style="font-family: monospace">long</mtext>'),
        (r"|x|^2", f"{BAR.format('pre')}<mi>x</mi><msup>{BAR.format('post')}<mn>2</mn></msup>"),
        (r"\|x\|", '<mo form="prefix">&#x02016;</mo><mi>x</mi><mo form="postfix">&#x02016;</mo>'),
        (r"\ln x", f"<mi>ln</mi>{SPACE}<mi>x</mi>"),
        (r"\cos\, x", '<mi>cos</mi><mspace width="0.167em" /><mi>x</mi>'),
        (r"\sin^2", "<msup><mi>sin</mi><mn>2</mn></msup>"),
        (r"2\log_2 x", f"<mn>2</mn>{SPACE}<msub><mi>log</mi><mn>2</mn></msub>{SPACE}<mi>x</mi>"),
        (r"a\cos(b)", f"<mi>a</mi>{SPACE}<mi>cos</mi><mo>&#x00028;</mo><mi>b</mi><mo>&#x00029;</mo>"),
        (r"-\max(", f"{MINUS}<mi>max</mi><mo>&#x00028;</mo>"),
        (r"\lVert x \rVert", '<mo form="prefix">&#x02016;</mo><mi>x</mi><mo form="postfix">&#x02016;</mo>'),
        (r"b = -1", f"<mi>b</mi><mo>&#x0003D;</mo>{MINUS}<mn>1</mn>"),
        (r"(-b)", f"<mo>&#x00028;</mo>{MINUS}<mi>b</mi><mo>&#x00029;</mo>"),
        (r"(a) - b", "<mo>&#x00028;</mo><mi>a</mi><mo>&#x00029;</mo><mo>&#x02212;</mo><mi>b</mi>"),
        (r"|a| - b", f"{BAR.format('pre')}<mi>a</mi>{BAR.format('post')}<mo>&#x02212;</mo><mi>b</mi>"),
        (r"b, -\infty", f"<mi>b</mi><mo>&#x0002C;</mo>{MINUS}<mi>&#x0221E;</mi>"),
        ("h/2", '<mi>h</mi><mo lspace="0" rspace="0">/</mo><mn>2</mn>'),
    ],
    ids=[
        *("floor", "blackboard", "upright", "monospace", "bars", "two bars", "function", "spaced", "power", "base"),
        *(
            "factor",
            "minus",
            "norm",
            "sign",
            "sign in brackets",
            "behind brackets",
            "behind a bar",
            "infinite",
            "slash",
        ),
    ],
)
def test_a_formula_is_shown_as_latex_would(latex: str, shown: str) -> None:
    assert inside(latex) == shown


def test_what_a_minimum_is_over_stands_below_it_in_a_line_of_its_own() -> None:
    below, beside = (mathml(r"\min_M x", block=block) for block in (True, False))
    assert f"<munder><mi>min</mi><mi>M</mi></munder>{SPACE}<mi>x</mi>" in below
    assert f"<msub><mi>min</mi><mi>M</mi></msub>{SPACE}<mi>x</mi>" in beside


def test_an_exponent_belongs_to_the_whole_matrix_before_it_and_to_no_other() -> None:
    matrix = r"\begin{pmatrix} a \end{pmatrix}"
    table = "<mrow><mo>&#x00028;</mo><mtable><mtr><mtd><mi>a</mi></mtd></mtr></mtable><mo>&#x00029;</mo></mrow>"
    assert inside(rf"{matrix} {matrix}^{{n}}") == f"{table}<msup>{table}<mrow><mi>n</mi></mrow></msup>"


@pytest.mark.parametrize(
    ("latex", "why"),
    [
        ("\\unheard\n x", r"\$\\unheard x\$ as it is meant: \\unheard would appear as plain text"),
        (r"\Big\unheard", r"\\unheard would appear as plain text"),
        (r"\frac1", "<mfrac> has 1 parts, and needs 2"),
        (r"\mathbf{qk}", "q would lose its style, bold"),
        ("P(a|b)", r"between two things, write \\mid"),
        ("x_", r"latex2mathml cannot parse \$x_\$"),
        ("a & b", r"latex2mathml cannot parse \$a & b\$"),
    ],
    ids=["unknown", "large", "arity", "style", "one bar", "no subscript", "ampersand"],
)
def test_what_a_browser_would_show_wrong_is_refused(latex: str, why: str) -> None:
    with pytest.raises(UnknownMathematics, match=why) as refused:
        mathml(latex)
    assert "\n" not in str(refused.value)
