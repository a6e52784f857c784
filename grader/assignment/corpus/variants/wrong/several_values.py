"""Calls that return more than the output: the output counts, and one property charges for the rest."""

import torch

from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding


@wrong("GroupRMSNorm", breaks="norm_dtype_and_shape")
class NormAndItsRoot(GroupRMSNorm):
    """Returns the root mean square as well."""

    def forward(self, input):
        groups = input.float().unflatten(-1, (-1, self.group_size))
        return super().forward(input), groups.square().mean(-1).sqrt()


@wrong("VocabEmbedding", breaks="vocab_dtype_and_registration")
class RowsAndIds(VocabEmbedding):
    """Returns the ids as well."""

    def forward(self, input_ids):
        return super().forward(input_ids), input_ids


@wrong("ParallelVocabEmbedding", breaks="shard_registration_and_arguments")
class RowsAndMask(ParallelVocabEmbedding):
    """Returns a list of the rows, and which of them it owns."""

    def forward(self, input_ids):
        output = super().forward(input_ids)
        return [output, output.ne(0).any(-1)]


@wrong("NTKAwareRoPE", breaks="rope_boundary")
class OutputAndItself(NTKAwareRoPE):
    """Returns itself as well, as some layers return their cache."""

    def forward(self, input):
        return super().forward(input), self


@wrong("apply_rotary_pos_emb", breaks="rotary_broadcast")
def turned_and_its_angles(input, cos, sin):
    """Returns the tables as well."""
    first, second = input.chunk(2, dim=-1)
    turned = torch.cat((-second, first), dim=-1)
    return (input * cos[:, None] + turned * sin[:, None]).to(input.dtype), cos, sin
