// The worked example of the lookup, with other ids and other gradients that arrive.
touch.figures.lookup_example = (host) => {
  const { say, number, table, worked } = touch;
  const rows = table(host).slice(1), values = rows.map(([, cell]) => cell.textContent);
  const ids = [3, 1, 3].map((start, place) => ({ label: say(`id ${place + 1} of 3`, `第 ${place + 1} 个 id`), start, min: 0, max: 3, step: 1 }));
  const arriving = [[1, 1], [2, 0], [4, 5]].flatMap((pair, place) => pair.map((start, side) =>
    ({ label: say(`gradient at id ${place + 1}, number ${side + 1}`, `第 ${place + 1} 个 id 处的梯度，第 ${side + 1} 个数`), start })));
  worked(host, [...ids, ...arriving], (numbers) => {
    const asked = numbers.slice(0, 3), gradients = [0, 1, 2].map((place) => numbers.slice(3 + 2 * place, 5 + 2 * place));
    rows.forEach(([, , cell], row) => {
      const here = gradients.filter((_, place) => asked[place] === row);
      cell.textContent = [0, 1].map((side) => number(here.reduce((sum, each) => sum + each[side], 0))).join(", ");
    });
    const output = asked.map((row) => `[${values[row]}]`).join(", ");
    return say(`The output is [[${output}]].`, `输出是 [[${output}]]。`);
  });
};
