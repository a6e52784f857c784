// What seven models' configurations do to their pairs: which turn, which stand still, and which come to a new angle.
touch.figures.models = (host) => {
  const { make, say, slider, count, data } = touch;
  if (!data.models) return; // the page was made without the cell's output
  touch.caption(host, "Try it: read further, and see which pairs come to a new angle", "动手：往更远处读，看哪些对遇到新的角度");
  const [left, right, top, bottom] = [56, 628, 30, 268];
  const y = (positions) => bottom - ((bottom - top) * (Math.log10(positions) - 0.5)) / 8;
  const drawing = make("svg:svg", { viewBox: "0 0 640 310", role: "img", "aria-label":
    say("Wavelength of each pair, on a logarithmic scale, with the length in training and the length read", "各对的波长（对数刻度），以及训练长度和读到的长度") });
  touch.decades(drawing, { left, right, y, from: 1, to: 8 });
  drawing.append(make("svg:text", { x: (left + right) / 2, y: 302, class: "small", "text-anchor": "middle" },
    say("pairs, fast to slow; wavelength in positions (at the top: standing still)", "各对，从快到慢；波长以位置计（最上方：静止）")));
  const [trainedLine, readLine] = ["query", "key"].map((style) => drawing.appendChild(make("svg:line", { x1: left, x2: right, class: `limit ${style}` })));
  const [trainedName, readName] = [say("in training", "训练长度"), say("read", "读到")].map((name) => drawing.appendChild(make("svg:text", { x: left + 6, class: "small" }, name)));
  readName.setAttribute("x", right - 6); readName.setAttribute("text-anchor", "end"); // where no dot is near
  const dots = drawing.appendChild(make("svg:g"));
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const at = (line, name, positions) => {
    for (const end of ["y1", "y2"]) line.setAttribute(end, y(positions));
    name.setAttribute("y", y(positions) - 4);
  };
  const draw = () => {
    const { name, own, asked, trained, advertised } = data.models.find((one) => one.name === model.value), pairs = asked.length, read = 2 ** Number(length.value);
    const slowed = scaling.value === "asked" ? asked : own.map((each, i) => (asked[i] ? each : 0)); // radians for a position
    const seen = trained && !advertised ? Math.min(read, trained) : read; // chunks: no distance is longer
    const idle = slowed.map((each, i) => Boolean(trained && each) && own[i] * trained < 2 * Math.PI);
    const reaches = slowed.map((each, i) => (idle[i] ? (trained * own[i]) / each : Infinity)), reach = Math.min(...reaches);
    const fresh = reaches.filter((each) => seen > each * (1 + 1e-6)).length, still = slowed.filter((each) => !each).length;
    dots.replaceChildren(...slowed.map((each, i) => make("svg:circle", { cx: left + 8 + ((right - left - 16) * i) / (pairs - 1), r: 3.4,
      cy: each ? Math.max(top, y((2 * Math.PI) / each)) : top - 14, class: !each ? "before" : seen > reaches[i] * (1 + 1e-6) ? "idle" : "after" })));
    for (const part of [trainedLine, trainedName]) part.setAttribute("visibility", trained ? "visible" : "hidden");
    at(trainedLine, trainedName, trained ?? 1); at(readLine, readName, seen);
    const [english, chinese] = trained && !advertised
      ? [`its rotating layers look no further than a chunk of ${count(trained)}, however long the text.`, `无论文本多长，旋转的层都只看 ${count(trained)} 个 token 的一块。`]
      : [`${fresh} of ${pairs} pairs come to an angle that training never showed (orange); the first ${reach < Infinity ? `does beyond ${count(reach)}` : "does at no length"}. Advertised: ${count(advertised)}.`,
        `${pairs} 对里有 ${fresh} 对遇到训练没见过的角度（橙色）；${reach < Infinity ? `超过 ${count(reach)} 才第一次出现` : "任何长度都不会"}。宣传的是 ${count(advertised)}。`];
    told.textContent = say(`${name}, ${count(read)} tokens read: ${english}${still ? ` ${still} pairs stand still.` : ""}`,
      `${name}，读到 ${count(read)} 个 token：${chinese}${still ? `有 ${still} 对静止。` : ""}`);
  };
  const model = touch.choice(controls, say("model", "模型"), { name: "model" }, data.models.map(({ name }) => [name, name]), () => draw());
  const scaling = touch.choice(controls, say("frequencies", "频率"), { name: "frequencies" }, [["asked", say("of its configuration", "配置里的")], ["own", say("of its training", "训练时的")]], () => draw());
  const length = slider(controls, say("tokens read", "读到"), { name: "read", from: Math.log2, min: 10, max: 21, step: 1, value: 17 }, (value) => count(2 ** value), () => draw());
  host.append(controls, drawing, told);
  draw();
};
