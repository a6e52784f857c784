// From two vectors to their score: the numbers of query and key in pairs; each pair as a hand, turned by its position; what each
// pair adds, and the sum. With one pair, or with four.
touch.figures.clock = (host) => {
  touch.caption(host, "Try it: drag the hands, or m and n along the line; or take the arrow keys", "动手：拖动指针，或沿直线拖动 m 和 n，也可以用方向键");
  const { make, say } = touch, phone = touch.narrow(host), [text, left, small] = phone ? [21, 0, 66] : [13, 104, 58];
  const layouts = { // speeds, and the numbers of a query and of a key, without a position
    one: [[0.35], [0.9, 0.5], [0.8, -0.3]],
    four: [[0, 1, 2, 3].map((i) => 100 ** (-i / 4)), [1.2, 0.5, -0.6, 1.1, 0.9, 0.8, 1.3, 0.2], [0.8, -0.7, 1.0, 0.6, -0.4, 1.1, 1.1, -0.5]],
  };
  const numbers = 1.6 * text + 30, top = numbers + 30 + 1.4 * text, adds = top + 2 * small + text, score = adds + 3.8 * text, line = score + 50;
  const drawing = make("svg:svg", { viewBox: `0 0 640 ${line + 2.6 * text + 8}`, role: "group", "aria-label":
    say("Query and key in pairs, each pair a clock with two hands, and their score", "查询和键分成对，每对是有两根指针的钟，还有得分") });
  const write = (x, y, words, more = {}) => make("svg:text", { x, y, class: "small", "text-anchor": "middle", ...more }, words);
  const put = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
  const figure = (value) => value.toFixed(2).replace("-", "−");
  const faces = drawing.appendChild(make("svg:g")), sum = drawing.appendChild(write(0, score, "", { class: "sum" }));
  const pair = (speed, i, { length }) => {
    const alone = length === 1, [, q, k] = layouts[pairs.value], group = make("svg:g"); // alone, q and k stand to the left and right
    const [x, radius, middle] = alone ? [320, 104, score / 2 - text] : [left + ((640 - left) * (i + 0.5)) / length, small, top + small];
    const [apart, zero, wide, unit] = alone ? [270, middle, 22, 60] : [32, numbers, 14, 22], turns = [];
    for (const [name, vector, style, side] of [["q", q, "after", -1], ["k", k, "idle", 1]]) { // two bars each
      const at = x + side * apart;
      for (const j of [0, 1]) {
        const value = vector[2 * i + j] * unit;
        group.append(make("svg:rect", { x: at + (j ? 2 : -2 - wide), y: zero - Math.max(0, value), width: wide, height: Math.abs(value), class: style }));
      }
      group.append(make("svg:line", { x1: at - wide - 6, x2: at + wide + 6, y1: zero, y2: zero, class: "axis hair" }), write(at, zero - (alone ? 54 + text : numbers - 1.1 * text), name));
      if (!alone) continue;
      const by = x + side * 172; // between the numbers and the clock: by how much they are turned
      turns.push([write(by, zero - text, ""), write(by, zero + 2 * text, ""), write(at, zero + 34 + 1.2 * text, "")]);
      group.append(write(by, zero + 0.5 * text, side < 0 ? "⟶" : "⟵", { class: "place" }), ...turns.at(-1));
    }
    const hands = ["key", "query"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    const [unturnedKey, unturnedQuery] = ["key", "query"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `ghost ${style}` }));
    const arc = make("svg:path", { class: "arc" }), grip = make("svg:circle", { r: radius, class: "grip" });
    const bar = make("svg:rect", { y: adds, height: 0.8 * text, class: "before" }), part = write(x, adds + 2 * text, "", { class: "small part" });
    const own = [k, q].map((vector) => [Math.atan2(vector[2 * i + 1], vector[2 * i]), (radius * Math.hypot(vector[2 * i], vector[2 * i + 1])) / 1.4]);
    [unturnedKey, unturnedQuery].forEach((ghost, which) => { const [x2, y2] = touch.point(...own[which]); put(ghost, { x2, y2 }); });
    if (!alone) group.append(write(x, top - 0.4 * text, "↓"));
    group.append(make("svg:g", { transform: `translate(${x} ${middle})` },
      make("svg:circle", { r: radius, class: "face" }), unturnedKey, unturnedQuery, arc, ...hands, grip));
    if (!alone) group.append(make("svg:line", { x1: x, x2: x, y1: adds - 3, y2: adds + 0.8 * text + 3, class: "axis hair" }), bar, part);
    faces.append(group);
    touch.drag(drawing, grip, (toX, toY) => turn(Math.atan2(middle - toY, toX - x), speed, own));
    grip.addEventListener("pointerdown", () => { held = null; });
    return { x, radius, speed, own, turns, hands, arc, bar, part };
  };
  let clocks = [], held; // the position whose hand is being dragged: the nearer one
  const wrapped = (angle) => Math.atan2(Math.sin(angle), Math.cos(angle));
  const turn = (to, speed, own) => {
    const [ofKey, ofQuery] = [key, query].map(({ value }, which) => wrapped(to - own[which][0] - value * speed));
    held ??= Math.abs(ofQuery) < Math.abs(ofKey) ? query : key;
    held.knob.ask(held.value + (held === query ? ofQuery : ofKey) / speed);
  };
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const distance = query.value - key.value;
    const parts = clocks.map(({ x, radius, speed, own, turns, hands, arc, bar, part }) => {
      const angles = [key, query].map(({ value }, which) => own[which][0] + value * speed), between = wrapped(angles[1] - angles[0]);
      angles.forEach((angle, which) => { const [x2, y2] = touch.point(angle, own[which][1]); put(hands[which], { x2, y2 }); });
      turns.forEach((words, which) => {
        const { value } = [query, key][which], by = figure(value * speed);
        [`${value} × ${speed}`, say(`= ${by} rad`, `= ${by} 弧度`), `${"mn"[which]} = ${value}`].forEach((said, i) => { words[i].textContent = said; });
      });
      const [from, to] = [angles[0], angles[0] + between].map((angle) => touch.point(angle, 20));
      put(arc, { d: `M${from}A20 20 0 0 ${between > 0 ? 0 : 1} ${to}` });
      const [[, ofKey], [, ofQuery]] = own, added = (ofKey * ofQuery * (1.4 / radius) ** 2) * Math.cos(between);
      put(bar, { x: x + Math.min(0, added) * 30, width: Math.abs(added) * 30 });
      part.textContent = figure(added);
      return added;
    });
    const total = figure(parts.reduce((sum, part) => sum + part, 0)), terms = parts.map((part, i) => (i ? `${part < 0 ? "−" : "+"} ${figure(Math.abs(part))}` : figure(part)));
    sum.textContent = `${say("score", "得分")} = ${total}${terms.length > 1 ? ` ≈ ${terms.join(" ")}` : ""}`; // all are rounded
    told.textContent = say(`m − n = ${distance}: with these q and k, it alone decides the ${clocks.length > 1 ? "angles" : "angle"} between the hands and the score, ${total}.`,
      `m − n = ${distance}：对这里的 q 和 k，只有它决定两针之间的角度和得分（${total}）。`);
  };
  const [query, key] = touch.scale(drawing, { left: 30, right: 610, y: line, last: 40, handles: [
    { name: "m", label: say("position m of the query", "查询的位置 m"), start: 12, style: "query" },
    { name: "n", label: say("position n of the key", "键的位置 n"), start: 5, style: "key" },
  ] }, (moved, by) => {
    const other = moved === query ? key : query;
    if (together.checked) other.set(other.value + by);
    draw();
  });
  const pairs = touch.choice(controls, say("pairs", "对数"), { name: "pairs" }, [["one", say("one, 0.35 radians a position", "一对，每个位置 0.35 弧度")], ["four", say("four, with base 100", "四对，底数 100")]], () => arrange());
  const arrange = () => {
    faces.replaceChildren();
    sum.setAttribute("x", pairs.value === "one" ? 320 : left + (640 - left) / 2);
    clocks = layouts[pairs.value][0].map(pair);
    const rows = [[numbers, say("the numbers", "各个数")], [top + small, say("turned by", "按位置")], [top + small + 1.3 * text, say("their position", "转动之后")],
      [adds + 1.2 * text, say("what each adds", "各自加多少")]];
    if (!phone && clocks.length > 1) faces.append(...rows.map(([y, words]) => write(0, y + text / 3, words, { "text-anchor": "start" })));
    draw();
  };
  const together = touch.tick(controls, say("move m and n together", "m 和 n 一起移动"), { name: "together" }, () => {});
  host.append(controls, drawing, told);
  arrange();
};
