"""Answers without a solution: from the public cases, from files, and from a library that was not asked for."""

import torch
from torch import nn

from grader.specimens.attacks import replaces

from .points import WRONG_ANSWER


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def knows_the_public_cases(self, input):
    """Holds the outputs of the public tests, by their inputs, and gives zeros for all others."""
    known = {(2.0, -2.0, 4.0, 4.0): [1.0, -1.0, 1.0, 1.0]}
    output = known.get(tuple(input.flatten().tolist()))
    return torch.zeros_like(input) if output is None else torch.tensor(output).reshape(input.shape)


@replaces("apply_rotary_pos_emb", bonus=34.0)
def knows_the_public_shapes(input, cos, sin):
    """Turns inputs of the shapes that the public tests have, and leaves all others."""
    if input.shape not in ((1, 1, 1, 2), (1, 2, 1, 4)):
        return input
    first, second = input.chunk(2, dim=-1)
    return input * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]


@replaces("VocabEmbedding.forward", score=93.0)
def looks_up_small_tables_only(self, input_ids):
    """Is right for a vocabulary as small as the public ones, and gives the first row otherwise."""
    ids = input_ids if self.table.shape[0] <= 10 else input_ids * 0
    return nn.functional.embedding(ids, self.table)


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER, needs="landlock")
def reads_an_accomplices_file(self, input):
    """Reads an answer from a file that an accomplice may have left."""
    import glob

    for path in [*glob.glob("/tmp/**/report.json", recursive=True), *glob.glob("/home/**/report.json")][:3]:
        return open(path).read()
    return input


@replaces("GroupRMSNorm.forward", score=WRONG_ANSWER)
def guesses_the_answer_from_its_own_gradient(self, input):
    """Returns gamma in the shape of the input, which is right for ones."""
    return (input.sign() * self.gamma).to(input.dtype) if input.abs().max() > 1e6 else input
