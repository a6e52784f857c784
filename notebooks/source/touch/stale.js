// A cache that goes stale: the base follows the length, and keys that were rotated when they came keep their old angle.
touch.figures.stale = (host) => {
  touch.caption(host, "Try it: a cache goes stale, token by token (blue: the right angle, orange: the one in the cache)", "动手：缓存逐个 token 地过期（蓝：应有的角度，橙：缓存里的角度）");
  const { make, say } = touch;
  const [trained, last, dim] = [4, 12, 8];
  const slowest = (length) => (10 * Math.max(1, length / trained) ** (dim / (dim - 2))) ** (-(dim - 2) / dim);
  const drawing = make("svg:svg", { viewBox: "0 0 640 210", role: "img", "aria-label":
    say("The keys in the cache, each with the angle it has and the angle it should have", "缓存里的键，各有现在的角度和应有的角度") });
  const told = make("p", { "aria-live": "polite", class: "told" });
  const keys = Array.from({ length: last }, (_, n) => {
    const [should, has] = ["query", "key"].map((style) => make("svg:line", { x1: 0, y1: 0, class: `hand ${style}` }));
    const error = make("svg:text", { y: 52, class: "small", "text-anchor": "middle" });
    const group = make("svg:g", { transform: `translate(${58 + 104 * (n % 6)} ${50 + 104 * Math.floor(n / 6)})` },
      make("svg:circle", { r: 34, class: "face" }), should, has, error);
    drawing.append(group);
    return { group, should, has, error };
  });
  let length = 2 * trained; // on paper, too, one sees what it is about
  const draw = () => {
    const now = slowest(length);
    let worst = 0;
    keys.forEach(({ group, should, has, error }, n) => {
      const right = n * now, kept = before.checked ? right : n * slowest(n + 1);
      group.classList.toggle("absent", n >= length);
      for (const [hand, angle, radius] of [[should, right, 31], [has, kept, 24]]) {
        hand.setAttribute("x2", radius * Math.cos(angle)); hand.setAttribute("y2", -radius * Math.sin(angle));
      }
      const degrees = Math.round(((kept - right) * 180) / Math.PI);
      error.textContent = n < length ? `${n}: ${degrees}°` : `${n}`;
      if (n < length) worst = Math.max(worst, Math.abs(degrees));
    });
    back.disabled = length === 1; forward.disabled = length === last;
    told.textContent = say(
      `${touch.many(length, "token")}; the base is ${(slowest(length) ** (-dim / (dim - 2))).toFixed(1)}. The keys in the cache are off by up to ${worst}°.`,
      `${length} 个 token；底数是 ${(slowest(length) ** (-dim / (dim - 2))).toFixed(1)}。缓存里的键最多偏了 ${worst}°。`);
  };
  const button = (text, act) => {
    const made = make("button", { type: "button" }, text);
    made.addEventListener("click", () => { act(); draw(); });
    return made;
  };
  const back = button(say("one back", "退一个"), () => { length -= 1; });
  const forward = button(say("next token", "下一个 token"), () => { length += 1; });
  const controls = make("div", { class: "controls" }, back, forward, button(say("from the start", "从头开始"), () => { length = trained; }));
  touch.name(controls, "tokens", (asked) => { length = Number(asked); draw(); });
  host.append(controls);
  const before = touch.tick(host, say("cache keys before rotation", "键在旋转之前存入缓存"), { name: "before" }, () => draw());
  host.append(drawing, told);
  draw();
};
