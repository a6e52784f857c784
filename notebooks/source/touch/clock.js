// Clock hands: where the query at m and the key at n point, pair by pair, and the angle between them.
touch.figures.clock = (host) => {
  touch.caption(host, "To touch: drag m and n along the line, or take the arrow keys", "动手：沿着直线拖动 m 和 n，或者用方向键");
  const { make, say } = touch;
  const layouts = { one: [0.35], eight: Array.from({ length: 8 }, (_, i) => 10000 ** (-i / 8)) }; // speeds
  const drawing = make("svg:svg", { viewBox: "0 0 640 350", role: "group",
    "aria-label": say("Clocks with two hands each", "每个钟有两根指针") });
  const faces = drawing.appendChild(make("svg:g"));
  const clock = (speed, i, { length }) => {
    const place = length === 1 ? "translate(320 118) scale(2.3)" : `translate(${80 + 160 * (i % 4)} ${72 + 130 * Math.floor(i / 4)})`;
    const [key, query] = ["key", "query"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    const arc = make("svg:path", { class: "arc" });
    const name = length === 1 ? [] : [make("svg:text", { y: -54, class: "small", "text-anchor": "middle" }, say(`pair ${i}`, `第 ${i} 对`))];
    faces.append(make("svg:g", { transform: place }, make("svg:circle", { r: 46, class: "face" }), arc, key, query, ...name));
    return { speed, key, query, arc };
  };
  let clocks = [];
  const controls = make("div", { class: "controls" });
  const told = make("p", { "aria-live": "polite", class: "told" });
  const point = (angle, radius) => [radius * Math.cos(angle), -radius * Math.sin(angle)];
  const draw = () => {
    const [m, n] = [query.value, key.value];
    clocks.forEach((clock) => {
      for (const [hand, position, radius] of [[clock.query, m, 42], [clock.key, n, 34]]) {
        const [x, y] = point(position * clock.speed, radius);
        hand.setAttribute("x2", x); hand.setAttribute("y2", y);
      }
      const between = (m - n) * clock.speed, turn = Math.sign(between) * Math.min(Math.abs(between), 2 * Math.PI - 0.001);
      const [from, to] = [point(n * clock.speed, 20), point(n * clock.speed + turn, 20)];
      clock.arc.setAttribute("d", `M${from} A20 20 0 ${Math.abs(turn) > Math.PI ? 1 : 0} ${turn > 0 ? 0 : 1} ${to}`);
    });
    const score = clocks.reduce((sum, { speed }) => sum + Math.cos((m - n) * speed), 0);
    told.textContent = say(
      `m − n = ${m - n}: the angles between the hands depend on it alone, and so does the score of equal vectors, ${score.toFixed(2).replace("-", "−")}.`,
      `m − n = ${m - n}：两针之间的角度只取决于它，相等向量的得分（${score.toFixed(2).replace("-", "−")}）也是如此。`);
  };
  const [query, key] = touch.scale(drawing, { left: 30, right: 610, y: 302, last: 40, handles: [
    { name: "m", label: say("position m of the query", "查询的位置 m"), start: 12, style: "query" },
    { name: "n", label: say("position n of the key", "键的位置 n"), start: 5, style: "key" },
  ] }, (moved, by) => {
    const other = moved === query ? key : query;
    if (together.checked) other.set(other.value + by);
    draw();
  });
  const pairs = touch.choice(controls, say("pairs", "对数"), { name: "pairs" }, [["one", say("one", "一对")], ["eight", say("eight", "八对")]], () => arrange());
  const arrange = () => {
    faces.replaceChildren();
    clocks = layouts[pairs.value].map(clock);
    draw();
  };
  const together = touch.tick(controls, say("move m and n together", "m 和 n 一起移动"), { name: "together" }, () => {});
  host.append(controls, drawing, told);
  arrange();
};
