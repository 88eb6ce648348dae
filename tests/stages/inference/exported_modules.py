"""PyTorch modules for export, and their archives."""

from __future__ import annotations

import io

import torch
from torch import nn


class Shapes(nn.Module):
    """Uses sizes, lists, indices, constants, types and devices as arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.arange(3))
        self.offset = torch.full((2, 3), 0.5)

    def forward(self, x):
        rows = x.shape[0]
        left, right = torch.split(x, [2, 4], dim=2)
        largest, place = right.max(dim=2, keepdim=True)
        both = torch.cat([left * 2, largest, place.to(x.dtype)], dim=2).reshape(rows * 2, -1)
        made = both.reshape(rows, -1) + torch.zeros(rows, 8, device=x.device).masked_fill(x[:, 0, :1] > 0, -1e30)
        spread = (made.clamp(-9, 9).reshape(rows, 2, 4)[..., :3] * self.offset).std(dim=(1, 2))
        return spread.unsqueeze(1).expand(rows, 3) * (self.steps + 1)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(6, 2, 8, batch_first=True, activation="gelu")

    def forward(self, x):
        return self.layer(x).mean(dim=1).softmax(dim=-1)


class InPlace(nn.Module):
    def forward(self, x):
        return nn.functional.relu(x, inplace=True).add_(1).sum(dim=(1, 2))


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Linear(6, 6)
        self.two = nn.Linear(6, 6)
        self.two.weight = self.one.weight

    def forward(self, x):
        return self.two(torch.tanh(self.one(x)))


def archived(program: torch.export.ExportedProgram) -> bytes:
    sink = io.BytesIO()
    torch.export.save(program, sink)
    return sink.getvalue()


class Two(nn.Module):
    def forward(self, x):
        return x, x + 1


class Pair(nn.Module):
    def forward(self, x, y):
        return x + y
