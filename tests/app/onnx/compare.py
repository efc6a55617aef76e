#!/usr/bin/env python3
"""compare.py PROTOTXT VALUES TO: a net whose Input reads VALUES.  compare.py --hold VALUES FOUND TOLERANCE.
compare.py --ends A B TOLERANCE.

The first form writes the prototxt TO, in which an HDF5Data layer with the data set `input` of VALUES stands for the
Input. The second holds the only data set of FOUND, as `cortado extract` wrote it, against the data set `output`. The
third holds the last tops of two files of `cortado compare --save` against each other.
"""
import re
import sys

import h5py
import numpy as np


def read_from(prototxt, values, to):
    with h5py.File(values, "r") as file:
        batch = file["input"].shape[0]
    with open(prototxt) as text:
        net = text.read()
    data = f'layer {{ name: "data" type: "HDF5Data" top: "input" hdf5_data_param {{ source: "{values}" batch_size: {batch} }} }}\n'
    net, found = re.subn(r'layer \{\n  name: "input"\n  type: "Input".*?\n\}\n', data, net, flags=re.S)
    if found != 1:
        sys.exit(f"FAILED: {prototxt} has {found} inputs")
    with open(to, "w") as text:
        text.write(net)


def judge(found, here, there, tolerance):
    difference = float(np.abs(here.reshape(there.shape) - there).max() / np.abs(there).max())
    print(f"{found}: differs by {difference:.2e} of the largest value")
    if not difference <= tolerance:
        sys.exit(f"FAILED: {found}: more than {tolerance}")


def end_of(file):
    with h5py.File(file, "r") as values:
        names = []
        values["data"].visit(names.append)
        return values["data"][max(name for name in names if ": top " in name and name.endswith("/0"))][()]


def hold(values, found, tolerance):
    with h5py.File(values, "r") as file:
        there = file["output"][()]
    with h5py.File(found, "r") as file:
        (here,) = [item[()] for item in file.values() if isinstance(item, h5py.Dataset)]
    judge(found, here, there, tolerance)


if sys.argv[1] == "--hold":
    hold(sys.argv[2], sys.argv[3], float(sys.argv[4]))
elif sys.argv[1] == "--ends":
    judge(sys.argv[3], end_of(sys.argv[3]), end_of(sys.argv[2]), float(sys.argv[4]))
else:
    read_from(*sys.argv[1:4])
