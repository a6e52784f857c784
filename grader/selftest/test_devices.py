"""Which devices a choice means here, and how the simulated one travels and is called."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from grader.core import settings
from grader.core.judge import devices
from grader.core.pages import devices_in, say
from grader.core.sandbox.launch import on_gpus
from grader.core.sandbox.protocol import pack, unpack
from grader.core.settings import CannotGrade
from grader.shared import second_device

HERE = second_device.DEVICE


def without_gpu(monkeypatch: pytest.MonkeyPatch, gpu: bool = False) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)


def test_the_simulated_device_stands_in_for_a_gpu_and_only_where_nothing_else_was_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    without_gpu(monkeypatch)
    assert devices.devices("auto") == ("cpu", HERE)
    assert devices.devices("cpu") == ("cpu",)
    with pytest.raises(CannotGrade, match="torch finds no CUDA device"):
        devices.devices("cuda")
    without_gpu(monkeypatch, gpu=True)
    assert devices.devices("auto") == ("cpu", "cuda:0")
    assert devices.devices("cuda") == ("cuda:0",)


def test_a_torch_without_the_device_grades_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    without_gpu(monkeypatch)

    def refuses() -> None:
        raise second_device.Unavailable("torch 3.0: it is gone")

    monkeypatch.setattr(second_device, "install", refuses)
    assert devices.devices("auto") == ("cpu",)
    assert devices.why_not_simulated() == "torch 3.0: it is gone"


@pytest.mark.parametrize(
    ("chosen", "others", "gpus"),
    [
        (("cpu",), ("none",), False),
        (("cpu", HERE), (HERE,), False),
        (("cpu", "cuda:0"), ("cuda:0",), True),
        (("cuda:0",), ("cuda:0",), True),
    ],
    ids=["cpu", "simulated", "both", "cuda"],
)
def test_cases_about_a_second_device_run_on_whatever_is_not_the_cpu(
    chosen: tuple[str, ...], others: tuple[str, ...], gpus: bool
) -> None:
    assert devices.others(chosen) == others
    assert on_gpus(chosen) is gpus


def test_judges_that_share_a_gpu_are_few(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    monkeypatch.setattr(settings, "GPUS", tmp_path)
    assert settings.judges_at_once("auto") == 16
    (tmp_path / "gpus" / "0000:00:06.0").mkdir(parents=True)
    assert [settings.judges_at_once(device) for device in ("auto", "cuda", "cpu")] == [4, 4, 16]


def test_reports_and_pages_call_it_by_its_name_in_both_languages() -> None:
    assert devices.label(HERE) == say("en", "simulated") == second_device.LABEL
    assert devices.label(torch.device("cuda:0")) == "cuda:0"
    assert devices_in("zh", f"cpu, {second_device.LABEL}") == "cpu, 第二个设备（模拟）"
    assert devices_in("en", f"cpu, {second_device.LABEL}") == "cpu, a second device (simulated)"


@pytest.mark.parametrize("made", [torch.arange(6.0).reshape(2, 3).T, torch.ones(2).expand(3, 2)])
def test_its_tensors_cross_the_border_with_their_strides(made: torch.Tensor) -> None:
    second_device.install()
    tensor = made.to(HERE)
    arrived, empty = unpack(pack([tensor, torch.zeros(0, 3, device=HERE)]))
    assert (str(arrived.device), str(empty.device), empty.shape) == (HERE, HERE, (0, 3))
    assert torch.equal(arrived.cpu(), tensor.cpu())
    assert arrived.stride() == tensor.stride()
