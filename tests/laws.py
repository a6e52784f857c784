"""The laws of the tests in Chinese, by the test's name; in English they are the tests' own docstrings."""

# ruff: noqa: RUF001  (full-width punctuation is what Chinese text is written with)

_ONE_DRAW = "设种子后立即采样一次，大小相同；16 位时也可以先用 float32 采样再转换。"
_SAME_SEED = "同样的种子得到同样的值，调用多少次都一样。"

CHINESE: dict[str, str] = {
    # Task 1
    "test_a_group_of_one_magnitude_comes_out_as_plus_and_minus_one": (
        "共六组，每组四个数，各组的绝对值依次是 4、8、……、128；每组除以自己的均方根之后只剩正负号。"
    ),
    "test_rescaling_one_group_changes_nothing_after_the_norm": (
        "一组放大多少倍，它的均方根也放大多少倍，两者相消；其他组不受影响。"
    ),
    "test_a_token_gives_the_same_output_alone_as_in_a_batch": (
        "每个 token 各自归一化：求均值时不涉及 batch，也不涉及序列。"
    ),
    "test_eps_is_added_under_the_root": (
        "绝对值都是 m 的一组数除以 sqrt(m * m + eps)；这里的数很好算：1 + 15 = 4 * 4。"
    ),
    "test_zeros_stay_zeros": "0 除以 sqrt(0 + eps) 是 0，不是 nan：有了 eps，除法才安全。",
    "test_feature_j_is_scaled_by_gamma_j": "这里归一化后的特征都是正负一，所以输出就是 gamma，只是带上了这些正负号。",
    "test_the_output_has_shape_dtype_and_device_of_the_input": (
        "不论 gamma 是什么 dtype，输出的形状、dtype 和 device 都与输入相同。"
    ),
    "test_the_layout_in_memory_does_not_matter": "同样的数，不论在内存中是否连续，结果都一样。",
    "test_a_root_mean_square_of_257_is_exact": (
        "512² + 44² + 10² + 4² = 4 · 257²。float16 里 512² 是无穷大，bfloat16 里没有 257；float32 两者都能表示。"
    ),
    "test_gamma_is_one_uniform_draw_right_after_seeding": _ONE_DRAW,
    "test_reset_parameters_restores_the_first_values": _SAME_SEED,
    "test_gamma_is_the_only_parameter": (
        "只有一个含 h 个元素、可训练的 nn.Parameter，dtype 和 device 按参数指定；没有 buffer。"
    ),
    "test_a_group_size_that_does_not_divide_is_refused": (
        "26 个特征不能分成每组 8 个；报错信息写出这两个数，读的人才看得出原因。"
    ),
    "test_the_input_gradient_flows_through_the_root_mean_square_too": (
        "设 x = 4 s，s = ±1，上游梯度为 u：dL/dx = (u - s * mean(u * s)) / 4。这里 u 在每组的第一个 x 处为 1。"
    ),
    "test_the_gradient_of_gamma_adds_up_over_all_tokens": (
        "dL/dgamma_j 是上游梯度与归一化输入之积对所有 token 求和；这里归一化输入是正负一。"
    ),
    "test_the_input_stays_as_it_was": "调用 forward 的一方还要用这个输入，至少残差连接要用。",
    "test_train_and_eval_agree": "RMSNorm 不保存滑动统计量，train 与 eval 没有区别。",
    # Task 2
    "test_every_id_gives_the_row_with_its_number": (
        "第 i 行全是 i，所以输出就是 id 本身；第一个和最后一个 id 都在其中。"
    ),
    "test_a_row_comes_out_bit_for_bit": "依次查所有 id，得到的就是整张表，不论表里的数多么零碎。",
    "test_the_table_is_one_normal_draw_right_after_seeding": _ONE_DRAW,
    "test_reset_parameters_restores_the_first_table": _SAME_SEED,
    "test_the_table_is_the_only_parameter": "只有一个可训练的 nn.Parameter [v, e]，dtype 和 device 按参数指定。",
    "test_the_output_follows_the_dtype_of_the_table": (
        "由表决定，而不是构造函数的参数：模块转换类型之后，输出也是新的 dtype。"
    ),
    "test_looking_up_changes_neither_ids_nor_table": "id 属于调用者；表只在训练时改变。",
    "test_a_row_receives_the_sum_of_the_gradients_of_its_uses": (
        "id 3 的上游梯度有 1、2、4 三份，id 0 有一份 8，id 5 有 16 和 32 两份；其余各行为零。"
    ),
    # Task 3
    "test_an_owned_id_gives_its_row_of_the_shard": (
        "整张表的第 i 行全是 i + 1；rank r 拥有的 id 是 4 r 到 4 r + 3，两端都包含。"
    ),
    "test_a_single_rank_owns_every_id": "world_size=1（默认值）时，分片就是整张表。",
    "test_an_id_of_another_rank_gives_zeros": (
        "16 个 id 全部输入：4 r 到 4 r + 3 之外必须得到严格的零，之内则不是零。"
    ),
    "test_the_outputs_of_all_ranks_add_up_to_the_full_embedding": (
        "每个 id 恰有一个 rank 给出它的行，其他 rank 都给零，所以和就是这一行，每一位都相同。"
    ),
    "test_rank_r_draws_right_after_seeding_with_base_seed_plus_r": (
        "以 init_base_seed + rank 为种子采样一次，大小与分片相同；16 位时也可以先用 float32 采样再转换。"
    ),
    "test_reset_parameters_restores_the_first_shard": "同样的 rank 和种子得到同样的值，调用多少次都一样。",
    "test_the_shard_is_the_only_parameter": "只有一个可训练的 nn.Parameter [v / w, e]，dtype 和 device 按参数指定。",
    "test_the_output_follows_the_dtype_of_the_shard": (
        "由分片决定，而不是构造函数的参数：模块转换类型之后，输出也是新的 dtype。"
    ),
    "test_a_vocabulary_that_does_not_split_evenly_is_refused": (
        "10 行不能平分给 4 个 rank；报错信息写出这两个数，读的人才看得出原因。"
    ),
    "test_embedding_changes_neither_ids_nor_shard": ("各个 rank 先后收到同一份 id，所以谁都不能在原地平移或掩码。"),
    "test_only_owned_ids_send_gradients": (
        "每个 id 出现两次，上游梯度为 1 和 2，所以自有的行得到 3；其他 rank 的 id 什么都不能加。"
    ),
    # Task 4
    "test_a_quarter_turn_sends_a_b_to_minus_b_a": "cos = 0、sin = 1 时，前后两半互换，新的前一半变号。",
    "test_ones_then_zeros_return_the_tables": ("一对 (1, 0) 变为 (cos, sin)：输出的前一半是余弦表，后一半是正弦表。"),
    "test_a_rotation_keeps_the_length_of_every_pair": "不论转多大的角度，x_i² + x_{i+hd/2}² 都不变。",
    "test_every_token_is_rotated_as_if_it_were_alone": (
        "在每个 batch、每个 head 里，位置 s 都取表的第 s 行，所以分开旋转与一起旋转的结果相同。"
    ),
    "test_the_output_has_the_dtype_of_the_input": "不论表是什么 dtype，输出的 dtype 都与输入相同。",
    "test_the_gradient_turns_back_by_the_same_angle": (
        "反向传播时转的是相反的角度：上游梯度 (1, 0) 变为 (cos, -sin)。"
    ),
    "test_input_and_tables_stay_as_they_were": "query 和 key 用同样的表旋转，所以传入的张量都不能改动。",
    "test_angles_follow_the_stretched_base": (
        "hd = 8 时 theta_i 是 base^(-i/4)。k 从 1 变为 8，base 从 16 变为 256，最后一个 theta 变为八分之一。"
    ),
    "test_angles_are_computed_in_float32_whatever_dtype_the_tables_have": (
        "bfloat16 里没有 257，float16 里没有 2049；这样的位置会转成相邻位置的角度。"
    ),
    "test_scores_depend_on_the_distance_only": (
        "旋转位置编码的意义所在：只要 n - m 相同，位置 n 的 q 与位置 m 的 k 的得分就相同。"
    ),
    "test_forward_returns_only_the_embedded_input": (
        "只返回一个张量，形状、dtype 和 device 都与输入相同；不附带返回表。"
    ),
    "test_up_to_es_positions_the_tables_do_not_change": (
        "表有 es = 4 k 行：长度恰为 es 的序列，开头与短序列一样，k 为奇数时也是如此。"
    ),
    "test_a_longer_sequence_uses_the_smallest_even_ratio": (
        "ms = 4 时，4 k' 不能小于序列长度，且 k' 为偶数。以这个 ratio 新建的模块有同样的表。"
    ),
    "test_an_odd_initial_ratio_still_grows_to_an_even_one": (
        "ms = 4 时，k = 3 够 12 个位置使用；13 个位置需要 k' = 4，即够用的最小偶数。"
    ),
    "test_a_long_sequence_leaves_nothing_behind": ("dynamic=False 时，处理过 20 个位置的模块与新建的模块结果相同。"),
    "test_shorter_sequences_use_the_tables_of_the_longest": (
        "dynamic=True 时，20 个位置的表保留下来：较短序列用的是它的前几行。"
    ),
    "test_growing_in_steps_ends_where_one_step_would": (
        "每次扩展都从 max_seq_len 算起，所以只有最长的序列有影响，中间经过哪些长度无所谓。"
    ),
    "test_the_tables_are_buffers_that_state_dict_does_not_list": (
        "ms = 4、k = 2 时 es 是 8，处理过 15 个位置之后是 16：buffer 有这么多行，dtype 按参数指定。"
    ),
    "test_a_moved_module_answers_where_it_was_moved_to": (
        "在 CPU 上构造，移动，再扩展：表若是 buffer，就一直跟着模块走。"
    ),
}
