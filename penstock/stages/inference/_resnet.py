"""ResNet-18 of He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, with torchvision's names.

A weights file that torchvision publishes, converted to safetensors, fits it as it is.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from penstock.stages.modules import register_module


class Block(nn.Module):
    """Two convolutions of 3 x 3 beside a shortcut, which is projected where the shape changes."""

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample: nn.Module | None = None
        if stride != 1 or inputs != width:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Tensor) -> Tensor:
        shortcut = x if self.downsample is None else self.downsample(x)
        made = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(made + shortcut)


def _layer(inputs: int, width: int) -> nn.Sequential:
    return nn.Sequential(Block(inputs, width, 1 if inputs == width else 2), Block(width, width, 1))


@register_module("resnet18")
class ResNet18(nn.Module):
    """Takes float32 of shape (n, 3, height, width), of 224 x 224 pixels as trained; gives (n, num_classes) scores."""

    def __init__(self, num_classes: int = 1000) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, padding=3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, padding=1)
        self.layer1 = _layer(64, 64)
        self.layer2 = _layer(64, 128)
        self.layer3 = _layer(128, 256)
        self.layer4 = _layer(256, 512)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))
