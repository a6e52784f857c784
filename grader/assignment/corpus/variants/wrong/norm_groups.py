"""GroupRMSNorm: faults in what is normalised, and by what."""

import torch
from torch import nn

from grader.core.specimens.variants import wrong

from . import NORM_OUTPUT


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_over_whole_hidden")
def rms_over_the_whole_hidden_dimension(self, input):
    """Takes one root mean square for each token."""
    x = input.float()
    rms = torch.sqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
    return (x / rms * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_over_whole_hidden")
def library_rms_norm_over_the_hidden_dimension(self, input):
    """Calls F.rms_norm with the hidden size, so the group size is never used."""
    weight = self.gamma.to(input.device).float()
    return nn.functional.rms_norm(input.float(), weight.shape, weight, self.eps).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_group_size_as_count")
def group_size_taken_as_the_number_of_groups(self, input):
    """Makes gz groups of h/gz features."""
    groups = input.float().unflatten(-1, (self.group_size, -1))
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_group_size_as_count")
def chunks_into_group_size_pieces(self, input):
    """Uses chunk(gz), whose argument is a number of pieces; split(gz) was meant."""
    pieces = [
        piece / torch.sqrt(piece.square().mean(dim=-1, keepdim=True) + self.eps)
        for piece in input.float().chunk(self.group_size, dim=-1)
    ]
    return (torch.cat(pieces, dim=-1) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_strided_groups")
def groups_of_every_nth_feature(self, input):
    """Reshapes to [b, s, gz, h/gz] and reduces over gz: groups of the right size, but not of neighbours."""
    groups = input.float().unflatten(-1, (self.group_size, -1))
    rms = torch.sqrt(groups.square().mean(dim=-2, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_across_groups")
def reduces_over_the_groups(self, input):
    """Reshapes rightly and reduces over the wrong one of the two dimensions."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=-2, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_mean_over_sequence")
def mixes_the_tokens_of_a_sequence(self, input):
    """Averages over the sequence as well."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=(1, 3), keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_mean_over_batch")
def mixes_the_rows_of_a_batch(self, input):
    """Averages over the batch as well."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    rms = torch.sqrt(groups.square().mean(dim=(0, 3), keepdim=True) + self.eps)
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


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_sum_for_mean")
def sums_the_squares(self, input):
    """Divides by the length of the group's vector, not by its root mean square."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    length = torch.sqrt(groups.square().sum(dim=-1, keepdim=True) + self.eps)
    return ((groups / length).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_unbiased_mean")
def divides_by_one_less_than_the_group_size(self, input):
    """Divides the sum of squares by gz - 1."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    mean_square = groups.square().sum(dim=-1, keepdim=True) / (self.group_size - 1)
    return ((groups / torch.sqrt(mean_square + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_subtracts_mean")
def layer_norm_of_each_group(self, input):
    """Subtracts the mean first."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    groups = groups - groups.mean(dim=-1, keepdim=True)
    rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
    return ((groups / rms).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_subtracts_mean")
def library_layer_norm_of_each_group(self, input):
    """Calls F.layer_norm on the groups."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    normalised = nn.functional.layer_norm(groups, (self.group_size,), eps=self.eps)
    return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_standard_deviation")
def divides_by_the_standard_deviation(self, input):
    """Keeps the mean in x, but divides by a deviation from it."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    deviation = torch.sqrt(groups.var(dim=-1, correction=0, keepdim=True) + self.eps)
    return ((groups / deviation).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_standard_deviation")
def divides_by_the_unbiased_deviation(self, input):
    """The same by torch's default, which divides by gz - 1, too."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    deviation = torch.sqrt(groups.var(dim=-1, keepdim=True) + self.eps)
    return ((groups / deviation).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_mean_magnitude")
def mean_of_absolute_values(self, input):
    """Divides by the mean absolute value."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    size = groups.abs().mean(dim=-1, keepdim=True)
    return ((groups / torch.sqrt(size.square() + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_largest_magnitude")
def largest_absolute_value(self, input):
    """Divides by the largest absolute value."""
    groups = input.float().unflatten(-1, (-1, self.group_size))
    size = groups.abs().amax(dim=-1, keepdim=True)
    return ((groups / torch.sqrt(size.square() + self.eps)).flatten(-2) * self.gamma.to(input.device)).to(input.dtype)


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


@wrong("GroupRMSNorm.forward", breaks="norm_groups", also=NORM_OUTPUT, hint="norm_groups_share")
def first_group_decides_for_all(self, input):
    """Uses the root mean square of the first group everywhere."""
    x = input.float()
    rms = torch.sqrt(x[..., : self.group_size].square().mean(dim=-1, keepdim=True) + self.eps)
    return (x / rms * self.gamma.to(input.device)).to(input.dtype)


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
