"""Laws by property that students can check on their own outputs, without knowing any expected value."""

from typing import Final

LAWS: Final = {
    "norm_groups": {
        "en": "Multiply one group of the input by 2: with gamma of ones and a tiny eps, no output may change.",
        "zh": "把输入的某一组乘以 2：gamma 全为 1、eps 很小时，任何输出都不应改变。",
    },
    "norm_eps_inside_sqrt": {
        "en": "Square a group's output and average it (gamma of ones): the less the group's own mean square "
        "exceeds eps, the further that average lies below 1. It is never above 1.",
        "zh": "gamma 全为 1 时，把一组的输出平方后求平均：该组的均方越接近 eps，平均值就越小于 1；它永远不会大于 1。",
    },
    "norm_gamma": {
        "en": "Double one entry of gamma: exactly one feature of every token doubles, and nothing else changes.",
        "zh": "把 gamma 的一个元素加倍：每个 token 恰好有一个特征加倍，其他都不变。",
    },
    "norm_float32_inside": {
        "en": "Convert the 16-bit input to float32, call the module again, convert the output back: the two "
        "outputs agree up to the last bit.",
        "zh": "把 16 位输入转成 float32 再调用一次，把输出转回 16 位：两次输出最多差最后一位。",
    },
    "norm_purity": {
        "en": "A copy of the input, made before the call, still equals it after the call.",
        "zh": "调用之前复制一份输入，调用之后两者仍然相等。",
    },
    "vocab_lookup": {
        "en": "Compare the output at one place with the row of the table that the id there names: all bits agree.",
        "zh": "取输出中的一个位置，与该处 id 对应的那一行表比较：每一位都相同。",
    },
    "vocab_backward": {
        "en": "Count how often an id occurs: with an upstream gradient of ones, each entry of its row's gradient "
        "is that count.",
        "zh": "数一数某个 id 出现了几次：上游梯度全为 1 时，它那一行梯度的每个元素都等于这个次数。",
    },
    "shard_zeros_elsewhere": {
        "en": "Where an id belongs to another rank, every number of the output is exactly zero.",
        "zh": "id 属于其他 rank 的位置，输出的每个数都严格为零。",
    },
    "shard_sum_over_ranks": {
        "en": "At every place, exactly one rank's output may differ from zero.",
        "zh": "在每个位置，恰好只有一个 rank 的输出可以不为零。",
    },
    "rotary_pairing_and_sign": {
        "en": "A rotation keeps lengths: x_i ** 2 + x_(i + hd/2) ** 2 is the same before and after, for each pair; and "
        "position 0 is not turned at all.",
        "zh": "旋转保持长度：每一对的 x_i ** 2 + x_(i + hd/2) ** 2 在前后相同；位置 0 完全不转。",
    },
    "rotary_broadcast": {
        "en": "Swap two heads, or two batch rows, of the input: the same two of the output are swapped, bit for bit.",
        "zh": "交换输入的两个 head（或两个 batch 行）：输出中相应的两个也恰好交换，逐位相同。",
    },
    "rotary_dtype": {
        "en": "The dtype of the output is that of the input, whatever the tables are.",
        "zh": "无论表是什么 dtype，输出的 dtype 都与输入相同。",
    },
    "rotary_purity": {
        "en": "Copies of the input and of both tables, made before the call, still equal them after the call.",
        "zh": "调用之前复制输入和两张表，调用之后它们仍然相等。",
    },
    "rope_static": {
        "en": "Call it with a short sequence, a long one, and the same short one again: the first and the last output "
        "are the same.",
        "zh": "依次用短序列、长序列、同一个短序列调用：第一次和最后一次的输出相同。",
    },
    "rope_dynamic": {
        "en": "After a long sequence, the buffers have as many rows as es says then, and a short sequence is turned by "
        "their first rows.",
        "zh": "长序列之后，buffer 的行数等于那时的 es；短序列用它们的前几行旋转。",
    },
    "rope_buffers": {
        "en": "state_dict() lists no table, before a long sequence and after it.",
        "zh": "无论长序列之前还是之后，state_dict() 都不列出任何表。",
    },
}
