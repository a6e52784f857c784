// One position as a number, as bits, and as the hands of dials: how far each code moves at the next step.
touch.figures.odometer = (host) => {
  const { make, say, slider } = touch;
  touch.caption(host, "Try it: count up, and watch what a carry does", "动手：往上数，看进位会带来什么");
  const [bits, left, wide] = [8, 118, 62], last = 2 ** bits - 1;
  const speeds = Array.from({ length: bits }, (_, i) => 2 ** -i); // as in the figure above: wavelengths that double
  const drawing = make("svg:svg", { viewBox: "0 0 640 196", role: "img", "aria-label":
    say("A position as a bar, as eight bits, the lowest first, and as eight dials", "同一个位置：一根横条、八个比特（低位在前）、八个表盘") });
  const label = (y, text) => drawing.append(make("svg:text", { x: left - 14, y, class: "small", "text-anchor": "end" }, text));
  label(29, say("number", "数值")); label(87, say("bits", "比特")); label(155, say("sinusoids", "正弦"));
  const bar = make("svg:rect", { x: left, y: 14, height: 20, class: "after" });
  drawing.append(make("svg:rect", { x: left, y: 14, width: bits * wide, height: 20, class: "face" }), bar);
  const cells = Array.from({ length: bits }, (_, i) => {
    const middle = left + (i + 0.5) * wide, cell = make("svg:rect", { x: middle - 22, y: 60, width: 44, height: 40 });
    const digit = make("svg:text", { x: middle, y: 86, "text-anchor": "middle" }), hand = make("svg:line", { x1: 0, y1: 0 });
    drawing.append(cell, digit, make("svg:g", { transform: `translate(${middle} 150)` }, make("svg:circle", { r: 27, class: "face" }), hand));
    return { cell, digit, hand };
  });
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const bit = (number, i) => (number >> i) & 1;
  const step = Math.sqrt(speeds.reduce((sum, speed) => sum + 2 - 2 * Math.cos(speed), 0)).toFixed(2);
  const draw = () => {
    const now = Number(at.value), next = now + 1;
    bar.setAttribute("width", (bits * wide * now) / last);
    const flips = cells.filter(({ cell, digit, hand }, i) => {
      const flips = bit(now, i) !== bit(next, i), angle = now * speeds[i];
      cell.setAttribute("class", `${bit(now, i) ? "mine" : "face"} ${flips ? "key" : ""}`); cell.setAttribute("stroke-width", flips ? 4 : 1);
      digit.textContent = bit(now, i);
      hand.setAttribute("x2", 24 * Math.sin(angle)); hand.setAttribute("y2", -24 * Math.cos(angle)); // from the top, clockwise
      hand.setAttribute("class", "hand query");
      return flips;
    }).length;
    const jump = Math.sqrt(flips).toFixed(2);
    told.textContent = say(
      `From ${now} to ${next}: ${flips === 1 ? "1 bit flips, the lowest, on the left" : `${flips} bits flip (thick frames; the lowest is on the left)`}, and the code moves by ${jump}, the root of ${flips}. The sinusoids move by ${step}, as at every step.`,
      `从 ${now} 到 ${next}：翻转 ${flips} 个比特（粗框；最左边是最低位），编码移动 ${jump}（${flips} 的平方根）。正弦移动 ${step}，每一步都一样。`);
  };
  const at = slider(controls, say("position p", "位置 p"), { name: "position", min: 0, max: last - 1, step: 1, value: 127 }, (value) => `${value}`, () => draw());
  host.append(controls, drawing, told);
  draw();
};
