// What ALiBi leaves of a key's weight at each distance, head by head, beside a window, which leaves all or nothing.
touch.figures.slopes = (host) => {
  const { make, say, slider, count } = touch;
  touch.caption(host, "Try it: each head is a window with a soft edge", "动手：每个头都是一扇边缘柔和的窗口");
  const [left, right, top, bottom, last] = [44, 628, 40, 250, 4096];
  const x = (distance) => left + ((right - left) * Math.log(distance)) / Math.log(last);
  const y = (share) => bottom - (bottom - top) * share;
  const distances = Array.from({ length: 121 }, (_, i) => last ** (i / 120));
  const drawing = make("svg:svg", { viewBox: "0 0 640 300", role: "img", "aria-label":
    say("What is left of a key's weight over its distance: a curve for each head, and a step for the window",
      "键的权重还剩多少随距离的变化：每个头一条曲线，窗口是一级台阶") });
  for (const [share, name] of [[0, "0"], [0.5, "½"], [1, "1"]]) {
    drawing.append(make("svg:line", { x1: left, x2: right, y1: y(share), y2: y(share), class: "grid" }),
      make("svg:text", { x: left - 6, y: y(share) + 5, class: "small", "text-anchor": "end" }, name));
  }
  for (let distance = 1; distance <= last; distance *= 8) {
    drawing.append(make("svg:text", { x: x(distance), y: bottom + 20, class: "small", "text-anchor": distance < last ? "middle" : "end" }, count(distance)));
  }
  drawing.append(make("svg:text", { x: 4, y: top - 20, class: "small" }, say("left of a key's weight", "键的权重还剩多少")),
    make("svg:text", { x: (left + right) / 2, y: bottom + 42, class: "small", "text-anchor": "middle" }, say("distance of the key", "键的距离")));
  const curves = drawing.appendChild(make("svg:g"));
  const step = make("svg:path", { class: "limit key", fill: "none" }), edge = make("svg:text", { y: top - 4, class: "small" });
  const cursor = make("svg:line", { y1: top, y2: bottom, class: "limit query" });
  drawing.append(step, edge, cursor);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const [heads, distance, window] = [Number(many.value), far(Number(at.value)), 2 ** Number(wide.value)];
    const slopes = Array.from({ length: heads }, (_, h) => 2 ** ((-8 * (h + 1)) / heads));
    const near = slopes.filter((slope) => slope * distance > Math.LN2).length, kept = distance < window;
    curves.replaceChildren(...slopes.map((slope, h) => make("svg:path", { class: h < near ? "curve other" : "curve",
      d: `M${distances.map((each) => `${x(each).toFixed(1)} ${y(Math.exp(-slope * each)).toFixed(1)}`).join("L")}` })));
    step.setAttribute("d", `M${left} ${y(1)}H${x(window)}V${y(0)}H${right}`);
    edge.setAttribute("x", x(window)); edge.setAttribute("text-anchor", x(window) > right - 40 ? "end" : "middle"); edge.textContent = say("window", "窗口");
    cursor.setAttribute("x1", x(distance)); cursor.setAttribute("x2", x(distance));
    const halved = count(Math.LN2 / slopes.at(-1));
    told.textContent = say(
      `Distance ${count(distance)}: ${heads - near} of ${heads} heads (solid) leave a key at least half of its weight. The flattest halves it every ${halved} tokens, however many heads there are. A window of ${count(window)} ${kept ? "leaves all of it" : "leaves nothing"}.`,
      `距离 ${count(distance)}：${heads} 个头里有 ${heads - near} 个（实线）至少给键留下一半权重。斜率最小的头每 ${halved} 个 token 减半，有多少个头都一样。${count(window)} 的窗口${kept ? "全部留下" : "一点不留"}。`);
  };
  const far = (value) => Math.round(2 ** (value / 4));
  const many = touch.choice(controls, say("heads", "头数"), { name: "heads" }, [4, 8, 16, 32].map((heads) => [heads, `${heads}`]), () => draw());
  many.value = 8;
  const at = slider(controls, say("distance", "距离"), { name: "distance", from: (asked) => 4 * Math.log2(asked), min: 0, max: 48, step: 1, value: 24 }, (value) => count(far(value)), () => draw());
  const wide = slider(controls, say("window", "窗口"), { name: "window", from: Math.log2, min: 3, max: 12, step: 1, value: 8 }, (value) => count(2 ** value), () => draw());
  touch.chart(drawing, { left, right, top, bottom }, at);
  host.append(controls, drawing, told);
  draw();
};
