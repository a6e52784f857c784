"""Task 1: laws of a group's root mean square."""

import pytest
import torch

from src.modeling.norm import GroupRMSNorm
from tests.harness import limits
from tests.harness.compare import (
    assert_close,
    assert_close_to_one_of,
    assert_equal,
    assert_kind,
    assert_names_sizes,
    assert_rejects,
    assert_unchanged,
)
from tests.harness.devices import second_device
from tests.harness.student import gradient_of, only_parameter, parameter_of, set_values

HIDDEN_SIZE = 24
GROUP_SIZE = 4
EPS = 0.75
TINY = 1e-10  # an eps that is lost beside a mean square of one or more
DTYPES = (torch.float32, torch.float16, torch.bfloat16)


def build(gamma=None, hidden_size=HIDDEN_SIZE, group_size=GROUP_SIZE, eps=TINY, **arguments):
    """Build a norm whose gamma is ``gamma``, or all ones."""
    norm = GroupRMSNorm(hidden_size=hidden_size, group_size=group_size, eps=eps, **arguments)
    set_values(parameter_of(norm, hidden_size), torch.ones(hidden_size) if gamma is None else gamma)
    return norm


def numbers(*shape, seed=0):
    """Numbers from 1 to 2, half of them negative: none is near zero, and no group of them has the mean zero."""
    source = torch.Generator().manual_seed(seed)
    return (1 + torch.rand(shape, generator=source)) * torch.randn(shape, generator=source).sign()


def uneven(*shape):
    """The same with groups of very different sizes."""
    groups = numbers(*shape, HIDDEN_SIZE).view(*shape, -1, GROUP_SIZE)
    return (groups * (4.0 ** (torch.arange(groups.shape[-2]) % 4)).unsqueeze(-1)).view(*shape, HIDDEN_SIZE)


@pytest.mark.rubric("norm_groups")
def test_doubling_one_group_changes_no_output():
    """Multiply one group of the input by 2: with gamma of ones and a tiny eps, no output may change.

    把输入的某一组乘以 2：gamma 全为 1、eps 很小时，任何输出都不应改变。
    """
    norm, x = build(), uneven(2, 3)
    output = norm(x)
    for group in range(HIDDEN_SIZE // GROUP_SIZE):
        doubled = x.clone()
        doubled[0, 0, group * GROUP_SIZE : (group + 1) * GROUP_SIZE] *= 2
        assert_close(norm(doubled), output, 1e-3 * output.abs())


@pytest.mark.rubric("norm_groups")
def test_the_squares_of_each_group_average_to_one():
    """Every group of the output has the mean square 1, and is its input times one positive number.

    输出的每一组均方都是 1，并且等于该组的输入乘以同一个正数。
    """
    x = uneven(2, 3)
    output = build()(x).view(2, 3, -1, GROUP_SIZE)
    mean_squares = output.double().square().mean(dim=-1)
    assert_close(mean_squares, torch.ones_like(mean_squares), torch.tensor(1e-3))
    factors = output / x.view(output.shape)
    assert_close(factors, factors[..., :1].abs().expand_as(factors), 1e-3 * factors.abs())


@pytest.mark.rubric("norm_eps_inside_sqrt")
def test_the_square_of_the_divisor_is_the_mean_square_and_eps():
    """Divide the input by the output: the square of that exceeds the group's mean square by eps, for any size.

    用输入除以输出：不论输入多大，所得结果的平方都比该组的均方大 eps。
    """
    signs = numbers(1, 1, HIDDEN_SIZE).sign()
    for eps in (EPS, EPS / 8, 15.0, 1e-7):
        for magnitude in (0.3 * eps**0.5, eps**0.5, 2 * eps**0.5):
            divisor = magnitude * signs / build(eps=eps)(magnitude * signs)
            more = divisor.double().square() - magnitude**2
            assert_close(more, torch.full_like(more, eps), torch.tensor(0.01 * eps))


@pytest.mark.rubric("norm_eps_inside_sqrt")
def test_zeros_stay_zeros():
    """Zero divided by sqrt(0 + eps) is zero, not nan.

    0 除以 sqrt(0 + eps) 是 0，不是 nan。
    """
    zeros = torch.zeros(1, 2, HIDDEN_SIZE)
    assert_equal(build(eps=0.5)(zeros), zeros)


@pytest.mark.rubric("norm_gamma")
def test_each_feature_is_scaled_by_its_own_gamma():
    """Double one entry of gamma: exactly one feature of every token doubles, and nothing else changes.

    把 gamma 的一个元素加倍：每个 token 恰好有一个特征加倍，其他都不变。
    """
    x = uneven(2, 3)
    for dtype in DTYPES:
        plain = build(dtype=dtype)(x)
        for feature in range(HIDDEN_SIZE):
            gamma = torch.ones(HIDDEN_SIZE)
            gamma[feature] = -2
            expected = plain * gamma
            assert_close(build(gamma, dtype=dtype)(x), expected, 1e-3 * expected.abs())


@pytest.mark.rubric("norm_dtype_and_shape")
def test_the_output_is_like_the_input():
    """Whatever dtype gamma has, the output has the shape and the dtype of the input.

    不论 gamma 是什么 dtype，输出的形状和 dtype 都与输入相同。
    """
    for dtype in DTYPES:
        for of_gamma in DTYPES:
            for shape in ((2, 3, HIDDEN_SIZE), (1, 4, HIDDEN_SIZE), (3, 1, HIDDEN_SIZE), (1, 1, HIDDEN_SIZE)):
                output = build(dtype=of_gamma)(torch.full(shape, 2.0, dtype=dtype))
                assert_kind(output, shape=shape, dtype=dtype, device=torch.device("cpu"))


@pytest.mark.rubric("norm_dtype_and_shape")
def test_the_layout_in_memory_does_not_matter():
    """The same numbers give the same output however they lie in memory, and groups of one feature give its sign.

    同样的数，不论在内存中如何排列，结果都一样；每组只有一个特征时，输出就是它的正负号。
    """
    wide = uneven(2, 3)
    for dtype in DTYPES:
        x = wide.to(dtype)
        for view in (x.transpose(0, 1), x.repeat_interleave(2, dim=-1)[..., ::2], x[:1].expand(2, 3, HIDDEN_SIZE)):
            expected = build()(view.contiguous())
            assert_close(build()(view), expected, limits.forward(expected, dtype))
    assert_close(build(group_size=1)(wide), wide.sign(), torch.tensor(1e-3))


@pytest.mark.rubric("norm_mixed_devices")
def test_gamma_may_be_on_another_device():
    """Move gamma and leave the input, or the other way round: the same output, on the device of the input.

    移动 gamma 而不移动输入，或者反过来：输出相同，在输入所在的设备上。
    """
    x, there = uneven(2, 3), second_device() or "cpu"  # a GPU, or a simulated one
    expected = build()(x)
    for home, place in ((there, "cpu"), ("cpu", there)):
        norm = build().to(home)
        output = norm(x.to(place))
        assert_kind(output, shape=(2, 3, HIDDEN_SIZE), dtype=torch.float32, device=torch.device(place))
        assert_close(output, expected, 1e-3 * expected.abs())
        gamma = parameter_of(norm, HIDDEN_SIZE).flatten()
        assert_kind(gamma, shape=(HIDDEN_SIZE,), dtype=torch.float32, device=torch.device(home))


@pytest.mark.rubric("norm_float32_inside")
def test_a_16_bit_output_is_the_float32_output_rounded_once():
    """Convert a 16-bit input to float32, call the module again, convert back: the two outputs agree to the last bit.

    把 16 位输入转成 float32 再调用一次，把输出转回 16 位：两次输出最多差最后一位。
    """
    flat = numbers(64, 4, HIDDEN_SIZE).sign() * (1 + 0.1 * numbers(64, 4, 1))  # large, small, and mixed groups
    for x, eps in ((3000 * flat, 1e-5), (2e-4 * flat, 1e-14), (64 * numbers(64, 4, HIDDEN_SIZE), 1e-5)):
        for dtype in DTYPES[1:]:
            norm, narrow = build(eps=eps), x.to(dtype)
            wide = norm(narrow.float())
            assert_close(norm(narrow), wide, limits.nearest(wide, dtype))
    large = (2.0**20 * flat).bfloat16()  # no float16 number is as large
    assert_close(build()(large), build()(large.float()), limits.nearest(build()(large.float()), torch.bfloat16))


@pytest.mark.rubric("norm_float32_inside")
def test_a_float32_output_has_the_digits_of_float32():
    """For a float32 input, a 16-bit gamma of ones gives what a float32 one gives; a group's mean square is 1, exactly.

    输入为 float32 时，16 位的 gamma（全 1）与 float32 的 gamma 结果相同；每组的均方是精确的 1。
    """
    x = 64 * numbers(4, 16, HIDDEN_SIZE)
    output = build()(x)
    mean_squares = output.double().view(4, 16, -1, GROUP_SIZE).square().mean(dim=-1)
    assert_close(mean_squares, torch.ones_like(mean_squares), torch.tensor(2.0**-16))
    small = x / 256  # near the root of 0.1, which is no 16-bit number
    near = build(eps=0.1)(small)
    for dtype in DTYPES[1:]:
        assert_close(build(dtype=dtype)(x), output, limits.forward(output, torch.float32))
        assert_close(build(dtype=dtype, eps=0.1)(small), near, limits.forward(near, torch.float32))


@pytest.mark.rubric("norm_init_and_reset")
def test_gamma_is_one_uniform_draw_right_after_seeding():
    """Draw as many numbers yourself, right after seeding: gamma holds these, and again after reset_parameters().

    自己设种子后立即采样同样多的数：gamma 就是这些数；reset_parameters() 之后仍是这些数。
    """
    for low, high, seed in ((-1.0, 1.0, 1000), (-0.5, 2.0, 7), (2.0, 5.0, 1000)):
        for dtype in DTYPES:
            draws = []
            for drawn in (dtype, torch.float32):
                source = torch.Generator().manual_seed(seed)
                draws.append(torch.empty(64, dtype=drawn).uniform_(low, high, generator=source).to(dtype))
            limit = limits.draw(torch.tensor(max(abs(low), abs(high))), dtype)
            norm = GroupRMSNorm(hidden_size=64, group_size=8, init_range=(low, high), init_seed=seed, dtype=dtype)
            assert_close_to_one_of(parameter_of(norm, 64).flatten(), draws, limit)
            set_values(parameter_of(norm, 64), torch.full((64,), 7.0))
            GroupRMSNorm(hidden_size=16, group_size=4, init_range=(8.0, 9.0), init_seed=3)  # which changes no other
            norm.reset_parameters()
            assert_close_to_one_of(parameter_of(norm, 64).flatten(), draws, limit)


@pytest.mark.rubric("norm_registration_and_arguments")
def test_gamma_is_the_only_parameter():
    """One trainable parameter of h numbers in the dtype asked for, float32 by default, and no buffer.

    只有一个可训练的参数，含 h 个数，dtype 按参数指定（默认 float32）；没有 buffer。
    """
    for hidden_size, group_size in ((24, 4), (16, 16)):
        for chosen in ({}, *({"dtype": dtype} for dtype in DTYPES)):
            norm = GroupRMSNorm(hidden_size=hidden_size, group_size=group_size, **chosen)
            dtype, device = chosen.get("dtype", torch.float32), torch.device("cpu")
            assert_kind(only_parameter(norm).flatten(), shape=(hidden_size,), dtype=dtype, device=device)
            assert not list(norm.buffers()), "buffers()"


@pytest.mark.rubric("norm_registration_and_arguments")
def test_leaving_an_argument_out_means_its_default():
    """A module without an argument does the same as one that is given the stub's default.

    不写某个参数，与写上 stub 中的默认值，结果相同。
    """
    x = 0.003 * numbers(1, 1, 64)
    for default in ({"init_range": (-1.0, 1.0)}, {"init_seed": 42}, {"eps": 1e-5}):
        without, given = (GroupRMSNorm(hidden_size=64, group_size=8, **chosen) for chosen in ({}, default))
        assert_close(without(x), given(x), 1e-4 * given(x).abs())


@pytest.mark.rubric("norm_registration_and_arguments")
def test_a_group_size_that_does_not_divide_is_refused():
    """Sizes that leave a rest raise a ValueError or an AssertionError.

    不能整除的尺寸要抛出 ValueError 或 AssertionError。
    """
    for hidden_size, group_size in ((26, 4), (100, 7), (8, 16)):
        assert_rejects(
            GroupRMSNorm, names=("hidden_size", "group_size"), hidden_size=hidden_size, group_size=group_size
        )


@pytest.mark.rubric("norm_sizes_named")
def test_the_error_names_both_sizes():
    """The error for sizes that leave a rest holds both numbers.

    不能整除的尺寸，报错信息里有这两个数。
    """
    for hidden_size, group_size in ((26, 4), (100, 7), (8, 16)):
        assert_names_sizes(
            GroupRMSNorm, names=("hidden_size", "group_size"), hidden_size=hidden_size, group_size=group_size
        )


@pytest.mark.rubric("norm_backward")
def test_gradients_say_how_the_output_moves():
    """Move one number of the input, or of gamma, a little: the output moves as far as the gradient says.

    让输入或 gamma 的一个数稍微变化：输出的变化与梯度所说的一致。
    """
    x, gamma, upstream = numbers(2, 2, 8), numbers(8, seed=1), numbers(2, 2, 8, seed=2)
    for mode in (True, False):
        norm, leaf = build(gamma, 8, 4).train(mode), x.clone().requires_grad_()
        (norm(leaf) * upstream).sum().backward()
        of_input, of_gamma = gradient_of(leaf, "input"), gradient_of(parameter_of(norm, 8), "gamma").flatten()
    step = 2.0**-6

    def difference(moved, number):
        change = torch.zeros(moved.numel())
        change[number] = step
        change = change.view(moved.shape)
        pairs = [(x + sign * change, gamma) if moved is x else (x, gamma + sign * change) for sign in (1, -1)]
        above, below = (build(own, 8, 4)(given).double() for given, own in pairs)
        return ((above - below) * upstream).sum() / (2 * step)

    for moved, gradient in ((x, of_input), (gamma, of_gamma)):
        found = torch.stack([difference(moved, number) for number in range(moved.numel())]).view(moved.shape)
        assert_close(gradient, found, torch.tensor(0.02))


@pytest.mark.rubric("norm_backward")
def test_16_bit_gradients_are_those_of_float32():
    """The same numbers in 16 bits give the gradients that they give in float32, up to the rounding of 16 bits.

    同样的数用 16 位计算，梯度与 float32 的相同，只差 16 位的舍入。
    """
    x, upstream = 16 * numbers(2, 3, HIDDEN_SIZE).bfloat16(), numbers(2, 3, HIDDEN_SIZE, seed=1).bfloat16()
    gamma = numbers(HIDDEN_SIZE, seed=2).bfloat16().float()

    def gradients(dtype, of_gamma):
        norm, leaf = build(gamma, dtype=of_gamma), x.to(dtype, copy=True).requires_grad_()
        (norm(leaf) * upstream.to(dtype)).sum().backward()
        return gradient_of(leaf, "input"), gradient_of(parameter_of(norm, HIDDEN_SIZE), "gamma").flatten()

    wide = gradients(torch.float32, torch.float32)
    for dtype in DTYPES:
        for of_gamma in DTYPES:
            for found, expected, size in zip(gradients(dtype, of_gamma), wide, (0.25, 12.0), strict=True):
                assert_close(found, expected, torch.tensor(size / 16))


@pytest.mark.rubric("norm_purity")
def test_a_call_changes_neither_input_nor_gamma():
    """A copy of the input, made before the call, still equals it after the call; so does a copy of gamma.

    调用之前复制一份输入，调用之后两者仍然相等；gamma 也是如此。
    """
    for dtype in DTYPES:
        norm, x = build(numbers(HIDDEN_SIZE)), numbers(2, 3, HIDDEN_SIZE).to(dtype)
        gamma = parameter_of(norm, HIDDEN_SIZE)
        x_before, gamma_before = x.clone(), gamma.detach().clone()
        output = norm.train()(x)
        assert_unchanged(x, x_before, "input")
        assert gamma.dtype == gamma_before.dtype, "gamma.dtype"
        assert_unchanged(gamma, gamma_before, "gamma")
        assert_equal(norm.eval()(x), output)


@pytest.mark.rubric("norm_purity")
def test_earlier_calls_leave_no_trace():
    """A module that has been called with other inputs, and whose gamma was changed, answers as a new one does.

    模块处理过别的输入、gamma 被改动之后，结果与新建的模块相同。
    """
    used, calls = build(numbers(HIDDEN_SIZE)), [4.0**k * numbers(2, 3, HIDDEN_SIZE, seed=k) for k in range(3)]
    GroupRMSNorm(hidden_size=16, group_size=8, eps=0.5)  # another module, whose settings are its own
    assert_equal(used(calls[0]), build(numbers(HIDDEN_SIZE))(calls[0]))
    for x in (*calls, calls[2].bfloat16(), calls[0]):
        assert_equal(used(x), build(numbers(HIDDEN_SIZE))(x))
    set_values(parameter_of(used, HIDDEN_SIZE), numbers(HIDDEN_SIZE, seed=5))
    for x in (calls[0], calls[1]):
        assert_equal(used(x), build(numbers(HIDDEN_SIZE, seed=5))(x))
        used.eval()
    set_values(parameter_of(used, HIDDEN_SIZE), numbers(HIDDEN_SIZE, seed=6))
    assert_equal(used(calls[1]), build(numbers(HIDDEN_SIZE, seed=6))(calls[1]))
