// The walk of the sum: one arrow for each pair, head to tail, at a distance to drag. Where it ends is the score.
touch.figures.walk = (host) => {
  touch.caption(host, "Try it: drag the distance, and see the arrows curl up", "动手：拖动距离，看箭头怎样蜷起来");
  const { make, say, slider, count } = touch;
  const [pairs, made, unit, start, foot] = [64, 1000, 7.5, { x: 122, y: 144 }, 294]; // room for every distance
  const distances = [0];
  while (distances.at(-1) < 100000) distances.push(Math.max(distances.at(-1) + 1, Math.round(distances.at(-1) * 1.05)));
  const seat = (distance) => { // the place of a distance on the slider, which from then on has it exactly
    const at = distances.findIndex((each) => each >= distance);
    distances[at] = distance;
    return at;
  };
  seat(made);
  const drawing = make("svg:svg", { viewBox: "0 0 640 300", role: "img", "aria-label":
    say("64 arrows laid head to tail, the fastest pair first", "64 支箭头首尾相接，转得最快的一对在最前") });
  const tip = make("svg:path", { d: "M0 0 L6 3 L0 6 z", class: "tip" });
  drawing.append(make("svg:defs", {}, make("svg:marker",
    { id: "walk-tip", viewBox: "0 0 6 6", refX: 6, refY: 3, markerWidth: 3, markerHeight: 3, orient: "auto" }, tip)));
  const line = (style) => drawing.appendChild(make("svg:line", { class: style }));
  const floor = line("grid"), drop = line("limit grid"), score = line("score");
  const arrows = Array.from({ length: pairs }, () => line("step"));
  arrows.forEach((arrow) => arrow.setAttribute("marker-end", "url(#walk-tip)"));
  const end = make("svg:rect", { width: 9, height: 9, class: "end" });
  const ends = [0, pairs].map((at) => make("svg:g", { transform: `translate(${start.x + unit * at} 0)` },
    make("svg:line", { y1: start.y, y2: foot - 22, class: "grid" }),
    make("svg:text", { y: foot, class: "small", "text-anchor": "middle" }, `${at}`)));
  drawing.prepend(...ends); // behind the walk, and their names below all of it
  drawing.append(end);
  const place = (each, x1, y1, x2, y2) => Object.entries({ x1, y1, x2, y2 }).forEach(([key, at]) =>
    each.setAttribute(key, (key[0] === "x" ? start.x + unit * at : start.y - unit * at).toFixed(2)));
  place(floor, -12, 0, 66, 0);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const distance = distances[Number(far.value)], theta = arrows.map((_, i) => Number(base.value) ** (-i / pairs));
    let [x, y] = [0, 0];
    arrows.forEach((arrow, i) => {
      const angle = (distance - Number(content.value)) * theta[i], before = [x, y];
      x += Math.cos(angle); y += Math.sin(angle);
      place(arrow, ...before, x, y);
      arrow.classList.toggle("round", distance * theta[i] >= 2 * Math.PI);
    });
    place(score, 0, 0, x, 0); place(drop, x, 0, x, y);
    end.setAttribute("x", start.x + unit * x - 4.5); end.setAttribute("y", start.y - unit * y - 4.5);
    const round = theta.filter((each) => distance * each >= 2 * Math.PI).length, away = Math.hypot(x, y).toFixed(1);
    told.textContent = say(
      `Distance ${count(distance)}: the walk ends ${away} from its start; the score, its part along the line, is ${x.toFixed(1)}. ${round} of 64 pairs (orange) have gone round at least once.`,
      `距离 ${count(distance)}：终点离起点 ${away}；得分是它沿直线的部分，为 ${x.toFixed(1)}。64 对里有 ${round} 对（橙色）至少转过一圈。`);
  };
  const far = slider(controls, say("distance", "距离"), { name: "distance", from: seat, min: 0, max: distances.length - 1, step: 1, value: distances.indexOf(10) },
    (index) => count(distances[index]), () => draw());
  const base = touch.choice(controls, say("base", "底数"), { name: "base" }, [[1e4, "10,000"], [5e5, "500,000"]], () => draw());
  const content = touch.choice(controls, say("key", "键"), { name: "key" }, [[0, say("equal to the query", "与查询相同")],
    [made, say(`made for distance ${count(made)}`, `为距离 ${count(made)} 造的`)]], () => draw());
  host.append(controls, drawing, told);
  draw();
};
