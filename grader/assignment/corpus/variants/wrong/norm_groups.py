"""GroupRMSNorm: faults in what is normalised, and by what."""

import torch
from torch import nn

from grader.specimens.variants import wrong

from . import NORM_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_over_whole_hidden")
def library_rms_norm_over_the_hidden_dimension(self, input):
    """Calls F.rms_norm with the hidden size, so the group size is never used."""
    weight = self.gamma.to(input.device).float()
    return nn.functional.rms_norm(input.float(), weight.shape, weight, self.eps).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_group_size_as_count")
def chunks_into_group_size_pieces(self, input):
    """Uses chunk(gz), whose argument is a number of pieces; split(gz) was meant."""
    pieces = [
        piece / torch.sqrt(piece.square().mean(dim=-1, keepdim=True) + self.eps)
        for piece in input.float().chunk(self.group_size, dim=-1)
    ]
    return (torch.cat(pieces, dim=-1) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_across_groups")
def reduces_over_the_groups(self, input):
    """Reshapes rightly and reduces over the wrong one of the two dimensions."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-2, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_mean_over_all_tokens")
def one_root_mean_square_for_everything(self, input):
    """Calls mean() without a dimension."""
    x = input.float()
    return (x / torch.sqrt(x.square().mean() + self.eps) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_mixes_tokens")
def mean_of_all_positions_so_far(self, input):
    """Averages over the positions before as well, as a causal norm would."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    so_far = torch.arange(1, input.shape[1] + 1, device=input.device).view(1, -1, 1, 1)
    mean_square = groups.square().mean(dim=-1, keepdim=True).cumsum(dim=1) / so_far
    rms = torch.sqrt(mean_square + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", hint="tokens_left_out")
def last_incomplete_chunk_dropped(self, input):
    """Normalises 8 tokens at a time, and leaves those at zero that do not fill a chunk."""
    groups = input.float().reshape(-1, input.shape[-1] // self.group_size, self.group_size)
    gamma = self.gamma.to(input.device).view(-1, self.group_size)
    output = torch.zeros_like(groups)
    for chunk in range(max(1, len(groups) // 8)):
        part = slice(8 * chunk, 8 * (chunk + 1))
        mean_square = groups[part].square().mean(dim=-1, keepdim=True)
        output[part] = groups[part] / torch.sqrt(mean_square + self.eps) * gamma
    return output.reshape(input.shape).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", hint="tokens_left_out")
def last_incomplete_chunk_of_each_row_untouched(self, input):
    """Normalises 16 positions of all rows at a time, and returns those as they are that do not fill a chunk."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    gamma = self.gamma.to(input.device).view(-1, self.group_size)
    output = groups.clone()
    for start in range(0, max(1, input.shape[1] // 16) * 16, 16):
        part = groups[:, start : start + 16]
        output[:, start : start + 16] = part / torch.sqrt(part.square().mean(dim=-1, keepdim=True) + self.eps) * gamma
    return output.flatten(-2).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_subtracts_mean")
def library_layer_norm_of_each_group(self, input):
    """Calls F.layer_norm on the groups."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = nn.functional.layer_norm(groups, (self.group_size,), eps=self.eps)
    return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_standard_deviation")
def divides_by_the_unbiased_deviation(self, input):
    """The same by torch's default, which divides by gz - 1, too."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    deviation = torch.sqrt(groups.var(dim=-1, keepdim=True) + self.eps)
    return ((groups / deviation).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_without_root")
def forgets_the_root(self, input):
    """Divides by the mean square."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = groups.square().mean(dim=-1, keepdim=True)
    return ((groups / (mean_square + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_multiplies")
def multiplies_by_the_root_mean_square(self, input):
    """Multiplies where it should divide."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups * rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_group_left_out")
def leaves_the_last_group_as_it_was(self, input):
    """Stops the loop over groups one step early."""
    x = input.float()
    pieces = list(x.split(self.group_size, dim=-1))
    for index in range(len(pieces) - 1):
        pieces[index] = pieces[index] / torch.sqrt(pieces[index].square().mean(dim=-1, keepdim=True) + self.eps)
    return (torch.cat(pieces, dim=-1) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_feature_left_out")
def mean_without_the_last_feature(self, input):
    """Slices up to gz - 1, as if the end of a slice were included."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = groups[..., : max(1, self.group_size - 1)].square().mean(dim=-1, keepdim=True)
    return ((groups / torch.sqrt(mean_square + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)
