"""Writes the page with the results of all benchmarks, and its plot."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.tools.benchmarks.coordinator import ClassCost
from grader.tools.benchmarks.throughput import ClassRun
from grader.tools.benchmarks.workers import WorkersRun


@dataclass(frozen=True)
class Figures:
    """All results of one run; ``baselines`` maps a name to median wall and CPU seconds."""

    machine: str
    versions: str
    baselines: Mapping[str, tuple[float, float]]
    runs: Sequence[ClassRun]
    layers: Mapping[str, ClassRun]
    growth: Sequence[ClassRun]
    mixed: ClassRun
    coordinator: Sequence[ClassCost]
    workers: Sequence[WorkersRun]


def write_page(figures: Figures, folder: Path) -> None:
    """Write ``performance.md`` and ``performance.svg``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "performance.md").write_text(_page(figures), encoding="utf-8")
    _plot(figures, folder / "performance.svg")


def _median(figures: Figures, jobs: int, field: str) -> float:
    return float(statistics.median(getattr(run, field) for run in figures.runs if run.jobs == jobs))


def _whole_s(run: ClassRun) -> float:
    return run.first_s + run.each_s * (run.submissions - run.jobs)


def _page(figures: Figures) -> str:
    wall = {name: seconds for name, (seconds, _) in figures.baselines.items()}
    cpu = {name: seconds for name, (_, seconds) in figures.baselines.items()}
    one, two = _median(figures, 1, "each_s"), _median(figures, 2, "each_s")
    cpu_each = _median(figures, 2, "cpu_each_s")
    forty = next((run for run in figures.growth if run.submissions >= 40), figures.growth[-1])
    parent_growth = figures.growth[-1].parent_mib - forty.parent_mib
    few, many = figures.coordinator[0], figures.coordinator[-1]
    plain_s = wall["(a) plain pytest"]
    ways = {name: wall[f"reference, two jobs, {name}"] for name in ("with the memo", "without the memo")}
    three, stubs = cpu["three properties wrong, two jobs, with the memo"], cpu["stubs, two jobs, with the memo"]
    floor = cpu["(c) arithmetic"] + cpu["(e) one empty worker"] + cpu["(f) unpacking and packing"] + few.save_ms / 1000
    slower = (many.last_ms - few.save_ms) / 1000 / two
    aims = [
        ("throughput with two jobs, times (a)", plain_s / ways["with the memo"], ">= 30"),
        ("the same where no replies are known", plain_s / ways["without the memo"], ">= 20"),
        ("CPU s per submission", cpu["reference, two jobs, with the memo"], "<= 0.20"),
        ("the same where no replies are known", cpu["reference, two jobs, without the memo"], "<= 0.30"),
        ("the floor: (c), (e), (f) and saving, CPU s", floor, ""),
        ("CPU s with three properties wrong", three, "<= 0.40"),
        ("CPU s of stubs, times plainly", stubs / cpu["stubs, two jobs, plainly"], "<= 1"),
        (f"s of a class of {figures.mixed.submissions}, nine in ten different", _whole_s(figures.mixed), ""),
        ("the same, times (a)", plain_s / figures.mixed.each_s, ""),
        ("seconds per submission with two jobs, times `import torch`", two / wall["import torch"], "<= 0.15"),
        ("throughput with two jobs, times that with one", one / two, ">= 1.8"),
        ("seconds until the first report", _median(figures, 2, "first_s"), "<= 3"),
        ("MiB of all processes with two jobs, at most", max(r.peak_mib for r in figures.growth), "< 1229"),
        (f"MiB that the coordinator grows from {forty.submissions} to {figures.growth[-1].submissions}", parent_growth,
         "< 20"),
        ("`make test`, times `import torch`", wall["make test"] / wall["import torch"], "<= 2"),
        (f"how much longer one more takes after {many.submissions} than after {few.submissions}, as a share", slower,
         "<= 0.05"),
        (f"MiB of the coordinator with {many.submissions} submissions", many.peak_mib, "< 300"),
        (f"seconds to resume a finished run of {many.submissions}", many.resume_s, "< 5"),
        ("KiB of the ledger for a submission", max(row.ledger_kib for row in figures.coordinator), "< 20"),
        ("dask workers on tasks of 1 s, share of linear", min(run.share for run in figures.workers), ">= 0.9"),
    ]  # fmt: skip
    lines = [
        "# Performance",
        "",
        "Written by `make bench`; medians of interleaved runs, so trust the ratios rather than the seconds.",
        f"{figures.machine}; {figures.versions}. Every submission is the reference, graded with all hidden tests,",
        "unless a row says otherwise. Plainly, each property has a worker of its own, which costs (d) in itself.",
        "",
        "| | measured | aim |",
        "|---|---|---|",
        *(f"| {name} | {value:.2f} | {aim} |" for name, value, aim in aims),
        "",
        "| for one submission | wall s | CPU s |",
        "|---|---|---|",
        *(f"| {name} | {seconds:.3f} | {cpu[name]:.3f} |" for name, seconds in wall.items()),
        f"| graded, one job, start-up left out | {one:.3f} | |",
        f"| graded, two jobs, start-up left out | {two:.3f} | {cpu_each:.3f} |",
        "",
        "| isolation, one job | s per submission | times the weakest |",
        "|---|---|---|",
        *(
            f"| {name} | {run.each_s:.3f} | {run.each_s / figures.layers['process'].each_s:.2f} |"
            for name, run in figures.layers.items()
        ),
        "",
        "| submissions, two jobs | s until first | s each | CPU s each | peak MiB | coordinator MiB |",
        "|---|---|---|---|---|---|",
        *(
            f"| {run.submissions} | {run.first_s:.1f} | {run.each_s:.3f} | {run.cpu_each_s:.3f} "
            f"| {run.peak_mib:.0f} | {run.parent_mib:.0f} |"
            for run in figures.growth
            if run.submissions > run.jobs  # with fewer submissions, all time is start-up
        ),
        "",
        "The coordinator alone, with judges that answer at once:",
        "",
        "| submissions | ms to save one | the last 40 | s to resume | peak MiB | KiB of ledger each |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row.submissions} | {row.save_ms:.2f} | {row.last_ms:.2f} | {row.resume_s:.2f} "
            f"| {max(row.peak_mib, row.resume_mib):.0f} | {row.ledger_kib:.1f} |"
            for row in figures.coordinator
        ),
        "",
        "| dask workers on this machine | tasks of 1 s | wall s | of linear |",
        "|---|---|---|---|",
        *(f"| {run.workers} | {run.tasks} | {run.wall_s:.2f} | {run.share:.3f} |" for run in figures.workers),
        "",
        "![seconds per submission](performance.svg)",
        "",
    ]
    return "\n".join(lines)


def _plot(figures: Figures, path: Path) -> None:
    """Plot bars of seconds per submission: the baselines beside this grader."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "performance"
    from matplotlib import pyplot as plt

    bars = {
        "plain pytest": figures.baselines["(a) plain pytest"][0],
        "import torch": figures.baselines["import torch"][0],
        "graded, one job": _median(figures, 1, "each_s"),
        "graded, two jobs": _median(figures, 2, "each_s"),
        "warm and unsafe": figures.baselines["(b) warm, unsafe"][0],
        "its arithmetic": figures.baselines["(c) arithmetic"][0],
    }
    colours = ["#999999", "#999999", "#0072b2", "#0072b2", "#e69f00", "#e69f00"]
    fig, ax = plt.subplots(figsize=(7, 3), layout="constrained")
    drawn = ax.barh(list(bars), list(bars.values()), color=colours)
    ax.bar_label(drawn, fmt="%.2f s", padding=3)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_xlabel("seconds for one submission")
    ax.set_title("A locked-down grading costs less than importing torch once", loc="left")
    fig.savefig(path, metadata={"Date": None})
    plt.close(fig)
