"""Runs a small language model on your layers: ``make demo``. You need not read this package to solve the assignment.

``model.safetensors`` holds a character-level language model, three transformer blocks of 128 features, trained by the
course with the reference's layers on sequences of at most 64 characters. Whatever of your work runs takes its place in
it; a stand-in from the checkpoint takes that of the rest. The texts it was trained on are in the public domain:

- 300 Tang poems, 7th to 10th century, without titles: ``tang300`` of Debian's ``fortunes-zh`` 2.98, a GPL-3+ package
- Opticks, Isaac Newton, 4th edition, 1730, paragraphs without formulas: ``Isaac.Newton-Opticks.txt`` of Debian's
  ``golang-1.19-src`` 1.19.8-2

The weights, and the code here, have the licence of the course (MIT). The header of the file holds its sizes, its
alphabet, a piece of the Opticks that it was not trained on, and the losses of right layers on it.

模型是字符级的：三个 transformer block，128 个特征，由课程用参考实现的各层训练。你写好的层会放进这个模型里运行；
还没写好的由检查点自带的替身代替，替身都不是任务的解答。训练文本《唐诗三百首》和牛顿的《光学》属于公有领域；
权重和代码使用课程的许可证（MIT）。
"""
