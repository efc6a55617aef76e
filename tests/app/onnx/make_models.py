#!/usr/bin/env python3
"""make_models.py [FOLDER]: writes the small ONNX models that tests import, as both exporters of PyTorch write them.

NAME_OPSET.onnx belongs to NAME.h5, with the data set `input` and PyTorch's answer, `output`. Needs torch, onnx,
onnxscript and h5py. Weights are random, the same in every run. What exporters note about sources is left out.
"""
import os
import sys
import warnings

import h5py
import onnx
import torch
from torch import nn
from torch.nn import functional as F

warnings.filterwarnings("ignore")


def conv_bn(inputs, outputs, **how):
    return nn.Sequential(nn.Conv2d(inputs, outputs, bias=False, **how), nn.BatchNorm2d(outputs), nn.ReLU())


class Residual(nn.Module):
    """As ResNet and DenseNet: normalisation, a sum, a concatenation, poolings that round up and down."""

    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 8, kernel_size=3, stride=2, padding=1)
        self.pool = nn.MaxPool2d(3, 2, ceil_mode=True)
        self.block = nn.Sequential(conv_bn(8, 8, kernel_size=3, padding=1), nn.Conv2d(8, 8, 1), nn.BatchNorm2d(8))
        self.norm = nn.BatchNorm2d(16)
        self.mean = nn.AvgPool2d(2, 2)
        self.fc = nn.Linear(16, 5)

    def forward(self, x):
        x = self.pool(self.stem(x))
        y = F.relu(x + self.block(x))
        y = self.mean(F.relu(self.norm(torch.cat([x, y], 1))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(y, 1), 1))


class Mobile(nn.Module):
    """As MobileNet: depthwise convolutions, clipped rectifiers, hard swish, factors by channel, a mean over axes."""

    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish())
        self.deep = nn.Sequential(nn.Conv2d(8, 8, 3, 1, 1, groups=8), nn.BatchNorm2d(8), nn.ReLU6())
        self.down, self.up = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(8, 5)

    def forward(self, x):
        x = self.deep(self.first(x))
        s = F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))
        x = x * F.hardsigmoid(self.up(s)) + x * torch.sigmoid(x)
        return torch.softmax(self.fc(self.drop(x.mean([2, 3]))), 1)


class Shuffle(nn.Module):
    """As ShuffleNet: channels in two halves, shuffled; a transposition there and back; VGG's views."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, 1, 1)
        self.second = nn.Sequential(nn.Conv2d(4, 4, 3, 1, 1, groups=2), nn.LeakyReLU(0.1))
        self.weights = nn.Parameter(torch.randn(8 * 2 * 2, 5) / 6)
        self.bias = nn.Parameter(torch.randn(5))

    def forward(self, x):
        x = F.max_pool2d(self.first(x), 2, 2)
        a, b = x.chunk(2, dim=1)
        x = torch.cat([a, self.second(b)], 1)
        n, c, h, w = x.size()
        x = x.view(n, 2, c // 2, h, w).transpose(1, 2).contiguous().view(n, c, h, w)
        x = x.permute(0, 2, 3, 1).permute(0, 3, 1, 2)
        x = F.avg_pool2d(F.pad(x, (1, 1, 1, 1)), 3, 2)
        return x.reshape(x.size(0), -1) @ self.weights + self.bias


class Impossible(nn.Module):
    """What Caffe's layers do not have, twice; the convolution behind is no mistake."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3)

    def forward(self, x):
        return self.conv(torch.round(x)) + torch.erf(x[:, :, 1:-1, 1:-1])


def spread(module):
    """Statistics and scales that are not 0 and 1."""
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.weight, 0.5, 1.5)
            nn.init.normal_(m.bias, 0, 0.3)
            nn.init.normal_(m.running_mean, 0, 0.3)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
    return module.eval()


def export(module, file, size, keeps_norms, **how):
    torch.manual_seed(3)
    x = torch.randn(2, 3, size, size)
    mode = torch.onnx.TrainingMode.PRESERVE if keeps_norms else torch.onnx.TrainingMode.EVAL
    if not how["dynamo"]:
        how["training"] = mode
        how["do_constant_folding"] = not keeps_norms
    torch.onnx.export(module, (x,), file, input_names=["input"], output_names=["output"], **how)
    model = onnx.load(file)
    for node in model.graph.node:
        del node.metadata_props[:]
        node.ClearField("doc_string")
    del model.graph.value_info[:]
    onnx.save(model, file)
    with torch.no_grad():
        y = module(x)
    with h5py.File(file[:file.rfind("_")] + ".h5", "w") as values:
        values["input"], values["output"] = x.numpy(), y.numpy()


def main(folder):
    open_batch = {"dynamic_axes": {"input": {0: "batch"}, "output": {0: "batch"}}}
    for name, kind in (("residual", Residual), ("mobile", Mobile), ("shuffle", Shuffle)):
        size = 8 if name == "shuffle" else 14
        torch.manual_seed(1)
        module = spread(kind())
        path = os.path.join(folder, name)
        export(module, path + "_11.onnx", size, True, dynamo=False, opset_version=11)
        export(module, path + "_17.onnx", size, False, dynamo=False, opset_version=17, **open_batch)
        export(module, path + "_18.onnx", size, False, dynamo=True, opset_version=18, external_data=False, verbose=False)
    model = onnx.load(os.path.join(folder, "residual_17.onnx"))
    onnx.save(model, os.path.join(folder, "beside_17.onnx"), save_as_external_data=True, location="beside_17.data",
              size_threshold=64)
    export(Impossible().eval(), os.path.join(folder, "impossible_18.onnx"), 8, False, dynamo=True, opset_version=18,
           external_data=False, verbose=False)
    os.remove(os.path.join(folder, "impossible.h5"))


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__)))
