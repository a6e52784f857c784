"""GroupRMSNorm: faults in how gamma is drawn, how it is registered and which sizes are refused."""

import torch
from torch import nn

from grader.assignment.corpus.variants.bases import NormInSteps
from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm

from . import NORM


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_unseeded")
def never_seeded(self):
    """Draws from wherever the global generator stands."""
    nn.init.uniform_(self.gamma, *self.init_range)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_unseeded")
def seeded_after_the_draw(self):
    """Seeds one line too late."""
    nn.init.uniform_(self.gamma, *self.init_range)
    torch.manual_seed(self.init_seed)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_unseeded")
def seeds_another_library(self):
    """Seeds Python's random numbers, which torch does not use."""
    import random

    random.seed(self.init_seed)
    nn.init.uniform_(self.gamma, *self.init_range)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_after_extra_draw")
def draws_once_before(self):
    """Makes the parameter with rand after seeding, and fills it with the next numbers."""
    torch.manual_seed(self.init_seed)
    self.gamma = nn.Parameter(torch.rand_like(self.gamma))
    nn.init.uniform_(self.gamma, *self.init_range)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_other_scale")
def lower_bound_ignored(self):
    """Draws between zero and the upper bound."""
    generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
    nn.init.uniform_(self.gamma, 0.0, self.init_range[1], generator=generator)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_reset_differs")
def only_the_first_reset_draws(self):
    """Guards the draw with a flag, so a later reset changes nothing."""
    if not getattr(self, "drawn", False):
        generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
        nn.init.uniform_(self.gamma, *self.init_range, generator=generator)
    self.drawn = True


@wrong("GroupRMSNorm", breaks="norm_init_and_reset", hint="init_reset_differs")
class SeededInTheConstructorOnly(GroupRMSNorm):
    """Seeds in the constructor, so a later reset draws other numbers."""

    def __init__(self, hidden_size, group_size, init_seed=42, **options):
        torch.manual_seed(init_seed)
        super().__init__(hidden_size, group_size, init_seed=init_seed, **options)

    def reset_parameters(self):
        nn.init.uniform_(self.gamma, *self.init_range)


@wrong("GroupRMSNorm.reset_parameters", breaks="norm_init_and_reset", hint="init_reset_differs")
def generator_kept_and_never_rewound(self):
    """Seeds a generator once and goes on drawing from it."""
    if not hasattr(self, "generator"):
        self.generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)
    nn.init.uniform_(self.gamma, *self.init_range, generator=self.generator)


@wrong("GroupRMSNorm.check_sizes", over=NormInSteps, breaks="norm_sizes_named", hint="bad_sizes_unnamed")
def message_without_the_numbers(self, hidden_size, group_size):
    """Names the arguments and not their values."""
    assert hidden_size % group_size == 0, "hidden_size must be divisible by group_size"


@wrong("GroupRMSNorm.check_sizes", over=NormInSteps, breaks="norm_sizes_named", hint="bad_sizes_unnamed")
def message_with_one_of_the_numbers(self, hidden_size, group_size):
    """Names only the group size."""
    if hidden_size % group_size != 0:
        raise ValueError(f"group_size={group_size} is not a divisor")


@wrong(
    "GroupRMSNorm.check_sizes", over=NormInSteps, breaks="norm_registration_and_arguments", hint="bad_sizes_other_error"
)
def another_kind_of_error(self, hidden_size, group_size):
    """Raises RuntimeError."""
    if hidden_size % group_size != 0:
        raise RuntimeError(f"{hidden_size} is not a multiple of {group_size}")


@wrong(
    "GroupRMSNorm.check_sizes",
    over=NormInSteps,
    breaks="norm_registration_and_arguments norm_sizes_named",
    hint="bad_sizes_accepted",
)
def warns_where_it_should_raise(self, hidden_size, group_size):
    """Prints a warning and goes on."""
    if hidden_size % group_size != 0:
        print(f"warning: {hidden_size} is not a multiple of {group_size}")


@wrong(
    "GroupRMSNorm.register_gamma",
    over=NormInSteps,
    breaks="norm_registration_and_arguments",
    also=NORM,
    hint="further_parameter",
)
def eps_as_a_buffer(self, values):
    """Adds a buffer, which then appears in every checkpoint."""
    self.gamma = nn.Parameter(values)
    self.register_buffer("eps_value", torch.tensor(self.eps))


@wrong(
    "GroupRMSNorm",
    breaks="norm_registration_and_arguments norm_backward norm_init_and_reset",
    hint="not_a_parameter gradient_cut",  # of which the hint names new parameters
)
class GammaMadeByTheFirstCall(GroupRMSNorm):
    """Registers gamma when it is called, too late for an optimiser."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        self.made = [self.gamma]
        del self.gamma

    def forward(self, input):
        if self.made:
            self.gamma = self.made.pop()
        return super().forward(input)


@wrong("GroupRMSNorm", over=NormInSteps, breaks="norm_registration_and_arguments", also=NORM, hint="further_parameter")
class OneParameterForEachGroup(GroupRMSNorm):
    """Splits gamma into h/gz parameters."""

    def register_gamma(self, values):
        self.gammas = nn.ParameterList(values.split(self.group_size))

    def reset_parameters(self):
        generator = torch.Generator(self.gammas[0].device).manual_seed(self.init_seed)
        for gamma in self.gammas:
            nn.init.uniform_(gamma, *self.init_range, generator=generator)

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        rms = torch.sqrt(groups.square().mean(dim=-1, keepdim=True) + self.eps)
        return ((groups / rms).flatten(-2) * torch.cat(list(self.gammas)).to(input.device)).to(input.dtype)
