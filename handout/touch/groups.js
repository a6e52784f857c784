// Twelve features of one token, in groups: which of them share a root mean square, and what one loud feature does to them.
touch.figures.groups = (host) => {
  touch.caption(host, "Try it: make the groups larger, and one feature louder", "动手：把组变大，把一个特征变强");
  const { make, say, slider, number } = touch;
  const start = [2, -1, 1, 3, -2, 1, 1, -3, 2, 1, -1, 2], sizes = [1, 2, 3, 4, 6, 12], loud = 4;
  const drawing = make("svg:svg", { viewBox: "0 0 640 270", role: "img", "aria-label":
    say("Bars of twelve features, before and after each group was divided by its root mean square", "十二个特征的柱形：每组除以自己的均方根之前和之后") });
  const rows = [["x", 100, 4], ["x / rms", 232, 18]].map(([name, y, scale]) => {
    drawing.append(make("svg:text", { x: 4, y: y + 5, class: "small" }, name), make("svg:line", { x1: 76, x2: 636, y1: y, y2: y, class: "grid" }));
    const bars = start.map((_, i) => make("svg:rect", { x: 88 + 46 * i, width: 30 }));
    drawing.append(...bars);
    return { y, scale, bars };
  });
  const brackets = make("svg:g");
  drawing.append(brackets);
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const gz = sizes[Number(size.value)], x = start.map((each, i) => (i === loud ? Number(strength.value) : each));
    const roots = Array.from({ length: 12 / gz }, (_, group) =>
      Math.sqrt(x.slice(group * gz, (group + 1) * gz).reduce((sum, each) => sum + each * each, 0) / gz));
    const owner = (i) => Math.floor(i / gz);
    rows.forEach(({ y, scale, bars }, after) => bars.forEach((bar, i) => {
      const value = after ? x[i] / roots[owner(i)] : x[i], height = Math.abs(value) * scale;
      bar.setAttribute("y", value < 0 ? y : y - height);
      bar.setAttribute("height", height);
      bar.setAttribute("class", i === loud ? "idle" : owner(i) === owner(loud) ? "after" : "before");
    }));
    brackets.replaceChildren(...roots.flatMap((root, group) => {
      const left = 84 + 46 * gz * group, right = left + 46 * gz - 8;
      return [make("svg:path", { d: `M${left} 122V130H${right}V122`, class: "bracket" }),
        ...(gz > 1 || group % 2 === 0 ? [make("svg:text", { x: (left + right) / 2, y: 150, class: "small", "text-anchor": "middle" }, root.toFixed(1))] : [])];
    }));
    const near = x.findIndex((_, i) => i !== loud && owner(i) === owner(loud));
    told.textContent = say(
      `${roots.length} ${roots.length === 1 ? "group shares one root" : "groups, each with its own root"}. Feature ${loud} is ${x[loud]}, its group's root ${number(Number(roots[owner(loud)].toFixed(2)))}. ` +
        (near < 0 ? "It is alone in its group, and comes out as 1 however loud it is." : `Its neighbour ${near}, which is ${x[near]}, comes out as ${(x[near] / roots[owner(near)]).toFixed(2)}; other groups do not notice.`),
      `${roots.length} 组，${roots.length === 1 ? "共用一个根" : "各有自己的根"}。特征 ${loud} 是 ${x[loud]}，所在组的根是 ${number(Number(roots[owner(loud)].toFixed(2)))}。` +
        (near < 0 ? "它自成一组，再强结果也是 1。" : `同组的特征 ${near} 是 ${x[near]}，结果是 ${(x[near] / roots[owner(near)]).toFixed(2)}；别的组不受影响。`));
  };
  const later = () => draw();
  const size = slider(controls, say("group size gz", "组的大小 gz"), { min: 0, max: 5, step: 1, value: 3 }, (at) => `${sizes[at]}`, later);
  const strength = slider(controls, say(`feature ${loud}`, `特征 ${loud}`), { min: 1, max: 20, step: 1, value: 3 }, (value) => `${value}`, later);
  host.append(controls, drawing, told);
  draw();
};
