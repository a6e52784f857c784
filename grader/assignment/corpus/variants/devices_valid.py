"""Valid ways to handle devices, by name: edits of the reference in pairs."""

from __future__ import annotations

_DRAW = "nn.init.uniform_(self.gamma, *self.init_range, generator=generator)"
_SEED = "generator = torch.Generator(self.gamma.device).manual_seed(self.init_seed)"
_GAMMA = "self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype, device=device))"
_MOVED_GAMMA = "self.gamma.to(input.device)"
_NORMALISED = "return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)"
_TABLE = "self.table = nn.Parameter(torch.empty(vocab_size, emb_size, dtype=dtype, device=device))"
_ROW = "nn.functional.embedding(input_ids, self.table.to(input_ids.device))"
_DRAW_TABLE = "nn.init.normal_(self.table, self.init_mean, self.init_std, generator=generator)"
_EMBEDDED = "nn.functional.embedding(rows.masked_fill(foreign, 0), self.shard.to(input_ids.device))"
_MASKED = "return embedded.masked_fill(foreign.unsqueeze(-1), 0)"
_FOREIGN = "foreign = (rows < 0) | (rows >= self.shard.shape[0])"
_MOVED = "cos, sin = (table.to(input.device).unsqueeze(1) for table in (cos, sin))"
_TURNED = "return (input * cos + rotated_half * sin).to(input.dtype)"
_MADE = "self._tables(ratio, dtype, torch.device(device))"
_GROWN = "self._tables(ratio, cos.dtype, cos.device)"

VALID: dict[str, tuple[str, ...]] = {
    # gamma
    "norm.generator_by_keyword": (
        _SEED,
        "generator = torch.Generator(device=self.gamma.device)\n        generator.manual_seed(self.init_seed)",
    ),
    "norm.seeded_globally": (
        _SEED,
        "torch.manual_seed(self.init_seed)",
        _DRAW,
        "nn.init.uniform_(self.gamma, *self.init_range)",
    ),
    "norm.seeded_globally_and_restored": (
        _SEED,
        "with torch.random.fork_rng():\n            torch.manual_seed(self.init_seed)",
        _DRAW,
        "    nn.init.uniform_(self.gamma, *self.init_range)",
    ),
    "norm.drawn_in_place": (_DRAW, "self.gamma.data.uniform_(*self.init_range, generator=generator)"),
    "norm.drawn_without_gradients": (
        _DRAW,
        "with torch.no_grad():\n            self.gamma.uniform_(*self.init_range, generator=generator)",
    ),
    "norm.drawn_beside_and_copied": (
        _DRAW,
        "self.gamma.data.copy_(torch.empty_like(self.gamma).uniform_(*self.init_range, generator=generator))",
    ),
    "norm.drawn_beside_and_put_in_place": (
        _DRAW,
        "drawn = torch.empty(self.gamma.shape, dtype=self.gamma.dtype, device=self.gamma.device)\n"
        "        self.gamma.data = drawn.uniform_(*self.init_range, generator=generator)",
    ),
    "norm.drawn_in_float32_and_rounded": (
        _DRAW,
        "drawn = torch.empty(self.gamma.shape, dtype=torch.float32, device=self.gamma.device)\n"
        "        self.gamma.data.copy_(drawn.uniform_(*self.init_range, generator=generator))",
    ),
    "norm.made_on_the_cpu_and_moved_before_the_draw": (
        _GAMMA,
        "self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype).to(device))",
    ),
    "norm.module_moved_before_the_draw": (
        _GAMMA,
        "self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype))\n        self.to(device)",
    ),
    "norm.data_moved_before_the_draw": (
        _GAMMA,
        "self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype))\n"
        "        self.gamma.data = self.gamma.data.to(device)",
    ),
    "norm.made_in_a_device_context": (
        _GAMMA,
        "with torch.device(device):\n            self.gamma = nn.Parameter(torch.empty(hidden_size, dtype=dtype))",
    ),
    "norm.made_by_options": (
        _GAMMA,
        'options = {"dtype": dtype, "device": device}\n'
        "        self.gamma = nn.Parameter(torch.ones(hidden_size, **options))",
    ),
    "norm.registered_by_name": (
        _GAMMA,
        'self.register_parameter("gamma", nn.Parameter(torch.zeros(hidden_size, device=device, dtype=dtype)))',
    ),
    "norm.known_by_two_names": (_GAMMA, f"{_GAMMA}\n        self.weight = self.gamma"),
    "norm.moved_only_where_devices_differ": (
        _MOVED_GAMMA,
        "(self.gamma if self.gamma.device == input.device else self.gamma.to(input.device))",
    ),
    "norm.moved_and_converted_at_once": (_MOVED_GAMMA, "self.gamma.to(device=input.device, dtype=compute_dtype)"),
    "norm.moved_like_the_normalised": (_MOVED_GAMMA, "self.gamma.to(normalised)"),
    "norm.computed_where_gamma_is_and_brought_back": (
        "input.to(compute_dtype)",
        "input.to(self.gamma.device, compute_dtype)",
        _NORMALISED,
        "return (normalised.flatten(-2) * self.gamma).to(input.device, input.dtype)",
    ),
    "norm.brought_back_like_the_input": (
        _NORMALISED,
        "return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input)",
    ),
    "norm.eps_as_a_number_on_the_cpu": ("+ self.eps)", "+ torch.tensor(self.eps))"),
    "norm.eps_as_a_tensor_there": ("+ self.eps)", "+ torch.full((1,), self.eps, device=input.device))"),
    "norm.written_into_an_output": (
        _NORMALISED,
        "output = torch.empty_like(input, memory_format=torch.contiguous_format)\n"
        "        output[:] = normalised.flatten(-2) * self.gamma.to(input.device)\n"
        "        return output",
    ),
    "norm.autocast_switched_off": (
        _NORMALISED,
        "with torch.autocast(input.device.type, enabled=False):\n"
        "            return (normalised.flatten(-2) * self.gamma.to(input.device)).to(input.dtype)",
    ),
    "norm.function_with_its_own_backward": (
        _NORMALISED,
        "return (normalised.flatten(-2) * _Moved.apply(self.gamma, input.device)).to(input.dtype)\n\n\n"
        "class _Moved(torch.autograd.Function):\n"
        "    @staticmethod\n    def forward(ctx, gamma, device):\n"
        "        ctx.home = gamma.device\n        return gamma.to(device)\n\n"
        "    @staticmethod\n    def backward(ctx, upstream):\n        return upstream.to(ctx.home), None",
    ),
    # The table
    "vocab.rows_by_index": (_ROW, "self.table.to(input_ids.device)[input_ids]"),
    "vocab.looked_up_where_the_table_is": (_ROW, "self.table[input_ids.to(self.table.device)].to(input_ids.device)"),
    "vocab.looked_up_by_the_library_where_the_table_is": (
        _ROW,
        "nn.functional.embedding(input_ids.to(self.table.device), self.table).to(input_ids.device)",
    ),
    "vocab.rows_selected": (
        _ROW,
        "self.table.to(input_ids.device).index_select(0, input_ids.flatten()).unflatten(0, input_ids.shape)",
    ),
    "vocab.indexed_by_ids_of_the_cpu": (_ROW, "self.table[input_ids.cpu()].to(input_ids.device)"),
    "vocab.one_hot": (
        _ROW,
        "(nn.functional.one_hot(input_ids, len(self.table)).to(self.table.dtype) @ self.table.to(input_ids.device))",
    ),
    "vocab.made_like_nothing": (
        _TABLE,
        "self.table = nn.Parameter(torch.Tensor(vocab_size, emb_size).to(device=device, dtype=dtype))",
    ),
    "vocab.drawn_by_randn": (
        _DRAW_TABLE,
        "drawn = torch.randn(self.table.shape, generator=generator, device=self.table.device, dtype=self.table.dtype)\n"
        "        self.table.data.copy_(drawn * self.init_std + self.init_mean)",
    ),
    "vocab.library_embedding_inside": (
        _TABLE,
        "self.inner = nn.Embedding(vocab_size, emb_size, dtype=dtype, device=device)",
        "generator = torch.Generator(self.table.device)",
        "generator = torch.Generator(self.inner.weight.device)",
        "nn.init.normal_(self.table,",
        "nn.init.normal_(self.inner.weight,",
        _ROW,
        "self.inner(input_ids.to(self.inner.weight.device)).to(input_ids.device)",
    ),
    # The shard
    "shard.chosen_by_where": (_MASKED, "return torch.where(foreign.unsqueeze(-1), embedded.new_zeros(()), embedded)"),
    "shard.filled_into_zeros_there": (
        _MASKED,
        "output = torch.zeros(embedded.shape, dtype=embedded.dtype, device=input_ids.device)\n"
        "        output[~foreign] = embedded[~foreign]\n        return output",
    ),
    "shard.foreign_rows_overwritten": (
        _MASKED,
        "embedded = embedded.clone()\n        embedded[foreign] = 0.0\n        return embedded",
    ),
    "shard.masked_by_multiplication": (_MASKED, "return embedded * (~foreign).unsqueeze(-1).to(embedded.dtype)"),
    "shard.owned_ids_as_a_range": (
        _FOREIGN,
        "foreign = ~torch.isin(rows, torch.arange(self.shard.shape[0], device=rows.device))",
    ),
    "shard.looked_up_where_the_shard_is": (
        "rows = input_ids - self.first_id",
        "rows = input_ids.to(self.shard.device) - self.first_id",
        "self.shard.to(input_ids.device)",
        "self.shard",
        _MASKED,
        f"{_MASKED}.to(input_ids.device)",
    ),
    "shard.offset_as_a_number_on_the_cpu": ("self.first_id = rank * rows", "self.first_id = torch.tensor(rank * rows)"),
    # Turning
    "rotary.tables_moved_like_the_input": (_MOVED, "cos, sin = cos.to(input).unsqueeze(1), sin.to(input).unsqueeze(1)"),
    "rotary.signs_made_there": (
        "torch.cat((-second, first), dim=-1)",
        "torch.cat((second, first), dim=-1) * torch.tensor([-1.0, 1.0], device=input.device).repeat_interleave("
        "input.shape[-1] // 2).to(input.dtype)",
    ),
    "rotary.written_into_an_output": (
        _TURNED,
        "output = torch.empty_like(input)\n    output.copy_(input * cos + rotated_half * sin)\n    return output",
    ),
    "rotary.turned_where_the_tables_are": (
        _MOVED,
        "home = input.device\n    input = input.to(cos.device)\n    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)",
        _TURNED,
        "return (input * cos + rotated_half * sin).to(home, input.dtype)",
    ),
    "rotary.complex_numbers": (
        _TURNED,
        "half = input.shape[-1] // 2\n    turn = torch.complex(cos[..., :half].float(), sin[..., :half].float())\n"
        "    turned = torch.complex(first.float(), second.float()) * turn\n"
        "    return torch.cat((turned.real, turned.imag), dim=-1).to(input.dtype)",
    ),
    # Tables
    "rope.made_on_the_cpu_and_moved": (
        _MADE,
        '(table.to(device) for table in self._tables(ratio, dtype, torch.device("cpu")))',
        _GROWN,
        '(table.to(cos.device) for table in self._tables(ratio, cos.dtype, torch.device("cpu")))',
    ),
    "rope.grown_where_the_input_is": (_GROWN, "self._tables(ratio, cos.dtype, input.device)"),
    "rope.tables_follow_the_input": (
        "cos, sin = self.cos, self.sin",
        "cos, sin = (table.to(input.device) for table in (self.cos, self.sin))\n        self.cos, self.sin = cos, sin",
    ),
    "rope.grown_ones_registered_anew": (
        "self.cos, self.sin = cos, sin",
        'self.register_buffer("cos", cos, persistent=False)\n'
        '                self.register_buffer("sin", sin, persistent=False)',
    ),
    "rope.grown_by_data": (
        "self.cos, self.sin = cos, sin",
        "self.cos.data, self.sin.data = cos, sin",
    ),
    "rope.made_in_a_device_context": (
        "exponents = torch.arange(0, self.dim, 2, dtype=torch.float32, device=device) / self.dim",
        "with device:\n            exponents = torch.arange(0, self.dim, 2, dtype=torch.float32) / self.dim",
    ),
}
