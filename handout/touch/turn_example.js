// The worked example of one rotation, with other features; the angles stay those of the text.
touch.figures.turn_example = (host) => {
  const { say, number, table, worked } = touch;
  const rows = table(host).slice(1), angles = [[0.6, 0.8], [0.8, 0.6]]; // cosine and sine of each pair
  const fields = rows.flatMap(([, cell], i) => cell.textContent.split(", ").map((start, half) =>
    ({ cell, label: say(`feature ${i + 2 * half}`, `特征 ${i + 2 * half}`), start })));
  worked(host, fields, (values) => {
    const turned = rows.map(([, , after, square], i) => {
      const [one, two] = values.slice(2 * i, 2 * i + 2), [cosine, sine] = angles[i];
      const pair = [one * cosine - two * sine, two * cosine + one * sine].map((each) => Number(each.toPrecision(4)));
      after.textContent = pair.join(", ");
      square.textContent = number(one ** 2 + two ** 2);
      return pair;
    });
    const output = [0, 1].flatMap((half) => turned.map((pair) => pair[half])).join(", ");
    return say(`The output is [${output}].`, `输出是 [${output}]。`);
  });
};
