"""``make demo`` runs on whatever a student has written: right layers read well, and mistakes are seen and named."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch

from grader.assignment import ASSIGNMENT, demo
from grader.assignment.corpus.variants import all_variants
from grader.selftest import some
from grader.selftest.submissions import write_folder
from grader.selftest.warm import WarmPython
from tests.demo import FILE, load, read

MOST_BYTES = 2 << 20
VERSE = "处处闻啼鸟"  # how the poem goes on; the model knows it by heart


def squeezed(text: str) -> str:
    """The text without line breaks and indentation, which depend on the terminal."""
    return re.sub(r"\n *", "", text)


@pytest.mark.process
@pytest.mark.slow
def test_stubs_speak_through_stand_ins(untouched: Path, run: WarmPython) -> None:
    told = run(untouched, "tests.demo")
    assert (told.returncode, told.stderr) == (0, "")
    assert " ".join(told.stdout.split()).count("a stand-in; to implement: src/") == 3
    assert "As expected." in told.stdout
    assert squeezed(told.stdout).count(" the ") > 3


@pytest.mark.process
@pytest.mark.slow
def test_the_first_task_alone_is_switched_on(untouched: Path, tmp_path: Path, run: WarmPython) -> None:
    file = "src/modeling/norm.py"
    folder = write_folder(shutil.copytree(untouched, tmp_path / "a"), {file: ASSIGNMENT.solution()[file]})
    told = run(folder, "tests.demo", "--lang", "zh")
    assert (told.returncode, told.stderr) == (0, "")
    assert re.search(r"● GroupRMSNorm +你写的", told.stdout)
    assert told.stdout.count("替身；尚待完成") == 2
    assert "这正是应有的结果。" in told.stdout
    assert VERSE in squeezed(told.stdout)  # which the stand-in of the norm does not recite


@pytest.mark.process
@pytest.mark.slow
def test_the_reference_is_right_and_says_the_same_twice(solved: Path, run: WarmPython) -> None:
    first, again = run(solved, "tests.demo", "--out", "page.html"), run(solved, "tests.demo")
    assert (first.returncode, first.stderr) == (0, "")
    assert again.stdout.partition("\nThe demo does not cover")[0] in first.stdout
    assert "✗" not in first.stdout
    assert VERSE in squeezed(first.stdout)
    page = (solved / "page.html").read_text(encoding="utf-8")
    assert "http" not in page.replace("http-equiv", "")
    assert page.count("<svg") == page.count("</svg>")


MISTAKES = {  # name of a variant: what is read there, and how much it is at least
    "wrong.norm_groups.rms_over_the_whole_hidden_dimension": (
        r"unseen text: ([\d.]+) nats .* GroupRMSNorm is the cause",
        1.20,
    ),
    "wrong.rotary.rotates_the_other_way": (r"unseen text: ([\d.]+) nats .* NTKAwareRoPE is the cause", 3),
}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("name", some(MISTAKES, 2))
def test_a_mistake_is_seen(untouched: Path, tmp_path: Path, run: WarmPython, name: str) -> None:
    told_there, least = MISTAKES[name]
    files = next(variant.files for variant in all_variants() if variant.name == name)
    folder = write_folder(shutil.copytree(untouched, tmp_path / "a"), files)
    told = run(folder, "tests.demo")
    assert (told.returncode, told.stderr) == (1, "")
    found = re.search(told_there, " ".join(told.stdout.split()))
    assert found is not None, told.stdout
    assert float(found[1]) >= least


ERRORS = {  # an edit of the norm: what is said of it
    "an error": ("mean_square + self.eps", "mean_square + self.epsilon", "has no attribute 'epsilon'"),
    "no return": ("        return (normalised", "        (normalised", "received None"),
    "numbers that are none": ("mean_square + self.eps", "-mean_square", "not finite"),
    "an exit": ("        mean_square = ", "        exit(3)\n        mean_square = ", "exits the program"),
}


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("error", some(ERRORS, 2))
def test_an_error_is_one_message_that_names_the_layer(
    solved: Path, tmp_path: Path, run: WarmPython, error: str
) -> None:
    old, new, said = ERRORS[error]
    folder = shutil.copytree(solved, tmp_path / "a")
    norm = folder / "src" / "modeling" / "norm.py"
    assert old in norm.read_text(encoding="utf-8")
    norm.write_text(norm.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    told = run(folder, "tests.demo")
    assert (told.returncode, told.stderr) == (1, "")
    (line,) = re.findall(r"✗ GroupRMSNorm.*?(?=\n  \S)", told.stdout, re.DOTALL)
    assert said in " ".join(line.split())


def test_the_checkpoint_is_small_and_holds_no_tables_of_angles() -> None:
    """A table of cosines begins with ones and one of sines with zeros, at position 0."""
    assert FILE.stat().st_size <= MOST_BYTES
    for name, tensor in load().tensors.items():
        rows = tensor.flatten(0, -2)
        assert not torch.isin(rows[0], torch.tensor([0.0, 1.0])).all(), name


@pytest.mark.parametrize("data", [FILE.read_bytes()[:-1], b"PK"], ids=["cut off", "too short"])
def test_a_checkpoint_that_is_not_whole_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="not a complete safetensors file"):
        read(data)


def test_training_writes_a_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two steps on a few sentences: far from a model, but what the demo reads."""
    prose = "\n\n".join(
        f"{'The rays of light bend. ' * 9}It is so, as {['one', 'two', 'three'][n % 3]} saw." for n in range(36)
    )
    poems = "\n%\n".join(["\x1b[32m《题》\x1b[m\n床前明月光，\n举头望低头。"] * 9)
    for name, text in (("prose", prose), ("poems", poems)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    options = ["--prose", str(tmp_path / "prose"), "--poems", str(tmp_path / "poems"), "--steps", "2"]
    monkeypatch.setattr("sys.argv", ["train", *options, "--out", str(tmp_path / "out.safetensors")])
    monkeypatch.setattr(demo, "WINDOWS", 2)
    demo.main()
    made = load(tmp_path / "out.safetensors")
    assert made.expected["loss"][0] < 6
    assert made.tensors["table"].shape == (len(made.characters), made.sizes.hidden)
