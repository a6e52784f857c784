// Reads a config.json: which kinds of layer it has, and how each turns queries and keys. Throws a RangeError, in the words of the
// page, for what it cannot read.
touch.config = (text) => {
  const { say, rope: { rules, needs } } = touch;
  const refuse = (english, chinese) => { throw new RangeError(say(english, chinese)); };
  const parse = () => {
    try { return JSON.parse(text); } catch (error) { return refuse(`This is not JSON: ${error.message}.`, `这不是 JSON：${error.message}。`); }
  };
  const file = parse(), dictionary = (one) => one !== null && typeof one === "object" && !Array.isArray(one);
  if (!dictionary(file)) refuse("A config.json is an object: it begins with {.", "config.json 是一个对象，以 { 开头。");
  const given = [file.text_config, file.llm_config, file.language_config].find(dictionary) ?? file; // of a model that also sees
  const type = given.model_type ?? "", one = (...names) => names.map((name) => given[name]).find((value) => value !== undefined && value !== null);
  const must = (value, name) => {
    if (!(Number.isFinite(value) && value > 0)) {
      refuse(value === undefined ? `The configuration lacks ${name}.` : `${name} is ${JSON.stringify(value)}; a positive number is needed.`,
        value === undefined ? `配置里没有 ${name}。` : `${name} 是 ${JSON.stringify(value)}，需要一个正数。`);
    }
    return value;
  };

  const others = { gpt2: ["learned positions", "学出来的位置"], opt: ["learned positions", "学出来的位置"], gpt_neo: ["learned positions", "学出来的位置"],
    bert: ["learned positions", "学出来的位置"], gpt_bigcode: ["learned positions", "学出来的位置"], t5: ["relative biases", "相对位置的偏置"],
    bloom: ["ALiBi", "ALiBi"], mpt: ["ALiBi", "ALiBi"], jamba: ["no position code", "没有位置编码"], mamba: ["no attention", "没有注意力"] };
  const other = given.alibi === true ? others.bloom : others[type];
  if (other) refuse(`This model turns nothing (${type}: ${other[0]}).`, `这个模型什么也不转（${type}：${other[1]}）。`);

  // What a configuration of this type leaves out, and transformers 5.23 fills in.
  const alternate = (period) => (i) => ((i + 1) % period ? "sliding_attention" : "full_attention");
  const defaults = { gemma: { head_dim: 256 }, gemma2: { head_dim: 256, pattern: 2 }, gpt_oss: { pattern: 2, head_dim: 64, theta: 150000,
      scaling: { rope_type: "yarn", factor: 32, truncate: false, original_max_position_embeddings: 4096 } },
    gemma3_text: { head_dim: 256, pattern: 6, theta: 1e6, local: 1e4, longest: 131072 },
    gemma3n_text: { head_dim: 256, pattern: 5, theta: 1e6, local: 1e4, longest: 32768 },
    gemma4_text: { head_dim: 256, pattern: 6, wide: 512, scaling: { sliding_attention: {},
      full_attention: { rope_type: "proportional", rope_theta: 1e6, partial_rotary_factor: 0.25 } } }, cohere2: { pattern: 4 }, olmo3: { pattern: 4, theta: 5e5 }, exaone4: { pattern: 4 },
    llama4_text: { theta: 5e5, every: 4, chunk: 8192 }, smollm3: { theta: 2e6, every: 4 }, mixtral: { theta: 1e6 },
    gpt_neox: { share: 0.25 }, stablelm: { share: 0.25 }, phi: { share: 0.5 }, glm: { share: 0.5 }, glm4: { share: 0.5 }, glm4_moe: { share: 0.5 },
    nemotron: { share: 0.5 }, persimmon: { share: 0.5 }, qwen3_next: { share: 0.25, head_dim: 256, interval: 4 },
    qwen3_5_text: { share: 0.25, head_dim: 256, interval: 4 } }[type] ?? {};

  const longest = must(one("max_position_embeddings", "n_positions", "max_sequence_length") ?? defaults.longest, "max_position_embeddings");
  const many = must(one("num_hidden_layers", "n_layer", "num_layers"), "num_hidden_layers");
  const scaling = one("rope_parameters", "rope_scaling") ?? defaults.scaling ?? {};
  if (!dictionary(scaling)) refuse("rope_scaling is not an object.", "rope_scaling 不是一个对象。");
  const stated = scaling.rope_theta ?? one("rope_theta", "rotary_emb_base") ?? defaults.theta, base = must(stated ?? 10000, "rope_theta");

  // The kind of each layer: as the file lists them, or by the pattern of its type.
  const window = given.use_sliding_window === false ? undefined : one("sliding_window");
  const pattern = one("sliding_window_pattern", "_sliding_window_pattern") ?? defaults.pattern;
  const interval = one("full_attention_interval") ?? defaults.interval, every = one("no_rope_layer_interval") ?? defaults.every;
  const chunk = one("attention_chunk_size") ?? defaults.chunk, listed = given.layer_types;
  const turns = given.no_rope_layers?.length ? given.no_rope_layers : every && Array.from({ length: many }, (_, i) => Number((i + 1) % every !== 0));
  const kindOf = (i) => {
    if (listed) return listed[i];
    if (interval) return (i + 1) % interval ? "linear_attention" : "full_attention";
    if (chunk && turns) return turns[i] ? "chunked_attention" : "full_attention";
    if (window && Number.isInteger(pattern)) return alternate(pattern)(i);
    const late = given.use_sliding_window && Number.isInteger(given.max_window_layers); // Qwen: only the layers above these
    return window && !(late && i < given.max_window_layers) ? "sliding_attention" : "full_attention";
  };
  if (listed && !(Array.isArray(listed) && listed.length === many)) refuse(`layer_types does not list ${many} layers.`, `layer_types 列出的不是 ${many} 层。`);
  const layers = Array.from({ length: many }, (_, i) => {
    const kind = kindOf(i), seesAll = kind === "full_attention";
    const still = turns ? !turns[i] : seesAll && window && ["cohere2", "exaone4"].includes(type);
    return { kind, turns: /attention/.test(kind) && kind !== "linear_attention" && !still };
  });

  const nested = Object.entries(scaling).filter(([, value]) => dictionary(value)), second = one("rope_local_base_freq") ?? defaults.local;
  const parameters = (kind) => {
    const found = nested.find(([name]) => name === kind)?.[1];
    if (found) return { ...found, rope_theta: found.rope_theta ?? base };
    if (kind === "sliding_attention" && (second || type === "olmo3")) return { rope_theta: second ?? base }; // what scales is for the others
    return nested.length ? {} : { ...scaling, rope_theta: base };
  };
  const read = (kind, rope) => {
    const rotated = one("qk_rope_head_dim"), wide = kind === "full_attention" ? one("global_head_dim") ?? defaults.wide : undefined;
    const hidden = one("hidden_size", "n_embd"), heads = one("num_attention_heads", "n_head");
    const head = rotated ?? wide ?? one("head_dim") ?? defaults.head_dim ?? must(hidden, "head_dim, hidden_size") / must(heads, "num_attention_heads");
    const share = rope.partial_rotary_factor ?? one("partial_rotary_factor", "rotary_pct") ?? defaults.share ?? 1;
    const asked = rope.rope_type ?? rope.type ?? "default", older = { su: "longrope", mrope: "default", ...(type === "phi3" && { yarn: "longrope" }) };
    const rule = older[asked] ?? asked;
    if (!(rule in rules)) refuse(`rope_type “${asked}” is not known here. Known: ${Object.keys(rules).join(", ")}.`, `这里不认识 rope_type“${asked}”，认识的有：${Object.keys(rules).join("、")}。`);
    const dim = rotated ?? (rule === "proportional" ? head : given.rotary_dim ?? Math.trunc(head * share));
    if (!(Number.isInteger(dim / 2) && dim > 2)) refuse(`Heads rotate ${dim} features; an even number above 2 is needed.`, `每个头旋转 ${dim} 个特征，需要大于 2 的偶数。`);
    for (const name of needs[rule] ?? []) {
      const value = rope[name];
      if (!/short|long/.test(name)) must(value, `${rule}: ${name}`);
      else if (!(Array.isArray(value) && value.length === dim / 2 && value.every(Number.isFinite))) {
        refuse(`longrope: ${name} needs ${dim / 2} numbers, one for each pair.`, `longrope：${name} 需要 ${dim / 2} 个数，每对一个。`);
      }
    }
    // phi3 and others keep the trained length beside the dictionary, and transformers prefers it there.
    const trained = one("original_max_position_embeddings") ?? rope.original_max_position_embeddings;
    const sees = kind === "sliding_attention" ? window ?? Infinity : kind === "chunked_attention" ? chunk ?? Infinity : Infinity;
    return { kind, rope, rule, head, dim, base: must(rope.rope_theta ?? base, "rope_theta"), longest, trained: trained ?? longest, stated: trained !== undefined, sees };
  };
  let kinds = [...new Set(layers.map(({ kind, turns: turning }) => (turning ? kind : "")))].filter(Boolean).map((kind) => read(kind, parameters(kind)));
  if (type === "deepseek_v4") { // its two bases go with what a layer reads beside its window, which no layer_types name
    const { rope_theta: _, ...scaled } = nested.length ? scaling.compress : scaling;
    kinds = [{ ...read("main", { rope_theta: base }), sees: window ?? 128 }, read("compress", { attention_factor: 1, ...scaled, rope_theta: one("compress_rope_theta") ?? 160000 })];
    for (const layer of layers) layer.kind = "compress";
  }
  // Fields that change layers or frequencies in a way that is not computed here.
  const unread = ["layers_block_type", "hybrid_override_pattern", "hybrid_layer_pattern", "attn_layer_period", "attn_layer_indices", "attn_type_list",
    "dual_chunk_attention_config", "mrope_section", "short_mscale", "long_mscale"].filter((name) => name in given || name in scaling);
  return { unread, type, longest, layers, kinds, window, chunk, assumed: stated === undefined && !dictionary(scaling.full_attention) };
};
// Frequencies of a kind of layer at a length of the text, with what multiplies cosines and sines.
touch.turned = ({ rope, rule, ...head }, length) => touch.rope.rules[rule](rope, { ...head, length });
