"""Wrong ways to handle devices, by name: the property each breaks, those that it may break, and its edits in pairs."""

from __future__ import annotations

NORM = "norm_init_and_reset norm_registration_and_arguments norm_dtype_and_shape norm_mixed_devices norm_backward"
VOCAB = "vocab_init_and_reset vocab_dtype_and_registration vocab_mixed_devices vocab_backward"
SHARD = "shard_seed shard_registration_and_arguments shard_mixed_devices shard_backward"
ROTARY = "rotary_dtype rotary_backward rope_buffers"
GROWTH = "rope_boundary rope_smallest_even_ratio rope_static rope_dynamic rope_base rope_exact_angles rope_buffers"

_GAMMA = "torch.empty(hidden_size, dtype=dtype, device=device)"
_SCALED = "(normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)"
_ROW = "nn.functional.embedding(input_ids, self.table.to(input_ids.device))"
_TABLE = "torch.empty(vocab_size, emb_size, dtype=dtype, device=device)"
_SHARD = "torch.empty(rows, emb_size, dtype=dtype, device=device)"
_EMBEDDED = "nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device))"
_MASKED = "return embedded.masked_fill(foreign.unsqueeze(-1), 0)"
_FOREIGN = "foreign = (rows < 0) | (rows >= self.shard.shape[0])"
_MOVED = "cos, sin = (table.to(input.device).unsqueeze(1) for table in (cos, sin))"
_TURNED = "(input * cos + rotated_half * sin).to(input.dtype)"
_MADE = "self._tables(ratio, dtype, torch.device(device))"
_GROWN = "self._tables(ratio, cos.dtype, cos.device)"
_STORE_DEVICE = "super().__init__()\n        self.device = torch.device(device)"

WRONG: dict[str, tuple[str, ...]] = {
    # gamma
    "norm.device_ignored": ("norm_registration_and_arguments", NORM, _GAMMA, "torch.empty(hidden_size, dtype=dtype)"),
    "norm.device_hard_coded": (
        f"{NORM} norm_groups norm_eps_inside_sqrt norm_gamma norm_float32_inside norm_purity norm_sizes_named",
        "",  # nothing runs without CUDA
        _GAMMA,
        'torch.empty(hidden_size, dtype=dtype, device="cuda")',
    ),
    "norm.generator_on_the_cpu": (
        "norm_init_and_reset",
        NORM,
        "torch.Generator(self.gamma.device)",
        "torch.Generator()",
    ),
    "norm.drawn_on_the_cpu_then_moved": (
        "norm_init_and_reset",
        NORM,
        "torch.Generator(self.gamma.device)",
        "torch.Generator()",
        "nn.init.uniform_(self.gamma, *self.init_range, generator=generator)",
        "self.gamma.data.copy_(torch.empty(len(self.gamma)).uniform_(*self.init_range, generator=generator))",
    ),
    "norm.drawn_with_the_default_stream_of_the_cpu": (
        "norm_init_and_reset",
        NORM,
        "generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)",
        "torch.manual_seed(self.init_seed)",
        "nn.init.uniform_(self.gamma, *self.init_range, generator=generator)",
        "self.gamma.data.copy_(torch.empty(len(self.gamma), dtype=self.gamma.dtype).uniform_(*self.init_range))",
    ),
    "norm.drawn_from_the_wrong_generator_then_moved": (
        "norm_init_and_reset",
        NORM,
        "nn.init.uniform_(self.gamma, *self.init_range, generator=generator)",
        "drawn = torch.empty(len(self.gamma), dtype=self.gamma.dtype).uniform_(*self.init_range, generator=generator)\n"
        "        self.gamma.data.copy_(drawn)",
    ),
    "norm.output_on_the_device_of_gamma": (
        "norm_mixed_devices",
        NORM,
        "input.to(compute_dtype)",
        "input.to(self.gamma.device, compute_dtype)",
        "self.gamma.to(input.device)",
        "self.gamma",
    ),
    "norm.gamma_moved_for_good": (
        "norm_mixed_devices",
        NORM,
        "groups: Tensor",
        "self.gamma.data = self.gamma.data.to(input.device)\n        groups: Tensor",
    ),
    "norm.module_moved_for_good": (
        "norm_mixed_devices",
        NORM,
        "groups: Tensor",
        "self.to(input.device)\n        groups: Tensor",
    ),
    "norm.gamma_kept_for_each_device": (
        "norm_mixed_devices",
        NORM,
        "self.gamma.to(input.device)",
        "self.__dict__.setdefault(f'on_{input.device}', self.gamma.to(input.device))",
    ),
    "norm.output_on_the_cpu": ("norm_dtype_and_shape", NORM, _SCALED, f"{_SCALED}.cpu()"),
    "norm.eps_of_one_element_on_the_cpu": ("norm_dtype_and_shape", NORM, "+ self.eps)", "+ torch.tensor([self.eps]))"),
    "norm.ones_on_the_cpu": (
        "norm_dtype_and_shape",
        NORM,
        "/ torch.sqrt(",
        "* torch.ones(self.group_size) / torch.sqrt(",
    ),
    "norm.result_written_into_a_tensor_of_the_cpu": (
        "norm_dtype_and_shape",
        NORM,
        f"return {_SCALED}",
        f"return torch.empty(input.shape, dtype=input.dtype).copy_({_SCALED})",
    ),
    "norm.new_parameter_where_devices_differ": (
        "norm_backward",
        NORM,
        "self.gamma.to(input.device)",
        "(self.gamma if self.gamma.device == input.device else nn.Parameter(self.gamma.to(input.device)))",
    ),
    "norm.data_where_devices_differ": (
        "norm_backward",
        NORM,
        "self.gamma.to(input.device)",
        "(self.gamma if self.gamma.device == input.device else self.gamma.data.to(input.device))",
    ),
    "norm.device_of_the_constructor": (
        "norm_dtype_and_shape",
        NORM,
        "super().__init__()",
        _STORE_DEVICE,
        "input.to(compute_dtype)",
        "input.to(self.device, compute_dtype)",
        "self.gamma.to(input.device)",
        "self.gamma.to(self.device)",
    ),
    "norm.plain_tensor_left_behind": (
        "norm_dtype_and_shape",
        NORM,
        "super().__init__()",
        "super().__init__()\n        self.ones = torch.ones(group_size, device=device)",
        "/ torch.sqrt(",
        "* self.ones / torch.sqrt(",
    ),
    # The table
    "vocab.device_ignored": (
        "vocab_dtype_and_registration",
        VOCAB,
        _TABLE,
        "torch.empty(vocab_size, emb_size, dtype=dtype)",
    ),
    "vocab.generator_on_the_cpu": (
        "vocab_init_and_reset",
        VOCAB,
        "torch.Generator(self.table.device)",
        'torch.Generator("cpu")',
    ),
    "vocab.drawn_on_the_cpu_then_moved": (
        "vocab_init_and_reset",
        VOCAB,
        "torch.Generator(self.table.device)",
        "torch.Generator()",
        "nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)",
        "drawn = torch.empty(self.table.shape, dtype=self.table.dtype)\n"
        "        self.table.data.copy_(drawn.normal_(self.init_mean, self.init_std, generator=generator))",
    ),
    "vocab.output_on_the_cpu": ("vocab_dtype_and_registration", VOCAB, _ROW, f"{_ROW}.cpu()"),
    "vocab.gradient_cut_where_devices_differ": (
        "vocab_backward",
        VOCAB,
        "self.table.to(input_ids.device)",
        "(self.table if self.table.device == input_ids.device else self.table.detach().to(input_ids.device))",
    ),
    "vocab.one_hot_by_a_range_of_the_cpu": (
        "vocab_dtype_and_registration",
        VOCAB,
        _ROW,
        "(input_ids.unsqueeze(-1) == torch.arange(len(self.table))).to(self.table.dtype) @ self.table",
    ),
    "vocab.filled_into_zeros_of_the_cpu": (
        "vocab_dtype_and_registration",
        VOCAB,
        _ROW,
        "torch.zeros(self.table.shape[1:], dtype=self.table.dtype) + self.table.to(input_ids.device)[input_ids]",
    ),
    "vocab.device_of_the_constructor": (
        "vocab_dtype_and_registration",
        VOCAB,
        "super().__init__()",
        _STORE_DEVICE,
        _ROW,
        "nn.functional.embedding(input_ids.to(self.device), self.table.to(self.device))",
    ),
    # The shard
    "shard.device_ignored": (
        "shard_registration_and_arguments",
        SHARD,
        _SHARD,
        "torch.empty(rows, emb_size, dtype=dtype)",
    ),
    "shard.generator_on_the_cpu": ("shard_seed", SHARD, "torch.Generator(self.shard.device)", "torch.Generator()"),
    "shard.drawn_on_the_cpu_then_moved": (
        "shard_seed",
        SHARD,
        _SHARD,
        "torch.empty(rows, emb_size, dtype=dtype)",
        "self.reset_parameters()",
        "self.reset_parameters()\n        self.to(device)",
    ),
    "shard.left_where_it_is_with_one_rank": (
        "shard_mixed_devices",
        SHARD,
        "self.shard.to(input_ids.device)",
        "(self.shard if self.world_size == 1 else self.shard.to(input_ids.device))",
        "super().__init__()",
        "super().__init__()\n        self.world_size = world_size",
    ),
    "shard.output_on_the_cpu": ("shard_registration_and_arguments", SHARD, _MASKED, f"{_MASKED}.cpu()"),
    "shard.mask_on_the_cpu": (
        "shard_registration_and_arguments",
        SHARD,
        _FOREIGN,
        f"{_FOREIGN}\n        foreign = torch.zeros(rows.shape, dtype=torch.bool) | foreign",
    ),
    "shard.owned_ids_on_the_cpu": (
        "shard_registration_and_arguments",
        SHARD,
        _FOREIGN,
        "foreign = ~(rows.unsqueeze(-1) == torch.arange(self.shard.shape[0])).any(-1)",
    ),
    "shard.result_in_zeros_of_the_cpu": (
        "shard_registration_and_arguments",
        SHARD,
        _MASKED,
        "output = torch.zeros(embedded.shape, dtype=embedded.dtype)\n"
        "        output[~foreign] = embedded[~foreign]\n        return output",
    ),
    "shard.gradient_cut_where_devices_differ": (
        "shard_backward",
        SHARD,
        "self.shard.to(input_ids.device)",
        "(self.shard if self.shard.device == input_ids.device else self.shard.data.to(input_ids.device))",
    ),
    "shard.offset_left_behind": (
        "shard_registration_and_arguments",
        SHARD,
        "self.first_id = rank * rows",
        "self.first_id = torch.tensor([rank * rows], device=device)",
    ),
    # Turning
    "rotary.output_on_the_device_of_the_tables": (
        "rotary_dtype",
        ROTARY,
        _MOVED,
        "input = input.to(cos.device)\n    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)",
    ),
    "rotary.output_on_the_cpu": ("rotary_dtype", ROTARY, _TURNED, f"{_TURNED}.cpu()"),
    "rotary.signs_on_the_cpu": (
        "rotary_dtype",
        ROTARY,
        "torch.cat((-second, first), dim=-1)",
        "torch.cat((second, first), dim=-1) * torch.tensor([-1.0, 1.0]).repeat_interleave(input.shape[-1] // 2)",
    ),
    "rotary.result_in_a_tensor_of_the_cpu": (
        "rotary_dtype",
        ROTARY,
        f"return {_TURNED}",
        f"return torch.empty(input.shape, dtype=input.dtype).copy_({_TURNED})",
    ),
    # Tables
    "rope.tables_made_on_the_cpu": ("rope_buffers", GROWTH, _MADE, 'self._tables(ratio, dtype, torch.device("cpu"))'),
    "rope.exponents_on_the_cpu": (
        "rope_buffers",
        GROWTH,
        "dtype=torch.float32, device=device) / self.dim",
        "dtype=torch.float32) / self.dim",
    ),
    "rope.positions_on_the_cpu": (
        "rope_buffers",
        GROWTH,
        "ratio, dtype=torch.float32, device=device)",
        "ratio, dtype=torch.float32)",
    ),
    "rope.grown_on_the_cpu": ("rope_buffers", GROWTH, _GROWN, 'self._tables(ratio, cos.dtype, torch.device("cpu"))'),
    "rope.grown_on_the_device_of_the_constructor": (
        "rope_buffers",
        GROWTH,
        "super().__init__()",
        _STORE_DEVICE,
        _GROWN,
        "self._tables(ratio, cos.dtype, self.device)",
    ),
    "rope.output_on_the_device_of_the_tables": (
        "rope_buffers",
        GROWTH,
        "apply_rotary_pos_emb(input, ",
        "apply_rotary_pos_emb(input.to(cos.device), ",
    ),
    "rope.exponents_left_behind": (
        "rope_buffers",
        GROWTH,
        "super().__init__()",
        "super().__init__()\n        self.halves = torch.arange(0, dim, 2, dtype=torch.float32, device=device) / dim",
        "torch.outer(positions, base**-exponents)",
        "torch.outer(positions, base**-self.halves)",
    ),
}
