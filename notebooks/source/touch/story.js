// The whole story: read on past the trained length, and see which clocks go where training never took them, and what that
// costs. The losses are those that notebook 6 measures, with the range of its seeds.
touch.figures.story = (host) => {
  const { make, say, data } = touch;
  if (!data.story) return; // the page was made without the cell's output
  const { trained, edges, theta, methods } = data.story, last = edges.at(-1), round = 2 * Math.PI;
  const names = { none: say("as trained (RoPE)", "转速不变（RoPE）"), PI: say("all slowed alike (PI)", "一律放慢（PI）"),
    NTK: say("slowed the more, the slower (NTK)", "越慢的放慢越多（NTK）"), YaRN: say("slowed only if slow (YaRN)", "只把慢的放慢（YaRN）") };
  touch.caption(host, `Read on past ${trained} characters, and clocks go where they have never been`,
    `读过 ${trained} 个字符再往前，钟的指针就走到从未到过的地方`);
  const [row, radius, text, right, tall] = touch.narrow(host) ? [4, 46, 21, 528, 280] : [8, 31, 13, 540, 210];
  const apart = 640 / row, below = 2 * radius + 2 * text, top = Math.ceil(theta.length / row) * below + 2.4 * text;
  const [left, bottom, low, high] = [2 * text + 18, top + tall, 1.6, 3.2];
  const drawing = make("svg:svg", { viewBox: `0 0 640 ${bottom + 3.6 * text}`, role: "img", "aria-label":
    say("Eight clocks, one for each pair of numbers; below them the loss over the characters read", "八个钟，每对数一个；下方是损失随已读字符数的变化") });
  const clocks = theta.map((each, i) => {
    const known = trained * each; // as the reach of notebook 5
    const hand = make("svg:line", { x1: 0, y1: 0 }), strange = make("svg:path", { class: "strange" });
    const name = make("svg:text", { y: radius + text + 5, class: "small", "text-anchor": "middle" }, i ? `${i}` : say("pair 0", "第 0 对"));
    const place = `translate(${apart * ((i % row) + 0.5)} ${radius + 6 + Math.floor(i / row) * below})`;
    drawing.append(make("svg:g", { transform: place }, make("svg:circle", { r: radius, class: "face" }),
      make("svg:path", { d: touch.arc(0, known, radius), class: "known" }), strange, hand, name));
    return { hand, strange, known };
  });
  const x = (read) => left + ((right - left) * Math.log(read)) / Math.log(last);
  const y = (loss) => bottom - ((bottom - top) * (Math.min(high, Math.max(low, loss)) - low)) / (high - low);
  drawing.append(make("svg:rect", { x: x(trained), y: top, width: right - x(trained), height: bottom - top, class: "face" }),
    make("svg:text", { x: x(trained) + 6, y: top + 1.4 * text, class: "small" }, say("beyond training", "超出训练")));
  for (const loss of [2, 2.5, 3]) {
    drawing.append(make("svg:line", { x1: left, x2: right, y1: y(loss), y2: y(loss), class: "grid" }),
      make("svg:text", { x: left - 6, y: y(loss) + text / 3, class: "small", "text-anchor": "end" }, loss.toFixed(1)));
  }
  for (let read = 1; read <= last; read *= 4) {
    drawing.append(make("svg:text", { x: x(read), y: bottom + 1.4 * text, class: "small", "text-anchor": "middle" }, `${read}`));
  }
  drawing.append(make("svg:text", { x: (left + right) / 2, y: bottom + 3 * text, class: "small", "text-anchor": "middle" },
    say("characters read", "已读字符数")), make("svg:text", { x: 4, y: top - text / 2, class: "small" },
    say("surprise at the next character (loss)", "对下一个字符的意外（损失）")));
  const middle = (bin) => Math.sqrt((edges[bin] + 1) * edges[bin + 1]);
  const line = (values) => values.map((loss, bin) => `${x(middle(bin)).toFixed(1)} ${y(loss).toFixed(1)}`).join("L");
  const along = (values, read) => { // on the line between two of its points, as drawn
    const [bin, next] = [0, 1].map((more) => Math.min(values.length - 1, Math.max(0, values.findLastIndex((_, i) => middle(i) <= read)) + more));
    const share = next > bin ? Math.max(0, (x(read) - x(middle(bin))) / (x(middle(next)) - x(middle(bin)))) : 0;
    return values[bin] + share * (values[next] - values[bin]);
  };
  const dashes = { none: "8 4", PI: "2 3", NTK: "9 3 2 3", YaRN: "none" }; // and colours, as in the charts of the notebooks
  const inks = { none: "var(--second)", PI: "color-mix(in srgb, #cc79a7 75%, var(--ink))", NTK: "color-mix(in srgb, #009e73 85%, var(--ink))", YaRN: "var(--ink)" };
  const drawn = (key, chosen) => `stroke: ${inks[key]}; stroke-dasharray: ${chosen ? "none" : dashes[key]}`;
  const other = (key, d) => make("svg:path", { d, class: "curve other", style: drawn(key) });
  const others = Object.entries(methods).map(([key, { mean }]) => other(key, `M${line(mean)}`));
  const ends = Object.entries(methods).map(([key, { mean }]) => [key, y(mean.at(-1))]).sort(([, one], [, other]) => one - other);
  ends.forEach((end, i) => { end[1] = Math.max(end[1], i ? ends[i - 1][1] + 1.4 * text : 0); }); // room for each name
  const labels = ends.map(([key, at]) => {
    const name = make("svg:text", { x: right + 38, y: at + text / 3, class: "small", style: `fill: ${inks[key]}` }, key === "none" ? "RoPE" : key);
    const sample = other(key, `M${right + 6} ${at}h28`);
    drawing.append(sample, name);
    return [key, name, sample];
  });
  const band = make("svg:path", { class: "band" }), curve = make("svg:path", { class: "curve" });
  const cursor = make("svg:line", { y1: top, y2: bottom, class: "limit" }), dot = make("svg:circle", { r: 6 });
  drawing.append(...others, band, curve, cursor, dot);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const read = () => Math.round(last ** (Number(at.value) / 100));
  const draw = () => {
    const { slowed, mean, lowest, highest } = methods[choice.value], now = read();
    const gone = clocks.map(({ hand, strange, known }, i) => { // by how much each has gone on, beyond what training showed
      const angle = (now - 1) * slowed[i], more = Math.max(0, Math.min(angle, round) - known);
      const [x2, y2] = touch.point(angle, radius - 6), style = `hand ${more && angle % round > known ? "key" : "query"}`;
      for (const [key, value] of Object.entries({ x2, y2, class: style })) hand.setAttribute(key, value);
      strange.setAttribute("d", more ? touch.arc(known, known + more, radius) : "");
      return more;
    });
    const many = gone.filter(Boolean).length, most = Math.max(...gone), pair = gone.indexOf(most), by = Math.round((most * 360) / round);
    const loss = along(mean, now);
    curve.setAttribute("d", `M${line(mean)}`);
    curve.setAttribute("style", drawn(choice.value, true));
    band.setAttribute("style", `fill: ${inks[choice.value]}`);
    for (const [key, label, sample] of labels) {
      const chosen = key === choice.value; // drawn as its curve is: solid
      label.classList.toggle("chosen", chosen);
      sample.setAttribute("class", chosen ? "curve" : "curve other");
      sample.setAttribute("style", drawn(key, chosen));
    }
    const compared = labels.flatMap(([key, ...drawn]) => (key === "none" ? [] : drawn)); // not before the hands are slowed
    for (const each of [...others, ...compared]) each.style.display = choice.value === "none" ? "none" : "";
    band.setAttribute("d", `M${line(highest)}L${line([...lowest]).split("L").reverse().join("L")}Z`);
    for (const key of ["x1", "x2"]) cursor.setAttribute(key, x(now));
    dot.setAttribute("cx", x(now)); dot.setAttribute("cy", y(loss)); dot.setAttribute("style", `fill: ${inks[choice.value]}`);
    told.textContent = say(
      `Hands ${names[choice.value]}, ${touch.many(now, "character")} read: ${many} of ${theta.length} clocks went where training never took them${many ? ` (orange), pair ${pair} farthest, by ${by}°` : ""}. The loss at the next character is ${loss.toFixed(2)}.`,
      `指针${names[choice.value]}，已读 ${now} 个字符：${theta.length} 个钟里有 ${many} 个走到过训练时从未到过的地方${many ? `（橙色），第 ${pair} 对走得最远，多走了 ${by}°` : ""}。下一个字符的损失是 ${loss.toFixed(2)}。`);
  };
  const choice = touch.choice(controls, say("hands", "指针"), { name: "hands" }, Object.entries(names), () => draw());
  const share = (read) => (100 * Math.log(read)) / Math.log(last), start = Math.floor(share(trained / 2)); // within training: all is well
  const at = touch.slider(controls, say("read", "读到"), { name: "read", from: share, min: 0, max: 100, step: "any", value: start },
    (value) => `${Math.round(last ** (value / 100))}`, () => draw());
  touch.chart(drawing, { left, right, top, bottom }, at);
  const note = make("p", { class: "note" }, say(
    `Rotary encodings (RoPE) turn pairs of numbers, each like the hand of a clock; blue on the rim is how far it came in training, on ${trained} characters. A little beyond the blue costs nothing, far beyond it does: the menu slows the hands. (The curve is measured: the surprise of small models, lower is better; the band spans models that started from other random numbers.)`,
    `旋转位置编码（RoPE）让一对对的数像钟的指针一样转；钟边的蓝色是训练时（${trained} 个字符）到过的地方。过了蓝色一点点没有代价，过得远了才有：菜单里有让指针慢下来的办法。（曲线是实测的：小模型的意外，越低越好；色带是从不同的随机数出发的几个模型。）`));
  host.append(controls, drawing, told, note);
  draw();
};
