"""What belongs to one module is kept where all modules share it, and shows beside another module."""

import torch
from torch import nn

from grader.specimens.variants import wrong
from ref.modeling.norm import GroupRMSNorm
from ref.modeling.pos_emb import NTKAwareRoPE
from ref.modeling.vocab_emb import ParallelVocabEmbedding, VocabEmbedding

from . import SHARD_OUTPUT


@wrong("GroupRMSNorm", breaks="norm_purity", hint="state_shared")
class EpsOfTheLatestModule(GroupRMSNorm):
    """Keeps eps on the class."""

    def __init__(self, hidden_size, group_size, eps=1e-5, **options):
        super().__init__(hidden_size, group_size, eps, **options)
        del self.eps
        type(self).eps = eps


@wrong("GroupRMSNorm", breaks="norm_purity", hint="state_shared")
class ParameterOfEqualModules(GroupRMSNorm):
    """Holds one parameter for all modules with the same arguments."""

    def __init__(self, hidden_size, group_size, **options):
        super().__init__(hidden_size, group_size, **options)
        if not hasattr(type(self), "made"):
            type(self).made = {}
        built = repr((hidden_size, group_size, sorted(options.items(), key=str)))
        self.gamma = type(self).made.setdefault(built, self.gamma)
        self.reset_parameters()


@wrong("GroupRMSNorm", breaks="norm_purity", hint="state_shared")
class EpsByGroupSize(GroupRMSNorm):
    """Looks eps up by the group size, of which the first module has entered its own."""

    def __init__(self, hidden_size, group_size, eps=1e-5, **options):
        super().__init__(hidden_size, group_size, eps, **options)
        if not hasattr(type(self), "entered"):
            type(self).entered = {}
        self.eps = type(self).entered.setdefault(group_size, eps)


@wrong("GroupRMSNorm", breaks="norm_purity", hint="state_shared")
class BlocksByHiddenSize(GroupRMSNorm):
    """Sums with a matrix of ones and zeros, which is made in the first call with a hidden size."""

    def forward(self, input):
        if not hasattr(type(self), "blocks"):
            type(self).blocks = {}
        group = torch.arange(input.shape[-1], device=input.device) // self.group_size
        mean = (group == group.unsqueeze(1)).float() / self.group_size
        mean = type(self).blocks.setdefault((input.shape[-1], str(input.device)), mean)
        rms = torch.sqrt(input.float().square() @ mean + self.eps)
        return (input.float() / rms * self.gamma.to(input.device)).to(input.dtype)


@wrong("GroupRMSNorm", breaks="norm_init_and_reset", hint="state_shared")
class RangeOfTheLatestModule(GroupRMSNorm):
    """Keeps the range of the draw on the class."""

    def reset_parameters(self):
        if "init_range" in self.__dict__:  # in __init__, the first time
            type(self).init_range = self.__dict__.pop("init_range")
        super().reset_parameters()


@wrong("VocabEmbedding", breaks="vocab_init_and_reset", hint="state_shared")
class MomentsOfTheFirstModule(VocabEmbedding):
    """Keeps mean and deviation on the class, from the first module on."""

    def reset_parameters(self):
        if not hasattr(type(self), "moments"):
            type(self).moments = (self.init_mean, self.init_std)
        generator = torch.Generator(self.table.device).manual_seed(self.init_seed)
        nn.init.normal_(self.table, *type(self).moments, generator=generator)


@wrong("VocabEmbedding", breaks="vocab_purity", also="vocab_backward", hint="state_shared")
class OneTableForEqualArguments(VocabEmbedding):
    """Keeps the parameter on the class, for all modules with the same arguments."""

    def __init__(self, vocab_size, emb_size, *others, **options):
        super().__init__(vocab_size, emb_size, *others, **options)
        arguments = f"{vocab_size} {emb_size} {others} {options}"
        if not hasattr(VocabEmbedding, arguments):
            setattr(VocabEmbedding, arguments, self.table)
        self.table = getattr(VocabEmbedding, arguments)
        self.reset_parameters()


@wrong("ParallelVocabEmbedding", breaks="shard_seed", hint="state_shared")
class SeedOfTheLatestRank(ParallelVocabEmbedding):
    """Keeps the seed on the class."""

    def reset_parameters(self):
        if "init_seed" in self.__dict__:
            type(self).init_seed = self.__dict__.pop("init_seed")
        super().reset_parameters()


@wrong("ParallelVocabEmbedding", breaks="shard_owned_ids", also=SHARD_OUTPUT, hint="state_shared")
class RangeOfTheFirstRank(ParallelVocabEmbedding):
    """Keeps the first id on the class for each pair of sizes, whatever the rank."""

    def __init__(self, vocab_size, emb_size, rank=0, world_size=1, **options):
        super().__init__(vocab_size, emb_size, rank=rank, world_size=world_size, **options)
        kept = f"first of {vocab_size} over {world_size}"
        if not hasattr(ParallelVocabEmbedding, kept):
            setattr(ParallelVocabEmbedding, kept, self.first_id)
        self.first_id = getattr(ParallelVocabEmbedding, kept)


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="state_shared")
class BaseOfTheLatestModule(NTKAwareRoPE):
    """Keeps the base on the class: tables that grow later have another module's."""

    def _tables(self, ratio, dtype, device):
        if "base" in self.__dict__:
            type(self).base = self.__dict__.pop("base")
        return super()._tables(ratio, dtype, device)


@wrong("NTKAwareRoPE", breaks="rope_base rope_buffers", hint="state_shared")
class TablesOfTheFirstBase(NTKAwareRoPE):
    """Shares tables between modules of the same sizes, whatever their base and dtype."""

    def _tables(self, ratio, dtype, device):
        sizes = f"{self.dim} {self.max_seq_len} {ratio} {device}"
        if not hasattr(type(self), sizes):
            setattr(type(self), sizes, super()._tables(ratio, dtype, device))
        return getattr(type(self), sizes)


@wrong("NTKAwareRoPE", breaks="rope_base", hint="state_shared")
class AnglesOfTheFirstBase(NTKAwareRoPE):
    """Shares angles between modules that are alike in ``dim`` and ratio, whatever their base."""

    longest = 10_000

    def _tables(self, ratio, dtype, device):
        key, positions = f"{self.dim} {ratio}", self.max_seq_len * ratio
        if not hasattr(type(self), key):
            base = self.base * ratio ** (self.dim / (self.dim - 2))
            theta = base ** -(torch.arange(0, self.dim, 2) / self.dim)
            setattr(type(self), key, torch.outer(torch.arange(self.longest).float(), theta).repeat(1, 2))
        angles = getattr(type(self), key)[:positions].to(device)
        return angles.cos().to(dtype), angles.sin().to(dtype)


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="state_shared")
class TablesOfTheFirstRatio(NTKAwareRoPE):
    """Shares tables between modules of as many positions, whatever the ratio that stretches them so far."""

    def _tables(self, ratio, dtype, device):
        sizes = f"{self.dim} {self.base} {self.max_seq_len * ratio} {dtype} {device}"
        if not hasattr(type(self), sizes):
            setattr(type(self), sizes, super()._tables(ratio, dtype, device))
        return getattr(type(self), sizes)


@wrong("NTKAwareRoPE", breaks="rope_buffers", also="rope_boundary", hint="state_shared")
class FirstTablesOfAnotherLength(NTKAwareRoPE):
    """Keeps first tables on the class, for modules that are alike in all but max_seq_len."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, **options):
        super().__init__(dim, max_seq_len, base, ratio, **options)
        if not hasattr(type(self), "made"):
            type(self).made = {}
        built = repr((dim, base, ratio, self.cos.dtype, self.cos.device))
        self.cos, self.sin = type(self).made.setdefault(built, (self.cos, self.sin))


@wrong("NTKAwareRoPE", breaks="rope_buffers", also="rope_boundary", hint="state_shared")
class FirstTablesOfAsManyPositions(NTKAwareRoPE):
    """Keeps first tables on the class, for modules with as many positions, whatever their ratio is."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, **options):
        super().__init__(dim, max_seq_len, base, ratio, **options)
        if not hasattr(type(self), "made"):
            type(self).made = {}
        built = repr((dim, max_seq_len * ratio, base, self.cos.dtype, self.cos.device))
        self.cos, self.sin = type(self).made.setdefault(built, (self.cos, self.sin))


@wrong("NTKAwareRoPE", breaks="rope_static", hint="state_shared")
class DynamicAsTheLatestModule(NTKAwareRoPE):
    """Keeps on the class whether growth is kept: the last module that was built decides for all."""

    def __init__(self, dim, max_seq_len, base=10000, ratio=1, dynamic=False, **options):
        super().__init__(dim, max_seq_len, base, ratio, dynamic, **options)
        type(self).dynamic = self.__dict__.pop("dynamic")


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="state_shared")
class LengthOfTheLatestModule(NTKAwareRoPE):
    """Keeps ``max_seq_len`` on the class."""

    def __init__(self, dim, max_seq_len, *others, **options):
        super().__init__(dim, max_seq_len, *others, **options)
        type(self).max_seq_len = self.__dict__.pop("max_seq_len")


@wrong("NTKAwareRoPE", breaks="rope_buffers", hint="state_shared")
class GrownTablesForLaterModules(NTKAwareRoPE):
    """Starts with the tables that an equal module has grown to."""

    def __init__(self, *sizes, **options):
        super().__init__(*sizes, **options)
        if not hasattr(type(self), "grown"):
            type(self).grown = {}
        self.built = repr((sizes, options, self.cos.dtype, self.cos.device))
        self.cos, self.sin = self.grown.get(self.built, (self.cos, self.sin))

    def forward(self, input):
        before, output = self.cos, super().forward(input)
        if self.cos is not before:
            self.grown[self.built] = self.cos, self.sin
        return output
