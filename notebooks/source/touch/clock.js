// Clock hands: where the query at m and the key at n point, pair by pair, and the angle between them.
touch.figures.clock = (host) => {
  touch.caption(host, "To touch: drag the hands, or m and n along the line; or take the arrow keys", "动手：拖动指针，或沿直线拖动 m 和 n，也可以用方向键");
  const { make, say } = touch;
  const layouts = { one: [0.35], eight: Array.from({ length: 8 }, (_, i) => 10000 ** (-i / 8)) }; // speeds
  const drawing = make("svg:svg", { viewBox: "0 0 640 350", role: "group",
    "aria-label": say("Clocks with two hands each", "每个钟有两根指针") });
  const faces = drawing.appendChild(make("svg:g"));
  const clock = (speed, i, { length }) => {
    const [x, y, size] = length === 1 ? [320, 118, 2.3] : [80 + 160 * (i % 4), 72 + 130 * Math.floor(i / 4), 1];
    const [key, query] = ["key", "query"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    const arc = make("svg:path", { class: "arc" });
    const name = length === 1 ? [] : [make("svg:text", { y: -54, class: "small", "text-anchor": "middle" }, say(`pair ${i}`, `第 ${i} 对`))];
    const grip = make("svg:circle", { r: 46, class: "grip" });
    faces.append(make("svg:g", { transform: `translate(${x} ${y}) scale(${size})` }, make("svg:circle", { r: 46, class: "face" }), arc, key, query, ...name, grip));
    touch.drag(drawing, grip, (toX, toY) => turn(Math.atan2(y - toY, toX - x), speed));
    grip.addEventListener("pointerdown", () => { held = null; });
    return { speed, key, query, arc };
  };
  let clocks = [], held; // the position whose hand is being dragged: the nearer one
  const turn = (to, speed) => {
    const [ofQuery, ofKey] = [query, key].map(({ value }) => Math.atan2(Math.sin(to - value * speed), Math.cos(to - value * speed)));
    held ??= Math.abs(ofQuery) < Math.abs(ofKey) ? query : key;
    held.knob.ask(held.value + (held === query ? ofQuery : ofKey) / speed);
  };
  const controls = make("div", { class: "controls" });
  const told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const [m, n] = [query.value, key.value];
    clocks.forEach((clock) => {
      for (const [hand, position, radius] of [[clock.query, m, 42], [clock.key, n, 34]]) {
        const [x, y] = touch.point(position * clock.speed, radius);
        hand.setAttribute("x2", x); hand.setAttribute("y2", y);
      }
      const between = (m - n) * clock.speed, turned = Math.sign(between) * Math.min(Math.abs(between), 2 * Math.PI - 0.001);
      const [from, to] = [n * clock.speed, n * clock.speed + turned].map((angle) => touch.point(angle, 20));
      clock.arc.setAttribute("d", `M${from} A20 20 0 ${Math.abs(turned) > Math.PI ? 1 : 0} ${turned > 0 ? 0 : 1} ${to}`);
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
  const pairs = touch.choice(controls, say("pairs", "对数"), { name: "pairs" }, [["one", say("one, 0.35 radians a position", "一对，每个位置 0.35 弧度")], ["eight", say("eight", "八对")]], () => arrange());
  const arrange = () => {
    faces.replaceChildren();
    clocks = layouts[pairs.value].map(clock);
    draw();
  };
  const together = touch.tick(controls, say("move m and n together", "m 和 n 一起移动"), { name: "together" }, () => {});
  host.append(controls, drawing, told);
  arrange();
};
