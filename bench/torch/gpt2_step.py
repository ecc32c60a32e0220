#!/usr/bin/env python3
"""One training step of GPT-2 small, forward and backward, with its vocabulary of 50,257 and with that padded to 50,304.

    python3 gpt2_step.py --out plain.jsonl
    tessera with python3 gpt2_step.py --against plain.jsonl --out ours.jsonl

With --graph in both lines the step is captured in a CUDA graph, and replays are timed.
"""

import sys

import torch
from torch import nn
from torch.nn import functional

import timing

WIDTH, HEADS, LAYERS = 768, 12, 12
REAL_VOCABULARY = 50257


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before_attention, self.before_mlp = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.to_qkv, self.from_heads = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        sequences, tokens, _ = x.shape
        q, k, v = self.to_qkv(x).view(sequences, tokens, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        heads = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.from_heads(heads.transpose(1, 2).reshape(x.shape))

    def forward(self, x):
        x = x + self.attend(self.before_attention(x))
        return x + self.narrow(functional.gelu(self.widen(self.before_mlp(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self, vocabulary, tokens):
        super().__init__()
        self.words, self.places = nn.Embedding(vocabulary, WIDTH), nn.Embedding(tokens, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.last = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, vocabulary, bias=False)

    def forward(self, ids):
        x = self.words(ids) + self.places.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.last(x))


def make_step(vocabulary, sequences, tokens, dtype):
    torch.manual_seed(1)
    model = Gpt2(vocabulary, tokens).to("cuda", dtype)
    ids = torch.randint(0, REAL_VOCABULARY, (sequences, tokens + 1), device="cuda")

    def loss():
        scores = model(ids[:, :-1])
        return functional.cross_entropy(scores.reshape(-1, vocabulary).float(), ids[:, 1:].reshape(-1))

    return timing.Step(model.parameters(), loss)


def main():
    parser = timing.options(__doc__)
    parser.add_argument("--vocabularies", type=int, nargs="+", default=[REAL_VOCABULARY, 50304])
    parser.add_argument("--sequences", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=1024)
    arguments = parser.parse_args()
    records = timing.start(arguments)
    for dtype in arguments.dtypes:
        for vocabulary in arguments.vocabularies:
            step = make_step(vocabulary, arguments.sequences, arguments.tokens, timing.DTYPES[dtype])
            timing.run_case(records, f"gpt2-small-vocabulary-{vocabulary}", dtype, step)
            del step
            torch.cuda.empty_cache()
    return 1 if records.failures else 0


if __name__ == "__main__":
    sys.exit(main())
