// The worked example of the lookup, with other ids; the gradients that arrive stay those of the text.
touch.figures.lookup_example = (host) => {
  const { say, number, table, worked } = touch;
  const rows = table(host).slice(1), values = rows.map(([, cell]) => cell.textContent), gradients = [[1, 1], [2, 0], [4, 5]];
  const fields = [3, 1, 3].map((start, place) => ({ label: say(`id ${place + 1} of 3`, `第 ${place + 1} 个 id`), start, min: 0, max: 3, step: 1 }));
  worked(host, fields, (ids) => {
    rows.forEach(([, , cell], row) => {
      const here = gradients.filter((_, place) => ids[place] === row);
      cell.textContent = [0, 1].map((side) => number(here.reduce((sum, each) => sum + each[side], 0))).join(", ");
    });
    const output = ids.map((row) => `[${values[row]}]`).join(", ");
    return say(`The output is [[${output}]].`, `输出是 [[${output}]]。`);
  });
};
