// A head that learnt to look 5 back, in a program that rotates half-split: what each forgotten step of a conversion does.
touch.figures.layout = (host) => {
  const { make, say, slider } = touch;
  touch.caption(host, "Try it: forget a step of the conversion, and see what still passes", "动手：漏掉转换中的一步，看看哪些检查照样通过");
  const [dim, back, far, half] = [32, 5, 24, 16], [left, right, top, bottom] = [40, 628, 14, 214];
  const theta = Array.from({ length: half }, (_, i) => 10000 ** (-i / half));
  const query = Array.from({ length: dim }, (_, j) => (j < half && j % 2 === 0 ? 1 : 0)); // adjacent pairs; see the text
  const key = query.map((_, j) => (j < half ? (j % 2 ? Math.sin : Math.cos)(back * theta[j >> 1]) : 0));
  const converted = (x) => x.map((_, j) => x[j < half ? 2 * j : 2 * (j - half) + 1]);
  const rotated = (x, p, blocks, sign) => x.map((_, j) => {
    const i = j % half, angle = sign * p * theta[blocks ? i : j >> 1]; // one by one, seat j finds the angle of pair j >> 1
    return x[j] * Math.cos(angle) + (j < half ? -x[j + half] : x[i]) * Math.sin(angle);
  });
  const dot = (a, b) => a.reduce((sum, number, j) => sum + number * b[j], 0);
  const x = (distance) => left + ((right - left) * distance) / far, y = (score) => top + ((bottom - top) * (8 - score)) / 12;
  const drawing = make("svg:svg", { viewBox: "0 0 640 262", role: "img", "aria-label":
    say("The score over the distance: as learnt (dashed), and as set now", "得分随距离的变化：学到的（虚线）和现在的") });
  for (const score of [-4, 0, 4, 8]) {
    drawing.append(make("svg:line", { x1: left, x2: right, y1: y(score), y2: y(score), class: "grid" }),
      make("svg:text", { x: left - 6, y: y(score) + 5, class: "small", "text-anchor": "end" }, `${score}`));
  }
  for (const distance of [0, 5, 10, 15, 20]) {
    drawing.append(make("svg:text", { x: x(distance), y: bottom + 20, class: "small", "text-anchor": "middle" }, `${distance}`));
  }
  drawing.append(make("svg:text", { x: (left + right) / 2, y: bottom + 42, class: "small", "text-anchor": "middle" }, say("distance m − n", "距离 m − n")));
  const learnt = make("svg:path", { class: "curve other" }), curve = make("svg:path", { class: "curve" }), dot5 = make("svg:circle", { r: 6, class: "after idle" });
  drawing.append(learnt, curve, dot5);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const tick = (name, words) => touch.tick(controls, words, { name, checked: "" }, () => draw());
  const draw = () => {
    const [q, k] = [[queries, query], [keys, key]].map(([box, vector]) => (box.checked ? converted(vector) : vector)), sign = forward.checked ? 1 : -1;
    const score = (m, n) => dot(rotated(q, m, blocks.checked, sign), rotated(k, n, blocks.checked, sign));
    const scores = Array.from({ length: far + 1 }, (_, distance) => score(Number(at.value), Number(at.value) - distance));
    const moved = Array.from({ length: 60 }, (_, n) => score(n + back, n)), flat = Math.max(...moved) - Math.min(...moved) < 1e-6;
    const spun = rotated(q, back, blocks.checked, sign), kept = Math.abs(dot(spun, spun) - dot(q, q)) < 1e-6;
    const looks = scores.indexOf(Math.max(...scores));
    learnt.setAttribute("d", path(scores.map((_, distance) => theta.slice(0, half / 2).reduce((sum, each) => sum + Math.cos((distance - back) * each), 0))));
    curve.setAttribute("d", path(scores));
    dot5.setAttribute("cx", x(looks)); dot5.setAttribute("cy", y(scores[looks]));
    told.textContent = say(
      `The head looks ${looks} back${looks !== back ? ", not 5" : scores[back] > 7.99 ? ", as learnt" : ", but no longer sharply"}. Score at distance 5: ${scores[back].toFixed(2)} of 8. Shift test: ${flat ? "passes" : "fails"}. Lengths: ${kept ? "kept" : "not kept"}. No error message.`,
      `这个头往回看 ${looks} 个${looks !== back ? "，而不是 5 个" : scores[back] > 7.99 ? "，与学到的一样" : "，但不再突出"}。距离 5 处的得分：${scores[back].toFixed(2)}，满分 8。平移测试：${flat ? "通过" : "不通过"}。长度：${kept ? "不变" : "变了"}。没有任何报错。`);
  };
  const path = (scores) => `M${scores.map((score, distance) => `${x(distance).toFixed(1)} ${y(score).toFixed(1)}`).join("L")}`;
  const keys = tick("keys", say("keys converted", "键已转换")), queries = tick("queries", say("queries converted", "查询已转换"));
  const blocks = tick("blocks", say("tables repeated as a block", "表按整段重复")), forward = tick("forward", say("right sign of the sine", "正弦符号正确"));
  const at = slider(controls, say("query at", "查询在"), { name: "query", min: far, max: 64, step: 1, value: 40 }, (value) => `${value}`, () => draw());
  host.append(controls, drawing, told);
  draw();
};
