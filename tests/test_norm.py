"""Task 1, GroupRMSNorm: ``y = x / sqrt(mean(x ** 2) + eps) * gamma``, group by group.

In a group whose values all have the magnitude ``m``, the root mean square is ``sqrt(m * m + eps)``. With a tiny eps
that is ``m`` itself and the group comes out as plus and minus one: most tests below are built on this.
"""

import itertools

import pytest
import torch

from src.modeling.norm import GroupRMSNorm

from .harness.compare import (
    MismatchError,
    about,
    assert_close,
    assert_equal,
    assert_kind,
    assert_names_sizes,
    assert_rejects,
    assert_unchanged,
    draw_limit,
    forward_limit,
    gradient,
    gradient_limit,
    nearest_limit,
    telling,
)
from .harness.hints import ABOUT_DEFAULTS
from .harness.parameters import assert_drawn, gradient_of, listing, only_parameter, parameter_of, set_values

INPUT, GAMMA = {"en": "the input", "zh": "输入"}, {"en": "gamma", "zh": "gamma"}
TINY = 1e-10  # an eps that is lost beside a mean square of one or more


def build(gamma=None, **arguments):
    """Build a norm whose gamma is ``gamma``, or all ones."""
    norm = GroupRMSNorm(**arguments)
    parameter = parameter_of(norm, arguments["hidden_size"])
    set_values(parameter, torch.ones(parameter.numel()) if gamma is None else gamma)
    return norm


def alternating(*shape):
    """Return plus one, minus one, plus one, … along the last dimension: every group has the mean zero."""
    return torch.ones(shape) - 2 * (torch.arange(shape[-1]) % 2)


@pytest.mark.rubric("norm_groups")
@pytest.mark.hint(
    "too_large",
    "too_small",
    en="Every value is off by the same factor, so the groups are right. What is the sum of squares divided by, if at "
    "all (var takes gz - 1), and is that before the root? Is something added to gamma, which is one here?",
    zh="所有值都差同一个倍数，所以分组是对的。平方和除以了什么（var 用的是 gz - 1），还是没有除？是在开方之前除的吗？"
    "是否给 gamma（这里全是 1）加了什么？",
)
def test_a_group_of_one_magnitude_comes_out_as_plus_and_minus_one(dtype, device):
    """Six groups of four have the magnitudes 4, 8, … 128; divided by its root mean square, each keeps only its signs.

    共六组，每组四个数，各组的绝对值依次是 4、8、……、128；每组除以自己的均方根之后只剩正负号。
    """
    norm = build(hidden_size=24, group_size=4, eps=TINY, dtype=dtype, device=device)
    signs = torch.tensor([1.0, 1, -1, -1, 1, -1, -1, 1]).repeat(2, 3, 3)  # [b, s, h], mean zero in every group
    magnitudes = (2.0 ** torch.arange(2, 8)).repeat_interleave(4)  # [h]
    output = norm((signs * magnitudes).to(device, dtype))
    assert_close(output, signs, forward_limit(signs, dtype))


@pytest.mark.rubric("norm_groups")
@pytest.mark.hint(
    en="A group of equal numbers has a root mean square, but no deviation from its mean. Is a mean subtracted "
    "somewhere, as in var, std or LayerNorm?",
    zh="一组相同的数有均方根，但与其平均值没有偏差。是否在某处减去了平均值，例如 var、std 或 LayerNorm？",
)
def test_a_group_of_equal_numbers_comes_out_as_ones(device):
    """The mean of the squares is taken as it is: nothing is subtracted from the numbers before or after.

    直接取平方的平均：之前和之后都不减去任何数。
    """
    norm = build(hidden_size=24, group_size=4, eps=TINY, device=device)
    x = (2.0 ** torch.arange(2, 8)).repeat_interleave(4).repeat(1, 2, 1).to(device)
    assert_close(norm(x), torch.ones(1, 2, 24), forward_limit(torch.ones(1), torch.float32))


@pytest.mark.rubric("norm_groups")
def test_a_group_of_1_5_5_7_is_divided_by_5(device):
    """1² + 5² + 5² + 7² = 4 · 5², wherever the 7 is; neither the mean magnitude nor the largest is 5.

    1² + 5² + 5² + 7² = 4 · 5²，不论 7 在哪个位置；绝对值的平均和最大值都不是 5。
    """
    norm = build(hidden_size=16, group_size=4, eps=TINY, device=device)
    x = torch.stack([torch.tensor([1.0, -5, 5, 7]).roll(shift) for shift in range(4)]).view(1, 1, 16)
    assert_close(norm(x.to(device)), x / 5, forward_limit(x / 5, torch.float32))


@pytest.mark.rubric("norm_groups")
def test_a_token_gives_the_same_output_alone_as_in_a_batch(device):
    """Every token is normalised on its own: neither batch nor sequence enters the mean.

    每个 token 各自归一化：求均值时不涉及 batch，也不涉及序列。
    """
    norm = build(hidden_size=24, group_size=4, device=device)
    x = torch.arange(1.0, 145.0).view(2, 3, 24).remainder(13).sub(5).to(device)
    alone = torch.cat([norm(token.view(1, 1, 24)) for token in x.view(6, 24)]).view(2, 3, 24)
    assert_close(norm(x), alone, forward_limit(alone, torch.float32))


@pytest.mark.rubric("norm_eps_inside_sqrt")
@pytest.mark.parametrize(
    ("magnitude", "eps", "root"),
    [(1, 15, 4), (7, 15, 8), (0.5, 0.75, 1), (3 * 2**-10, 16 * 2**-20, 5 * 2**-10), (0, 2**-16, 2**-8)],
    ids=["root-of-1-plus-15", "root-of-49-plus-15", "root-of-a-quarter-plus-three", "root-of-9-plus-16-tiny", "zeros"],
)
def test_eps_is_added_under_the_root(magnitude, eps, root, dtype, device):
    """Values of one magnitude m are divided by sqrt(m² + eps). Here sqrt({magnitude}² + {eps}) = {root}.

    绝对值都是 m 的一组数除以 sqrt(m² + eps)。这里 sqrt({magnitude}² + {eps}) = {root}。
    """
    norm = build(hidden_size=16, group_size=4, eps=float(eps), dtype=dtype, device=device)
    signs = alternating(1, 2, 16)
    expected = signs * magnitude / root
    assert_close(norm((signs * magnitude).to(device, dtype)), expected, forward_limit(expected, dtype))


@pytest.mark.rubric("norm_gamma")
def test_feature_j_is_scaled_by_gamma_j(dtype, device):
    """Normalised features are plus and minus one here, so the output is gamma itself with the input's signs.

    这里归一化后的特征都是正负一，所以输出就是 gamma，只是带上了输入的正负号。
    """
    gamma = 2.0 ** torch.arange(-6, 6)  # twelve different factors, exact in every dtype
    gamma[:2] *= -1  # a factor keeps its sign
    norm = build(gamma, hidden_size=12, group_size=4, eps=TINY, dtype=dtype, device=device)
    signs = alternating(2, 3, 12)
    output = norm((32 * signs).to(device, dtype))
    assert_close(output, signs * gamma, forward_limit(gamma, dtype))


@pytest.mark.rubric("norm_dtype_and_shape")
@pytest.mark.parametrize("gamma_dtype", ["float32", "float16", "bfloat16"], ids="gamma-{}".format)
def test_the_output_has_shape_dtype_and_device_of_the_input(gamma_dtype, dtype, device):
    """Whatever gamma's dtype, and even with one row or position, the output has the input's shape, dtype and device.

    不论 gamma 是什么 dtype，只有一行或一个位置时也一样，输出的形状、dtype 和 device 都与输入相同。
    """
    norm = build(hidden_size=24, group_size=4, dtype=getattr(torch, gamma_dtype), device=device)
    for shape in ((2, 3, 24), (1, 4, 24), (4, 1, 24), (1, 1, 24)):
        output = norm(torch.ones(shape, dtype=dtype, device=device))
        assert_kind(output, shape=shape, dtype=dtype, device=device)


@pytest.mark.rubric("norm_dtype_and_shape")
@pytest.mark.parametrize("layout", ["transposed", "expanded", "sliced"])
def test_the_layout_in_memory_does_not_matter(layout, device):
    """The same numbers give the same output, whether or not they lie side by side in memory.

    同样的数，不论在内存中是否连续，结果都一样。
    """
    norm = build(hidden_size=24, group_size=4, device=device)
    numbers = torch.arange(1.0, 289.0, device=device).remainder(13)
    x = {
        "transposed": numbers.view(6, 2, 24).transpose(0, 1),
        "expanded": numbers[:24].view(1, 1, 24).expand(2, 6, 24),
        "sliced": numbers.view(1, 6, 48)[..., ::2],
    }[layout]
    expected = norm(x.contiguous())
    assert_close(norm(x), expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.hint(
    "too_large",
    "too_small",
    en="Every value is off by the same factor. Is it near 1, as rounding to 16 bits makes it? If not: is the mean "
    "taken of the squares, or of something else?",
    zh="所有值都差同一个倍数。它接近 1 吗（舍入到 16 位就会这样）？如果不接近：平均是对平方求的，还是对别的求的？",
)
@pytest.mark.parametrize("gamma_dtype", [None, "float32"], ids=["gamma-too", "gamma-float32"])
@pytest.mark.parametrize("short_dtype", ["float16", "bfloat16"])
def test_a_root_mean_square_of_257_is_exact(short_dtype, gamma_dtype, device):
    """512² + 44² + 10² + 4² = 4 · 257². In float16, 512² is infinite; bfloat16 has no 257. float32 has both.

    512² + 44² + 10² + 4² = 4 · 257²。float16 里 512² 是无穷大，bfloat16 里没有 257；float32 两者都能表示。
    """
    dtype = getattr(torch, short_dtype)
    norm = build(
        hidden_size=16, group_size=4, eps=TINY, dtype=getattr(torch, gamma_dtype or short_dtype), device=device
    )
    x = torch.stack([torch.tensor([512.0, -44.0, -10.0, 4.0]).roll(shift) for shift in range(4)]).view(1, 1, 16)
    expected = x.double() / 257
    assert_close(norm(x.to(device, dtype)), expected, nearest_limit(expected, dtype))


@pytest.mark.rubric("norm_float32_inside")
@pytest.mark.hint(
    en="The input is float32, only gamma is shorter. In which line do the two meet, and is anything converted to "
    "gamma's dtype before?",
    zh="输入是 float32，只有 gamma 更短。二者在哪一行相遇？在那之前，是否有什么被转换成了 gamma 的 dtype？",
)
@pytest.mark.parametrize("gamma_dtype", ["float16", "bfloat16"], ids="gamma-{}".format)
@pytest.mark.parametrize("eps", [TINY, 1 / 12288], ids=["tiny-eps", "no-round-eps"])
def test_a_short_gamma_costs_no_digits(eps, gamma_dtype, device):
    """Ones are exact in every dtype: whatever dtype a gamma of ones has, a float32 input gives the same output.

    一在任何 dtype 下都精确：不论全为一的 gamma 是什么 dtype，同一个 float32 输入的结果都相同。
    """
    x = torch.arange(1.0, 145.0).view(2, 3, 24).remainder(13).add(1).div(3072).to(device)
    sizes = {"hidden_size": 24, "group_size": 4, "eps": eps, "device": device}
    expected = build(**sizes)(x)
    output = build(dtype=getattr(torch, gamma_dtype), **sizes)(x)
    assert_close(output, expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("norm_float32_inside")
def test_bfloat16_numbers_beyond_float16_are_normalised_too(device):
    """bfloat16 holds 2²⁰, float16 ends at 65504: a group of plus and minus 2²⁰ comes out as plus and minus one.

    bfloat16 能表示 2²⁰，float16 只到 65504：正负 2²⁰ 的一组数，结果是正负一。
    """
    norm, signs = build(hidden_size=16, group_size=4, eps=TINY, device=device), alternating(1, 2, 16)
    assert_close(norm((2.0**20 * signs).to(device, torch.bfloat16)), signs, nearest_limit(signs, torch.bfloat16))


@pytest.mark.rubric("norm_init_and_reset")
@pytest.mark.parametrize(("low", "high", "seed"), [(-1.0, 1.0, 42), (2.0, 5.0, 7)], ids=["from-1-to-1", "from-2-to-5"])
def test_gamma_is_one_uniform_draw_right_after_seeding(low, high, seed, dtype, device):
    """A draw of the same size from the same seed; a 16-bit one may be drawn in float32 and then converted.

    数值就是用同一个种子、设好种子后立即做的一次同样大小的采样；16 位时也可以先用 float32 采样再转换。
    """
    chosen = {"init_range": (low, high), "init_seed": seed, "dtype": dtype, "device": device}
    norm = GroupRMSNorm(hidden_size=48, group_size=16, **chosen)
    draws = [
        torch.empty(48, dtype=drawn, device=device).uniform_(low, high, generator=_seeded(seed, device)).to(dtype)
        for drawn in (dtype, torch.float32)
    ]
    with about(GAMMA):
        assert_drawn(norm, draws, draw_limit(torch.tensor(max(abs(low), abs(high))), dtype))


def _seeded(seed, device):
    return torch.Generator(device).manual_seed(seed)


@pytest.mark.rubric("norm_init_and_reset")
def test_reset_parameters_restores_the_first_values(dtype, device):
    """The same seed and range give the same values on every reset, whatever other modules hold.

    同样的种子和范围得到同样的值，调用多少次、另有什么模块都一样。
    """
    norm = GroupRMSNorm(hidden_size=48, group_size=16, dtype=dtype, device=device)
    gamma = parameter_of(norm, 48)
    first = gamma.detach().clone()
    GroupRMSNorm(hidden_size=16, group_size=4, init_range=(8.0, 9.0), init_seed=3, device=device)
    set_values(gamma, torch.zeros(48))
    norm.reset_parameters()
    with about(GAMMA):
        assert_equal(parameter_of(norm, 48), first)


@pytest.mark.rubric("norm_init_and_reset")
def test_gamma_is_drawn_on_the_device_that_is_asked_for(elsewhere):
    """The generator is on gamma's own device: on a second device, a seed gives other numbers than on the CPU.

    generator 与参数在同一个设备上；在第二个设备上，同一个种子得到的数与 CPU 上不同。
    """
    norm = GroupRMSNorm(hidden_size=48, group_size=16, init_range=(-1.0, 1.0), init_seed=42, device=elsewhere)
    gamma = parameter_of(norm, 48)
    drawn = torch.empty(48, device=elsewhere).uniform_(-1, 1, generator=_seeded(42, elsewhere))
    assert_kind(gamma, shape=tuple(gamma.shape), dtype=torch.float32, device=elsewhere)
    assert_close(gamma.detach().flatten(), drawn, draw_limit(torch.tensor(1.0), torch.float32))


@pytest.mark.rubric("norm_dtype_and_shape")
def test_the_norm_answers_on_the_device_that_it_is_on(elsewhere):
    """On a second device (simulated without a GPU) the numbers are the same.

    在第二个设备（没有 GPU 时由模拟代替）上结果相同。
    """
    norm = build(hidden_size=24, group_size=4)
    x = torch.arange(1.0, 145.0).view(2, 3, 24).remainder(11).add(1)
    expected = norm(x)
    output = norm.to(elsewhere)(x.to(elsewhere))
    assert_kind(output, shape=(2, 3, 24), dtype=torch.float32, device=elsewhere)
    assert_close(output, expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("norm_mixed_devices")
def test_gamma_may_be_on_another_device_than_the_input(elsewhere):
    """The numbers are the same, on the device of the input; gamma stays where it is, and its gradient arrives there.

    结果相同，在输入所在的设备上；gamma 留在原处，它的梯度也传到那里。
    """
    x = torch.arange(1.0, 145.0).view(2, 3, 24).remainder(11).add(1)
    expected = build(hidden_size=24, group_size=4)(x)
    for home, device in ((torch.device("cpu"), elsewhere), (elsewhere, torch.device("cpu"))):
        norm = build(hidden_size=24, group_size=4).to(home)
        output = norm(x.to(device))
        assert_kind(output, shape=(2, 3, 24), dtype=torch.float32, device=device)
        assert_close(output, expected, forward_limit(expected, torch.float32))
        output.sum().backward()
        gamma = parameter_of(norm, 24)
        for tensor in (gamma, gradient_of(gamma, "gamma")):
            assert_kind(tensor, shape=tuple(gamma.shape), dtype=torch.float32, device=home)


@pytest.mark.rubric("norm_mixed_devices")
def test_the_output_is_on_the_device_of_the_input(device):
    """Where gamma and input are on one device, the output is there, too.

    gamma 与输入在同一个设备上时，输出也在那里。
    """
    output = build(hidden_size=24, group_size=4, device=device)(torch.ones(2, 3, 24, device=device))
    assert_kind(output, shape=(2, 3, 24), dtype=torch.float32, device=device)


@pytest.mark.rubric("norm_registration_and_arguments")
def test_gamma_is_the_only_parameter(dtype, device):
    """One trainable nn.Parameter with h elements, with the requested dtype and device; no buffers.

    只有一个含 h 个元素、可训练的 nn.Parameter，dtype 和 device 按参数指定；没有 buffer。
    """
    norm = GroupRMSNorm(hidden_size=24, group_size=4, dtype=dtype, device=device)
    gamma = only_parameter(norm)
    with about(GAMMA):
        assert_kind(gamma.flatten(), shape=(24,), dtype=dtype, device=device)
    if list(norm.buffers()):
        raise MismatchError(("buffers", {"found": listing(norm.named_buffers()), "expected": "none"}))


@pytest.mark.rubric("norm_registration_and_arguments")
@pytest.mark.hint(**ABOUT_DEFAULTS)
@pytest.mark.parametrize(
    ("argument", "value"),
    [("eps", 1e-5), ("init_range", (-1.0, 1.0)), ("init_seed", 42), ("dtype", torch.float32)],
    ids=str,
)
def test_leaving_an_argument_out_means_its_default(argument, value, device):
    """A module without {argument} does the same as one that is given the stub's default, {argument}={value}.

    不写 {argument}，与写上模板中的默认值 {argument}={value}，结果相同。
    """
    x, chosen = torch.arange(1.0, 25.0, device=device).view(1, 1, 24) / 1024, {argument: value}  # near sqrt(eps)
    without, given = (GroupRMSNorm(hidden_size=24, group_size=4, device=device, **some) for some in ({}, chosen))
    with about(GAMMA):
        assert_kind(only_parameter(without).flatten(), shape=(24,), dtype=torch.float32, device=device)
    expected = given(x)
    assert_close(without(x), expected, forward_limit(expected, torch.float32))


@pytest.mark.rubric("norm_registration_and_arguments")
def test_a_group_size_that_does_not_divide_is_refused():
    """26 features do not split into groups of 8.

    26 个特征不能分成每组 8 个。
    """
    assert_rejects(GroupRMSNorm, names=("hidden_size", "group_size"), hidden_size=26, group_size=8)


@pytest.mark.rubric("norm_sizes_named")
@pytest.mark.parametrize(("hidden_size", "group_size"), [(26, 8), (8, 16)])
def test_the_error_names_hidden_size_and_group_size(hidden_size, group_size):
    """The message contains both numbers, so that the reader can see what does not fit.

    报错信息里有这两个数，读的人才看得出哪里不合适。
    """
    sizes = {"hidden_size": hidden_size, "group_size": group_size}
    assert_names_sizes(GroupRMSNorm, names=("hidden_size", "group_size"), **sizes)


@pytest.mark.rubric("norm_backward")
def test_the_input_gradient_flows_through_the_root_mean_square_too(dtype, device):
    """With x = 4 s, s = ±1, and upstream u: dL/dx = (u - s * mean(u * s)) / 4. Here u is 1 on each group's first x.

    设 x = 4 s，s = ±1，上游梯度为 u：dL/dx = (u - s * mean(u * s)) / 4。这里 u 在每组的第一个 x 处为 1。
    """
    norm = build(hidden_size=8, group_size=4, eps=TINY, dtype=dtype, device=device)
    signs = alternating(1, 2, 8)
    upstream = torch.tensor([1.0, 0, 0, 0]).repeat(1, 2, 2)
    x = (4 * signs).to(device, dtype).requires_grad_()
    (norm(x) * upstream.to(device, dtype)).sum().backward()
    expected = (upstream - signs / 4) / 4  # 3/16 where u is one, else 1/16 with the opposite sign
    with gradient(INPUT):
        assert_close(gradient_of(x, "input"), expected, gradient_limit(upstream / 4 + 1 / 16, dtype))


@pytest.mark.rubric("norm_backward")
def test_the_gradient_of_gamma_adds_up_over_all_tokens(dtype, device):
    """dL/dgamma_j is the sum over tokens of upstream times normalised input, which is plus and minus one here.

    dL/dgamma_j 是上游梯度与归一化输入之积对所有 token 求和；这里归一化输入是正负一。
    """
    norm = build(hidden_size=8, group_size=4, eps=TINY, dtype=dtype, device=device)
    signs = alternating(2, 3, 8)
    upstream = torch.arange(48.0).view(2, 3, 8).remainder(7)
    (norm((32 * signs).to(device, dtype)) * upstream.to(device, dtype)).sum().backward()
    received = gradient_of(parameter_of(norm, 8), "gamma").flatten()
    expected = (upstream * signs).sum((0, 1))
    with gradient(GAMMA):
        assert_close(received, expected, gradient_limit(upstream.sum((0, 1)), dtype))


@pytest.mark.rubric("norm_backward")
def test_evaluation_mode_stops_no_gradient(device):
    """In eval(), input and gamma receive the gradients that they receive in train().

    在 eval() 模式下，输入和 gamma 收到的梯度与 train() 模式相同。
    """
    x, received = torch.arange(1.0, 25.0, device=device).view(1, 3, 8).remainder(7), []
    for mode in (True, False):
        norm, leaf = build(hidden_size=8, group_size=4, device=device).train(mode), x.clone().requires_grad_()
        (norm(leaf) * x).sum().backward()
        received.append((gradient_of(leaf, "input"), gradient_of(parameter_of(norm, 8), "gamma")))
    for of, trained, evaluated in zip((INPUT, GAMMA), *received, strict=True):
        with gradient(of):
            assert_equal(evaluated, trained)


@pytest.mark.rubric("norm_purity")
def test_input_and_gamma_stay_as_they_were(dtype, device):
    """A call only reads both, in train and in eval mode: the caller still needs the input, for the residual at least.

    调用只读取二者，不论是 train 还是 eval：调用 forward 的一方还要用这个输入，至少残差连接要用。
    """
    before, x = torch.linspace(-1, 1, 24).to(device), torch.arange(144.0).view(2, 3, 24).to(device, dtype)
    norm, passed = build(before, hidden_size=24, group_size=4, device=device), x.clone()
    for mode in (True, False):
        norm.train(mode)(passed)
        assert_unchanged(passed, x, "input")
        gamma = parameter_of(norm, 24).flatten()
        assert_kind(gamma, shape=(24,), dtype=torch.float32, device=device)
        assert_unchanged(gamma, before, "gamma")


@pytest.mark.rubric("norm_purity")
def test_train_and_eval_agree(device):
    """RMSNorm keeps no running statistics, so the mode has nothing to change.

    RMSNorm 不保存滑动统计量，train 与 eval 没有区别。
    """
    norm = build(hidden_size=24, group_size=4, device=device)
    x = torch.arange(144.0, device=device).view(2, 3, 24)
    output = norm.train()(x)
    with telling("modes_differ"):
        assert_equal(norm.eval()(x), output)


@pytest.mark.rubric("norm_purity")
@pytest.mark.parametrize("gamma_dtype", [torch.float32, torch.bfloat16], ids=["gamma-float32", "gamma-bfloat16"])
def test_earlier_calls_leave_no_trace(gamma_dtype, device):
    """After other inputs, another module and a changed gamma, a module gives the output of a new one.

    处理过别的输入、建过别的模块、改过 gamma 之后，结果与新建的模块相同。
    """
    arguments = {"hidden_size": 24, "group_size": 4, "dtype": gamma_dtype, "device": device}
    first, second = (torch.arange(144.0, device=device).view(2, 3, 24).remainder(size).add(1) for size in (11, 13))
    gammas = (torch.linspace(-1, 1, 24), torch.linspace(1, 3, 24))
    used = build(**arguments)
    for mode, gamma, x in itertools.product((True, False), gammas, (first, second, first)):
        expected = build(gamma, **arguments).train(mode)(x)
        GroupRMSNorm(hidden_size=24, group_size=8, eps=0.5, device=device)
        set_values(parameter_of(used, 24), gamma)
        with telling("not_as_new"):
            assert_equal(used.train(mode)(x), expected)
