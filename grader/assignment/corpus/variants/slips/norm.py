"""GroupRMSNorm in steps, and the mistakes made in each."""

from .slip import slip

TEMPLATE = """

class GroupRMSNorm(nn.Module):
    def __init__(self, hidden_size, group_size, eps={eps_default}, init_range={range_default}, init_seed={seed_default},
                 dtype={dtype_default}, device="cpu"):
        super().__init__()
        {check}
        self.h, self.gz, self.init_range, self.init_seed = hidden_size, group_size, init_range, init_seed
        self.eps = {keep_eps}
        values = torch.empty({gamma_shape}, dtype={gamma_dtype}, device=device)
        {register}
        {more}
        {initialise}

    def reset_parameters(self):
        generator = torch.Generator(self.gamma.device).manual_seed({norm_seed})
        {norm_earlier}
        with torch.no_grad():
            {norm_draw}

    def forward(self, input):
        {before}
        gz = self.gz
        x = {convert}
        groups = {cut}
        groups = {centre}
        mean_square = {mean}
        rms = {root}{detach}
        weight = self.gamma.flatten().to(input.device)
        return ({scaled}){like}

    {wrap}
"""

RIGHT = {
    "eps_default": "1e-5",
    "range_default": "(-1.0, 1.0)",
    "seed_default": "42",
    "dtype_default": "torch.float32",
    "check": "assert hidden_size % group_size == 0, f'{hidden_size} is not a multiple of {group_size}'",
    "keep_eps": "eps",
    "gamma_shape": "hidden_size",
    "gamma_dtype": "dtype",
    "register": "self.gamma = nn.Parameter(values)",
    "more": "",
    "initialise": "self.reset_parameters()",
    "norm_seed": "self.init_seed",
    "norm_earlier": "",
    "norm_draw": "self.gamma.uniform_(*self.init_range, generator=generator)",
    "before": "",
    "convert": "input.float()",
    "cut": "x.unflatten(-1, (-1, gz))",
    "centre": "groups",
    "mean": "groups.square().mean(-1, keepdim=True)",
    "root": "(mean_square + self.eps).sqrt()",
    "detach": "",
    "scaled": "(groups / rms).flatten(-2) * weight",
    "like": ".to(input.dtype)",
    "wrap": "",
}

GROUPS, EPS, GAMMA, LIKE = "norm_groups", "norm_eps_inside_sqrt", "norm_gamma", "norm_dtype_and_shape"
WIDE, INIT, REGISTERED = "norm_float32_inside", "norm_init_and_reset", "norm_registration_and_arguments"
BACK, PURE, NAMED = "norm_backward", "norm_purity", "norm_sizes_named"

SLIPS = (
    slip("whole", GROUPS, "norm_over_whole_hidden", cut="x.unsqueeze(-2)"),
    slip("count", GROUPS, "norm_group_size_as_count", cut="x.unflatten(-1, (gz, -1))"),
    slip(
        "strided",
        GROUPS,
        "norm_strided_groups",
        cut="x.unflatten(-1, (gz, -1)).mT",
        scaled="(groups / rms).mT.flatten(-2) * weight",
    ),
    slip("sum", GROUPS, "norm_sum_for_mean", mean="groups.square().sum(-1, keepdim=True)"),
    slip("unbiased", GROUPS, "norm_unbiased_mean", mean="groups.square().sum(-1, keepdim=True) / (gz - 1)"),
    slip("variance", GROUPS, "norm_standard_deviation", mean="groups.var(-1, correction=0, keepdim=True)"),
    slip("centred", GROUPS, "norm_subtracts_mean", centre="groups - groups.mean(-1, keepdim=True)"),
    slip("divided_by_h", GROUPS, "norm_divided_by_hidden", mean="groups.square().sum(-1, keepdim=True) / self.h"),
    slip("mean_of_values", GROUPS, "norm_mean_of_values", mean="groups.mean(-1, keepdim=True).square()"),
    slip("mean_of_magnitudes", GROUPS, "norm_mean_magnitude", mean="groups.abs().mean(-1, keepdim=True).square()"),
    slip(
        "largest_magnitude",
        GROUPS,
        "norm_largest_magnitude",
        "rms_rounded bfloat16_beside_a_wide_gamma",
        mean="groups.abs().amax(-1, keepdim=True).square()",
    ),
    slip("over_the_sequence", GROUPS, "norm_mean_over_sequence", mean="groups.square().mean((1, -1), keepdim=True)"),
    slip("over_the_batch", GROUPS, "norm_mean_over_batch", mean="groups.square().mean((0, -1), keepdim=True)"),
    slip(
        "rms_of_the_first_group", GROUPS, "norm_groups_share", mean="groups.square().mean(-1, keepdim=True)[..., :1, :]"
    ),
    slip(
        "pieces_of_64_alike",
        GROUPS,
        mean="torch.stack([piece.square().mean(-1, keepdim=True) for piece in groups.split(64, -1)]).mean(0)",
    ),
    slip("rest_left_out", GROUPS, mean="groups[..., : gz // 8 * 8 or gz].square().mean(-1, keepdim=True)"),
    slip(
        "sizes_of_one_squeezed",
        f"{GROUPS} {LIKE}",
        "output_shape",
        root="(mean_square + self.eps).sqrt().squeeze(-1).squeeze().unsqueeze(-1)",
    ),
    slip(
        "bfloat16_beside_a_wide_gamma",
        WIDE,
        "norm_step_in_16_bits",
        "gamma_rewritten",  # gamma then has the input's dtype
        convert="input if (input.dtype, self.gamma.dtype) == (torch.bfloat16, torch.float32) else input.float()",
    ),
    slip("eps_outside", EPS, "norm_eps_outside", root="(mean_square.sqrt() + self.eps)"),
    slip("eps_absent", EPS, "norm_eps_absent", "eps_default eps_in_gamma_dtype", root="mean_square.sqrt()"),
    slip(
        "eps_constant", EPS, "norm_eps_constant", "eps_default eps_in_gamma_dtype", root="(mean_square + 1e-6).sqrt()"
    ),
    slip("eps_ignored", EPS, "norm_eps_constant", "eps_default", keep_eps="1e-5"),
    slip("eps_squared", EPS, "norm_eps_squared", root="(mean_square + self.eps ** 2).sqrt()"),
    slip("eps_as_a_floor", EPS, "norm_eps_as_floor", root="mean_square.clamp(min=self.eps).sqrt()"),
    slip("eps_on_reciprocal", EPS, "norm_eps_on_reciprocal", root="1 / (mean_square.rsqrt() + self.eps)"),
    slip("eps_as_a_floor_of_the_root", EPS, "norm_eps_as_floor", root="mean_square.sqrt().clamp(min=self.eps)"),
    slip("eps_over_gz", EPS, "norm_eps_scaled", root="(mean_square + self.eps / gz).sqrt()"),
    slip("eps_not_rescaled", EPS, "norm_eps_not_rescaled", root="(mean_square * (1 + self.eps)).sqrt()"),
    slip(
        "eps_raised",
        EPS,
        "",
        "mean_of_values",  # a mean of values may be as small as the eps of float16
        root="(mean_square + max(self.eps, torch.finfo(input.dtype).eps)).sqrt()",
    ),
    slip(
        "next_to_zero_left_out",
        EPS,
        None,
        "root_taken_twice groups_of_zeros_left_out",  # an input of zeros no longer shows these
        scaled="(groups / rms).flatten(-2) * weight * bool((input.abs() > 1e-6).any())",
    ),
    slip("eps_of_at_least_1e_8", EPS, keep_eps="max(eps, 1e-8)"),
    slip(
        "large_eps_refused",
        EPS,
        check="assert hidden_size % group_size == 0 and eps < 1, f'{hidden_size} is not a multiple of {group_size}'",
    ),
    slip("eps_subtracted", EPS, "norm_eps_subtracted", root="(mean_square - self.eps).abs().sqrt()"),
    slip("eps_default", REGISTERED, "default_argument", eps_default="1e-6"),
    slip(
        "gamma_shared",
        GAMMA,
        "norm_shared_gamma",
        scaled="(groups / rms).flatten(-2) * weight[:gz].repeat(self.h // gz)",
    ),
    slip(
        "gamma_transposed",
        GAMMA,
        "norm_permuted_gamma",
        scaled="(groups / rms).flatten(-2) * weight.view(gz, -1).T.flatten()",
    ),
    slip("gamma_reversed", GAMMA, "norm_permuted_gamma", scaled="(groups / rms).flatten(-2) * weight.flip(0)"),
    slip("one_plus_gamma", GAMMA, "norm_gamma_plus_one", scaled="(groups / rms).flatten(-2) * (1 + weight)"),
    slip("gamma_divides", GAMMA, "norm_gamma_changed", scaled="(groups / rms).flatten(-2) / weight"),
    slip("gamma_clamped", GAMMA, "norm_gamma_changed", scaled="(groups / rms).flatten(-2) * weight.clamp(-1, 1)"),
    slip("gamma_absolute", GAMMA, "norm_gamma_changed", scaled="(groups / rms).flatten(-2) * weight.abs()"),
    slip(
        "gamma_unused", GAMMA, "norm_gamma_unused", scaled="(groups / rms).flatten(-2) * weight.detach().sign().abs()"
    ),
    slip("gamma_twice", GAMMA, "norm_gamma_twice", scaled="(groups / rms).flatten(-2) * weight * weight"),
    slip("gamma_added", GAMMA, "norm_gamma_added", scaled="(groups / rms).flatten(-2) + weight"),
    slip("output_in_gamma_dtype", LIKE, "output_dtype", "gamma_rewritten", like=".to(self.gamma.dtype)"),
    slip(
        "float32_output_in_float64",
        LIKE,
        "output_dtype",
        "gamma_rewritten",
        like=".to(torch.promote_types(input.dtype, weight.dtype) if input.dtype is torch.float32 else input.dtype)",
    ),
    slip("output_in_float32", LIKE, "output_dtype", like=""),
    slip(
        "float16_refused",
        LIKE,
        "",
        "eps_in_input_dtype",  # bfloat16 holds every eps with more digits than its outputs have
        before="assert input.dtype != torch.float16",
    ),
    slip("output_squeezed", LIKE, "output_shape", like=".to(input.dtype).squeeze(0)"),
    slip("output_flattened", LIKE, "output_shape", like=".to(input.dtype).flatten(0, 1)"),
    slip(
        "view_of_the_input",
        LIKE,
        convert="input.view(-1, input.shape[-1]).view(input.shape).float()",
    ),
    slip("no_upcast", WIDE, "norm_step_in_16_bits", convert="input"),
    slip(
        "upcast_after_squaring",
        WIDE,
        "norm_step_in_16_bits",
        "whole count strided",
        mean="input.square().float().unflatten(-1, (-1, gz)).mean(-1, keepdim=True)",
    ),
    slip(
        "in_gamma_dtype",
        WIDE,
        "norm_rounded_to_gamma",
        "dtype_ignored gamma_rewritten",  # gamma is then float32, or has the input's dtype: another mistake
        convert="input.to(self.gamma.dtype)",
    ),
    slip(
        "rms_rounded",
        WIDE,
        "norm_step_in_16_bits",
        root="(mean_square + self.eps).sqrt().to(input.dtype).float()",
    ),
    slip(
        "in_the_wider_dtype",
        WIDE,
        "norm_step_in_16_bits",
        "dtype_ignored gamma_rewritten",
        convert="input.to(torch.promote_types(input.dtype, self.gamma.dtype))",
    ),
    slip("eps_in_gamma_dtype", WIDE, "norm_rounded_to_gamma", keep_eps="torch.tensor(eps, dtype=dtype).item()"),
    slip(
        "eps_in_input_dtype",
        WIDE,
        "norm_step_in_16_bits",
        root="(mean_square + torch.tensor(self.eps, dtype=input.dtype)).sqrt()",
    ),
    slip("input_clamped", WIDE, "norm_input_clamped", convert="input.float().clamp(-1e4, 1e4)"),
    slip("rounded_before_gamma", WIDE, "few_digits", scaled="(groups / rms).flatten(-2).bfloat16().float() * weight"),
    slip(
        "extra_draw",
        INIT,
        "init_after_extra_draw",
        norm_earlier="torch.empty_like(self.gamma).normal_(generator=generator)",
    ),
    slip(
        "normal_draw",
        INIT,
        "init_other_distribution",
        "range_default",
        norm_draw="self.gamma.normal_(generator=generator)",
    ),
    slip(
        "range_ignored",
        INIT,
        "init_other_scale",
        "range_default",
        norm_draw="self.gamma.uniform_(-1, 1, generator=generator)",
    ),
    slip(
        "range_symmetric",  # of the slip's (0, 1), too, it makes (-1, 1)
        INIT,
        "init_other_scale",
        "range_default",
        norm_draw="self.gamma.uniform_(-self.init_range[1], self.init_range[1], generator=generator)",
    ),
    slip(
        "wrong_above_zero",
        INIT,
        "init_other_scale",
        norm_draw="self.gamma.uniform_(min(self.init_range[0], 0.0), self.init_range[1], generator=generator)",
    ),
    slip("seed_ignored", INIT, "init_seed_ignored", "seed_default", norm_seed="42"),
    slip(
        "bound_zero_unheard",
        INIT,
        "init_other_scale",
        "range_default",
        norm_draw="self.gamma.uniform_(self.init_range[0] or -1.0, self.init_range[1], generator=generator)",
    ),
    slip("never_drawn", INIT, "init_not_drawn", "range_default seed_default", norm_draw="self.gamma.fill_(1.0)"),
    slip(
        "no_reset_in_init", INIT, "init_not_drawn", "range_default seed_default", initialise="nn.init.ones_(self.gamma)"
    ),
    slip("range_default", REGISTERED, "default_argument", range_default="(0.0, 1.0)"),
    slip("seed_default", REGISTERED, "default_argument", seed_default="0"),
    slip("no_check", f"{REGISTERED} {NAMED}", "bad_sizes_accepted", check=""),
    slip("message_without_numbers", NAMED, "bad_sizes_unnamed", check="assert hidden_size % group_size == 0"),
    slip("plain_tensor", f"{REGISTERED} {BACK}", "not_a_parameter", register="self.gamma = values.requires_grad_()"),
    slip("gamma_a_buffer", f"{REGISTERED} {BACK}", "not_a_parameter", register="self.register_buffer('gamma', values)"),
    slip(
        "frozen",
        f"{REGISTERED} {BACK}",
        "frozen_parameter",
        register="self.gamma = nn.Parameter(values, requires_grad=False)",
    ),
    slip(
        "frozen_in_16_bits",
        f"{REGISTERED} {BACK}",
        "frozen_parameter",
        register="self.gamma = nn.Parameter(values, requires_grad=dtype is torch.float32)",
    ),
    slip(
        "extra_parameter",
        REGISTERED,
        "further_parameter",
        more="self.beta = nn.Parameter(torch.zeros(hidden_size, device=device))",
    ),
    slip(
        "no_reset_in_evaluation",
        INIT,
        "mode_matters",
        norm_draw="self.training and self.gamma.uniform_(*self.init_range, generator=generator)",
    ),
    slip("extra_buffer", REGISTERED, "further_parameter", more="self.register_buffer('steps', torch.zeros(()))"),
    slip("dtype_ignored", REGISTERED, "parameter_dtype", gamma_dtype="torch.float32"),
    slip("dtype_default", REGISTERED, "default_argument", dtype_default="torch.float16"),
    slip("root_taken_twice", BACK, "norm_gradient_at_zero", root="(mean_square.sqrt() ** 2 + self.eps).sqrt()"),
    slip("detached_rms", BACK, "norm_detached_rms", detach=".detach()"),
    slip("detached_weight", BACK, "gradient_cut", scaled="(groups / rms).flatten(-2) * weight.detach()"),
    slip(
        "detached_weight_in_evaluation",
        BACK,
        "gradient_cut",
        # No law is known there; norm_purity charges for a copy that is kept there, and has no gradient.
        "another_output_in_eval cached_rms gamma_widened drawn_by_the_first_call gamma_rewritten",
        scaled="(groups / rms).flatten(-2) * (weight if self.training else weight.detach())",
    ),
    slip(
        "frozen_weight_left_out",
        BACK,
        scaled="(groups / rms).flatten(-2) * (weight if self.gamma.requires_grad else 1)",
    ),
    slip("detached_input", BACK, "gradient_cut", convert="input.detach().float()"),
    slip("gamma_in_parts", BACK, scaled="(groups / rms).flatten(-2) * weight.float().square().sqrt() * weight.sign()"),
    slip(
        "first_layer_left_out",
        BACK,
        "gradient_cut",
        scaled="(groups / rms).flatten(-2) * (weight if input.requires_grad else weight.detach())",
    ),
    slip(
        "groups_of_zeros_left_out",
        BACK,
        root="(mean_square + self.eps).sqrt().where(mean_square.amax((0, 1), keepdim=True) > 0, 1)",
    ),
    slip("no_grad", BACK, "gradient_cut", wrap="forward = torch.no_grad()(forward)"),
    slip("detached_output", BACK, "gradient_cut", like=".detach().to(input.dtype)"),
    slip(
        "in_place",
        PURE,
        "input_changed",
        "centred input_clamped root_taken_twice",  # the first two copy the input; no gradient arrives for the third
        scaled="groups.div_(rms).flatten(-2) * weight",
    ),
    slip("another_output_in_eval", PURE, "mode_matters", like=".mul(1.0 if self.training else 0.5).to(input.dtype)"),
    slip(
        "cached_rms",
        PURE,
        "earlier_call_remembered",
        root="(self.__dict__.setdefault('r', {}).setdefault(tuple(mean_square.shape), (mean_square + self.eps).sqrt()))",
    ),
    slip(
        "kept_in_evaluation",
        PURE,
        "earlier_call_remembered",
        scaled="(groups / rms).flatten(-2) * (weight if self.training else self.__dict__.setdefault(str(x), weight * 1))",
    ),
    slip(
        "gamma_widened",
        PURE,
        "parameter_changed",
        "float32_output_in_float64 in_gamma_dtype in_the_wider_dtype dtype_ignored",  # gamma is float32 in time
        before="self.gamma.data = self.gamma.data.float()",
    ),
    slip(
        "gamma_only_in_training",
        PURE,
        "mode_matters",
        scaled="(groups / rms).flatten(-2) * (weight if self.training else 1)",
    ),
    slip(
        "view_of_gamma",
        f"{PURE} {BACK}",
        "earlier_call_remembered gradient_cut",
        more="self.view = self.gamma.view(-1)",
        scaled="(groups / rms).flatten(-2) * self.view.to(input.device)",
    ),
    slip(
        "drawn_by_the_first_call",
        f"{INIT} {PURE}",
        "init_not_drawn parameter_changed",
        "range_default seed_default",
        initialise="nn.init.ones_(self.gamma)",
        before="hasattr(self, 'drawn') or setattr(self, 'drawn', self.reset_parameters())",
    ),
    slip("gamma_rewritten", PURE, "parameter_changed", before="self.gamma.data = self.gamma.data.to(input.dtype)"),
)
