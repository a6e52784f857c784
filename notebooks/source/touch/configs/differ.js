// Where transformers, vLLM and llama.cpp turn the same configuration differently, and where that is told: for a kind of layer,
// pairs of a sentence and its source.
touch.differ = ({ type, longest }, { rule, rope, trained }) => {
  const { say, count } = touch, notes = [];
  const note = (when, source, english, chinese) => { if (when) notes.push([say(english, chinese), source]); };
  const issue = (repository, number) => `https://github.com/${repository}/issues/${number}`;
  const vllm = (number) => issue("vllm-project/vllm", number), llama = (number) => issue("ggml-org/llama.cpp", number);
  note(rule === "dynamic", vllm(3488), "transformers slows pairs down as a text grows, and not before; vLLM computes one base for all lengths, so short texts are slowed, too.",
    "transformers 随文本变长才逐步放慢；vLLM 对所有长度只算一个底数，短文本也被放慢。");
  note(rule === "dynamic", llama(8361), "llama.cpp has no dynamic scaling: the request was closed without it.", "llama.cpp 没有动态缩放：这个请求没有实现就关闭了。");
  note(rule === "longrope", vllm(27431), "transformers takes the long list once a text is longer than the trained length; vLLM takes it for every text if max_model_len is longer.",
    "transformers 在文本超过训练长度时才换用长列表；vLLM 只要 max_model_len 更长，就对每个文本都用长列表。");
  note(rule === "longrope", llama(24875), "llama.cpp chose by the context that was allocated (-c), not by the text, when this was reported.", "据此报告，llama.cpp 按分配的上下文（-c）选，不看文本有多长。");
  const both = rule === "yarn" && rope.mscale && rope.mscale_all_dim, implied = longest / trained, factor = rope.factor ?? implied;
  note(both && !/^(deepseek|kimi)/.test(type), vllm(48621), `vLLM 0.25 does not read mscale and mscale_all_dim here, and multiplies cosines and sines by ${touch.number(0.1 * Math.log(factor) + 1)}; transformers does, with another result.`,
    `vLLM 0.25 在这里不读 mscale 和 mscale_all_dim，把余弦和正弦乘以 ${touch.number(0.1 * Math.log(factor) + 1)}；transformers 会读，结果不同。`);
  note(both && rope.mscale !== 1 && !/^deepseek_v2/.test(type), llama(17945), "llama.cpp takes mscale as 1.", "llama.cpp 把 mscale 当作 1。");
  note(rule === "yarn" && Math.abs(implied / factor - 1) > 1e-6, issue("huggingface/transformers", 38224),
    `Older versions of transformers take ${count(longest)} / ${count(trained)} = ${touch.number(implied)} as the factor, not ${touch.number(factor)}.`,
    `旧版 transformers 把 ${count(longest)} / ${count(trained)} = ${touch.number(implied)} 当作因子，而不是 ${touch.number(factor)}。`);
  note(rule === "yarn", "https://docs.vllm.ai/en/stable/features/context_extension/", "The factor is fixed, so it acts on short texts, too.", "因子是固定的，对短文本也起作用。");
  note(type === "olmo3", issue("huggingface/transformers", 45945), "Some versions of transformers scaled the layers with a window as well; vLLM and transformers 5.23 do not.",
    "有些版本的 transformers 把带窗口的层也缩放了；vLLM 和 transformers 5.23 不这样做。");
  note(rope.llama_4_scaling_beta, vllm(48621), "vLLM 0.25 does not scale queries by llama_4_scaling_beta where it stands in rope_parameters; transformers does.",
    "写在 rope_parameters 里的 llama_4_scaling_beta，vLLM 0.25 不用它缩放查询；transformers 用。");
  return notes;
};
