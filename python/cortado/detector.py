"""Classes of windows of images by a net."""

import os

import numpy as np

from . import io
from .net import Net
from .proto import caffe_pb2


class Detector(Net):
    """A net whose first input takes windows of images, and whose first output has a score for each class.

    `mean`, `input_scale`, `raw_scale` and `channel_swap` are those of io.Transformer. `context_pad` is how many pixels
    at each side of the net's input show what surrounds the window. There the image ends, the input has the mean.
    """

    def __init__(self, model_file, pretrained_file, mean=None, input_scale=None, raw_scale=None, channel_swap=None,
                 context_pad=None):
        Net.__init__(self, model_file, caffe_pb2.TEST, weights=pretrained_file)
        self.transformer = io.transformer_of(self, mean, input_scale, raw_scale, channel_swap)
        self.configure_crop(context_pad)

    def detect_windows(self, images_windows):
        """Scores of windows: a list of dicts with "filename", "window" and "prediction".

        `images_windows` has pairs of a file's name and a list of windows: ymin, xmin, ymax, xmax in pixels.
        """
        name, places, batch = self.inputs[0], [], []
        for filename, windows in images_windows:
            image = io.load_image(filename)
            for window in windows:
                places.append((filename, window))
                batch.append(self.transformer.preprocess(name, self.crop(image, window)))
        scores = self.forward_all(**{name: np.array(batch, dtype=np.float32)})[self.outputs[0]]
        return [{'filename': filename, 'window': window, 'prediction': score}
                for (filename, window), score in zip(places, scores)]

    def detect_selective_search(self, image_fnames):
        """Scores of the windows that selective search proposes, as detect_windows returns them.

        The module selective_search_ijcv_with_python finds the windows. Cortado does not bring it.
        """
        import selective_search_ijcv_with_python as selective_search
        paths = [os.path.abspath(name) for name in image_fnames]  # MATLAB runs in another folder
        return self.detect_windows(zip(paths, selective_search.get_windows(paths, cmd='selective_search_rcnn')))

    def crop(self, im, window):
        """The window of the image `im`: as it is, or of the input's size if there is context."""
        window = np.asarray(window)
        if not self.context_pad:
            return im[window[0]:window[2], window[1]:window[3]]
        side = self.crop_dims[1]  # of the net's input, which is a square
        half = (window[2:] - window[:2] + 1) / 2
        grown = half * side / (side - 2 * self.context_pad)
        centre = window[:2] + half
        low, high = np.round(centre - grown), np.round(centre + grown)
        scale = side / (high - low + 1)  # of a pixel in the window to pixels of the input
        size = np.array(im.shape[:2])
        inside_low, inside_high = np.clip(low, 0, size).astype(int), np.clip(high, 0, size).astype(int)
        if (inside_high <= inside_low).any():
            raise ValueError(f'the window {window.tolist()} is outside the image')
        begin = np.round(np.maximum(0, -low) * scale).astype(int)
        extent = np.round((inside_high - inside_low + 1) * scale).astype(int)
        extent = np.minimum(extent, side - begin)
        part = im[inside_low[0]:inside_high[0], inside_low[1]:inside_high[1]]
        out = np.ones(self.crop_dims, dtype=np.float32) * self.crop_mean
        out[begin[0]:begin[0] + extent[0], begin[1]:begin[1] + extent[1]] = io.resize_image(part, extent)
        return out

    def configure_crop(self, context_pad):
        """Sets how many pixels at each side of the input are context; None or 0 means none."""
        name = self.inputs[0]
        back = np.argsort(self.transformer.transpose[name])
        self.crop_dims = np.array(self.blobs[name].data.shape[1:])[back]
        self.context_pad = context_pad
        self.crop_mean = np.zeros(self.crop_dims, dtype=np.float32)
        if context_pad and name in self.transformer.mean:  # what preprocess makes zeros of
            mean = self.transformer.mean[name].transpose(back)
            if name in self.transformer.channel_swap:
                mean = mean[:, :, np.argsort(self.transformer.channel_swap[name])]
            self.crop_mean = mean / self.transformer.raw_scale.get(name, 1)
