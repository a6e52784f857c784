// The wavelength of every pair, as trained and with the base stretched for a ratio k; what happens to the last pair.
touch.figures.stretch = (host) => {
  touch.caption(host, "Try it: drag k, and watch the first and the last pair", "动手：拖动 k，看第一对和最后一对");
  const { make, say, slider, count } = touch;
  const base = 10000, most = 16, [left, right, top, bottom] = [56, 624, 14, 262];
  const y = (positions) => bottom - ((bottom - top) * (Math.log10(positions) - 0.5)) / 6;
  const drawing = make("svg:svg", { viewBox: "0 0 640 306", role: "img", "aria-label":
    say("Wavelength of each pair before and after scaling, on a logarithmic scale", "缩放前后各对的波长，对数刻度") });
  touch.decades(drawing, { left, right, y, from: 1, to: 6 });
  drawing.append(make("svg:text", { x: (left + right) / 2, y: 298, class: "small", "text-anchor": "middle" },
    say("pairs, the fastest first; wavelength in positions", "各对特征，最快的在前；波长以位置计")));
  const dots = make("svg:g");
  drawing.append(dots);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const waves = (b, hd) => Array.from({ length: hd / 2 }, (_, i) => 2 * Math.PI * b ** ((2 * i) / hd));
  const draw = () => {
    const k = Number(ratio.value), hd = Number(size.value), last = hd / 2 - 1;
    const trained = waves(base, hd), scaled = waves(base * k ** (hd / (hd - 2)), hd);
    dots.replaceChildren(...trained.flatMap((wave, i) => {
      const x = left + 14 + ((right - left - 28) * i) / last;
      return [make("svg:line", { x1: x, x2: x, y1: y(wave), y2: y(scaled[i]), class: "axis" }),
        make("svg:circle", { cx: x, cy: y(wave), r: 4, class: "before" }),
        make("svg:circle", { cx: x, cy: y(scaled[i]), r: 6, class: i === last ? "idle" : "after" })];
    }));
    const middle = Math.floor(last / 2), times = (i) => (scaled[i] / trained[i]).toFixed(2);
    told.textContent = say(
      `k = ${k}: the last pair, ${last}, goes from ${count(trained[last])} to ${count(scaled[last])} positions for one turn, ${times(last)} times as slow. Pair 0 stays at ${trained[0].toFixed(2)}; pair ${middle} is ${times(middle)} times as slow.`,
      `k = ${k}：最后一对，即第 ${last} 对，转一圈从 ${count(trained[last])} 个位置变为 ${count(scaled[last])} 个，是原来的 ${times(last)} 倍。第 0 对仍是 ${trained[0].toFixed(2)}；第 ${middle} 对是原来的 ${times(middle)} 倍。`);
  };
  const later = () => draw();
  const ratio = slider(controls, say("scaling ratio k", "缩放比 k"), { min: 1, max: most, step: 1, value: 4 }, (value) => `${value}`, later);
  const size = slider(controls, say("head dimension hd", "头的维度 hd"), { min: 4, max: 64, step: 2, value: 16 }, (value) => `${value}`, later);
  host.append(controls, drawing, told);
  draw();
};
