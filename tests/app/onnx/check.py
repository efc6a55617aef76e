#!/usr/bin/env python3
"""check.py MODEL VALUES TOLERANCE [CAFFE_MODEL CAFFE_WEIGHTS]: holds an exported net against Cortado's own values.

VALUES is the HDF5 file of `cortado compare --save`, with all blobs, of which the last is the output. ONNX's
checker examines MODEL; onnxruntime and OpenCV's dnn run it. What is not installed is named and left out. OpenCV also
runs the net from Caffe's files, if they are given. MODEL may be "-".
"""
import importlib
import sys

import h5py
import numpy as np


def values_of(file):
    """The last values of each blob, by name."""
    with h5py.File(file, "r") as values:
        names = []
        values["data"].visit(names.append)
        return {
            name.split(": top ", 1)[1][:-2]: values["data"][name][()].astype(np.float32)
            for name in sorted(names)
            if ": top " in name and name.endswith("/0")
        }


def hold(what, here, there, tolerance):
    there = np.asarray(there).reshape(here.shape)
    difference = float(np.abs(here - there).max() / max(float(np.abs(here).max()), 1e-20))
    print(f"{what}: differs by {difference:.2e} of the largest value")
    if not difference <= tolerance:
        sys.exit(f"FAILED: {what}: more than {tolerance}")


def optional(module):
    try:
        return importlib.import_module(module)
    except ImportError:
        print(f"{module} is not installed: left out")
        return None


def run_onnx(model, blobs, tolerance):
    onnx = optional("onnx")
    if onnx:
        loaded = onnx.load(model)
        onnx.checker.check_model(loaded, full_check=True)
        print("onnx.checker: fine")
    runtime = optional("onnxruntime")
    if runtime:
        session = runtime.InferenceSession(model, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        results = session.run(names, {one.name: blobs[one.name] for one in session.get_inputs()})
        for name, result in zip(names, results):
            hold(f"onnxruntime, {name}", blobs[name], result, tolerance)


def main():
    model, values, tolerance = sys.argv[1], sys.argv[2], float(sys.argv[3])
    blobs = values_of(values)
    x, y = list(blobs.values())[0], list(blobs.values())[-1]
    if model != "-":
        run_onnx(model, blobs, tolerance)
    cv2 = optional("cv2")
    if not cv2:
        return
    nets = []
    if model != "-" and "--no-opencv" not in sys.argv:
        nets.append(("OpenCV, ONNX", cv2.dnn.readNetFromONNX(model)))
    if len(sys.argv) > 5 and hasattr(cv2.dnn, "readNetFromCaffe"):
        nets.append(("OpenCV, Caffe", cv2.dnn.readNetFromCaffe(sys.argv[4], sys.argv[5])))
    for name, net in nets:
        net.setInput(x)
        hold(name, y, net.forward(), tolerance)


if __name__ == "__main__":
    main()
