"""A fifth task, as CONTRIBUTING tells how to add one: what each of its steps writes into a copy of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

STUB = '''"""Task 5: the mask."""

from torch import Tensor, nn


class CausalMask(nn.Module):
    """Hides from each token what comes after it."""

    def forward(self, shares: Tensor) -> Tensor:
        """Take the shares ``[b, s, s]`` of keys in queries; those of later keys become zero."""
        # TODO(task 5): keep the lower triangle.
        raise NotImplementedError("Task 5: CausalMask.forward")
'''
TODO = STUB[STUB.index("        # TODO") :]
RUBRIC = """[[tasks]]
id = "task5"
title = "CausalMask"
file = "src/modeling/causal_mask.py"
names = ["CausalMask"]
bonus = true

[[tasks.properties]]
id = "mask_later_keys"
points = 2
title = { en = "shares of later keys become zero", zh = "之后的 key 的份额变为零" }
question = { en = "Which triangle of the matrix holds later keys?", zh = "之后的 key 在哪个三角里？" }
hint = { en = "Zero what is above the diagonal.", zh = "把对角线以上的部分置零。" }

"""
HIDDEN = '''"""Task 5."""

import pytest
import torch

from grader.core.judge.cases import normal
from grader.core.judge.compare import check_equal


@pytest.mark.rubric("mask_later_keys")
def test_later_keys_become_zero(student, seed, device):
    shares = normal(seed, "shares", shape=(2, 5, 5))
    check_equal(student.CausalMask()(shares.to(device)), shares.tril(), "masked shares")
'''
PUBLIC = '''"""Task 5, CausalMask."""

import pytest
import torch

from src.modeling.causal_mask import CausalMask

from .harness.compare import assert_equal


@pytest.mark.rubric("mask_later_keys")
def test_the_first_query_sees_the_first_key_only(device):
    """Of two keys the second comes after the first query, so its share there is zero.

    两个 key 中，第二个在第一个 query 之后，所以它在那里的份额是零。
    """
    assert_equal(CausalMask()(torch.ones(1, 2, 2, device=device)), torch.tensor([[[1.0, 0.0], [1.0, 1.0]]]))
'''
WRONG = '''"""CausalMask: the wrong triangle."""

from grader.core.specimens.variants import wrong


@wrong("CausalMask.forward", breaks="mask_later_keys")
def keeps_the_upper_triangle(self, shares):
    """Hides what came before."""
    return shares.triu()
'''
VALID = '''"""CausalMask, done right in other ways."""

from grader.core.specimens.variants import valid


@valid("CausalMask.forward")
def by_multiplication(self, shares):
    """Multiplies by a triangle of ones."""
    return shares * shares.new_ones(shares.shape[-2:]).tril()
'''
PAGES = {
    "en": "# Task 5: CausalMask\n\n## Requirements\n\n- [ ] **shares of later keys become zero** · 2 points.\n",
    "zh": "# 任务 5：CausalMask\n\n## 要求\n\n- [ ] **之后的 key 的份额变为零** · 2 分。\n",
}
EXPORTS = (
    ("from .norm import", "from .causal_mask import CausalMask\nfrom .norm import"),
    ("__all__ = [", '__all__ = ["CausalMask", '),
)
Replacements = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Step:
    """One file that a task touches.

    Attributes:
        path: The file, below the root of the repository.
        content: The text of a new file; else what is replaced in one that is there, and by what.
        remedy: What is said to whoever forgets the step: the file, and what to do.
    """

    path: str
    content: str | Replacements
    remedy: str

    def take(self, root: Path) -> None:
        """Write the file."""
        path = root / self.path
        if isinstance(self.content, str):
            path.write_text(self.content, encoding="utf-8")
            return
        text = path.read_text(encoding="utf-8")
        for old, new in self.content:
            assert old in text, f"{self.path}: {old}"
            text = text.replace(old, new, 1)
        path.write_text(text, encoding="utf-8")


def row(text: str) -> Replacements:
    """A row of the index, below that of the last task."""
    last = "`src/modeling/pos_emb.py` | 34 | 75 |\n"
    return ((last, f"{last}{text}"),)


ASSIGNMENT = "grader/assignment"
STEPS = {
    "rubric": Step(
        f"{ASSIGNMENT}/rubric.toml",
        (("# ── Misconceptions", f"{RUBRIC}# ── Misconceptions"),),
        f'{ASSIGNMENT}/hidden/test_causal_mask.py: has the mark rubric("mask_later_keys"), but rubric.toml',
    ),
    "solution": Step(
        "ref/modeling/causal_mask.py",
        STUB.replace(TODO, "        return shares.tril()\n"),
        "task5 names the file 'src/modeling/causal_mask.py'; there is no ",
    ),
    "stub": Step("src/modeling/causal_mask.py", STUB, "src/modeling/causal_mask.py: has no stub of CausalMask; "),
    "export of the solution": Step("ref/modeling/__init__.py", EXPORTS, "ref/modeling/__init__.py: does not export"),
    "export of the stub": Step("src/modeling/__init__.py", EXPORTS, "src/modeling/__init__.py: does not export"),
    "hidden test": Step(
        f"{ASSIGNMENT}/hidden/test_causal_mask.py",
        HIDDEN,
        f'{ASSIGNMENT}/hidden/test_*.py: no hidden test has the mark rubric("mask_later_keys"); write one.',
    ),
    "public test": Step(
        "tests/test_causal_mask.py",
        PUBLIC,
        'tests/test_*.py: no public test has the mark rubric("mask_later_keys"); write one.',
    ),
    "wrong variant": Step(
        f"{ASSIGNMENT}/corpus/variants/wrong/causal_mask.py",
        WRONG,
        f"{ASSIGNMENT}/corpus/variants/wrong: no variant breaks mask_later_keys; write one",
    ),
    "valid variant": Step(
        f"{ASSIGNMENT}/corpus/variants/valid/causal_mask.py",
        VALID,
        f"{ASSIGNMENT}/corpus/variants/valid: no variant of CausalMask; write one",
    ),
    "page": Step("handout/en/task5.md", PAGES["en"], "handout/en/task5.md: missing; write the page of task5"),
    "page in Chinese": Step(
        "handout/zh/task5.md", PAGES["zh"], "handout/zh/task5.md: missing; write the page of task5"
    ),
    "index": Step(
        "handout/en/index.md",
        row("| [5](task5.md), bonus | `CausalMask` | `src/modeling/causal_mask.py` | 2 | 10 |\n"),
        "handout/en/index.md: has no link to task5.md; add a row",
    ),
    "index in Chinese": Step(
        "handout/zh/index.md",
        row("| [5](task5.md)，附加 | `CausalMask` | `src/modeling/causal_mask.py` | 2 | 10 |\n"),
        "handout/zh/index.md: has no link to task5.md; add a row",
    ),
}
