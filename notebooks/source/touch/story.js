// The whole story: read on past the trained length, and see which clocks come to angles that training never showed them,
// and what that costs. The losses are those that notebook 6 measures, with the range of its seeds.
touch.figures.story = (host) => {
  const { make, say, data } = touch;
  if (!data.story) return; // the page was made without the cell's output
  const { trained, edges, theta, methods } = data.story, last = edges.at(-1);
  const names = { none: say("RoPE as trained", "RoPE，不加改动"), PI: "PI", NTK: "NTK", YaRN: "YaRN" };
  touch.caption(host, `Read on past ${trained} characters, and clocks turn to where they have never been`,
    `读过 ${trained} 个字符再往前，钟的指针就转到从未到过的地方`);
  const drawing = make("svg:svg", { viewBox: "0 0 640 372", role: "img", "aria-label":
    say("Eight clocks, one for each pair of features; below them the loss over the characters read", "八个钟，每对特征一个；下方是损失随已读字符数的变化") });
  const point = (angle, radius) => [radius * Math.cos(angle), -radius * Math.sin(angle)].map((each) => each.toFixed(2));
  const arc = (to, radius) => to >= 2 * Math.PI
    ? `M${radius} 0A${radius} ${radius} 0 1 0 ${-radius} 0A${radius} ${radius} 0 1 0 ${radius} 0`
    : `M${radius} 0A${radius} ${radius} 0 ${to > Math.PI ? 1 : 0} 0 ${point(to, radius)}`;
  const clocks = theta.map((each, i) => {
    const hand = make("svg:line", { x1: 0, y1: 0, class: "hand" }), known = trained * each; // as the reach of notebook 5
    const name = make("svg:text", { y: 52, class: "small", "text-anchor": "middle" }, i ? `${i}` : say("pair 0", "第 0 对"));
    drawing.append(make("svg:g", { transform: `translate(${40 + 80 * i} 42)` }, make("svg:circle", { r: 31, class: "face" }),
      make("svg:path", { d: arc(known, 31), class: "known" }), hand, name));
    return { hand, known };
  });
  const [left, right, top, bottom] = [44, 540, 124, 326], [low, high] = [1.6, 3.2];
  const x = (read) => left + ((right - left) * Math.log(read)) / Math.log(last);
  const y = (loss) => bottom - ((bottom - top) * (Math.min(high, Math.max(low, loss)) - low)) / (high - low);
  drawing.append(make("svg:rect", { x: x(trained), y: top, width: right - x(trained), height: bottom - top, class: "face" }),
    make("svg:text", { x: x(trained) + 6, y: top + 20, class: "small" }, say("beyond training", "超出训练")));
  for (const loss of [2, 2.5, 3]) {
    drawing.append(make("svg:line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "grid" }),
      make("svg:text", { x: left - 6, y: y(loss) + 5, class: "small", "text-anchor": "end" }, loss.toFixed(1)));
  }
  for (let read = 1; read <= last; read *= 4) {
    drawing.append(make("svg:text", { x: x(read), y: bottom + 20, class: "small", "text-anchor": "middle" }, `${read}`));
  }
  drawing.append(make("svg:text", { x: (left + right) / 2, y: bottom + 42, class: "small", "text-anchor": "middle" },
    say("characters read", "已读字符数")), make("svg:text", { x: 4, y: top - 8, class: "small" },
    say("loss of the next character, in nats", "下一个字符的损失，以 nat 计")));
  const middle = (bin) => Math.sqrt((edges[bin] + 1) * edges[bin + 1]);
  const line = (values) => values.map((loss, bin) => `${x(middle(bin)).toFixed(1)} ${y(loss).toFixed(1)}`).join("L");
  const dashes = { none: "8 4", PI: "2 3", NTK: "9 3 2 3", YaRN: "none" };
  const other = (key, d) => make("svg:path", { d, class: "curve other", style: `stroke-dasharray: ${dashes[key]}` });
  const others = Object.entries(methods).map(([key, { mean }]) => other(key, `M${line(mean)}`));
  const ends = Object.entries(methods).map(([key, { mean }]) => [key, y(mean.at(-1))]).sort(([, one], [, other]) => one - other);
  ends.forEach((end, i) => { end[1] = Math.max(end[1], i ? ends[i - 1][1] + 22 : 0); }); // room for each name
  const labels = ends.map(([key, at]) => {
    const name = make("svg:text", { x: right + 38, y: at + 5, class: "small" }, key === "none" ? "RoPE" : key);
    drawing.append(other(key, `M${right + 6} ${at}h28`), name);
    return [key, name];
  });
  const band = make("svg:path", { class: "band" }), curve = make("svg:path", { class: "curve" });
  const cursor = make("svg:line", { y1: top, y2: bottom, class: "limit key" }), dot = make("svg:circle", { r: 6 });
  drawing.append(...others, band, curve, cursor, dot);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const read = () => Math.round(last ** (Number(at.value) / 100));
  const draw = () => {
    const { slowed, mean, lowest, highest } = methods[choice.value], now = read();
    const strange = clocks.filter(({ hand, known }, i) => {
      const angle = (now - 1) * slowed[i], odd = known < 2 * Math.PI && angle > known;
      const [x2, y2] = point(angle, 25);
      for (const [key, value] of Object.entries({ x2, y2, class: `hand ${odd ? "key" : "query"}` })) hand.setAttribute(key, value);
      return odd;
    }).length;
    const bin = edges.findLastIndex((edge) => edge < now), loss = mean[bin];
    curve.setAttribute("d", `M${line(mean)}`);
    for (const [key, label] of labels) label.classList.toggle("chosen", key === choice.value);
    band.setAttribute("d", `M${line(highest)}L${line([...lowest]).split("L").reverse().join("L")}Z`);
    for (const key of ["x1", "x2"]) cursor.setAttribute(key, x(now));
    dot.setAttribute("cx", x(now)); dot.setAttribute("cy", y(loss)); dot.setAttribute("class", strange ? "idle" : "after");
    told.textContent = say(
      `${names[choice.value]}, ${now} characters read: ${strange} of ${theta.length} clocks point where training never took them (orange). The next character costs ${loss.toFixed(2)} nats.`,
      `${names[choice.value]}，已读 ${now} 个字符：${theta.length} 个钟里有 ${strange} 个指到训练时从未到过的地方（橙色）。下一个字符的损失是 ${loss.toFixed(2)} nat。`);
  };
  const choice = touch.choice(controls, say("frequencies", "频率"), Object.entries(names), () => draw());
  const at = touch.slider(controls, say("read", "读到"), { min: 0, max: 100, step: 1, value: 88 },
    (value) => `${Math.round(last ** (value / 100))}`, () => draw());
  const note = make("p", { class: "note" }, say(
    `A clock is a pair of features; blue on its rim are the angles of training. Below: what small models really lose, trained on ${trained} characters and read further; the band spans the seeds, and grey lines are the other frequencies.`,
    `一个钟是一对特征；钟边的蓝色是训练时见过的角度。下方是小模型实测的损失：在 ${trained} 个字符上训练，再往远处读；色带是各个种子的范围，灰线是其余几种频率。`));
  host.append(controls, drawing, told, note);
  draw();
};
