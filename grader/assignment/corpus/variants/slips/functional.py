"""apply_rotary_pos_emb in steps, and the mistakes made in each."""

from .slip import slip

TEMPLATE = """

def apply_rotary_pos_emb(input, cos, sin):
    {rotary_before}
    x = {rotary_input}
    cos, sin = (table.to(input.device) for table in ({tables}))
    half = input.shape[-1] // 2
    cos, sin = cos{spread}[..., :half], sin{spread}[..., :half]
    first, second = x.unflatten(-1, {pairs}).unbind({member})
    out = torch.stack((first * cos {minus} second * sin, second * cos {plus} first * sin), dim={member}).flatten(-2)
    return out{rotary_like}

{rotary_wrap}
"""

RIGHT = {
    "rotary_before": "",
    "rotary_input": "input",
    "tables": "cos, sin",
    "spread": "[:, None]",
    "pairs": "(2, -1)",
    "member": "-2",
    "minus": "-",
    "plus": "+",
    "rotary_like": ".to(input.dtype)",
    "rotary_wrap": "",
}

PAIRS, SPREAD, LIKE, BACK, PURE = (
    "rotary_pairing_and_sign",
    "rotary_broadcast",
    "rotary_dtype",
    "rotary_backward",
    "rotary_purity",
)

SLIPS = (
    slip("adjacent_pairs", PAIRS, "rotary_adjacent_pairs", pairs="(-1, 2)", member="-1"),
    slip("opposite_angle", PAIRS, "rotary_opposite_angle", minus="+", plus="-"),
    slip("swapped_tables", PAIRS, "rotary_swapped_tables", tables="sin, cos"),
    slip("both_plus", PAIRS, "rotary_one_sign", plus="+", minus="+"),
    slip("both_minus", PAIRS, "rotary_one_sign", plus="-", minus="-"),
    slip(
        "not_turned",
        f"{PAIRS} {SPREAD} {LIKE} {BACK} {PURE}",
        tables="torch.ones_like(cos), torch.zeros_like(sin)",
    ),
    slip(
        "angle_doubled",
        PAIRS,
        "rotary_other_turn",
        "tables_grown_in_place",  # backward reads the products
        tables="cos * cos - sin * sin, 2 * sin * cos",
    ),
    slip(
        "cos_for_sin",
        PAIRS,
        "rotary_other_turn",
        "tables_in_place sines_kept_with_the_cosines",
        tables="cos, cos",
    ),
    slip(
        "halves_returned_swapped",
        PAIRS,
        "rotary_other_places",
        rotary_like=".roll(out.shape[-1] // 2, -1).to(input.dtype)",
    ),
    slip("along_heads", SPREAD, spread=""),
    slip("along_heads_padded", SPREAD, spread="[None, None]"),
    slip("squeezed", SPREAD, "output_shape", rotary_like=".squeeze().to(input.dtype)"),
    slip("squeezed_heads", SPREAD, "output_shape", rotary_like=".squeeze(2).to(input.dtype)"),
    slip(
        "reversed_positions",
        SPREAD,
        "rotary_heads_differ",
        "tables_in_place tables_grown_in_place",  # a flip copies, and backward reads the copy
        tables="cos.flip(0), sin.flip(0)",
    ),
    slip("promoted", LIKE, "output_dtype", rotary_like=""),
    slip("table_dtype", LIKE, "output_dtype", rotary_like=".to(cos.dtype)"),
    slip("always_float32", LIKE, "output_dtype", rotary_like=".float()"),
    slip(
        "opposite_in_16_bits",
        LIKE,
        "",
        "opposite_angle",  # with it, 16 bits are right
        tables="cos, sin if input.dtype == torch.float32 else -sin",
    ),
    slip("in_float16", LIKE, "few_digits", rotary_input="input.half()"),
    slip("refuses_other_dtypes", LIKE, rotary_before="assert cos.dtype == input.dtype"),
    slip("refuses_bfloat16", LIKE, rotary_before="assert torch.bfloat16 not in (cos.dtype, input.dtype)"),
    slip("rotary_detached", BACK, "gradient_cut", rotary_input="input.detach()"),
    slip(
        "rotary_detached_by_constants",
        BACK,
        "gradient_cut",
        rotary_input="input if cos.requires_grad else input.detach()",
    ),
    slip(
        "rotary_no_grad",
        BACK,
        "gradient_cut",
        rotary_wrap="apply_rotary_pos_emb = torch.no_grad()(apply_rotary_pos_emb)",
    ),
    slip(
        "gradient_halved",
        BACK,
        "gradient_scaled",
        rotary_like=".to(input.dtype).mul(0.5).add(out.detach().to(input.dtype) * 0.5)",
    ),
    slip(
        "sines_kept_with_the_cosines",
        PURE,
        "earlier_call_remembered",
        rotary_wrap="_r, _kept = apply_rotary_pos_emb, [None, None]\n"
        "def apply_rotary_pos_emb(input, cos, sin):\n"
        "    if cos is not _kept[0]:\n"
        "        _kept[:] = cos, sin\n"
        "    return _r(input, cos, _kept[1])",
    ),
    slip(
        "rotary_in_place",
        f"{PURE} {BACK}",
        "input_changed",
        rotary_like=".to(input.dtype) if input.mul_(2) is not None else None",
    ),
    slip(
        "tables_in_place",
        f"{PURE} {BACK} rope_buffers",
        "rotary_tables_changed earlier_call_remembered",
        "last_row_of_long_calls_in_evaluation",  # a list of rows copies them
        rotary_wrap="_r = apply_rotary_pos_emb\ndef apply_rotary_pos_emb(input, cos, sin):\n    out = _r(input, cos, sin)\n    sin.neg_()\n    return out",
    ),
)
