// How much the heads of notebook 6's trained model look at each distance, read as trained or with some pairs clamped.
touch.figures.attention = (host) => {
  const { make, say, slider, data } = touch;
  if (!data.attention) return; // the page was made without the cell's output
  const { edges, trained, blocks, means } = data.attention;
  touch.caption(host, "Try it: how far does a head look? (dashed: as trained)", "动手：一个头看多远？（虚线：不加改动）");
  const names = { none: say("As trained", "不加改动"), "slow pairs": say("Slow pairs clamped", "截住低频对"),
    "fast pairs": say("Fast pairs clamped", "截住高频对"), "all pairs": say("All pairs clamped", "全都截住") };
  const [left, right, top, bottom] = [64, 628, 14, 250], last = edges.at(-1) - 1, heads = means.none.length / blocks;
  const x = (distance) => left + ((right - left) * Math.log(distance + 1)) / Math.log(last + 1);
  const y = (weight) => bottom - ((bottom - top) * (Math.max(-5, Math.log10(weight || 1e-9)) + 5)) / 5;
  const drawing = make("svg:svg", { viewBox: "0 0 640 296", role: "img", "aria-label":
    say("Weight of the key over distance, both on logarithmic scales", "键的权重随距离的变化，两轴都是对数刻度") });
  drawing.append(make("svg:rect", { x: x(trained), y: top, width: right - x(trained), height: bottom - top, class: "face" }),
    make("svg:text", { x: x(trained) + 6, y: top + 20, class: "small" }, say("beyond training", "训练长度之外")));
  touch.decades(drawing, { left, right, y, from: -5, to: 0 });
  for (const distance of [0, 1, 4, 16, 64, 256]) {
    drawing.append(make("svg:text", { x: x(distance), y: bottom + 20, class: "small", "text-anchor": "middle" }, `${distance}`));
  }
  drawing.append(make("svg:text", { x: (left + right) / 2, y: bottom + 42, class: "small", "text-anchor": "middle" },
    say("distance of the key", "键的距离")));
  const other = make("svg:path", { class: "curve other" }), curve = make("svg:path", { class: "curve" });
  const cursor = make("svg:line", { y1: top, y2: bottom, class: "limit key" }), dot = make("svg:circle", { r: 5, class: "after idle" });
  drawing.append(other, curve, cursor, dot);
  const middle = (bin) => Math.sqrt((edges[bin] + 1) * edges[bin + 1]) - 1;
  const path = (weights) => `M${weights.map((weight, bin) => `${x(middle(bin)).toFixed(1)} ${y(weight).toFixed(1)}`).join("L")}`;
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const seen = means[reading.value][head.value], here = Number(at.value), percent = (share) => `${(100 * share).toPrecision(2)} %`;
    const beyond = seen.reduce((sum, weight, i) => sum + (edges[i] >= trained ? weight * (edges[i + 1] - edges[i]) : 0), 0);
    curve.setAttribute("d", path(seen)); other.setAttribute("d", path(means.none[head.value]));
    cursor.setAttribute("x1", x(middle(here))); cursor.setAttribute("x2", x(middle(here)));
    dot.setAttribute("cx", x(middle(here))); dot.setAttribute("cy", y(seen[here]));
    const where = span(here), share = percent(seen[here]), all = `${Math.round(100 * beyond)} %`;
    told.textContent = say(
      `${names[reading.value]}: a key at distance ${where} gets ${share} on average, and all keys beyond ${trained - 1} together get ${all} of this head's weight.`,
      `${names[reading.value]}：距离 ${where} 处的一个键平均得到 ${share}；距离超过 ${trained - 1} 的所有键一共得到这个头 ${all} 的权重。`);
  };
  const span = (bin) => (edges[bin + 1] - edges[bin] > 1 ? `${edges[bin]}–${edges[bin + 1] - 1}` : `${edges[bin]}`);
  const bin = (distance) => edges.findLastIndex((edge) => edge <= distance);
  const head = touch.choice(controls, say("head", "头"), { name: "head" }, means.none.map((_, i) => {
    const [block, one] = [Math.floor(i / heads) + 1, (i % heads) + 1];
    return [i, say(`block ${block}, head ${one}`, `第 ${block} 块第 ${one} 个头`)];
  }), () => draw());
  head.value = means.none.length - 1;
  const reading = touch.choice(controls, say("reading", "读法"), { name: "reading" }, Object.entries(names), () => draw());
  const at = slider(controls, say("distance", "距离"), { name: "distance", from: bin, min: 0, max: edges.length - 2, step: 1, value: 1 }, span, () => draw());
  touch.chart(drawing, { left, right, top, bottom }, at, (share) => bin((last + 1) ** share - 1));
  host.append(controls, drawing, told);
  draw();
};
