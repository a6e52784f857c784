"""The simulated second device, broken from inside a worker: that costs what is asked there, and nothing else."""

from grader.specimens.attacks import on_import, replaces

from .points import FORGES
from .verdicts import RAW


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_tensor_of_the_second_device(self, input):
    """Claims that a tensor of its own lies there, whatever was asked."""
    answer({"tensor": 0}, ["float32", "gpu:0", [0], [1]])


@replaces("GroupRMSNorm.forward", score=FORGES, prelude=RAW)
def forges_a_third_device(self, input):
    """Claims that a tensor lies on a device that nobody has."""
    answer({"tensor": 0}, ["float32", "gpu:1", [0], [1]])


@on_import("src/modeling/norm.py", score=93.0)  # of all that asks for the device in the task of that file
def unregisters_the_operations():
    """Lets go of what has registered the operations, so that the device has none."""
    torch.gpu.libraries = ()


@on_import("src/modeling/norm.py")
def replaces_the_kernel():
    """Puts a function that gives what the student likes in the place of the one that computes."""
    import sys

    for name, module in list(sys.modules.items()):
        if name.endswith("second_device.compute"):
            module.compute = lambda *_, **__: torch.zeros(())


@on_import("src/modeling/norm.py")
def lets_devices_mix():
    """Switches off the check for one device: honest work needs no such help."""
    import sys

    compute = sys.modules["grader.shared.second_device.compute"]
    compute._MAY_STAY_ON_THE_CPU = type("Everything", (), {"__contains__": lambda *_: True})()


@replaces("GroupRMSNorm.forward", score=97.0)
def reads_where_nothing_is(self, input):
    """Gives a tensor of the second device an address of its own, and dies of it."""
    if input.device.type != "cpu":
        import ctypes

        ctypes.string_at(8)
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)
