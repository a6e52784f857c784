"""The modules of the assignment, importable from one place."""

from .norm import GroupRMSNorm
from .pos_emb import NTKAwareRoPE
from .vocab_emb import ParallelVocabEmbedding, VocabEmbedding

__all__ = ["GroupRMSNorm", "NTKAwareRoPE", "ParallelVocabEmbedding", "VocabEmbedding"]
