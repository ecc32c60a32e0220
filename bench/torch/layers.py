#!/usr/bin/env python3
"""One layer of BERT-large, of a Llama-like model and of a mixture of experts, forward and backward.

    python3 layers.py --dtypes bf16 f16 f32 --out plain.jsonl
    tessera with python3 layers.py --dtypes bf16 f16 f32 --against plain.jsonl --least 0.99

With --graph in both lines each step is captured in a CUDA graph, and replays are timed. The mixture of experts has no
such step: the sizes of its products depend on data.
"""

import sys

import torch
from torch import nn
from torch.nn import functional

import timing


def attention(q, k, v, heads, is_causal):
    """Heads side by side in the last dimension of q; k and v may have fewer, each for several of q's."""
    sequences, tokens, width = q.shape
    size = width // heads
    split = lambda x: x.view(sequences, tokens, -1, size).transpose(1, 2)
    q, k, v = split(q), split(k), split(v)
    shared = heads // k.shape[1]
    if shared > 1:
        k, v = k.repeat_interleave(shared, dim=1), v.repeat_interleave(shared, dim=1)
    out = functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
    return out.transpose(1, 2).reshape(sequences, tokens, width)


class BertLayer(nn.Module):
    """8 sequences of 512 tokens, width 1024, 16 heads; every linear layer has a bias."""

    shape = (8, 512, 1024)

    def __init__(self):
        super().__init__()
        width = self.shape[2]
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.after_attention, self.after_mlp = nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, x):
        x = self.after_attention(x + self.out(attention(self.q(x), self.k(x), self.v(x), 16, False)))
        return self.after_mlp(x + self.down(functional.gelu(self.up(x))))


class LlamaBlock(nn.Module):
    """2 sequences of 2048 tokens, width 4096, 32 heads over 8 of keys and values, a gated MLP of 14336; no biases."""

    shape = (2, 2048, 4096)

    def __init__(self):
        super().__init__()
        width, narrow, hidden = self.shape[2], 1024, 14336
        linear = lambda inputs, outputs: nn.Linear(inputs, outputs, bias=False)
        self.q, self.k, self.v, self.out = (linear(width, n) for n in (width, narrow, narrow, width))
        self.gate, self.up, self.down = linear(width, hidden), linear(width, hidden), linear(hidden, width)
        self.first, self.second = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))

    @staticmethod
    def normalise(x, weight):
        return x * torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-5).to(x.dtype) * weight

    def forward(self, x):
        y = self.normalise(x, self.first)
        x = x + self.out(attention(self.q(y), self.k(y), self.v(y), 32, True))
        y = self.normalise(x, self.second)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class ExpertMlp(nn.Module):
    """4096 tokens of width 2048 over 8 experts with hidden width 5632, two for each token, one product an expert."""

    shape = (1, 4096, 2048)
    has_graph = False  # nonzero() waits for the GPU

    def __init__(self):
        super().__init__()
        width, hidden, experts = self.shape[2], 5632, 8
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.ModuleList(nn.Linear(width, hidden, bias=False) for _ in range(experts))
        self.down = nn.ModuleList(nn.Linear(hidden, width, bias=False) for _ in range(experts))

    def forward(self, x):
        tokens = x.view(-1, x.shape[-1])
        share, chosen = self.router(tokens).float().softmax(-1).topk(2)
        out = torch.zeros_like(tokens)
        for expert, (up, down) in enumerate(zip(self.up, self.down)):
            token, place = (chosen == expert).nonzero(as_tuple=True)
            y = down(functional.silu(up(tokens[token])))
            out = out.index_add(0, token, y * share[token, place, None].to(y.dtype))
        return out.view(x.shape)


def cases_of(arguments):
    """The cases that can be run as the options say; the others are named on stderr."""
    cases = [name for name in arguments.cases if not arguments.graph or getattr(CASES[name], "has_graph", True)]
    for name in arguments.cases:
        if name not in cases:
            print(f"{name}: left out: its step cannot be captured", file=sys.stderr)
    return cases


CASES = {"bert-large-layer": BertLayer, "llama-block": LlamaBlock, "experts": ExpertMlp}


def make_step(kind, dtype):
    torch.manual_seed(1)
    layer = kind().to("cuda", dtype)
    x = torch.randn(kind.shape, device="cuda", dtype=dtype, requires_grad=True)
    wanted = torch.randn(kind.shape, device="cuda", dtype=dtype)

    def loss():
        return functional.mse_loss(layer(x).float(), wanted.float())

    return timing.Step([*layer.parameters(), x], loss)


def main():
    parser = timing.options(__doc__)
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    records = timing.start(arguments)
    for dtype in arguments.dtypes:
        for case in cases_of(arguments):
            step = make_step(CASES[case], timing.DTYPES[dtype])
            timing.run_case(records, case, dtype, step)
            del step
            torch.cuda.empty_cache()
    return 1 if records.failures else 0


if __name__ == "__main__":
    sys.exit(main())
