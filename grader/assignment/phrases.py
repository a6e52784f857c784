"""The Chinese of the messages that hidden tests give about failing cases; `results.chinese` explains the format."""

from typing import Final

PHRASES: Final = {
    "the parameter": "参数",
    "{dtype} output from {tables} tables": "{tables} 表得到的 {dtype} 输出",
    "{dtype} gradient of the table for ids {rows}": "表的 {dtype} 梯度（id 为 {rows}）",
    "{dtype} gradient of the shard of rank {rank} of {world}": (
        "分片的 {dtype} 梯度（{world} 个 rank 中的 rank {rank}）"
    ),
    "{dtype} embedding": "{dtype} 嵌入",
    "{what}: {n} of {all} ids give a wrong row": "{what}：{all} 个 id 中有 {n} 个取到的不对",
    "id {id} gives {seen}": "id {id} 取到的是{seen}",
    "the row of id {id}": "id {id} 的行",
    "zeros": "零",
    "its own row, rounded": "自己的行，但被舍入",
    "one number in every feature": "每个分量都相同的一个数",
    "its own row times a number": "自己的行乘以一个数",
    "the sum of the rows of ids {one} and {other}": "id {one} 与 id {other} 的两行之和",
    "the mean of the rows of ids {one} and {other}": "id {one} 与 id {other} 的两行的平均",
    "no row of the table": "表中没有的行",
    "numbers that are not finite": "非有限的数",
    "{what}: {n} of {all} rows receive a wrong gradient": "{what}：{all} 行中有 {n} 行收到的不对",
    "the row of id {id} receives {seen}": "id {id} 的行收到的是{seen}",
    "nothing": "零",
    "a nonzero gradient, although none of these ids uses it": "非零值，而这些 id 都没有用到它",
    "{factor} times the expected gradient": "应得的 {factor} 倍",
    "the gradients of its uses, each clamped at {bound}": "各次使用传来的梯度，但都被截断到 {bound} 以内",
    "the sum, clamped at {bound}": "各次之和，但被截断到 {bound} 以内",
    "a different sum": "另一个和",
    "the gradients of ids that give zeros as well": "连给出零的 id 的梯度也一并收到了",
    "the gradient of only one of its uses": "只有一次使用传来的梯度",
    "the mean of the gradients of its uses": "各次使用传来的梯度的平均",
    "each id gives its own row times {factor}": "取到的都是自己的行乘以 {factor}",
    "position {here} holds the values that belong at {there}": "{here} 处放的是应在 {there} 处的内容",
    "each id gives its own row times a number": "取到的都是自己的行各乘以一个数",
    "rank by rank, {world} ranks give nonzero rows for ids {seen}": (
        "{world} 个 rank 时，各 rank 有结果的 id 依次是 {seen}"
    ),
    "rank by rank, {world} ranks draw with seeds {seeds}": "{world} 个 rank 时，各 rank 的种子依次是 {seeds}",
    "table of {n} rows": "{n} 行的表",
    "{shape} ids": "形状为 {shape} 的 id",
    "very long and short rows": "很长和很短的行",
    "own ids of rank {rank} of {world}": "{world} 个 rank 中 rank {rank} 自己的 id",
    "ids of other ranks on rank {rank} of {world}": "{world} 个 rank 中 rank {rank} 上其他 rank 的 id",
    "sum of all outputs for world_size={world_size}, {n} ids in one call": (
        "world_size={world_size}、一次调用 {n} 个 id 时全部输出之和"
    ),
    "the table": "表",
    "the shard": "分片",
    "the registered buffers hold {n} numbers, too few for {length} positions": (
        "注册的 buffer 只有 {n} 个数，不够 {length} 个位置"
    ),
    "the tables have {n} rows, too few for s = {s}": "表只有 {n} 行，不够 s = {s}",
    "the ids have a different dtype after the call": "调用之后 id 的 dtype 变了",
    # What a second device shows.
    "no result on the CPU to compare with": "CPU 上没有可以比较的结果",
    "with growth {when} module.to(), a buffer is on {here}, not on {there}": (
        "module.to() 与增长（{when}）之后，有 buffer 在 {here} 上，应在 {there} 上"
    ),
    "a buffer": "有 buffer",
    "the parameter after the call": "调用之后的参数",
    "{what} compared with the CPU": "{what}（与 CPU 上的相比）",
    "Pass device to every parameter and every table; nn.Parameter(...).to(device) is no longer a parameter.": (
        "把 device 传给每个参数和每张表；nn.Parameter(...).to(device) 在那里不再是参数。"
    ),
    "Draw on the parameter's device, with a generator on that device: the same seed gives different numbers on each.": (
        "在参数所在的设备上采样，generator 也建在该设备上：同一个种子在不同设备上得到不同的数。"
    ),
    "forward needs every tensor on the input's device: create new tensors there, and leave none of yours behind.": (
        "forward 用到的张量都要在输入所在的设备上：新张量直接建在那里，也不要把自己保存的张量留在原处。"
    ),
    "The parameter may be on a different device: move it with .to() in forward, and leave the original in place.": (
        "参数与输入可以不在同一个设备上：在 forward 中用 .to() 移动它，原来的参数留在原处。"
    ),
    "If the tables are on another device, return a result on the input's device, or let torch raise.": (
        "表在别的设备上时，在输入所在的设备上给出结果，或者让 torch 报错。"
    ),
    "the parameter is not found in the module": "在模块里没有找到参数",
    "Move tensors with .to() inside forward: detach, .data and new parameters cut the gradient.": (
        "在 forward 中用 .to() 移动张量：detach、.data 和新建的参数都会切断梯度。"
    ),
    "Register the tables as buffers, and create grown tables on the device of those they replace.": (
        "把表注册为 buffer；扩展后的新表建在被替换的表所在的设备上。"
    ),
    # Task 1.
    "{dtype} output for hidden_size={hidden_size}, group_size={group_size}": (
        "{dtype} 输出（hidden_size={hidden_size}，group_size={group_size}）"
    ),
    "the divisor for features of magnitude {names}, group_size={group_size}, eps={eps}, [magnitude, feature]": (
        "绝对值为 {names} 的特征所除的数（group_size={group_size}，eps={eps}，[绝对值, 特征]）"
    ),
    "as if {seen} were added in place of eps": "如同加上的不是 eps，而是 {seen}",
    "as if {share} times eps were added": "如同加了 {share} 倍的 eps",
    "output for an input of zeros": "全零输入的输出",
    "output for a {dtype} gamma, hidden_size={hidden_size}, group_size={group_size}": (
        "{dtype} gamma 的输出（hidden_size={hidden_size}，group_size={group_size}）"
    ),
    "{dtype} output for {layout} memory, group_size={group_size}": (
        "内存布局 {layout} 的 {dtype} 输出（group_size={group_size}）"
    ),
    "{dtype} output for group_size={group_size}, eps={eps}, compared with float32": (
        "{dtype} 输出（group_size={group_size}，eps={eps}，与 float32 输出相比）"
    ),
    "{dtype} output for a {gamma} gamma, compared with a float32 gamma": (
        "{gamma} gamma 的 {dtype} 输出（与 float32 gamma 相比）"
    ),
    "the output is only the input times a number: nothing is normalised, so this property cannot be checked": (
        "输出只是输入乘以一个数：还没有做归一化，这里什么也看不出来"
    ),
    "{what}: every element is a bfloat16 number": "{what}：每个元素都是 bfloat16 数",
    "{dtype} gradient of the input, hidden_size={hidden_size}, group_size={group_size}": (
        "输入的 {dtype} 梯度（hidden_size={hidden_size}，group_size={group_size}）"
    ),
    "{dtype} gradient of gamma, hidden_size={hidden_size}, group_size={group_size}": (
        "gamma 的 {dtype} 梯度（hidden_size={hidden_size}，group_size={group_size}）"
    ),
    "gamma is {dtype} after a {call} call": "{call} 调用之后 gamma 的 dtype 变成了 {dtype}",
    "{what} over {range}": "{what}（范围 {range}）",
    "input {dtype}, gamma {gamma}": "输入为 {dtype}，gamma 为 {gamma}",
    "input {dtype}, tables {tables}": "输入为 {dtype}，表为 {tables}",
    "after module.to({dtype}), built as {built}": "以 {built} 创建，module.to({dtype}) 之后",
    "as built": "刚创建时",
    # Arguments.
    "the default of {argument} differs from the stub: omitting it gives a different module": (
        "{argument} 的默认值与模板不同：省略它得到的模块不同"
    ),
    "{what}, mean {mean} and standard deviation {std}": "{what}（均值 {mean}，标准差 {std}）",
    "{what}, on rank {rank} of {world}": "{what}（{world} 个 rank 中的 rank {rank}）",
    "not the numbers of this draw": "不是这次采样应得到的数",
    "their mean is {mean}, their standard deviation {std}": "它们的均值是 {mean}，标准差是 {std}",
    "they are the right random numbers, scaled or shifted": "随机数是对的，尺度不对",
    "they are the right random numbers, rounded": "随机数是对的，但被舍入",
    "rank by rank, {world} ranks hold their rows of whole tables drawn with seeds {seeds}": (
        "逐个 rank 看，{world} 个 rank 持有的是各自在整张表中的行，整张表分别以种子 {seeds} 采样"
    ),
    "they are the right random numbers in another order": "随机数是对的，顺序不对",
    "they are this seed's numbers for a draw in {dtype}": "它们是这个种子以 {dtype} 采样得到的数",
    "they are this seed's numbers for a {kind} draw": "它们是这个种子按 {kind} 分布采样得到的数",
    "they are the numbers of seed {seed}": "它们是种子 {seed} 得到的数",
    "they are the numbers of seed {seed}, right beside this one": "它们是相邻的种子 {seed} 得到的数",
    "they are the numbers of seed {seed} after {n} earlier draws": "它们是种子 {seed} 先采样 {n} 个数之后得到的数",
    "they are this seed's numbers after {n} earlier draws": "它们是这个种子先采样 {n} 个数之后得到的数",
    "two new modules with this seed hold different numbers": "种子相同的两个新模块，数值不同",
    "all {world} ranks draw with seed {seed}": "{world} 个 rank 都用了种子 {seed}",
    "they run from {low} to {high}": "它们的范围是 {low} 到 {high}",
    "they have mean {mean} and standard deviation {std}": "它们的均值是 {mean}，标准差是 {std}",
    "only numbers beyond {n} standard deviations are wrong: they are clamped there": (
        "只有偏离均值超过 {n} 个标准差的数不对：它们被截断了"
    ),
    "only numbers beyond {n} standard deviations are wrong: they are replaced": (
        "只有偏离均值超过 {n} 个标准差的数不对：它们换成了别的数"
    ),
    "the parameter has dtype {actual} {when}; {wanted} was requested": (
        "参数的 dtype 是 {actual}（{when}），应为 {wanted}"
    ),
    "by default": "默认",
    "on rank {rank} of {world}": "{world} 个 rank 中的 rank {rank}",
    # Histories.
    "{dtype} output for group_size={group_size}": "{dtype} 输出（group_size={group_size}）",
    "{what} gives a different output on each new module": "{what}在每个新建模块上的输出都不同",
    "the output of NTKAwareRoPE, compared with apply_rotary_pos_emb": (
        "NTKAwareRoPE 的输出（与 apply_rotary_pos_emb 的输出相比）"
    ),
    "a call with {dtype} input of shape {shape}": "形状 {shape} 的 {dtype} 调用",
    "an update of the parameter": "参数更新",
    "the construction of a module with other arguments": "另建一个构造参数不同的模块",
    "it is the output of an earlier call": "它就是之前某次调用的输出",
    "it still uses the parameter's value from before the update": "它用的仍是参数更新之前的值",
    # Tasks 2 and 3.
    "every output is zero, so this property cannot be checked": "输出全是零，这里什么也看不出来",
    "{dtype} embedding, compared with float32": "{dtype} 嵌入（与 float32 嵌入相比）",
    # Task 4.
    "output for head_dim={head_dim}, rotated by a quarter turn": "旋转四分之一圈的输出（head_dim={head_dim}）",
    "output for head_dim={head_dim}": "输出（head_dim={head_dim}）",
    "{dtype} output for head_dim={head_dim}": "{dtype} 输出（head_dim={head_dim}）",
    "{dtype} output from {tables} tables, compared with float32": (
        "{tables} 表得到的 {dtype} 输出（与 float32 输出相比）"
    ),
    "the output does not depend on the angle: nothing rotates, so this property cannot be checked": (
        "输出与角度无关：还没有旋转，这里什么也看不出来"
    ),
    "gradient of the input of NTKAwareRoPE, s = {s}": "NTKAwareRoPE 输入的梯度（s = {s}）",
    "the input of NTKAwareRoPE, s = {s}": "NTKAwareRoPE 的输入（s = {s}）",
    "the tables are the same for all ratios, so this property cannot be checked": (
        "所有 ratio 的表都相同，这里什么也看不出来"
    ),
    "position 0 is rotated by a quarter turn: sines in place of cosines": "位置 0 转了四分之一圈：余弦的位置上是正弦",
    "position 0 is already rotated": "位置 0 就已经被旋转了",
    "pair by pair, the angles are {factors} times the expected values": "各对的角度依次是应有值的 {factors} 倍",
    "position {here} is rotated as position {n} should be, position {next} as position {following}": (
        "位置 {here} 用了位置 {n} 的角度，位置 {next} 用了位置 {following} 的角度"
    ),
    "alone, in a new process, these are right: other modules or earlier calls change them": (
        "在新进程中单独计算时是对的：别的模块或之前的调用改变了结果"
    ),
    "{before} becomes {seen}": "{before} 变为{seen}",
    "with 4 features, the pairs are {pairs}": "4 个特征时，配成的对是 {pairs}",
    "each pair turns by +angle": "每一对旋转的是 +角度",
    "each pair turns by -angle": "每一对旋转的是 -角度",
    "both sine terms are added, which is no rotation": "两个正弦项都是加，这不是旋转",
    "both sine terms are subtracted, which is no rotation": "两个正弦项都是减，这不是旋转",
    "with 4 features, a quarter turn moves 0, 1, 2, 3 to {places}": (
        "4 个特征时，旋转四分之一圈把特征 0, 1, 2, 3 依次移到 {places}"
    ),
    "with 4 features, a quarter turn leaves those at {places} as they were": (
        "4 个特征时，旋转四分之一圈后，{places} 处的特征没有变化"
    ),
    "rotated by zero, {before} becomes {seen}": "角度为零时，{before} 变为{seen}",
    "pairs 0 to {n} are rotated by the angles of pairs {served}": "第 0 到 {n} 对依次用了第 {served} 对的角度",
    "successive positions use the angles of positions {first} in the first batch row, {last} in the last": (
        "各位置依次用了位置 {first} 的角度（第一个 batch 行）和位置 {last} 的角度（最后一行）"
    ),
    "head by head, position 0 is rotated by the angles of positions {served}": (
        "位置 0 的各个 head 依次用了位置 {served} 的角度"
    ),
    "it is rotated the same way as the input, not back": "它与输入朝同一方向旋转，没有转回去",
    "it is passed on unchanged": "它原样传了下去",
    "only the part through the cosines arrives": "只传到了经过余弦的那一部分",
    "only the part through the sines arrives": "只传到了经过正弦的那一部分",
    "they are the tables of ratio {k}": "它们是 ratio {k} 的表",
    "they match the tables of no ratio from 1 to {k}": "它们不是 1 到 {k} 中任何 ratio 的表",
    "all positions are rotated alike, so this property cannot be checked": "所有位置旋转得一样，这里什么也看不出来",
    "a new module with ratio={ratio} has the tables of an even ratio": "ratio={ratio} 的新模块用了偶数 ratio 的表",
    "{dtype} output for shape {shape}: a head is rotated differently than alone": (
        "形状 {shape} 的 {dtype} 输出：某个 head 的旋转与单独输入时不同"
    ),
    # What several cases share.
    "{what}, compared with finite differences": "{what}（与输出的差分相比）",
    "{what} gives a different output than on a new module, after {before}": (
        "在 {before} 之后，{what}的输出与新建模块的不同"
    ),
    "{before} then {step}": "{before}、{step}",
    "the gradient of {where}": "{where}的梯度",
    "apply_rotary_pos_emb was called with tensors of the shapes {shapes}": (
        "调用 apply_rotary_pos_emb 时张量的形状为 {shapes}"
    ),
    "{what} has a different shape after the call": "调用之后{what}的形状变了",
    "cosines and sines for {what}, [position, feature]": "{what} 时的余弦和正弦（[位置, 特征]）",
    "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s}, [position, feature]": (
        "输出（dim={dim}，max_seq_len={max_seq_len}，ratio={ratio}，dynamic={dynamic}，s = {s}，[位置, 特征]）"
    ),
    "output for dim={dim}, max_seq_len={max_seq_len}, ratio={ratio}, dynamic={dynamic}, s = {s} after s = {when}, "
    "[position, feature]": (
        "输出（dim={dim}，max_seq_len={max_seq_len}，ratio={ratio}，dynamic={dynamic}，s = {s}，"
        "在 s = {when} 的调用之后，[位置, 特征]）"
    ),
    "growth timed out": "扩展没有按时给出结果",
    "forward has failed before": "之前 forward 没有给出结果",
    "output with the default eps": "默认 eps 的输出",
    "gamma is not found in the module": "在模块里没有找到 gamma",
    "a float32 input is rounded to {dtype}, the dtype of the tables": "float32 的输入被舍入成表的 dtype {dtype}",
    "tables for dtype={dtype} are not {dtype}: they have more digits": "dtype={dtype} 的表不是 {dtype}：位数更多",
    "tables for dtype={dtype} after growth to s = {s} are not {dtype}: they have more digits": (
        "扩展到 s = {s} 之后，dtype={dtype} 的表不是 {dtype}：位数更多"
    ),
    "ids on rank {rank} of {world}": "{world} 个 rank 中 rank {rank} 上的 id",
}
