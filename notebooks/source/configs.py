# %% [markdown] lang="en"
# # Tool · What a configuration does to positions
#
# Every model on a hub comes with a `config.json`, and a dozen of its lines decide how far the model can read. Choose one of thirty
# models, or paste your own: which pairs of a head turn fully in training, which stand still, and which come to an angle that
# training never showed once the text is longer.
#
# <!-- touch: configs -->
#
# Four to begin with:
#
# - [Llama 3.1](#configs?model=Llama+3.1+8B&read=131072) slows down its slow pairs, and advertises twice the length at which the
#   first comes to a new angle. [To half of it](#configs?model=Llama+3.1+8B&read=65536) no angle is new.
# - [Gemma 3](#configs?model=Gemma+3+27B&read=131072) has two kinds of layer, each with a base of its own. Only every sixth looks
#   back further than its window, and only those are slowed down.
# - [Command R](#configs?model=Command+R7B&read=131072) turns in the layers with a window, and nothing at all in the others.
# - [Phi-4 mini](#configs?model=Phi-4+mini&read=4096) changes its frequencies as soon as [a text is longer](#configs?model=Phi-4+mini&read=8192)
#   than those of training, and with them those of the short text.

# %% [markdown] lang="zh"
# # 工具 · 一份配置怎样处理位置
#
# 模型库里的每个模型都带一份 `config.json`，其中十几行决定它能读多远。从三十个模型里选一个，或者粘贴你自己的：一个头里哪些特征对在训练中转满一圈，
# 哪些静止，文本变长之后，哪些会遇到训练没见过的角度。
#
# <!-- touch: configs -->
#
# 先看四个：
#
# - [Llama 3.1](#configs?model=Llama+3.1+8B&read=131072) 放慢低频对，而它宣传的长度，是第一次出现新角度处的两倍。
#   [读到一半](#configs?model=Llama+3.1+8B&read=65536)，还没有新的角度。
# - [Gemma 3](#configs?model=Gemma+3+27B&read=131072) 有两种层，各有各的底数。每六层里只有一层看得到窗口以外，也只有它被放慢。
# - [Command R](#configs?model=Command+R7B&read=131072) 在带窗口的层里旋转，在其余的层里什么也不转。
# - [Phi-4 mini](#configs?model=Phi-4+mini&read=4096) 在[文本一超过](#configs?model=Phi-4+mini&read=8192)训练长度时就换一套频率，短文本那一部分的频率也随之改变。

# %% [markdown] lang="en"
# ## How to read the figure
#
# A dot is a pair, with the length of text in which it turns once; a small grey dot is the same pair before scaling. Below the
# blue line a pair turned fully in training and has shown every angle. Above it, it covered part of its circle, and it comes to a
# new angle where the text is so much longer than training that slowing it down does not make up for it
# ([notebook 5](5_longer_contexts.ipynb)). Dots at the top stand still ([notebook 8](8_models_of_2026.ipynb)). The strip has a box
# for each layer: filled, where it sees everything; pale, where it sees a window; empty, where nothing turns. Under “scaling” the
# same pairs can be slowed down by another rule, up to the length that you read.
#
# ## What it does not know
#
# - **How long the texts in training were.** It takes `original_max_position_embeddings`, and where that is missing
#   `max_position_embeddings`, which may be the length after scaling. If you know better, write it into the field.
# - **Whether the model was trained further.** A new angle is new to the first training. Llama 3.1 has learnt its own since.
# - **Whether anything is found back there.** Angles say what is strange to a model, not what it can do with the rest.
# - **Every type.** It reads the types of [transformers
#   5.23](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/modeling_rope_utils.py) and the
#   patterns of layers of the models listed, and is tested against that release. It states what it assumes and what it
#   does not read.

# %% [markdown] lang="zh"
# ## 怎样看图
#
# 一个点是一对，高度是它转一圈所需的文本长度；灰色的小点是同一对缩放之前的位置。在蓝线以下的对，训练中转满过一圈，每个角度都见过。在蓝线以上的，
# 只走过圆的一部分；文本比训练长得太多，放慢也补不回来时，它就遇到新的角度（[第 5 节](5_longer_contexts.ipynb)）。最上方的点静止不动
# （[第 8 节](8_models_of_2026.ipynb)）。下面的长条每格一层：实心的看得到全文，浅色的只看一个窗口，空心的什么也不转。
# 在“缩放”里可以换一种规则放慢同样这些特征对，放慢到你要读的长度。
#
# ## 它不知道什么
#
# - **训练文本有多长。** 它取 `original_max_position_embeddings`，没有就取 `max_position_embeddings`，而后者可能是缩放之后的长度。如果你知道实际是多少，请填进去。
# - **后来有没有接着训练。** 这里的新角度是对最初的训练来说的。Llama 3.1 后来就学过它的那些。
# - **那么远的东西找不找得到。** 角度只说明什么对模型是陌生的，不说明其余的它能怎样用。
# - **所有的类型。** 它认得 [transformers 5.23](https://github.com/huggingface/transformers/blob/v5.23.0/src/transformers/modeling_rope_utils.py) 的各种类型，以及列出的这些模型的分层方式，并与这个版本对照测试过。它假定了什么，什么没有读，都会说出来。
