"""apply_rotary_pos_emb: faults in pairing, sign, broadcasting, dtype, gradient and side effects."""

import torch

from grader.specimens.variants import wrong

from . import ROTARY


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign")
def pairs_four_apart_at_most(input, cos, sin):
    """Has the half of eight features written in, which is right for up to eight."""
    half = min(input.shape[-1] // 2, 4)
    turned = torch.cat((-input[..., half:], input[..., :half]), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_adjacent_pairs")
def rotates_neighbours_by_tables_for_halves(input, cos, sin):
    """Pairs x_0 with x_1, and takes the tables as they are: the columns of two neighbours belong to two pairs."""
    turned = torch.stack((-input[..., 1::2], input[..., 0::2]), dim=-1).flatten(-2)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_adjacent_pairs")
def complex_numbers_of_neighbours(input, cos, sin):
    """Views neighbours as complex numbers, as the first Llama code does."""
    half = cos.shape[-1] // 2
    turn = torch.complex(cos[:, None, :half].float(), sin[:, None, :half].float())
    pairs = torch.view_as_complex(input.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turn).flatten(-2).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_opposite_angle")
def subtracts_the_turned_half(input, cos, sin):
    """Subtracts where it should add."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] - turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_other_turn")
def halves_not_swapped(input, cos, sin):
    """Negates a half and leaves both where they are."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-first, second), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_other_angles")
def every_second_column_of_the_tables(input, cos, sin):
    """Takes every second column, as from tables that hold an angle twice in a row."""
    first, second = input.chunk(2, dim=-1)
    cos, sin = (table[:, None, ::2] for table in (cos, sin))
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_part_stands_still")
def only_the_first_half_rotated(input, cos, sin):
    """Rotates the first half of the features among themselves and passes the rest through."""
    rotated, passed = input.chunk(2, dim=-1)
    cos, sin = (table[:, None, : rotated.shape[-1]] for table in (cos, sin))
    first, second = rotated.tensor_split(2, dim=-1)
    return torch.cat((rotated * cos + torch.cat((-second, first), dim=-1) * sin, passed), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_part_stands_still")
def second_half_left_out(input, cos, sin):
    """Rotates right, and keeps the first half of the result only."""
    half = input.shape[-1] // 2
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    output = input * cos[:, None] + turned * sin[:, None]
    return torch.cat((output[..., :half], input[..., half:]), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY)
def pairs_from_both_ends(input, cos, sin):
    """Pairs the first feature with the last."""
    half = input.shape[-1] // 2
    signs = torch.ones_like(input)
    signs[..., :half] = -1
    return (input * cos[:, None] + signs * input.flip(-1) * sin[:, None]).to(input.dtype)


@wrong(
    "apply_rotary_pos_emb",
    breaks="rotary_pairing_and_sign rotary_backward",
    also=ROTARY,
    hint="rotary_overwritten",
)
def second_half_from_the_new_first(input, cos, sin):
    """Overwrites the first half before the second is computed from it."""
    half = input.shape[-1] // 2
    cos, sin = cos[:, None, :half], sin[:, None, :half]
    output = input.clone()
    output[..., :half] = output[..., :half] * cos - output[..., half:] * sin
    output[..., half:] = output[..., half:] * cos + output[..., :half] * sin
    return output


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_other_turn")
def only_multiplied_by_the_cosine(input, cos, sin):
    """Leaves the sine out."""
    return (input * cos[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY)
def sequence_taken_to_be_dimension_two(input, cos, sin):
    """Broadcasts as for [b, nh, s, hd]."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[None, None] + turned * sin[None, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="rotary_heads_differ")
def heads_moved_by_reshape(input, cos, sin):
    """Reshapes to [b, nh, s, hd] where it should transpose, which mixes heads and positions."""
    batch, seq, heads, dim = input.shape
    first, second = input.reshape(batch, heads, seq, dim).chunk(2, dim=-1)
    cos, sin = (table.chunk(2, dim=-1)[0] for table in (cos, sin))
    output = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1)
    return output.reshape(input.shape).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="rotary_heads_differ")
def only_the_first_head(input, cos, sin):
    """Leaves the other heads as they were."""
    first, second = input[:, :, 0].chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    head = (input[:, :, 0] * cos + turned * sin).to(input.dtype)
    return torch.cat((head.unsqueeze(2), input[:, :, 1:]), dim=2)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", also=ROTARY, hint="rotary_heads_differ")
def only_the_first_of_the_batch(input, cos, sin):
    """Drops all but the first row of the batch, then copies its result to the others."""
    first, second = input[:1].chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input[:1] * cos[:, None] + turned * sin[:, None]).to(input.dtype).expand_as(input)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", hint="rotary_heads_differ")
def later_rows_of_a_large_batch_left_out(input, cos, sin):
    """Rotates the first 32 rows of a batch, and leaves the others as they are."""
    first, second = input[:32].chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    output = (input[:32] * cos[:, None] + turned * sin[:, None]).to(input.dtype)
    return torch.cat((output, input[32:]))


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", hint="rotary_vectors_left_out")
def last_position_left_out(input, cos, sin):
    """Ends one position too early, which leaves a single vector as it was."""
    first, second = input[:, :-1].chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    output = (input[:, :-1] * cos[:-1, None] + turned * sin[:-1, None]).to(input.dtype)
    return torch.cat((output, input[:, -1:]), dim=1)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign")
def three_shears(input, cos, sin):
    """Divides by 1 + cos, which is zero at a half turn and small near it, where digits are lost."""
    first, second = input.double().chunk(2, dim=-1)
    cosine, sine = (table.double()[:, None].chunk(2, dim=-1)[0] for table in (cos, sin))
    sheared = first - sine / (1 + cosine) * second
    second = second + sine * sheared
    return torch.cat((sheared - sine / (1 + cosine) * second, second), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_dtype", hint="few_digits")
def bfloat16_through_float16(input, cos, sin):
    """Converts bfloat16 to float16, which ends at 65504."""
    x = input.half() if input.dtype is torch.bfloat16 else input
    first, second = x.chunk(2, dim=-1)
    return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", also=ROTARY, hint="gradient_cut")
def turned_half_detached(input, cos, sin):
    """Lets only half of the gradient through."""
    first, second = input.detach().chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_purity", also=ROTARY, hint="input_changed")
def rotates_the_input_in_place(input, cos, sin):
    """Writes the result into the input."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return input.mul_(cos[:, None]).add_(turned * sin[:, None])


@wrong("apply_rotary_pos_emb", breaks="rotary_purity", also=ROTARY, hint="input_changed")
def input_reused_without_gradients(input, cos, sin):
    """Writes the result into the input where no gradient is recorded."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1) * sin[:, None]
    product = input * cos[:, None] if torch.is_grad_enabled() else input.mul_(cos[:, None])
    return (product + turned).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", also=ROTARY, hint="backward_of_a_later_call")
def tables_kept_for_the_way_back(input, cos, sin, kept={}):  # noqa: B006 - that is the mistake
    """Keeps the tables where a call for the keys puts other ones before the way back."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(_, x, cos, sin):
            kept["tables"] = cos, sin
            first, second = x.chunk(2, dim=-1)
            return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(x.dtype)

        @staticmethod
        def backward(_, upstream):
            cos, sin = kept["tables"]
            first, second = (upstream * sin[:, None]).chunk(2, dim=-1)
            return (upstream * cos[:, None] + torch.cat((second, -first), dim=-1)).to(upstream.dtype), None, None

    return Turn.apply(input, cos, sin)


@wrong(
    "apply_rotary_pos_emb",
    breaks="rotary_purity rope_buffers",
    also=ROTARY,
    hint="rotary_tables_changed earlier_call_remembered",
)
def signs_written_into_the_table(input, cos, sin):
    """Puts the minus sign into the first half of the caller's sines, where the next call finds it."""
    half = input.shape[-1] // 2
    sin[:, :half] *= -1
    return (input * cos[:, None] + input.roll(half, dims=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="rotary_sign_lost")
def sines_from_the_cosines(input, cos, sin):
    """Computes the sine as a root, which has no sign."""
    first, second = input.chunk(2, dim=-1)
    sin = (1 - cos.float().square()).clamp(min=0).sqrt().to(sin.dtype)
    return (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_purity", hint="output_reused")
def one_output_for_each_shape(input, cos, sin, kept={}):  # noqa: B006 - that is the mistake
    """Writes into the last output of that shape, where no gradients are recorded."""
    first, second = input.chunk(2, dim=-1)
    output = (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)
    if torch.is_grad_enabled():
        return output
    return kept.setdefault((output.shape, output.dtype, output.device), torch.empty_like(output)).copy_(output)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY, hint="earlier_call_remembered")
def tables_of_the_first_call(input, cos, sin, kept={}):  # noqa: B006 - that is the mistake
    """Expands the tables once for each shape, so other angles of that shape are never seen."""
    key = cos.shape, cos.dtype, input.device
    cos, sin = kept.setdefault(key, (cos.clone()[:, None], sin.clone()[:, None]))
    first, second = input.chunk(2, dim=-1)
    return (input * cos + torch.cat((-second, first), dim=-1) * sin).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast", hint="tokens_in_memory_order")
def input_read_in_memory_order(input, cos, sin):
    """Splits the features into halves by strides that only a contiguous input has."""
    batch, seq, heads, dim = input.shape
    shape, strides = (batch, seq, heads, dim // 2), (seq * heads * dim, heads * dim, dim, 1)
    first, second = (input.as_strided(shape, strides, start) for start in (0, dim // 2))
    cos, sin = cos[:, None, : dim // 2], sin[:, None, : dim // 2]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign")
def undefined_at_half_a_turn(input, cos, sin):
    """Looks at the tangent of half the angle, which half a turn does not have."""
    first, second = input.chunk(2, dim=-1)
    output = input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]
    return output.where((cos > -0.9999)[:, None], torch.nan).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", hint="rotary_gradient_not_turned_back")
def gradient_of_one_head_turned_forward(input, cos, sin):
    """Has a backward of its own that turns gradients of a single head the wrong way."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            first, second = x.chunk(2, dim=-1)
            return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(x.dtype)

        @staticmethod
        def backward(_, upstream):
            back = -sin if upstream.shape[2] > 1 else sin
            first, second = upstream.chunk(2, dim=-1)
            turned = torch.cat((-second, first), dim=-1)
            return (upstream * cos[:, None] + turned * back[:, None]).to(upstream.dtype)

    return Turn.apply(input)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward")
def contiguous_gradients_expected(input, cos, sin):
    """Has a backward of its own that flattens what arrives, which a transposition behind it makes impossible."""

    class Turn(torch.autograd.Function):
        @staticmethod
        def forward(_, x):
            first, second = x.chunk(2, dim=-1)
            return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(x.dtype)

        @staticmethod
        def backward(_, upstream):
            upstream = upstream.view(-1, upstream.shape[-1]).view(upstream.shape)
            first, second = (upstream * sin[:, None]).chunk(2, dim=-1)
            return (upstream * cos[:, None] + torch.cat((second, -first), dim=-1)).to(upstream.dtype)

    return Turn.apply(input)


@wrong("apply_rotary_pos_emb", breaks="rotary_backward", hint="gradient_cut")
def converted_without_gradient(input, cos, sin):
    """Cuts the gradient of a 16-bit input whose tables have another dtype."""
    x = input if input.dtype in (torch.float32, cos.dtype) else input.detach()
    first, second = x.chunk(2, dim=-1)
    return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign", also=ROTARY)
def columns_for_neighbours_of_four(input, cos, sin):
    """Rearranges the columns of tables for four features, after an example with pairs of neighbours."""
    if cos.shape[-1] == 4:
        cos, sin = cos[:, [0, 0, 1, 1]], sin[:, [0, 0, 1, 1]]
    first, second = input.chunk(2, dim=-1)
    return (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_dtype", also=ROTARY, hint="few_digits")
def small_sines_dropped(input, cos, sin):
    """Takes sines below a thousandth for rounding errors of zero."""
    sin = torch.where(sin.abs() < 1e-3, torch.zeros_like(sin), sin)
    first, second = input.chunk(2, dim=-1)
    return (input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_dtype")
def clamped_against_overflow(input, cos, sin):
    """Clamps the input to what float16 nearly holds, so that larger numbers of other dtypes are wrong."""
    x = input.float().clamp(-3e4, 3e4)
    first, second = x.chunk(2, dim=-1)
    return (x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]).to(input.dtype)


@wrong("apply_rotary_pos_emb", breaks="rotary_pairing_and_sign rotary_dtype")
def signs_of_the_first_size(input, cos, sin, signs=[]):  # noqa: B006 - the mistake
    """Keeps the signs of the first call, whatever the later ones' head dimension is, and device."""
    half = input.shape[-1] // 2
    if not signs:
        signs.append(torch.cat((-torch.ones(half), torch.ones(half))))
    turned = input.float().roll(half, -1) * signs[0][-2 * half :]
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype)
