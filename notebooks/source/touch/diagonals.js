// The scores of every query with every key: what depends on the distance alone is equal along a diagonal. Beside this map, the
// eight pairs of the query and the key of one cell, and what each adds to the score; and the scores along each diagonal.
touch.figures.diagonals = (host) => {
  const { make, say } = touch;
  touch.caption(host, "Try it: drag over the map, and look along the diagonal", "动手：在图上拖动，沿着对角线看");
  const [count, dim, slope] = [24, 16, 1 / 4], dot = (a, b) => a.reduce((sum, number, i) => sum + number * b[i], 0);
  let seed = 347; // the same numbers in every browser: with these, RoPE's scores go up and down, from 11 to −3
  const random = () => (seed = (1664525 * seed + 1013904223) % 2 ** 32) / 2 ** 32;
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const rows = (many, size) => Array.from({ length: many }, () => Array.from({ length: dim }, () => size * normal()));
  const [toQuery, toKey, tokens, table] = [rows(dim, dim ** -0.5), rows(dim, dim ** -0.5), rows(count, 1), rows(count, 1)];
  const angles = (p) => Array.from({ length: dim / 2 }, (_, i) => p * Number(base.value) ** ((-2 * i) / dim));
  const added = { sinusoids: (p) => angles(p).flatMap((angle) => [Math.sin(angle), Math.cos(angle)]), learned: (p) => table[p] };
  const vector = (map, p) => { // of the word at p, with its position as the code puts it in
    const code = added[codes.value]?.(p), token = tokens[words.value === "alike" ? 0 : p].map((number, j) => number + (code ? code[j] : 0));
    const made = map.map((row) => dot(row, token)), turn = angles(p);
    return codes.value !== "RoPE" ? made : made.map((number, j) => {
      const [cos, sin] = [Math.cos(turn[j >> 1]), Math.sin(turn[j >> 1])];
      return j % 2 ? made[j - 1] * sin + number * cos : number * cos - made[j + 1] * sin;
    });
  };
  // The map on the left, the clocks and the scores beside it; on a phone below it.
  const phone = touch.narrow(host), [text, size, left, radius] = phone ? [21, 23.6, 66, 44] : [13, 12.4, 44, 27];
  const x = (n) => left + n * size, y = (m) => 8 + m * size;
  const [side, over, apart] = phone ? [0, y(count) + 4.2 * text, 160] : [362, 0, 69.5], below = 2 * radius + 2 * text;
  const top = over + 5.4 * text + 2 * below, bottom = phone ? top + 170 : y(count), [start, right] = [side + 3.4 * text, 640 - text];
  const across = (m) => start + ((right - start) * m) / (count - 1);
  const drawing = make("svg:svg", { viewBox: `0 0 640 ${bottom + 3.2 * text}`, role: "group", "aria-label":
    say("Map of scores, with the pairs of one cell and the scores along its diagonal", "得分图，旁边是一格的各对和沿对角线的得分") });
  const write = (x, y, words, more = {}) => drawing.appendChild(make("svg:text", { x, y, class: "small", "text-anchor": "middle", ...more }, words));
  const put = (element, values) => Object.entries(values).forEach(([key, value]) => element.setAttribute(key, value));
  const cells = Array.from({ length: count }, (_, m) => Array.from({ length: m + 1 }, (_, n) =>
    drawing.appendChild(make("svg:rect", { x: x(n), y: y(m), width: size, height: size }))));
  const [toRow, toColumn] = ["query", "key"].map((style) => drawing.appendChild(make("svg:line", { class: `guide ${style}` })));
  const diagonal = drawing.appendChild(make("svg:path", { class: "outline" }));
  const cursor = drawing.appendChild(make("svg:rect", { width: size, height: size, class: "outline cursor" }));
  [say("keys ahead are hidden", "后面的键看不到"), say("blue: above zero", "蓝：大于零"), say("orange: below zero", "橙：小于零")]
    .forEach((words, i) => write(x(count), y(0) + (1 + 1.4 * i) * text, words, { "text-anchor": "end" }));
  const [atRow, atColumn] = ["query", "key"].map((style) => write(left - 6, y(count) + 1.2 * text, "", { class: `place ${style}` }));
  write(x(count / 2), y(count) + 2.6 * text, say("position n of the key", "键的位置 n"));
  write(0, 0, say("position m of the query", "查询的位置 m"), { transform: `translate(${text} ${y(count / 2)}) rotate(-90)` });
  write(side + 320 * (phone || 0.43), over + text + 2, say("pairs of q and k, and what each adds", "q 和 k 的各对，各自加多少"));
  const clocks = Array.from({ length: dim / 2 }, (_, i) => {
    const place = [side + apart * ((i % 4) + 0.5), over + 1.8 * text + radius + below * Math.floor(i / 4)];
    const [key, query] = ["key", "query"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    drawing.append(make("svg:g", { transform: `translate(${place})` }, make("svg:circle", { r: radius, class: "face" }), key, query));
    return { query, key, part: write(place[0], place[1] + radius + text + 2, "") };
  });
  write(side + 320 * (phone || 0.43), top - 1.2 * text, say("scores along each diagonal", "沿各条对角线的得分"));
  const lines = drawing.appendChild(make("svg:g")), dots = drawing.appendChild(make("svg:g"));
  const [highest, lowest] = [top, bottom].map((at) => write(start - 8, at + text / 3, "", { "text-anchor": "end" }));
  for (const m of [0, 23]) write(across(m), bottom + 1.4 * text, `${m}`);
  write((start + right) / 2, bottom + 2.6 * text, say("position m of the query", "查询的位置 m"));
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  let [m, n, scores, queries, keys, longest, height] = [12, 5];
  const number = (value) => value.toFixed(2).replace("-", "−");
  const along = (distance) => scores.slice(distance).map((row, i) => row[i]);
  const compute = () => { // what a code makes of all positions
    base.disabled = !["sinusoids", "RoPE"].includes(codes.value);
    [queries, keys] = [toQuery, toKey].map((map) => cells.map((_, p) => vector(map, p)));
    scores = cells.map((row, m) => row.map((_, n) => dot(queries[m], keys[n]) - (codes.value === "ALiBi" ? slope * (m - n) : 0)));
    const all = scores.flat(), [low, high] = [Math.min(...all), Math.max(...all)], most = Math.max(high, -low), flat = high - low < 1e-9;
    cells.forEach((row, m) => row.forEach((cell, n) => put(cell, { class: `cell ${scores[m][n] < 0 ? "idle" : "after"}`, opacity: (Math.abs(scores[m][n]) / most).toFixed(3) })));
    longest = Math.max(...[...queries, ...keys].flatMap((each) => each.map((number, j) => Math.hypot(number, each[j ^ 1]))));
    height = (score) => (flat ? (top + bottom) / 2 : bottom - ((bottom - top) * (score - low)) / (high - low));
    [highest.textContent, lowest.textContent] = flat ? ["", ""] : [high, low].map(number);
    lines.replaceChildren(...cells.map((_, distance) => make("svg:path", { class: "grid", fill: "none",
      d: `M${along(distance).map((score, i) => `${across(distance + i).toFixed(1)} ${height(score).toFixed(1)}`).join("L")}` })));
    move(m, n);
  };
  const move = (row, column) => { // to a cell; a key that would be ahead stops at the query
    m = Math.min(count - 1, Math.max(0, row)); n = Math.min(m, Math.max(0, column));
    const distance = m - n, line = along(distance), [low, high] = [Math.min(...line), Math.max(...line)];
    put(cursor, { x: x(n), y: y(m) });
    put(diagonal, { d: line.map((_, i) => `M${x(i)} ${y(distance + i)}h${size}v${size}h${-size}z`).join("") });
    put(toRow, { x1: left, x2: x(n), y1: y(m + 0.5), y2: y(m + 0.5) }); put(toColumn, { x1: x(n + 0.5), x2: x(n + 0.5), y1: y(m + 1), y2: y(count) });
    put(atRow, { y: y(m + 0.5) + text / 3, "text-anchor": "end" }); put(atColumn, { x: x(n + 0.5) });
    [atRow.textContent, atColumn.textContent] = [m, n];
    clocks.forEach(({ query, key, part }, i) => {
      for (const [hand, vector] of [[query, queries[m]], [key, keys[n]]]) {
        put(hand, { x2: (radius * vector[2 * i]) / longest, y2: (-radius * vector[2 * i + 1]) / longest });
      }
      part.textContent = number(dot(queries[m].slice(2 * i, 2 * i + 2), keys[n].slice(2 * i, 2 * i + 2)));
    });
    dots.replaceChildren(...line.map((score, i) => make("svg:circle", { cx: across(distance + i), cy: height(score),
      r: (distance + i === m ? 0.55 : 0.25) * text, class: distance + i === m ? "end" : "after" })));
    const even = high - low < 1e-9, [score, least, most] = [scores[m][n], low, high].map(number), many = line.length;
    const [english, chinese] = many === 1 ? [`No other cell has distance ${distance}.`, `距离为 ${distance} 的只有这一格。`]
      : even ? [`All ${many} cells of distance ${distance}: ${most}.`, `距离为 ${distance} 的 ${many} 格全是 ${most}。`]
        : [`The ${many} cells of distance ${distance}: from ${least} to ${most}.`, `距离为 ${distance} 的 ${many} 格：从 ${least} 到 ${most}。`];
    told.textContent = say(`Query at ${m}, key at ${n}: score ${score}. ${english}`, `查询在 ${m}，键在 ${n}：得分 ${score}。${chinese}`) + remark(distance);
  };
  const remark = (distance) => { // what the position does, where the scores alone do not show it
    const alike = words.value === "alike";
    if (codes.value === "none" && alike) return say(" So are all others: no score knows the distance.", "其余各格也都一样：得分不知道距离。");
    if (codes.value === "RoPE" && !alike) return say(` The words differ; the turn between them does not: each pair has turned by ${distance} times its speed.`, `词不同，两者之间的转角却相同：每一对都转了转速的 ${distance} 倍。`);
    if (codes.value === "ALiBi") return say(` The score is what the pairs add, less ${number(slope * distance)} for the distance.`, `得分是各对之和再减去 ${number(slope * distance)}，只看距离。`);
    return "";
  };
  const codes = touch.choice(controls, say("code", "编码"), { name: "code" }, [["none", say("none", "没有")], ["sinusoids", say("sinusoids, added", "加上正弦")],
    ["learned", say("untrained table, added", "加上未训练的表")], ["RoPE", "RoPE"], ["ALiBi", say("ALiBi, slope 1/4", "ALiBi，斜率 1/4")]], () => compute());
  const words = touch.choice(controls, say("words", "词"), { name: "words" }, [["alike", say("all alike", "都相同")], ["different", say("all different", "各不相同")]], () => compute());
  const base = touch.choice(controls, say("base", "底数"), { name: "base" }, [10000, 100, 500000].map((each) => [each, touch.count(each)]), () => compute());
  codes.value = "RoPE";
  const map = make("svg:path", { d: `M${x(0)} ${y(0)}${cells.map(() => `h${size}v${size}`).join("")}H${x(0)}z`, class: "map", role: "application", tabindex: 0,
    "aria-label": say("Cell of the map: arrow keys move it, Page Up and Page Down along the diagonal", "图中的一格：方向键移动，Page Up 和 Page Down 沿对角线移动") });
  const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-1, -1], PageDown: [1, 1] };
  map.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    const [down, on] = steps[event.key];
    event.preventDefault();
    if (n + on >= 0 && n + on <= m + down && m + down < count) move(m + down, n + on);
  });
  map.addEventListener("pointerdown", () => map.focus());
  touch.drag(drawing, map, (x, y) => move(Math.floor((y - 8) / size), Math.floor((x - left) / size)), true);
  const chart = make("svg:rect", { x: start, y: top, width: right - start, height: bottom - top, class: "chart" });
  touch.drag(drawing, chart, (x) => { const to = Math.max(m - n, Math.min(count - 1, Math.round(((x - start) * (count - 1)) / (right - start)))); move(to, to - m + n); });
  touch.name(atRow, "query", (asked) => move(Number(asked), Math.min(n, Number(asked))));
  touch.name(atColumn, "key", (asked) => move(Math.max(m, Number(asked)), Number(asked)));
  drawing.append(map, chart);
  host.append(controls, drawing, told);
  compute();
};
