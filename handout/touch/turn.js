// One pair of features as an arrow, turned by its position; every pair has a speed of its own.
touch.figures.turn = (host) => {
  touch.caption(host, "Try it: move the token along, and choose a pair", "动手：移动 token 的位置，选择一对特征");
  const { make, say, slider } = touch;
  const hd = 8, base = 100, [x, y, radius] = [320, 150, 118];
  const drawing = make("svg:svg", { viewBox: "0 0 640 300", role: "img", "aria-label":
    say("An arrow on a circle, before and after it was turned", "圆上的箭头，旋转之前和之后") });
  const [before, after] = ["key", "query"].map((style) => make("svg:line", { x1: x, y1: y, class: `hand ${style}` }));
  const trail = make("svg:g"), arc = make("svg:path", { class: "arc" });
  const names = ["n = 0", ""].map((text) => make("svg:text", { class: "small", "text-anchor": "middle" }, text));
  drawing.append(make("svg:circle", { cx: x, cy: y, r: radius, class: "face" }), trail, arc, before, after, ...names);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const at = (angle, far) => [x + far * Math.cos(angle), y - far * Math.sin(angle)];
  const point = (line, angle, name) => {
    const [[x2, y2], [tx, ty]] = [at(angle, radius - 4), at(angle, radius + 22)];
    line.setAttribute("x2", x2); line.setAttribute("y2", y2);
    name.setAttribute("x", tx); name.setAttribute("y", ty + 5);
  };
  const draw = () => {
    const n = Number(position.value), i = Number(pair.value), theta = base ** ((-2 * i) / hd), angle = n * theta;
    const [from, to] = [at(0, 40), at(Math.min(angle, 2 * Math.PI - 0.001), 40)];
    arc.setAttribute("d", `M${from} A40 40 0 ${angle > Math.PI ? 1 : 0} 0 ${to}`);
    trail.replaceChildren(...Array.from({ length: n + 1 }, (_, m) => {
      const [cx, cy] = at(m * theta, radius);
      return make("svg:circle", { cx, cy, r: 4, class: "before" });
    }));
    point(before, 0, names[0]);
    point(after, angle, names[1]);
    names[0].style.display = Math.abs(Math.sin(angle / 2)) < 0.2 ? "none" : "";
    names[1].textContent = `n = ${n}`;
    const turns = angle / (2 * Math.PI);
    told.textContent = say(
      `Pair ${i} turns by ${theta.toFixed(3)} rad for each position: at n = ${n} by ${angle.toFixed(2)} rad, ${turns.toFixed(2)} of a turn. (1, 0) has become (${Math.cos(angle).toFixed(2)}, ${Math.sin(angle).toFixed(2)}); its length is still 1.`,
      `第 ${i} 对每个位置转 ${theta.toFixed(3)} 弧度：n = ${n} 时转了 ${angle.toFixed(2)} 弧度，即 ${turns.toFixed(2)} 圈。(1, 0) 变成 (${Math.cos(angle).toFixed(2)}, ${Math.sin(angle).toFixed(2)})，长度仍是 1。`);
  };
  const later = () => draw();
  const position = slider(controls, say("position n", "位置 n"), { min: 0, max: 40, step: 1, value: 2 }, (value) => `${value}`, later);
  const pair = slider(controls, say("pair i", "第 i 对"), { min: 0, max: hd / 2 - 1, step: 1, value: 0 }, (value) => `${value}`, later);
  host.append(controls, drawing, told);
  draw();
};
