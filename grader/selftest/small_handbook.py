"""A handbook of the small notebook: every figure to touch, formulas too long for a phone, and wide output."""

from __future__ import annotations

import base64
import math
import struct
from pathlib import Path

import nbformat

from grader.lab.site import markdown
from grader.lab.site.notebooks import handbook, sources

from .small_notebook import executed, reference, small_walkthrough

TOUCHES = sorted(path.stem for path in sources.TOUCHES.glob("*.js"))
# Two heads of one block: weights of the keys at distances 0, 1, 2 to 3, and 4 to 9, of which training reached 3.
CLAMPED = [[0.5, 0.4, 0.02, 0.01], [0.5, 0.2, 0.12, 0.01]]
FREE = [[0.1, 0.1, 0.1, 0.1], [0.6, 0.1, 0.0, 0.05]]
MEANS = {"none": FREE, "slow pairs": CLAMPED, "fast pairs": FREE, "all pairs": CLAMPED}
STORY = {
    name: {"slowed": [1.0, slow], "mean": [3.0, 2.5, 2.0], "lowest": [3.0, 2.4, 1.9], "highest": [3.0, 2.6, 2.1]}
    for name, slow in (("none", 0.1), ("PI", 0.01), ("NTK", 0.02), ("YaRN", 0.01))
}
TOKENS, PLACES = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
# A model to run: two blocks of one head, of four features, that know four characters.
_BLOCK = {"attention_norm": [4], "mlp_norm": [4], "project": [12, 4], "output": [4, 4]}
_BLOCK |= {"mlp.0": [8, 4], "mlp.2": [4, 8]}
ORDER = [
    ("letters.weight", [4, 4]),
    *((f"blocks.{block}.{name}.weight", shape) for block in (0, 1) for name, shape in _BLOCK.items()),
    ("norm.weight", [4]),
    ("head.weight", [4, 4]),
]
SIZE = sum(math.prod(shape) for _, shape in ORDER)
READER = {
    "letters": "ab c",
    "text": "abc cab\nabacab bacab ccb",
    "at": 9,
    "trained": 6,
    "heads": 1,
    "theta": {"none": [1.0, 0.3], "PI": [0.1, 0.03], "NTK": [1.0, 0.03], "YaRN": [1.0, 0.1]},
    "slow": [False, True],
    "order": ORDER,
    "weights": base64.b64encode(struct.pack(f"<{SIZE}e", *(2 * math.sin(k * k) for k in range(SIZE)))).decode(),
}
SET = "[from afar](#walk?base=500000&distance=31&key=0)"  # words that set a figure
NUMBERS = {
    "attention": {"edges": [0, 1, 2, 4, 10], "trained": 4, "blocks": 1, "means": MEANS},
    "order": {"words": ["dog", "bites", "man"], "token": [TOKENS] * 3, "place": [PLACES] * 3},
    "reader": READER,
    "story": {"trained": 10, "edges": [0, 4, 10, 100], "theta": [1.0, 0.1], "methods": STORY},
}
LONG = f"${'+'.join('x' * markdown.LONG)}$"


def small_handbook(folder: Path) -> Path:
    """Write it into a folder, in both languages; gives the folder of its first page."""
    with small_walkthrough(folder / "source"):
        for language in sources.LANGUAGES:
            notebook = reference()
            given = nbformat.v4.new_output("display_data", {handbook.NUMBERS: NUMBERS})
            table = nbformat.v4.new_output(
                "display_data", {"text/html": f"<table><tr>{'<td>wide</td>' * 15}</tr></table>"}
            )
            notebook.cells[1].outputs = [given, table, nbformat.v4.new_output("stream", text="long " * 30)]
            notebook.cells[0].source += "".join(f"\n\n<!-- touch: {name} -->" for name in TOUCHES)
            notebook.cells[0].source += f"\n\nLook {SET}."
            notebook.cells[0].source += f"\n\nIf ($x$, $y$) and {LONG}; {LONG}, {LONG}. So be ($z$)!"
            cited = "[Su et al.](https://arxiv.org/abs/2104.09864v5), [a thread](https://example.org/1)"
            notebook.cells[0].source += f"\n\n{cited}"
            executed(folder / "build", language, notebook)
        handbook.write(folder / "build", folder / "book", sources.LANGUAGES)
    return folder / "book"
