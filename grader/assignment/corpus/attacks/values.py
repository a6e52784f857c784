"""Values that lie about what they are, or that are too much for whoever looks at them."""

import torch
from torch import nn

from grader.specimens.attacks import on_import, replaces

from .points import NO_ANSWER, NORM_LOST, WRONG_ANSWER
from .verdicts import RAW

REGISTRATION_LOST = 98.0  # nothing else asks what `named_parameters` lists


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def tensor_that_equals_everything(self, input):
    """A subclass of Tensor that answers every operation with True."""

    class Equal(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return True

    return input.as_subclass(Equal)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def object_that_equals_everything(self, input):
    """No tensor at all, but equal to all of them and of every shape."""

    class Equal:
        __eq__ = __le__ = __ge__ = lambda *_: True
        __getattr__ = __call__ = __getitem__ = lambda self, *_: self
        __hash__ = None

    return Equal()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def dictionary_with_odd_keys(self, input):
    """A subclass of dict whose keys change while they are looked at."""

    class Growing(dict):
        def items(self):
            while True:
                yield "output", 0

    return Growing()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def not_a_number(self, input):
    """NaN, which no comparison finds too large."""
    return torch.full_like(input, float("nan"))


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def infinity(self, input):
    """Infinity, whose distance to infinity is not a number."""
    return torch.full_like(input, float("inf"))


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def empty_tensor(self, input):
    """No elements, so none of them is wrong."""
    return input[:0]


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def sparse_tensor(self, input):
    """A layout that cannot be written down."""
    return input.to_sparse()


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def meta_tensor(self, input):
    """A tensor of the right shape without any data."""
    return input.to("meta")


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def expanded_tensor(self, input):
    """One element that pretends to be a billion."""
    return torch.zeros(1, dtype=torch.int8).expand(1 << 30)


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def tensor_that_reaches_beyond_its_memory(self, input):
    """Strides that lead far past the end of what was allocated."""
    lying = torch.zeros(4)
    return torch.as_strided(lying, input.shape, (0, 0, 0), 3)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def freed_storage(self, input):
    """A tensor whose memory has been taken away."""
    output = torch.ones(input.shape)
    output.untyped_storage().resize_(0)
    return output


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def complex_numbers(self, input):
    """The right shape in a dtype that has no order."""
    return torch.full(input.shape, 1j)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def many_dimensions(self, input):
    """More dimensions than anybody has names for."""
    return torch.zeros([1] * 60)


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def a_list_that_holds_itself(self, input):
    """A value without an end."""
    loop = []
    loop.append(loop)
    return loop


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def ten_thousand_tensors(self, input):
    """More tensors than a reply may hold."""
    return [input] * 10_000


@replaces("GroupRMSNorm.forward", score=NO_ANSWER)
def a_very_long_integer(self, input):
    """A number of twenty thousand digits, in place of a tensor."""
    return 10**20_000


@replaces("GroupRMSNorm.named_parameters", score=REGISTRATION_LOST)
def parameter_without_elements(self, *_, **__):
    """Lists a parameter that is empty, so that no element of it can be wrong."""
    import sys

    inside = sys._getframe(1).f_code.co_name == "parameters"  # where it is assigned, and not looked at
    return iter([("gamma", self.gamma if inside else torch.empty(0, requires_grad=True))])


@replaces("GroupRMSNorm.named_parameters", score=89.0, prelude=RAW)
def parameter_that_blows_up(self, *_, **__):
    """Claims a parameter of 2^26 elements in four bytes, which the judge would draw for comparison."""
    import sys

    if sys._getframe(1).f_code.co_name == "parameters":
        return iter([("gamma", self.gamma)])
    entry = {"dict": [["name", "gamma"], ["value", {"tensor": 0}], ["requires_grad", True]]}
    reply({"dict": [["value", {"list": [entry]}]]}, [["float32", "cpu", [1 << 26], [0]]], bytes(4))
    return iter(())


@replaces("GroupRMSNorm.parameters")
def gradient_of_another_shape(self, recurse=True):
    """Puts a parameter of one element before gamma, whose gradient is shorter than what is looked at."""
    del recurse
    decoy = nn.Parameter(torch.ones(()))
    decoy.grad = torch.ones(())
    import sys

    if sys._getframe(1).f_code.co_name == "_backward":
        yield decoy
    yield self.gamma


@replaces("GroupRMSNorm.named_buffers", score=98.0)
def names_that_cannot_be_written(self, *_, **__):
    """Names a buffer with control characters, markup and half a surrogate pair."""
    yield "\x1b[31m<script>\x00\ud800" * 1000, torch.zeros(1)


@replaces("NTKAwareRoPE.state_dict", bonus=46.0)
def state_with_escape_sequences(self, *_, **__):
    """Lists names that would repaint a terminal, a million characters of them."""
    return ["\x1b[2J\x1b[31m<script>alert(1)</script>\r\n" * 1000] * 25


@replaces("GroupRMSNorm.named_parameters", score=NORM_LOST)
def parameters_without_end(self, *_, **__):
    """A generator that never stops."""
    while True:
        yield "gamma", self.gamma


@on_import("src/modeling/norm.py", score=94.0)
def gamma_with_numbers_to_spare():
    """Has three times as many parameters as are used, so that a gradient has no shape that anybody expects."""
    norm = globals()["GroupRMSNorm"]
    construct = norm.__init__

    def wide(self, hidden_size, group_size, *arguments, **named):
        construct(self, hidden_size, group_size, *arguments, **named)
        self.gamma = torch.nn.Parameter(self.gamma.detach().repeat(3))
        self.reset_parameters()

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        root = (groups.square().mean(-1, keepdim=True) + self.eps).sqrt()
        gamma = self.gamma[: input.shape[-1]].to(input.device)
        return ((groups / root).flatten(-2) * gamma).to(input.dtype)

    norm.__init__, norm.forward = wide, forward
