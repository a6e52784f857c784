// Wavelengths of 64 pairs beside the trained length, as trained and as slowed by a method; and how far that reaches.
touch.figures.wavelengths = (host) => {
  touch.caption(host, "Try it: which pairs know the circle, and how far does a method reach? Drag along the pairs", "动手：哪些特征对认得整个圆，一种方法够到多远？沿着各对拖动");
  const { make, say, slider, count } = touch;
  const pairs = Array.from({ length: 64 }, (_, i) => i);
  const spectrum = (base) => pairs.map((i) => base ** (-i / 64));
  const methods = {
    none: [say("As trained", "不加改动"), ({ theta }) => theta],
    pi: ["PI", ({ theta, s }) => theta.map((each) => each / s)],
    ntk: ["NTK", ({ base, s }) => spectrum(base * s ** (128 / 126))],
    yarn: [say("YaRN, paper's ramp", "YaRN，论文的斜坡"), ({ theta, s, L }) => theta.map((each) => {
      const kept = Math.min(1, Math.max(0, ((L * each) / (2 * Math.PI) - 1) / 31));
      return kept * each + ((1 - kept) * each) / s;
    })],
  };
  const [left, right, top, bottom] = [56, 628, 12, 268];
  const y = (positions) => bottom - ((bottom - top) * (Math.log10(positions) - 0.5)) / 8;
  const drawing = make("svg:svg", { viewBox: "0 0 640 310", role: "img", "aria-label":
    say("Wavelength over pair, on a logarithmic scale", "各对的波长，对数刻度") });
  touch.decades(drawing, { left, right, y, from: 1, to: 8 });
  drawing.append(make("svg:text", { x: (left + right) / 2, y: 302, class: "small", "text-anchor": "middle" },
    say("pair 0 (fast) to pair 63 (slow); wavelength in positions", "第 0 对（快）到第 63 对（慢）；波长以位置计")));
  const [trained, wanted] = ["query", "key"].map((style) => make("svg:line", { x1: left, x2: right, class: `limit ${style}` }));
  const [trainedName, wantedName] = ["L", "sL"].map((name) => make("svg:text", { x: left + 6, class: "small" }, name));
  wantedName.setAttribute("x", left + 30); // beside the other, on the left, where the dots are low
  const dots = pairs.map((i) => ["before", "after"].map((style) => make("svg:circle", { cx: left + 8 + ((right - left - 16) * i) / 63, class: style, r: style === "after" ? 3.4 : 2 })));
  const ring = make("svg:circle", { r: 7, class: "ring" }), known = make("svg:path", { class: "known" }), strange = make("svg:path", { class: "strange" });
  const hand = make("svg:line", { x1: 0, y1: 0, class: "hand query" }), rim = 30; // of one pair's clock, where no dot is
  drawing.append(trained, wanted, trainedName, wantedName, ...dots.flat(), ring,
    make("svg:g", { transform: `translate(${right - rim - 8} ${bottom - rim - 10})` }, make("svg:circle", { r: rim, class: "face" }), known, strange, hand));
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const base = 10 ** Number(inputs.base.value), L = 2 ** Number(inputs.length.value), s = 2 ** Number(inputs.factor.value);
    const theta = spectrum(base), slowed = methods[choice.value][1]({ theta, base, s, L });
    const idle = theta.map((each) => L * each < 2 * Math.PI);
    const reach = Math.min(...pairs.map((i) => (idle[i] ? (L * theta[i]) / slowed[i] : Infinity)));
    pairs.forEach((i) => {
      dots[i][0].setAttribute("cy", y((2 * Math.PI) / theta[i]));
      dots[i][1].setAttribute("cy", Math.max(top, y((2 * Math.PI) / slowed[i])));
      dots[i][1].classList.toggle("idle", idle[i]);
    });
    for (const [line, name, at] of [[trained, trainedName, L], [wanted, wantedName, s * L]]) {
      line.setAttribute("y1", y(at)); line.setAttribute("y2", y(at)); name.setAttribute("y", y(at) - 4);
    }
    const many = idle.filter(Boolean).length, p = Number(inputs.pair.value), [came, comes] = [L * theta[p], s * L * slowed[p]], full = 2 * Math.PI;
    for (const key of ["cx", "cy"]) ring.setAttribute(key, dots[p][1].getAttribute(key));
    known.setAttribute("d", touch.arc(0, came, rim)); strange.setAttribute("d", came < full && comes > came * (1 + 1e-9) ? touch.arc(came, Math.min(comes, full), rim) : "");
    ["x2", "y2"].forEach((key, i) => hand.setAttribute(key, touch.point(comes, rim - 5)[i]));
    const [before, after] = [came, comes].map((angle) => (angle < 10 * full ? (angle / full).toFixed(2) : count(angle / full)));
    told.textContent = say(
      `${many} of 64 pairs never complete a turn within the trained ${count(L)}. ${methods[choice.value][0]}: nothing new up to ${count(reach)} positions, with ${count(s * L)} wanted. Pair ${p} (ringed) made ${before} turns in training, and makes ${after} up to there.`,
      `64 对里有 ${many} 对在训练的 ${count(L)} 个位置之内转不满一圈。${methods[choice.value][0]}：到 ${count(reach)} 个位置为止没有新角度，想要的是 ${count(s * L)}。第 ${p} 对（圈出）训练时转了 ${before} 圈，读到那里要转 ${after} 圈。`);
  };
  const inputs = {}, later = () => draw();
  const choice = touch.choice(controls, say("method", "方法"), { name: "method" }, Object.entries(methods).map(([value, [name]]) => [value, name]), later);
  inputs.base = slider(controls, say("base", "底数"), { name: "base", from: Math.log10, min: 3, max: 7, step: 0.1, value: 4 }, (v) => count(10 ** v), later);
  inputs.length = slider(controls, say("trained length L", "训练长度 L"), { name: "length", from: Math.log2, min: 8, max: 17, step: 1, value: 12 }, (v) => count(2 ** v), later);
  inputs.factor = slider(controls, say("factor s", "倍数 s"), { name: "factor", from: Math.log2, min: 0, max: 6, step: 1, value: 3 }, (v) => `${2 ** v}`, later);
  inputs.pair = slider(controls, say("pair", "对"), { name: "pair", min: 0, max: 63, step: 1, value: 50 }, (v) => `${v}`, later);
  touch.chart(drawing, { left: left + 8, right: right - 8, top, bottom }, inputs.pair);
  host.append(controls, drawing, told);
  draw();
};
