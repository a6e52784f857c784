// Any config.json: what it does to each pair of its heads, layer by layer, in a text of a chosen length. The rules are beside this file.
touch.figures.configs = (host) => {
  const { make, say, slider, count, data } = touch;
  touch.caption(host, "Try it: choose a model, or paste a config.json", "动手：选一个模型，或者粘贴一份 config.json");
  const [left, right, top, bottom] = [56, 628, 30, 280], turn = 2 * Math.PI;
  const y = (positions) => Math.max(top, bottom - ((bottom - top) * Math.log10(positions)) / 9);
  const drawing = make("svg:svg", { viewBox: "0 0 640 320", role: "img", "aria-label":
    say("Wavelength of each pair before and after scaling, on a logarithmic scale", "各对缩放前后的波长（对数刻度）") });
  touch.decades(drawing, { left, right, y, from: 1, to: 9 });
  drawing.append(make("svg:text", { x: (left + right) / 2, y: 312, class: "small", "text-anchor": "middle" },
    say("wavelength in positions; pairs from fast to slow", "波长，以位置计；各对从快到慢")));
  const lines = [["query", say("in training", "训练长度"), "start"], ["key", say("looked back", "往回看"), "end"]].map(([style, name, anchor]) => [
    drawing.appendChild(make("svg:line", { x1: left, x2: right, class: `limit ${style}` })),
    drawing.appendChild(make("svg:text", { x: anchor === "end" ? right - 6 : left + 6, class: "small", "text-anchor": anchor }, name))]);
  const dots = drawing.appendChild(make("svg:g")), strip = make("div", { class: "strip", role: "img" });
  const [controls, others] = ["controls", "controls"].map((name) => make("div", { class: name })), notes = make("ul", { class: "note" });
  const told = make("p", { "aria-live": "polite", class: "told" }), source = make("p", { class: "note" }), pairs = make("tbody");
  const table = make("details", {}, make("summary", {}, say("Each pair in numbers", "每一对的数")), make("table", {}, make("thead", {}, make("tr", {},
    ...[say("pair", "对"), say("wavelength before", "缩放前的波长"), say("after", "缩放后"), say("slowed by", "放慢到几分之一"), say("turns in training", "训练中转的圈数")].map((head) => make("th", {}, head)))), pairs));
  const seen = (kind) => (kind.sees < Infinity ? say(`look back ${count(kind.sees)} at most`, `最多往回看 ${count(kind.sees)}`) : say("see everything", "看得到全文"));
  let config;

  const group = ({ kind, turns }) => {
    const found = config.kinds.find((one) => one.kind === kind);
    if (!turns) return [/linear|mamba|conv|recurrent/.test(kind) ? say("do without attention", "没有注意力") : say("see everything and turn nothing", "看得到全文，什么也不转"), "still"];
    return [found ? seen(found) : kind, found?.sees < Infinity ? "near" : "far"];
  };
  const showLayers = () => {
    const groups = config.layers.map(group), words = [...new Set(groups.map(([name]) => name))]
      .map((name) => [name, groups.filter(([one]) => one === name).length]);
    const all = say(`${touch.many(groups.length, "layer")}: ${words.map(([name, n]) => `${n} ${name}`).join(", ")}.`, `${groups.length} 层：${words.map(([name, n]) => `${n} 层${name}`).join("，")}。`);
    strip.replaceChildren(...groups.map(([, style]) => make("span", { class: style })));
    strip.setAttribute("aria-label", all);
    return all;
  };
  const draw = () => {
    const kind = config.kinds[layer.value || 0], learnt = Number(trained.value) || kind.trained, read = 2 ** Number(length.value);
    const factor = Math.max(1, read / learnt), own = touch.turned({ ...kind, rule: kind.rule === "proportional" ? "proportional" : "default",
      rope: { ...kind.rope, partial_rotary_factor: 1, factor: 1 } }, read).theta;
    const asked = { asked: [kind.rule, kind.rope], default: ["default", {}], linear: ["linear", { factor }], dynamic: ["dynamic", { factor: 1 }],
      yarn: ["yarn", { factor }], llama3: ["llama3", { factor, low_freq_factor: 1, high_freq_factor: 4 }], proportional: ["proportional", { partial_rotary_factor: 0.25 }] };
    const [rule, rope] = asked[scaling.value], other = scaling.value !== "asked" && { trained: learnt, longest: learnt, head: own.length * 2 };
    const { theta, attention } = touch.turned({ ...kind, rule, rope, ...other }, read), sees = Math.min(read, kind.sees);
    const idle = theta.map((each, i) => each > 0 && own[i] * learnt < turn), still = theta.filter((each) => !each).length;
    const reaches = theta.map((each, i) => (idle[i] ? (learnt * own[i]) / each : Infinity)), reach = Math.min(...reaches);
    const fresh = reaches.map((each) => sees > each * (1 + 1e-6)), strange = fresh.filter(Boolean).length;
    const x = (i) => left + 8 + ((right - left - 16) * i) / (theta.length - 1 || 1);
    dots.replaceChildren(...own.map((each, i) => make("svg:circle", { cx: x(i), cy: y(turn / each), r: 2, class: "before" })),
      ...theta.map((each, i) => make("svg:circle", { cx: x(i), cy: each ? y(turn / each) : top - 14, r: 3.4, class: !each ? "before" : fresh[i] ? "idle" : "after" })));
    [learnt, sees].forEach((positions, i) => {
      for (const end of ["y1", "y2"]) lines[i][0].setAttribute(end, y(positions));
      lines[i][1].setAttribute("y", y(positions) - 4);
    });
    pairs.replaceChildren(...theta.map((each, i) => make("tr", {}, ...[i, touch.number(turn / own[i]), each ? touch.number(turn / each) : "∞", each ? touch.number(own[i] / each) : "∞",
      touch.number((learnt * own[i]) / turn)].map((value) => make("td", {}, `${value}`)))));
    const whole = theta.filter((each, i) => each && !idle[i]).length, layers = showLayers();
    told.textContent = say(
      `${layers} Of ${theta.length} pairs here ${whole} turn fully within ${count(learnt)} tokens${still ? `, ${still} stand still` : ""}; looking back ${count(sees)}, ${strange} come to an angle that training never showed (orange); ${reach < Infinity ? `the first does beyond ${count(reach)}` : "none does at any length"}.${attention === 1 ? "" : ` Cosines and sines are multiplied by ${touch.number(attention)}.`}${config.assumed ? " The file has no rope_theta: 10,000 is assumed, as in most models." : ""}${config.unread.length ? ` Not read: ${config.unread.join(", ")}.` : ""}`,
      `${layers}这里 ${theta.length} 对中，${whole} 对在 ${count(learnt)} 个 token 之内转满一圈${still ? `，${still} 对静止` : ""}；往回看 ${count(sees)}，有 ${strange} 对遇到训练没见过的角度（橙色）；${reach < Infinity ? `超过 ${count(reach)} 才第一次出现` : "任何长度都不会"}。${attention === 1 ? "" : `余弦和正弦乘以 ${touch.number(attention)}。`}${config.assumed ? "文件里没有 rope_theta：按多数模型的 10,000 算。" : ""}${config.unread.length ? `没有读：${config.unread.join("，")}。` : ""}`);
    notes.replaceChildren(...touch.differ(config, kind).map(([words, href]) => make("li", {}, `${words} `, make("a", { href }, say("source", "出处")))));
  };
  const show = (asked) => { // all that depends on the file
    try {
      config = touch.config(area.value);
      if (!config.kinds.length) throw new RangeError(say("No layer of this model turns anything.", "这个模型没有一层在旋转。"));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      for (const part of [dots, strip, notes, pairs]) part.replaceChildren();
      told.textContent = error.message;
      return;
    }
    layer.replaceChildren(...config.kinds.map((kind, i) => make("option", { value: i }, `${kind.kind.replace("_attention", "")}, ${kind.rule}`)));
    const last = config.kinds.findIndex(({ sees }) => sees === Infinity);
    layer.value = asked ?? (last < 0 ? 0 : last);
    layer.parentElement.hidden = config.kinds.length < 2;
    trained.value = config.kinds[layer.value].trained;
    draw();
  };
  const fill = () => {
    const { config: given, source: href } = data.configs.find(({ name }) => name === model.value) ?? {};
    if (!given) return;
    area.value = JSON.stringify(given, null, 1).replace(/\[[^\]]*\]/g, (list) => list.replace(/\s+/g, " ")); // a list in a line
    source.replaceChildren(say("Only what concerns positions; ", "只有与位置有关的部分；"), make("a", { href }, say("where it was read", "读自这里")));
    show();
  };
  const model = touch.choice(controls, say("model", "模型"), { name: "model" },
    [...data.configs.map(({ name }) => [name, name]), ["", say("pasted below", "粘贴在下面")]], fill);
  const length = slider(controls, say("tokens read", "读到"), { name: "read", from: Math.log2, min: 10, max: 24, step: 1, value: 17 }, (value) => count(2 ** value), () => draw());
  const layer = touch.choice(controls, say("layers", "层"), { name: "layers" }, [], () => { trained.value = config.kinds[layer.value].trained; draw(); });
  const scaling = touch.choice(controls, say("scaling", "缩放"), { name: "scaling" }, [["asked", say("of the configuration", "配置里的")], ["default", say("none", "不缩放")],
    ["linear", say("linear (PI), to this length", "linear（PI），到这个长度")], ["dynamic", say("dynamic NTK", "动态 NTK")], ["yarn", say("YaRN, to this length", "YaRN，到这个长度")],
    ["llama3", say("llama3, to this length", "llama3，到这个长度")], ["proportional", say("p-RoPE, a quarter", "p-RoPE，四分之一")]], () => draw());
  const trained = make("input", { type: "number", class: "number", min: 2, step: 1 }), area = make("textarea", { rows: 8, spellcheck: "false" });
  touch.name(trained, "trained", (asked) => touch.put(trained, "value", asked));
  trained.addEventListener("input", () => config && draw());
  area.addEventListener("input", () => { model.value = ""; source.replaceChildren(); show(); });
  others.append(make("label", {}, make("span", {}, say("longest text in training", "训练中最长的文本")), trained));
  host.append(controls, drawing, strip, told, others, make("label", { class: "own" }, make("span", {}, say("config.json, yours or this one; it does not leave the page:", "config.json，你的或这一份；内容不会离开这个页面：")), area), source, notes, table);
  model.value = "Llama 3.1 8B";
  fill();
};
