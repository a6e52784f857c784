// Twelve rows of a table on several ranks: where the borders of a shard lie, and who owns which id.
touch.figures.shard = (host) => {
  touch.caption(host, "Try it: move the borders, and ask for an id", "动手：移动边界，查一个 id");
  const { make, say, slider } = touch;
  const v = 12, sizes = [1, 2, 3, 4, 6, 12];
  const drawing = make("svg:svg", { viewBox: "0 0 640 150", role: "img", "aria-label":
    say("Twelve ids in a row, with the rank that owns each", "十二个 id 排成一行，标出拥有它的 rank") });
  const cells = Array.from({ length: v }, (_, id) => {
    const box = make("svg:rect", { x: 18 + 51 * id, y: 50, width: 47, height: 40, rx: 4 });
    drawing.append(box, make("svg:text", { x: 41 + 51 * id, y: 76, "text-anchor": "middle" }, `${id}`));
    return box;
  });
  const owners = make("svg:g"), asked = make("svg:path", { d: "M0 0l-9 -14h18z", class: "idle" });
  drawing.append(owners, asked);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const w = sizes[Number(size.value)], n = v / w;
    if (Number(rank.max) !== w - 1) {
      rank.max = w - 1;
      rank.dispatchEvent(new Event("input")); // its value may have been moved by its new limit
      return;
    }
    const r = Number(rank.value), t = Number(id.value), first = r * n, last = (r + 1) * n - 1;
    cells.forEach((box, each) => box.setAttribute("class", each >= first && each <= last ? "mine" : "face"));
    owners.replaceChildren(...Array.from({ length: w }, (_, each) => {
      const left = 18 + 51 * n * each, right = left + 51 * n - 4;
      return make("svg:g", {}, make("svg:path", { d: `M${left} 98V106H${right}V98`, class: "bracket" }), make("svg:text",
        { x: (left + right) / 2, y: 134, class: "small", "text-anchor": "middle" }, n > 1 && w < 6 ? `rank ${each}` : `${each}`));
    }));
    asked.setAttribute("transform", `translate(${41 + 51 * t} 46)`);
    const mine = t >= first && t <= last, owner = Math.floor(t / n);
    told.textContent = say(
      `Rank ${r} of ${w} owns ${n === 1 ? `id ${first}` : `ids ${first} to ${last}`}. Asked for id ${t}, it answers ` +
        (mine ? `with row ${t - first} of its shard.` : `zero; rank ${owner} has that row.`),
      `${w} 个 rank 中的 rank ${r} 拥有 id ${n === 1 ? first : `${first} 到 ${last}`}。问它 id ${t}，` +
        (mine ? `它给出自己分片的第 ${t - first} 行。` : `它给出零；那一行在 rank ${owner} 上。`));
  };
  const later = () => draw();
  const size = slider(controls, say("world size w", "world size w"), { min: 0, max: 5, step: 1, value: 2 }, (at) => `${sizes[at]}`, later);
  const rank = slider(controls, say("rank r", "rank r"), { min: 0, max: 2, step: 1, value: 1 }, (value) => `${value}`, later);
  const id = slider(controls, "id", { min: 0, max: v - 1, step: 1, value: 5 }, (value) => `${value}`, later);
  host.append(controls, drawing, told);
  draw();
};
