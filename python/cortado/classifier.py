"""Classes of images by a net."""

import numpy as np

from . import io
from .net import Net
from .proto import caffe_pb2


class Classifier(Net):
    """A net whose first input takes images of any size, and whose first output has a score for each class.

    Images are made to `image_dims`, height and width, of which pieces of the input's size are taken. By default that is
    the input's size itself. `mean`, `input_scale`, `raw_scale` and `channel_swap` are those of io.Transformer.
    """

    def __init__(self, model_file, pretrained_file, image_dims=None, mean=None, input_scale=None, raw_scale=None,
                 channel_swap=None):
        Net.__init__(self, model_file, caffe_pb2.TEST, weights=pretrained_file)
        self.transformer = io.transformer_of(self, mean, input_scale, raw_scale, channel_swap)
        self.crop_dims = np.array(self.blobs[self.inputs[0]].data.shape[2:])
        self.image_dims = self.crop_dims if image_dims is None else image_dims

    def predict(self, inputs, oversample=True):
        """Scores of each image, images x classes.

        `inputs` are images of one number of channels, height x width x channels. With `oversample` the scores are the
        mean of ten pieces of the image, as io.oversample takes them; otherwise they are those of the centre.
        """
        scaled = [io.resize_image(image, self.image_dims) for image in inputs]
        if oversample:
            pieces = io.oversample(scaled, self.crop_dims)
        else:
            y, x = ((int(size) - int(crop)) // 2 for size, crop in zip(self.image_dims, self.crop_dims))
            pieces = [image[y:y + self.crop_dims[0], x:x + self.crop_dims[1]] for image in scaled]
        name = self.inputs[0]
        batch = np.array([self.transformer.preprocess(name, piece) for piece in pieces], dtype=np.float32)
        scores = self.forward_all(**{name: batch})[self.outputs[0]]
        return scores.reshape(len(scores) // 10, 10, -1).mean(1) if oversample else scores
