// Positions with a row and a column: each pair turns by a sum of both, so an arrow says how fast it turns along which direction. Beside
// the arrows, the score of two equal vectors at every step between them. The tips can be dragged; the slider turns all arrows.
touch.figures.plane = (host) => {
  const { make, say } = touch, speeds = [1.5, 1.1, 0.8, 0.58], reach = 8, side = 300 / (2 * reach + 1), middle = [150, 160], unit = 90;
  touch.caption(host, "Every pair turns along a direction of its own: with all of them along the axes, steps along an axis look alike",
    "每个特征对沿自己的方向转动：如果方向都沿着坐标轴，沿轴走的各步看上去就差不多");
  const drawing = make("svg:svg", { viewBox: "0 0 640 330", class: "open", role: "img", "aria-label":
    say("Four arrows, one for each pair, and a map of the score by rows and columns between query and key", "四个箭头，每个特征对一个；以及得分随行距和列距变化的图") });
  for (const [x2, y2] of [[150 + 1.6 * unit, 160], [150, 160 - 1.6 * unit]]) drawing.append(make("svg:line", { x1: 150, y1: 160, x2, y2, class: "axis" }));
  drawing.append(make("svg:text", { x: 150 + 1.6 * unit, y: 206, class: "small", "text-anchor": "end" }, say("columns", "列")),
    make("svg:text", { x: 158, y: 166 - 1.5 * unit, class: "small" }, say("rows", "行")));
  const angles = speeds.map(() => 0);
  const cells = Array.from({ length: (2 * reach + 1) ** 2 }, (_, n) => {
    const [row, column] = [Math.floor(n / (2 * reach + 1)) - reach, (n % (2 * reach + 1)) - reach];
    const rect = make("svg:rect", { x: 490 + (column - 0.5) * side, y: 160 - (row + 0.5) * side, width: side + 0.3, height: side + 0.3, class: "cell" });
    drawing.append(rect);
    return { row, column, rect };
  });
  const arrows = speeds.map((speed, pair) => {
    const line = make("svg:line", { x1: middle[0], y1: middle[1], class: "hand query" }), tip = make("svg:g", { class: "knob query" },
      make("svg:circle", { r: 13 }), make("svg:text", { y: 5, "text-anchor": "middle" }, `${pair}`));
    drawing.append(line, tip);
    touch.drag(drawing, tip, (x, y) => { angles[pair] = Math.atan2(middle[1] - y, x - middle[0]); draw(); }, true);
    return { line, tip, speed };
  });
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    arrows.forEach(({ line, tip, speed }, pair) => {
      const [x, y] = [middle[0] + speed * unit * Math.cos(angles[pair]), middle[1] - speed * unit * Math.sin(angles[pair])];
      for (const [key, value] of Object.entries({ x2: x, y2: y })) line.setAttribute(key, value.toFixed(1));
      tip.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    });
    let best = [-1];
    for (const { row, column, rect } of cells) {
      const score = speeds.reduce((sum, speed, pair) => sum + Math.cos(speed * (column * Math.cos(angles[pair]) + row * Math.sin(angles[pair]))), 0) / speeds.length;
      rect.setAttribute("style", `fill: ${score < 0 ? "var(--second)" : "var(--first)"}; opacity: ${Math.abs(score).toFixed(2)}`);
      if ((row > 0 || (row === 0 && column > 0)) && Math.hypot(row, column) >= 3 && score > best[0] + 1e-9) best = [score, row, column];
    }
    told.textContent = say(`The score is 1 where query and key are at the same place. Of all steps of three or more, the one that looks most like it is ${touch.many(best[1], "row")} and ${touch.many(best[2], "column")}: ${best[0].toFixed(2)}.`,
      `查询和键在同一处，得分是 1。走三步或更远，最像它的是 ${best[1]} 行、${best[2]} 列：${best[0].toFixed(2)}。`);
  };
  const apart = touch.slider(controls, say("angle from pair to pair", "相邻两对的夹角"), { name: "apart", min: 0, max: 90, step: 5, value: 90 }, (degrees) => `${degrees}°`,
    () => { angles.forEach((_, pair) => { angles[pair] = (pair * apart.value * Math.PI) / 180; }); draw(); });
  host.append(drawing, controls, told);
  apart.dispatchEvent(new Event("input"));
};
