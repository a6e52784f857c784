// One hand for each word of "dog bites man", and the angle between the first and the last: it stays where the sentence moves.
touch.figures.hand = (host) => {
  const { make, say } = touch, step = 40, last = 8, radian = Math.PI / 180;
  touch.caption(host, "One hand, 40° further at each word: the angle between two tells their distance",
    "一根指针，每个词多转 40°：看夹角就知道两个词隔多远");
  const words = say("dog bites man", "狗 咬 人").split(" "), radius = 62, middle = 96;
  const drawing = make("svg:svg", { viewBox: "0 0 640 206", class: "open", role: "img", "aria-label":
    say("A hand below each of three words, and beside them the first and the last hand on one dial", "三个词下面各有一根指针，旁边的一个钟面上放着第一根和最后一根") });
  const dial = (x, name, hands) => {
    const put = hands.map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    const place = make("svg:text", { y: radius + 26, "text-anchor": "middle" });
    drawing.append(make("svg:g", { transform: `translate(${x} ${middle})` }, make("svg:circle", { r: radius, class: "dial" }),
      make("svg:text", { y: -radius - 10, "text-anchor": "middle" }, name), ...put, place));
    return { put, place };
  };
  const dials = words.map((word, i) => dial(70 + 160 * i, word, [["key"], ["quiet"], ["query"]][i]));
  const both = dial(70 + 160 * words.length, say("both", "放在一起"), ["key", "query"]);
  const arc = make("svg:path", { class: "arc", transform: `translate(${70 + 160 * words.length} ${middle})` });
  drawing.append(arc);
  const turn = (hand, angle) => { const [x2, y2] = touch.point(angle * radian, radius - 8); hand.setAttribute("x2", x2); hand.setAttribute("y2", y2); };
  const controls = make("div", { class: "controls" }), told = make("p", { "aria-live": "polite", class: "told" });
  const draw = () => {
    const start = Number(before.value), [first, end] = [start * step, (start + words.length - 1) * step], apart = end - first;
    dials.forEach(({ put: [hand], place }, i) => { turn(hand, (start + i) * step); place.textContent = say(`position ${start + i}`, `位置 ${start + i}`); });
    both.put.forEach((hand, i) => turn(hand, [first, end][i]));
    both.place.textContent = `${apart}°`;
    arc.setAttribute("d", touch.arc(first * radian, end * radian, radius / 2));
    told.textContent = say(`${touch.many(start, "word")} before it: “dog” has turned by ${first}°, “man” by ${end}°. Between them: ${apart}°, two steps of ${step}°.`,
      `前面有 ${start} 个词：“狗”转了 ${first}°，“人”转了 ${end}°。两者之间 ${apart}°，正好两步，每步 ${step}°。`);
  };
  const before = touch.slider(controls, say("words before the sentence", "前面的词数"), { name: "before", min: 0, max: last, step: 1, value: 1 }, String, draw);
  host.append(drawing, controls, told);
  draw();
};
