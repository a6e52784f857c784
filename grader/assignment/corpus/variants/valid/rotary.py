"""apply_rotary_pos_emb, done right in other ways."""

import torch

from grader.specimens.variants import valid


@valid("apply_rotary_pos_emb")
def half_tables(input, cos, sin):
    """Rotates with the first half of the tables."""
    half = input.shape[-1] // 2
    first, second = input[..., :half], input[..., half:]
    cos, sin = cos[:, None, :half], sin[:, None, :half]
    return torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(input.dtype)


@valid("apply_rotary_pos_emb")
def rolled_with_signs(input, cos, sin):
    """Swaps the halves with roll and puts the signs on the sines."""
    half = input.shape[-1] // 2
    signed = torch.cat((-sin[:, :half], sin[:, half:]), dim=-1).unsqueeze(1)
    return (input * cos.unsqueeze(1) + input.roll(half, dims=-1) * signed).to(input.dtype)


@valid("apply_rotary_pos_emb")
def complex_numbers_of_pairs(input, cos, sin):
    """Multiplies complex numbers made of both halves."""
    first, second = input.float().chunk(2, dim=-1)
    half = first.shape[-1]
    turned = torch.complex(first, second) * torch.complex(cos[:, None, :half].float(), sin[:, None, :half].float())
    return torch.cat((turned.real, turned.imag), dim=-1).to(input.dtype)


@valid("apply_rotary_pos_emb")
def computed_angles(input, cos, sin):
    """Computes angle and length of what the tables hold, and turns complex numbers in double precision."""
    half = input.shape[-1] // 2
    cos, sin = cos[:, None, :half].double(), sin[:, None, :half].double()
    turn = torch.polar(torch.hypot(cos, sin), torch.atan2(sin, cos))
    turned = torch.complex(*input.double().chunk(2, dim=-1)) * turn
    return torch.cat((turned.real, turned.imag), dim=-1).to(input.dtype)


@valid("apply_rotary_pos_emb")
def two_by_two_matrices(input, cos, sin):
    """Multiplies each pair by its rotation matrix."""
    half = input.shape[-1] // 2
    cos, sin = cos[:, :half].float(), sin[:, :half].float()
    matrices = torch.stack((torch.stack((cos, -sin)), torch.stack((sin, cos))))  # [2, 2, s, hd/2]
    pairs = input.float().unflatten(-1, (2, half))
    return torch.einsum("yxsd,bshxd->bshyd", matrices, pairs).flatten(-2).to(input.dtype)


@valid("apply_rotary_pos_emb")
def stacked_halves(input, cos, sin):
    """Stacks the halves of the result and flattens them."""
    first, second = input.unflatten(-1, (2, -1)).unbind(-2)
    cos, sin = cos[:, None, : first.shape[-1]], sin[:, None, : first.shape[-1]]
    output = torch.stack((first * cos - second * sin, second * cos + first * sin), dim=-2)
    return output.flatten(-2).type_as(input)


@valid("apply_rotary_pos_emb")
def loop_over_positions(input, cos, sin):
    """Rotates one position at a time."""
    half = input.shape[-1] // 2
    output = []
    for position in range(input.shape[1]):
        first, second = input[:, position].split(half, dim=-1)
        turned = torch.cat((-second, first), dim=-1)
        output.append(input[:, position] * cos[position] + turned * sin[position])
    return torch.stack(output, dim=1).to(input.dtype)


@valid("apply_rotary_pos_emb")
def tables_cast_first(input, cos, sin):
    """Converts the tables to the dtype of the input."""
    cos, sin = cos.to(input.dtype)[None, :, None], sin.to(input.dtype)[None, :, None]
    first, second = input.chunk(2, dim=-1)
    return input * cos + torch.cat((-second, first), dim=-1) * sin


@valid("apply_rotary_pos_emb")
def float64_throughout(input, cos, sin):
    """Computes in double precision."""
    first, second = input.double().chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input.double() * cos.double()[:, None] + turned * sin.double()[:, None]).to(input.dtype)


@valid("apply_rotary_pos_emb")
def heads_moved_and_moved_back(input, cos, sin):
    """Transposes to [b, nh, s, hd], where the tables broadcast as they are."""
    x = input.transpose(1, 2)
    first, second = x.chunk(2, dim=-1)
    return (x * cos + torch.cat((-second, first), dim=-1) * sin).transpose(1, 2).to(input.dtype)


@valid("apply_rotary_pos_emb")
def written_into_a_new_tensor(input, cos, sin):
    """Assigns the halves of a new tensor."""
    half = input.shape[-1] // 2
    cos, sin = cos[:, None, :half], sin[:, None, :half]
    output = torch.empty_like(input)
    output[..., :half] = input[..., :half] * cos - input[..., half:] * sin
    output[..., half:] = input[..., half:] * cos + input[..., :half] * sin
    return output


@valid("apply_rotary_pos_emb")
def features_gathered(input, cos, sin):
    """Looks the partner of each feature up by index."""
    dim = input.shape[-1]
    partner = (torch.arange(dim, device=input.device) + dim // 2) % dim
    sign = torch.where(partner >= dim // 2, -1.0, 1.0)
    x = input.float()
    return torch.addcmul(x * cos.unsqueeze(1), x[..., partner], sign * sin.unsqueeze(1)).to(input.dtype)


@valid("apply_rotary_pos_emb")
def matrix_that_swaps_the_halves(input, cos, sin):
    """Swaps the halves by a matrix product with ones, minus ones and zeros."""
    half = input.shape[-1] // 2
    swap = torch.zeros(2 * half, 2 * half, device=input.device)
    swap[:half, half:] = torch.eye(half)
    swap[half:, :half] = -torch.eye(half)
    x = input.float()
    return (x * cos.float()[:, None] + (x @ swap) * sin.float()[:, None]).to(input.dtype)
